"""Servers that break a promise, so that a test which does not notice is known to be worth nothing.

`python -m crash.broken no-dedup serve ...` is `touchbase serve ...` with one thing taken away:

- `no-flush`: calls are acknowledged before their transaction is committed; on PostgreSQL those that create or keep. (A
  server that commits and does not flush survives SIGKILL, as the system keeps what was written; only a power cut would tell.)
- `no-dedup`: equal webhook calls have different keys.
- `no-sweeper`: the inbox worker never looks for deliveries that nobody told it of.
- `no-deadline`: callers may take all day.
- `no-turns`: a client has its turn until nothing of it waits.
- `no-reason`: a PostgreSQL that cannot write now is a fault like any other.
- `no-doubt`: a commit whose answer was lost counts as one that failed. It takes some rounds until a kill meets one.
"""

from __future__ import annotations

import asyncio
import secrets
import sys
import time
from contextlib import suppress
from typing import Any

import asyncpg

from touchbase import wiring
from touchbase.api.parts import Limits
from touchbase.cli import cli
from touchbase.server import run
from touchbase.service import process_inbox, receive_webhook, turns
from touchbase.storage.postgres import connection as postgres_connection
from touchbase.storage.postgres import writer as postgres_writer
from touchbase.storage.postgres.wall import begin
from touchbase.storage.sql.scope import EVERYBODY
from touchbase.storage.sqlite import connection, writer

COMMIT_LATE_SECONDS = 0.05
COMMIT_VERY_LATE_SECONDS = 0.3
ALL_DAY = 86_400


def no_flush() -> None:
    """Answer each group while its transaction is still open, and commit it a moment later."""
    job, sleep = writer.Writer._outcome, writer.Writer._sleep

    def then_job(self: Any, work: Any) -> object:
        _commit(self.cursor)
        outcome = job(self, work)
        _commit(self.cursor, 0)  # nobody was told of it
        return outcome

    def then_sleep(self: Any) -> None:
        _commit(self.cursor)
        sleep(self)

    setattr(writer, "write", _write_without_commit)  # noqa: B010 - typed as what it stands in for
    setattr(writer.Writer, "_outcome", then_job)  # noqa: B010
    setattr(writer.Writer, "_sleep", then_sleep)  # noqa: B010
    setattr(postgres_writer, "write_alone", _write_alone_without_commit)  # noqa: B010
    setattr(postgres_writer, "write", _write_after_commit)  # noqa: B010


_open: dict[Any, asyncio.Task[None]] = {}


async def _write_alone_without_commit(connection: Any, plan: Any) -> Any:
    await _committed(connection)
    await connection.execute(begin(EVERYBODY))
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


def _write_without_commit(cursor: Any, plan: Any) -> Any:
    _commit(cursor)
    cursor.execute("BEGIN IMMEDIATE")
    return connection.run(cursor, plan)


def _commit(cursor: Any, late: float = COMMIT_LATE_SECONDS) -> None:
    if cursor.connection.in_transaction:
        time.sleep(late)
        cursor.execute("COMMIT")


def no_dedup() -> None:
    """Give every webhook call a key of its own."""
    setattr(receive_webhook, "body_key", lambda *_: secrets.token_bytes(32))  # noqa: B010


def no_sweeper() -> None:
    """Never look around."""

    async def looked(self: Any) -> None:
        self._looked_us = self._clock()

    setattr(process_inbox.InboxWorker, "_look_around", looked)  # noqa: B010


def no_deadline() -> None:
    """Never look at deadlines, neither the server's nor the application's."""
    setattr(run.Server, "sweep", lambda self: None)  # noqa: B010
    setattr(wiring, "Limits", lambda **_: Limits(body_seconds=ALL_DAY, body_idle_seconds=ALL_DAY))  # noqa: B010


def no_turns() -> None:
    """Let whoever comes first have all that waits applied."""
    setattr(turns.Turns, "begin", lambda self, client: ALL_DAY)  # noqa: B010


def no_reason() -> None:
    """Know no error of PostgreSQL that passes by itself."""
    setattr(postgres_connection, "is_not_now", lambda error: False)  # noqa: B010


def no_doubt() -> None:
    """Take every broken connection for a refusal."""
    setattr(postgres_connection, "is_lost", lambda error: False)  # noqa: B010


WAYS = {
    "no-flush": no_flush,
    "no-dedup": no_dedup,
    "no-sweeper": no_sweeper,
    "no-deadline": no_deadline,
    "no-turns": no_turns,
    "no-reason": no_reason,
    "no-doubt": no_doubt,
}


def main() -> None:
    """Break it, then do what `touchbase` does."""
    way, *arguments = sys.argv[1:]
    WAYS[way]()
    cli(arguments, prog_name="touchbase")


if __name__ == "__main__":
    main()
