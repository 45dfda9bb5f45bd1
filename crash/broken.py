"""Servers that break a promise, so that a test which does not notice is known to be worth nothing.

`python -m crash.broken no-dedup serve ...` is `touchbase serve ...` with one thing taken away:

- `no-flush`: calls are acknowledged before their transaction is committed. SQLite only. (A server that commits and
  does not flush survives SIGKILL, as the system keeps what was written; only a power cut would tell.)
- `no-dedup`: equal webhook calls have different keys.
- `no-sweeper`: the inbox worker never looks for deliveries that nobody told it of.
"""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any

from touchbase.cli import cli
from touchbase.service import process_inbox, receive_webhook
from touchbase.storage.sqlite import connection, writer

COMMIT_LATE_SECONDS = 0.05


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


WAYS = {"no-flush": no_flush, "no-dedup": no_dedup, "no-sweeper": no_sweeper}


def main() -> None:
    """Break it, then do what `touchbase` does."""
    way, *arguments = sys.argv[1:]
    WAYS[way]()
    cli(arguments, prog_name="touchbase")


if __name__ == "__main__":
    main()
