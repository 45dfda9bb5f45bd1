"""Servers that break a promise, so that a test which does not notice is known to be worth nothing.

`python -m crash.injected no-dedup serve ...` is `touchbase serve ...` with one thing taken away:

- `no-flush`: calls are acknowledged before their transaction is committed. SQLite only. (A server that commits and
  does not flush survives SIGKILL, as the system keeps what was written; only a power cut would tell.)
- `no-sync`: SQLite is told that everything is flushed, and nothing is, as with `synchronous=OFF`.
- `no-refusal`: a webhook call that could not be kept is acknowledged all the same.
- `no-dedup`: equal webhook calls have different keys.
- `no-sweeper`: the inbox worker never looks for deliveries that nobody told it of.
- `no-event-times`: events happened when their call arrived.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import apsw

from touchbase.api import webhooks
from touchbase.domain.commands import Kept
from touchbase.domain.errors import Overloaded
from touchbase.service import process_inbox, receive_webhook
from touchbase.storage.sql import sightings
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


class Unsynced(apsw.VFSFile):
    """A file that says it is flushed."""

    def xSync(self, flags: int) -> None:
        pass


class Unsyncing(apsw.VFS):
    """Files whose flushes do nothing, on top of whatever holds them."""

    def __init__(self) -> None:
        self._base = apsw.vfs_names()[0]
        super().__init__("crash-unsynced", self._base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        return Unsynced(self._base, name, flags)


def no_sync() -> None:
    """Flush nothing."""
    KEPT.append(Unsyncing())


def no_refusal() -> None:
    """Acknowledge webhook calls whatever the store says."""
    keep: Callable[..., Any] = webhooks.receive_webhook

    async def kept(*given: Any, **named: Any) -> Kept:
        try:
            found: Kept = await keep(*given, **named)
        except Overloaded:
            return Kept(0, True)
        return found

    replace(webhooks, "receive_webhook", kept)


def no_event_times() -> None:
    """Let every event have happened when its call arrived."""
    replace(sightings, "effective_time", lambda occurred_us, received_us, day: received_us)


def replace(module: Any, name: str, stand_in: object) -> None:
    """Put something in the place of what a module names; an error when it names no such thing any more."""
    getattr(module, name)
    setattr(module, name, stand_in)


WAYS: dict[str, Callable[[], None]] = {
    "no-flush": no_flush,
    "no-sync": no_sync,
    "no-refusal": no_refusal,
    "no-dedup": no_dedup,
    "no-sweeper": no_sweeper,
    "no-event-times": no_event_times,
}
KEPT: list[object] = []
"""What must not be collected as long as the server runs."""
