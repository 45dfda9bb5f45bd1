"""Mutants: servers that break one promise, to prove that the fault tests detect it.

`python -m fault_tests.fault_server no-dedup serve ...` is `touchbase serve ...` without deduplication:

- `no-flush`: requests are acknowledged before the commit; on PostgreSQL those that create or store. (A server that commits
  without a flush survives SIGKILL, because the kernel has the data; only a power cut shows it.)
- `no-sync`: flushes of SQLite do nothing, as with `synchronous=OFF`.
- `no-refusal`: a webhook that could not be stored is acknowledged.
- `no-dedup`: equal webhooks have different dedupe keys.
- `no-polling`: the inbox worker never polls for deliveries without a notification.
- `no-event-times`: event times are replaced by the time of receipt.
- `no-apply`: every seventh delivery is `ignored`.
- `no-deadline`: no deadline is enforced.
- `no-limit`: concurrent requests are not limited.
- `no-graceful-stop`: on shutdown connections are closed without a response, though their requests are executed.
- `no-fair-queueing`: the backlog of one client is applied before all other deliveries.
- `no-transient-errors`: a PostgreSQL that cannot write at the moment is an internal error.
- `no-job-transaction`: a job's checkpoint is stored before the rows of its step.
- `no-unknown-outcome`: a commit with a lost result counts as failed; on PostgreSQL, with delayed results, so that a kill loses some.
- `answers-again`: an answer of a dead process is queued again.
- `no-fence`: a split of databases does not end the writes at the first server.
- `no-sandbox`: tasks on outside bytes run in threads of the server.
- those of `fault_tests.webhook_mutants` and `fault_tests.spool_mutants`.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace as replaced
from typing import Any

import apsw
import asyncpg

from fault_tests.spool_mutants import SPOOL_MUTANTS
from fault_tests.webhook_mutants import WEBHOOK_MUTANTS
from touchbase import fleet
from touchbase.conversations import answers
from touchbase.errors import Overloaded
from touchbase.http.dependencies import RequestLimits
from touchbase.inbox import fair_scheduler, translation
from touchbase.inbox import receive as inbox_receive
from touchbase.inbox import worker as events_worker
from touchbase.inbox.api import webhooks
from touchbase.inbox.sql.commands import StoredDelivery
from touchbase.inbox.translator_pool import PRELOAD, TranslatorPool
from touchbase.jobs import runner
from touchbase.jobs.runner import JobRun, execute_step
from touchbase.projection import apply as projection
from touchbase.projection import normalization as event_normalization
from touchbase.rate_limit import rate_limiter
from touchbase.routing import split
from touchbase.sandbox.pool import Sandbox
from touchbase.server import server as server_server
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Statement
from touchbase.storage.batch import settle
from touchbase.storage.postgres import connection as postgres_connection
from touchbase.storage.postgres import split as storage_split
from touchbase.storage.postgres import writer as postgres_writer
from touchbase.storage.postgres.row_level_security import begin
from touchbase.storage.sqlite import connection, writer

COMMIT_LATE_SECONDS = 0.15
COMMIT_VERY_LATE_SECONDS = 0.3
BETWEEN_SECONDS = 0.02
ALL_DAY = 86_400


def no_flush() -> None:
    """Respond before the commit of each group, which follows a moment later."""
    replace(writer, "SLOW_FLUSH", 0.0)  # so that a thread does it, where it can be late
    replace(writer, "write", _write_without_commit)
    replace(writer.SqliteWriter, "_send", _send_before_commit)
    setattr(postgres_writer, "write_alone", _write_alone_without_commit)  # noqa: B010
    setattr(postgres_writer, "write", _write_after_commit)  # noqa: B010


_open: dict[Any, asyncio.Task[None]] = {}


async def _write_alone_without_commit(connection: Any, plan: Any, around: Any) -> Any:
    await _committed(connection)
    await connection.execute(begin(ALL_CLIENTS))
    answers = await postgres_connection.run(connection, around(plan)[0])
    _open[connection] = asyncio.create_task(_commit_late(connection))
    return answers


async def _write_after_commit(connection: Any, plan: Any, scope: Any, around: Any) -> Any:
    await _committed(connection)
    return await postgres_connection.write(connection, plan, scope, around)


async def _committed(connection: Any) -> None:
    if (before := _open.pop(connection, None)) is not None:
        await before


async def _commit_late(connection: Any) -> None:
    await asyncio.sleep(COMMIT_VERY_LATE_SECONDS)
    with suppress(*postgres_connection.UNUSABLE, asyncpg.PostgresError):
        await connection.execute("COMMIT")


def _write_without_commit(
    cursor: Any, plan: Any, flushed: Any = None, around: Any = connection.unchanged, most_rows: int | None = None
) -> Any:
    if cursor.connection.in_transaction:
        cursor.execute("COMMIT")  # of the same group, before its response
    cursor.execute("BEGIN IMMEDIATE")
    return connection.run(cursor, around(plan)[0], most_rows)


def _send_before_commit(self: Any, errand: Callable[[], Any], commands: Any, waiters: Any) -> None:
    self._on_thread = True

    def run() -> None:
        self._loop.call_soon_threadsafe(settle, waiters, errand())
        if self.cursor.connection.in_transaction:
            time.sleep(COMMIT_LATE_SECONDS)
            self.cursor.execute("COMMIT")

    def back(_: Any) -> None:
        self._on_thread = False
        self._done(commands, [], [])

    self._threads.submit(run, back)


def no_dedup() -> None:
    """Give every webhook a unique dedupe key."""
    setattr(inbox_receive, "body_key", lambda *_: secrets.token_bytes(32))  # noqa: B010


def no_polling() -> None:
    """Never poll for deliveries."""

    async def looked(self: Any) -> None:
        self._polled_us = self._clock()

    setattr(events_worker.InboxWorker, "_poll", looked)  # noqa: B010


def no_deadline() -> None:
    """Ignore all deadlines of the server and the application."""
    setattr(server_server.Server, "sweep", lambda self: None)  # noqa: B010
    setattr(fleet, "Limits", lambda **_: RequestLimits(body_seconds=ALL_DAY, body_idle_seconds=ALL_DAY))  # noqa: B010


def no_limit() -> None:
    """Accept any number of concurrent requests."""
    full_rate_limiter = rate_limiter.RateLimiter
    replace(rate_limiter, "RateLimiter", lambda rates, requests: full_rate_limiter(rates, requests=ALL_DAY))


def no_graceful_stop() -> None:
    """On shutdown, close connections that wait for a response."""
    full_shutdown = server_server.Server.shutdown

    async def shutdown(self: Any, sockets: Any = None) -> None:
        while not self.server_state.tasks:  # noqa: ASYNC110 - under load it is not long until somebody waits
            await asyncio.sleep(0)
        for item in list(self.server_state.connections):
            item.transport.abort()
        await full_shutdown(self, sockets)

    replace(server_server.Server, "shutdown", shutdown)


def no_fair_queueing() -> None:
    """Disable fair queueing: apply the backlog of one client before all others."""
    replace(fair_scheduler.FairScheduler, "begin", lambda self, client: ALL_DAY)
    replace(events_worker, "LONG_BATCH_SECONDS", ALL_DAY)


def no_transient_errors() -> None:
    """Treat no PostgreSQL error as transient."""
    setattr(postgres_connection, "is_unavailable", lambda error: False)  # noqa: B010


def no_unknown_outcome() -> None:
    """Report a broken connection as a refusal, not as an unknown outcome."""
    setattr(postgres_connection, "is_connection_lost", lambda error: False)  # noqa: B010
    setattr(postgres_writer, "write_alone", _write_alone_and_hear_late)  # noqa: B010


async def _write_alone_and_hear_late(connection: Any, plan: Any, around: Any) -> Any:
    """Execute at once and report late, so that a kill in between loses the result."""
    answers = await postgres_connection.write_alone(connection, plan, around)
    with postgres_connection.committing():
        await asyncio.sleep(COMMIT_LATE_SECONDS)
        await connection.execute("SELECT 1")
    return answers


class UnsyncedFile(apsw.VFSFile):
    """A file whose flush does nothing."""

    def xSync(self, flags: int) -> None:
        pass


class UnsyncedDisk(apsw.VFS):
    """A VFS whose flushes do nothing, on top of the current default VFS."""

    def __init__(self) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__("crash-unsynced", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return UnsyncedFile(self._base, name, flags)


def no_sync() -> None:
    """Disable flushes."""
    KEEP_ALIVE.append(UnsyncedDisk())


def no_refusal() -> None:
    """Acknowledge webhooks even if the store fails."""
    keep: Callable[..., Any] = webhooks.receive_webhook

    async def kept(*value: Any, **named: Any) -> StoredDelivery:
        try:
            stored_delivery: StoredDelivery = await keep(*value, **named)
        except Overloaded:
            return StoredDelivery(0, True)
        return stored_delivery

    replace(webhooks, "receive_webhook", kept)


def no_event_times() -> None:
    """Replace event times by the time of receipt, in the translator processes."""
    command = (sys.executable, "-c", _WITHOUT_EVENT_TIMES)
    replace(fleet, "TranslatorPool", lambda: TranslatorPool(Sandbox("translator", preload=[PRELOAD], command=command)))


def no_apply() -> None:
    """Ignore every seventh delivery."""
    full = projection.outcome_of

    def outcome(normalized_delivery: event_normalization.NormalizedDelivery) -> event_normalization.DeliveryOutcome:
        created = full(normalized_delivery)
        return replaced(created, subjects=[]) if normalized_delivery.delivery.id % 7 == 0 else created

    replace(projection, "outcome_of", outcome)


def no_sandbox() -> None:
    """Run the tasks of sandbox processes in threads of the server."""

    def run(self: Sandbox, task: Any, *arguments: Any, **named: Any) -> Any:
        return task.load()(*arguments, **named)

    replace(Sandbox, "run", run)
    replace(translation, "limit_seconds", lambda seconds: None)


def no_job_transaction() -> None:
    """Store the checkpoint of an import's step, and its rows a moment later, in two transactions."""
    replace(JobRun, "step", _step_in_two)


async def _step_in_two(self: Any, commands: Any, checkpoint: Any) -> Any:
    self.check()
    at, job = self.clock(), self.job
    results = [await self.store.write(replaced(command, dry_run=True)) for command in commands]
    reached = checkpoint(results)
    await self.store.write(execute_step(job.client, job.id, job.token, at, at + runner.LEASE, [], lambda _: reached))
    job.position, job.progress = reached.position, reached.progress
    await asyncio.sleep(BETWEEN_SECONDS)
    return [await self.store.write(command) for command in commands]


_WITHOUT_EVENT_TIMES = """
from touchbase.projection import normalization as event_normalization
from touchbase.sandbox import process

assert event_normalization.effective_time
event_normalization.effective_time = lambda occurred_us, received_us, day: received_us
process.main()
"""


def answers_again() -> None:
    """Queue an answer again whose lease has ended without a result."""
    full_expire_answers = answers.EXPIRE_ANSWERS
    body = "UPDATE answer t SET state = 'queued', reason = p.reason FROM p WHERE t.client = p.client AND t.id = p.id "
    body += "AND t.state = 'sending' AND t.due_us <= p.now_us RETURNING t.id"
    replace(answers, "EXPIRE_ANSWERS", Statement("answers_again", full_expire_answers.columns, body=body, by_row=True))


def no_fence() -> None:
    """Let the databases of a split be written at the first server until it is promoted; built into the command."""

    async def written(self: Any, roles: Any) -> None:
        return

    replace(storage_split.ServerSession, "make_read_only", written)
    replace(split, "_is_closed", lambda state: True)


def replace(module: Any, name: str, stand_in: object) -> None:
    """Replace an attribute of a module; raise if it does not exist."""
    getattr(module, name)
    setattr(module, name, stand_in)


MUTANTS: dict[str, Callable[[], None]] = {
    "no-flush": no_flush,
    "no-sync": no_sync,
    "no-refusal": no_refusal,
    "no-dedup": no_dedup,
    "no-polling": no_polling,
    "no-event-times": no_event_times,
    "answers-again": answers_again,
    "no-apply": no_apply,
    "no-deadline": no_deadline,
    "no-limit": no_limit,
    "no-graceful-stop": no_graceful_stop,
    "no-fair-queueing": no_fair_queueing,
    "no-transient-errors": no_transient_errors,
    "no-job-transaction": no_job_transaction,
    "no-unknown-outcome": no_unknown_outcome,
    "no-fence": no_fence,
    "no-sandbox": no_sandbox,
    **WEBHOOK_MUTANTS,
    **SPOOL_MUTANTS,
}
KEEP_ALIVE: list[object] = []
"""Objects that must live as long as the server."""
