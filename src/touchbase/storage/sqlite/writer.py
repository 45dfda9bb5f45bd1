"""The thread that writes: commands that arrive while it flushes share its next transaction.

The event loop appends to a deque and wakes the thread only when it sleeps; the thread answers a whole
group with one wake of the loop. Turns of the inbox and migrations are *jobs*: each has the connection
to itself, one between two groups, so neither side can starve the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from queue import SimpleQueue
from threading import Thread
from typing import Any, TypeVar

import apsw

from touchbase.domain.commands import Command
from touchbase.domain.errors import Overloaded
from touchbase.domain.shares import Shares
from touchbase.storage.sql.group import (
    Commands,
    Handlers,
    Waiter,
    client_of,
    needs_of,
    over_its_share,
    plan_of,
    refusal,
    reserve,
    settle,
    take,
)
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.op import Plan, Retry
from touchbase.storage.sqlite.connection import BUSY_MS, UNWRITABLE, overloaded, write

LOG = logging.getLogger("touchbase.storage")
T = TypeVar("T")
Job = Callable[["Writer"], object]

TRIES = 5
PAGES_BETWEEN_CHECKPOINTS = 4_000
SHORT_WAIT_MS = 100
"""How long emptying the log waits for readers: writers wait meanwhile."""


class Writer:
    """Owns the connection that writes. `submit` and `ask` belong to the event loop, the rest to the thread."""

    def __init__(self, connection: apsw.Connection, handlers: Handlers, queue_limit: int) -> None:
        self.cursor = connection.cursor()
        self.ids = Ids()
        self._connection = connection
        self._handlers = handlers
        self._limit = queue_limit
        self._shares = Shares(queue_limit)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Command[Any], Waiter]] = deque()
        self._jobs: deque[tuple[Job, Waiter]] = deque()
        self._bell: SimpleQueue[None] = SimpleQueue()
        self.taken = 0
        self._asleep = False
        self._closing: Waiter | None = None
        self._log = _Log(connection)
        Thread(target=self._live, name="touchbase-writer", daemon=True).start()

    @property
    def depth(self) -> int:
        """Commands and jobs that wait for a transaction."""
        return len(self._waiting) + len(self._jobs)

    def submit(self, command: Command[Any]) -> Waiter:
        """Queue a command for the next group; `Overloaded` at once when the queue is full, or the client's share of it."""
        if len(self._waiting) >= self._limit or self._closing is not None:
            raise refusal(self._closing is not None)
        client = client_of(command)
        if client is not None and not self._shares.take(client):
            raise over_its_share()
        waiter: Waiter = self._loop.create_future()
        self._waiting.append((command, waiter))
        self.taken += 1
        if self._asleep:
            self._wake()
        return waiter

    def ask(self, job: Job) -> Waiter:
        """Queue a job."""
        if self._closing is not None:
            raise refusal(True)
        waiter: Waiter = self._loop.create_future()
        self._jobs.append((job, waiter))
        if self._asleep:
            self._wake()
        return waiter

    async def close(self) -> None:
        """Finish what waits, fold the log into the file and let go of it."""
        if self._closing is None:
            self._closing = self._loop.create_future()
            self._wake()
        await asyncio.shield(self._closing)

    def write(self, plan: Callable[[], Plan[T]], needs: Callable[[], Mapping[str, int]]) -> T:
        """Run a plan in a transaction of its own, again when it met somebody else's write."""
        for attempt in range(1, TRIES + 1):
            for name, count in self.ids.missing(needs()).items():
                # In a transaction of its own: a roll-back of the group must not give the ids out again.
                self.ids.fill(name, write(self.cursor, reserve(name, count)), count)
            try:
                return write(self.cursor, plan())
            except Retry:
                if attempt == TRIES:
                    raise Overloaded("others keep writing the same records; send this again in a moment") from None
        raise AssertionError("TRIES is above 0")

    def scrub(self) -> bool:
        """Empty the log, which still holds pages as they were; on the thread. False when somebody reads from it just now."""
        return self._log.empty()

    def _wake(self) -> None:
        self._asleep = False
        self._bell.put(None)

    def _live(self) -> None:
        while True:
            if self._waiting:
                group = take(self._waiting)
                commands = [command for command, _ in group]
                self._loop.call_soon_threadsafe(self._answer, commands, [waiter for _, waiter in group], self._outcomes(commands))
            if self._jobs:
                job, waiter = self._jobs.popleft()
                self._loop.call_soon_threadsafe(settle, [waiter], [self._outcome(job)])
            self._log.fold_when_long()
            closing = self._closing  # before looking at the queues: after it is set nothing is queued any more
            if not (self._waiting or self._jobs):
                if closing is not None:
                    return self._end(closing)
                self._sleep()

    def _sleep(self) -> None:
        self._asleep = True
        # What came before the loop could see that we sleep has not rung the bell.
        if not (self._waiting or self._jobs or self._closing):
            self._bell.get()
        self._asleep = False

    def _outcomes(self, commands: Commands) -> list[object]:
        """One result or exception for each; an unforeseen failure is halved until it is alone with its cause."""
        try:
            return self.write(lambda: plan_of(commands, self._handlers, self.ids), lambda: needs_of(commands, self._handlers))
        except UNWRITABLE as error:
            return [overloaded(error) for _ in commands]
        except Exception as error:
            if len(commands) == 1:
                return [error]
            half = len(commands) // 2
            return self._outcomes(commands[:half]) + self._outcomes(commands[half:])

    def _outcome(self, job: Job) -> object:
        try:
            return job(self)
        except UNWRITABLE as error:
            return overloaded(error)
        except Exception as error:
            return error

    def _answer(self, commands: Commands, waiters: Sequence[Waiter], outcomes: Sequence[object]) -> None:
        """In the event loop: what was waited for is done."""
        for command in commands:
            client = client_of(command)
            if client is not None:
                self._shares.give(client)
        settle(waiters, outcomes)

    def _end(self, closing: Waiter) -> None:
        try:
            self._log.fold()
            self._connection.close()
        finally:
            self._loop.call_soon_threadsafe(settle, [closing], [None])


class _Log:
    """The write-ahead log: folded into the file between groups, so that no answer waits for it."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._pages = 0
        self._due = PAGES_BETWEEN_CHECKPOINTS
        connection.set_wal_hook(self._committed)

    def fold_when_long(self) -> None:
        """Fold the log once enough was written since the last time."""
        if self._pages >= self._due:
            self._due = self._pages + PAGES_BETWEEN_CHECKPOINTS
            self.fold()

    def fold(self) -> None:
        """Copy the log into the file as far as readers allow."""
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            LOG.warning("the log stays beside the store for now: %s", error)

    def empty(self) -> bool:
        """Copy the log into the file and cut it to nothing, unless a reader needs it."""
        self._connection.set_busy_timeout(SHORT_WAIT_MS)
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        finally:
            self._connection.set_busy_timeout(BUSY_MS)
        return True

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self._pages:  # folded whole, so SQLite began it anew
            self._due = PAGES_BETWEEN_CHECKPOINTS
        self._pages = pages
        return apsw.SQLITE_OK
