"""Servers that break a promise, so that a test which does not notice is known to be worth nothing.

`python -m fault_tests.fault_server no-dedup serve ...` is `touchbase serve ...` with one thing taken away:

- `no-flush`: calls are acknowledged before their transaction is committed; on PostgreSQL those that create or keep. (A
  server that commits and does not flush survives SIGKILL, as the system keeps what was written; only a power cut would tell.)
- `no-sync`: SQLite is told that everything is flushed, and nothing is, as with `synchronous=OFF`.
- `no-refusal`: a webhook call that could not be kept is acknowledged all the same.
- `no-dedup`: equal webhook calls have different keys.
- `no-sweeper`: the inbox worker never looks for deliveries that nobody told it of.
- `no-event-times`: events happened when their call arrived.
- `no-apply`: each seventh delivery ends as `ignored`, and nothing of it is applied.
- `no-deadline`: callers may take all day.
- `no-limit`: as many requests are in progress as come.
- `no-farewell`: at a stop all callers are cut off, and what they asked for is done.
- `no-turns`: a client has its turn until nothing of it waits, and all others wait for the end of it.
- `no-reason`: a PostgreSQL that cannot write now is a fault like any other.
- `no-doubt`: a commit whose answer was lost counts as one that failed; on PostgreSQL, where answers are late, so that a kill meets some.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace as replaced
from functools import partial
from typing import Any

import apsw
import asyncpg

from touchbase import app
from touchbase.errors import Overloaded
from touchbase.events import event_normalization, fair_scheduler, projection
from touchbase.events import worker as events_worker
from touchbase.events.translator_pool import TranslatorPool
from touchbase.http.dependencies import Limits
from touchbase.inbox import receive as inbox_receive
from touchbase.inbox.api import webhooks
from touchbase.inbox.commands import StoredDelivery
from touchbase.server import server as server_server
from touchbase.storage.batch import settle
from touchbase.storage.postgres import connection as postgres_connection
from touchbase.storage.postgres import writer as postgres_writer
from touchbase.storage.postgres.row_level_security import begin
from touchbase.storage.rls_scope import ALL_CLIENTS
from touchbase.storage.sqlite import connection, writer

COMMIT_LATE_SECONDS = 0.15
COMMIT_VERY_LATE_SECONDS = 0.3
ALL_DAY = 86_400


def no_flush() -> None:
    """Answer each group while its transaction is still open, and commit it a moment later."""
    replace(writer, "SLOW_FLUSH", 0.0)  # so that a thread does it, where it can be late
    replace(writer, "write", _write_without_commit)
    replace(writer.Writer, "_send", _send_before_commit)
    setattr(postgres_writer, "write_alone", _write_alone_without_commit)  # noqa: B010
    setattr(postgres_writer, "write", _write_after_commit)  # noqa: B010


_open: dict[Any, asyncio.Task[None]] = {}


async def _write_alone_without_commit(connection: Any, plan: Any) -> Any:
    await _committed(connection)
    await connection.execute(begin(ALL_CLIENTS))
    answers = await postgres_connection.run(connection, plan)
    _open[connection] = asyncio.create_task(_commit_late(connection))
    return answers


async def _write_after_commit(connection: Any, plan: Any, scope: Any) -> Any:
    await _committed(connection)
    return await postgres_connection.write(connection, plan, scope)


async def _committed(connection: Any) -> None:
    if (before := _open.pop(connection, None)) is not None:
        await before


async def _commit_late(connection: Any) -> None:
    await asyncio.sleep(COMMIT_VERY_LATE_SECONDS)
    with suppress(*postgres_connection.UNUSABLE, asyncpg.PostgresError):
        await connection.execute("COMMIT")


def _write_without_commit(cursor: Any, plan: Any, flushed: Any = None) -> Any:
    if cursor.connection.in_transaction:
        cursor.execute("COMMIT")  # of the same errand: nobody was told of it
    cursor.execute("BEGIN IMMEDIATE")
    return connection.run(cursor, plan)


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
    """Give every webhook call a key of its own."""
    setattr(inbox_receive, "body_key", lambda *_: secrets.token_bytes(32))  # noqa: B010


def no_sweeper() -> None:
    """Never look around."""

    async def looked(self: Any) -> None:
        self._polled_us = self._clock()

    setattr(events_worker.InboxWorker, "_poll", looked)  # noqa: B010


def no_deadline() -> None:
    """Never look at deadlines, neither the server's nor the application's."""
    setattr(server_server.Server, "sweep", lambda self: None)  # noqa: B010
    setattr(app, "Limits", lambda **_: Limits(body_seconds=ALL_DAY, body_idle_seconds=ALL_DAY))  # noqa: B010


def no_limit() -> None:
    """Let as many requests be in progress as there are callers."""
    whole = app.RateLimiter
    replace(app, "RateLimiter", lambda rates, requests: whole(rates, requests=ALL_DAY))


def no_farewell() -> None:
    """At the stop, cut off everybody who waits for an answer, and carry on without them."""
    whole = server_server.Server.shutdown

    async def shutdown(self: Any, sockets: Any = None) -> None:
        while not self.server_state.tasks:  # noqa: ASYNC110 - under load it is not long until somebody waits
            await asyncio.sleep(0)
        for each in list(self.server_state.connections):
            each.transport.abort()
        await whole(self, sockets)

    replace(server_server.Server, "shutdown", shutdown)


def no_turns() -> None:
    """Let whoever comes first have all that waits applied, and all others wait for it."""
    replace(fair_scheduler.FairScheduler, "begin", lambda self, client: ALL_DAY)
    replace(events_worker, "LONG_BATCH_SECONDS", ALL_DAY)


def no_reason() -> None:
    """Know no error of PostgreSQL that passes by itself."""
    setattr(postgres_connection, "is_unavailable", lambda error: False)  # noqa: B010


def no_doubt() -> None:
    """Take every broken connection for a refusal."""
    setattr(postgres_connection, "is_connection_lost", lambda error: False)  # noqa: B010
    setattr(postgres_writer, "write_alone", _write_alone_and_hear_late)  # noqa: B010


async def _write_alone_and_hear_late(connection: Any, plan: Any) -> Any:
    """Carry it out at once; whoever kills the server meanwhile takes the answer along."""
    answers = await postgres_connection.write_alone(connection, plan)
    with postgres_connection.committing():
        await asyncio.sleep(COMMIT_LATE_SECONDS)
        await connection.execute("SELECT 1")
    return answers


class UnsyncedFile(apsw.VFSFile):
    """A file that says it is flushed."""

    def xSync(self, flags: int) -> None:
        pass


class UnsyncedDisk(apsw.VFS):
    """Files whose flushes do nothing, on top of whatever holds them."""

    def __init__(self) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__("crash-unsynced", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return UnsyncedFile(self._base, name, flags)


def no_sync() -> None:
    """Flush nothing."""
    KEEP_ALIVE.append(UnsyncedDisk())


def no_refusal() -> None:
    """Acknowledge webhook calls whatever the store says."""
    keep: Callable[..., Any] = webhooks.receive_webhook

    async def kept(*given: Any, **named: Any) -> StoredDelivery:
        try:
            found: StoredDelivery = await keep(*given, **named)
        except Overloaded:
            return StoredDelivery(0, True)
        return found

    replace(webhooks, "receive_webhook", kept)


def no_event_times() -> None:
    """Let every event have happened when its call arrived, in the processes that read calls."""
    command = (sys.executable, "-c", _WITHOUT_EVENT_TIMES)
    replace(app, "TranslatorPool", partial(TranslatorPool, command))


def no_apply() -> None:
    """Let each seventh delivery end as one that says nothing."""
    whole = projection.outcome_of

    def outcome(seen: event_normalization.NormalizedDelivery) -> event_normalization.Outcome:
        made = whole(seen)
        return replaced(made, subjects=[]) if seen.delivery.id % 7 == 0 else made

    replace(projection, "outcome_of", outcome)


_WITHOUT_EVENT_TIMES = """
from touchbase import translator
from touchbase.events import event_normalization

assert event_normalization.effective_time
event_normalization.effective_time = lambda occurred_us, received_us, day: received_us
translator.main()
"""


def replace(module: Any, name: str, stand_in: object) -> None:
    """Put something in the place of what a module names; an error when it names no such thing any more."""
    getattr(module, name)
    setattr(module, name, stand_in)


MUTANTS: dict[str, Callable[[], None]] = {
    "no-flush": no_flush,
    "no-sync": no_sync,
    "no-refusal": no_refusal,
    "no-dedup": no_dedup,
    "no-sweeper": no_sweeper,
    "no-event-times": no_event_times,
    "no-apply": no_apply,
    "no-deadline": no_deadline,
    "no-limit": no_limit,
    "no-farewell": no_farewell,
    "no-turns": no_turns,
    "no-reason": no_reason,
    "no-doubt": no_doubt,
}
KEEP_ALIVE: list[object] = []
"""What must not be collected as long as the server runs."""
