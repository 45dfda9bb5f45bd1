"""The one connection that writes: commands that arrive while it is busy share its next transaction.

A group of commands is carried out in the event loop itself as long as a flush takes less than handing it to a thread and
back: nobody else could be answered much sooner, and nothing fights over the interpreter meanwhile. Where flushes are slow,
the group is large, or somebody else is writing the file, it goes to a thread. So do turns of the inbox and migrations, the
*jobs*: each has the connection to itself, one between two groups, so neither side can starve the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import apsw

from touchbase.clients.commands import EnsureClient
from touchbase.common.fair_quota import FairQuota
from touchbase.errors import Overloaded
from touchbase.inbox.commands import CountRepeat, StoreDelivery
from touchbase.records.commands import CreateCompany, CreateContact, UpdateCompany, UpdateContact
from touchbase.sql.command import Command
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan, SerializationConflict
from touchbase.storage.batch import (
    WITHOUT_MEMORY,
    Commands,
    Handlers,
    Probe,
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
from touchbase.storage.sqlite.connection import BUSY_MS, UNWRITABLE, failures, unavailable, write
from touchbase.storage.sqlite.threads import LoopThreads
from touchbase.storage.sqlite.wal import LONGEST_LOG, Behind, WriteAheadLog

T = TypeVar("T")
Job = Callable[["Writer"], object]
Errand = Callable[[], Sequence[object]]

LOG = logging.getLogger("touchbase.storage")

TRIES = 5
SLOW_FLUSH = 0.002
"""Seconds: while flushes take longer, the event loop does not wait for them itself."""
LARGE = 256 * 1024
"""Bytes of webhook bodies: the event loop does not write more than this itself."""
SMALL = frozenset({CreateContact, CreateCompany, UpdateContact, UpdateCompany, StoreDelivery, CountRepeat, EnsureClient, Probe})
"""Commands that change a few rows each; others may change thousands."""
COPIES = 3
"""Copies of a long log, each of what came during the one before, so each is shorter."""
LATEST = 0.1
"""How much the latest flush counts in the mean."""


class Writer:
    """Owns the connection that writes. All of it belongs to the event loop, except what a `Job` is given it for."""

    def __init__(self, connection: apsw.Connection, copying: apsw.Connection, handlers: Handlers, queue_limit: int) -> None:
        self.cursor = connection.cursor()
        self.ids = Ids()
        self.taken = 0
        self._connection = connection
        self._handlers = handlers
        self._limit = queue_limit
        self._shares = FairQuota(queue_limit)
        self._loop = asyncio.get_running_loop()
        self._waiting: deque[tuple[Command[Any], Waiter]] = deque()
        self._jobs: deque[tuple[Job, Waiter, bool]] = deque()
        self._threads = LoopThreads(2, "touchbase-writer")
        self._called = False
        self._away = False
        """Whether a thread has the connection."""
        self._job_next = False
        self._closing: Waiter | None = None
        self._flush = 0.0
        self._log = WriteAheadLog(connection, copying)

    @property
    def depth(self) -> int:
        """Commands and jobs that wait for a transaction."""
        return len(self._waiting) + len(self._jobs)

    def submit(self, command: Command[Any]) -> Waiter:
        """Queue a command for the next group; `Overloaded` at once when the queue is full, or the client's share of it."""
        if len(self._waiting) >= self._limit or self._closing is not None:
            raise refusal(self._closing is not None)
        client = client_of(command)
        if client is not None and not self._shares.acquire(client):
            raise over_its_share()
        waiter: Waiter = self._loop.create_future()
        self._waiting.append((command, waiter))
        self.taken += 1
        self._call()
        return waiter

    def ask(self, job: Job, *, small: bool = False) -> Waiter:
        """Queue a job. One that is `small` costs no more than a group; it can be begun anew if another process is writing."""
        if self._closing is not None:
            raise refusal(True)
        waiter: Waiter = self._loop.create_future()
        self._jobs.append((job, waiter, small))
        self._call()
        return waiter

    async def close(self) -> None:
        """Finish what waits, fold the log into the file and let go of it."""
        if self._closing is None:
            self._closing = self._loop.create_future()
            self._call()
        await asyncio.shield(self._closing)

    def write(self, plan: Callable[[], Plan[T]], needs: Callable[[], Mapping[str, int]]) -> T:
        """Run a plan in a transaction of its own, again when it met somebody else's write."""
        for attempt in range(1, TRIES + 1):
            for name, count in self.ids.missing(needs()).items():
                # In a transaction of its own: a roll-back of the group must not give the ids out again.
                self.ids.fill(name, write(self.cursor, reserve(name, count)), count)
            try:
                return write(self.cursor, plan(), self._flushed)
            except SerializationConflict:
                if attempt == TRIES:
                    raise Overloaded("others keep writing the same records; send this again in a moment") from None
        raise AssertionError("TRIES is above 0")

    def vacuum(self, most: int | None) -> bool:
        """Write a file of up to `most` bytes anew, and empty the log, which still holds pages as they were; on the thread.

        `secure_delete` writes over what is removed, but not over copies that stay in the unused part of a page when its rows are
        moved to another one. False when somebody reads from the log just now, or when there is no room to do it unasked: what was
        removed is removed all the same.
        """
        return self._rewrite(most) and self._log.empty()

    def _rewrite(self, most: int | None) -> bool:
        if most is not None and self._connection.pragma("page_count") * self._connection.pragma("page_size") > most:
            return True
        try:
            self.cursor.execute("VACUUM")
        except UNWRITABLE:
            if most is None:
                raise
            return False
        return True

    def _call(self) -> None:
        """Look at the queues once the loop has taken in all that has arrived by now."""
        if not (self._called or self._away):
            self._called = True
            self._loop.call_soon(self._next)

    def _next(self) -> None:
        self._called = False
        try:
            self._go_on()
        except MemoryError:
            self._called = True
            self._loop.call_later(WITHOUT_MEMORY, self._next)

    def _go_on(self) -> None:
        if self._log.behind is Behind.NEARLY:
            self._send(self._fold_rest, [], [])
        elif self._jobs and (self._job_next or not self._waiting):
            self._job_next = False
            job, waiter, small = self._jobs.popleft()
            self._carry_out([], [waiter], lambda: [job(self)], lambda: [self._outcome(job)], small)
        elif self._waiting:
            self._job_next = True
            commands, waiters = zip(*take(self._waiting), strict=True)
            self._carry_out(commands, waiters, lambda: self._together(commands), lambda: self._outcomes(commands), is_small(commands))
        elif self._closing is not None and self._log.behind is Behind.NO:
            self._away = True  # for good
            self._threads.give(self._end, partial(self._ended, self._closing))

    def _carry_out(self, commands: Commands, waiters: Sequence[Waiter], plainly: Errand, whole: Errand, small: bool) -> None:
        """Here and now if that is quick, else on a thread."""
        try:
            outcomes = self._at_once(plainly, len(waiters)) if small and self._flush < SLOW_FLUSH else None
        except Exception as error:
            outcomes = failures(error, len(waiters))
        if outcomes is None:
            self._send(whole, commands, waiters)
        else:
            self._done(commands, waiters, outcomes)

    def _at_once(self, plainly: Errand, count: int) -> Sequence[object] | None:
        """Its results; None, with nothing done, when only a thread may take the time that this needs."""
        self._connection.set_busy_timeout(0)
        try:
            return plainly()
        except apsw.BusyError:
            return None  # another process is writing
        except UNWRITABLE as error:
            return [unavailable(error) for _ in range(count)]
        except Exception:
            return None  # it will be halved
        finally:
            self._connection.set_busy_timeout(BUSY_MS)

    def _send(self, errand: Errand, commands: Commands, waiters: Sequence[Waiter]) -> None:
        """Let a thread have the connection for an errand; answers are given in the loop, whatever becomes of it."""
        self._away = True

        def back(outcomes: Sequence[object] | BaseException) -> None:
            self._away = False
            self._done(commands, waiters, failures(outcomes, len(waiters)) if isinstance(outcomes, BaseException) else outcomes)

        self._threads.give(errand, back)

    def _done(self, commands: Commands, waiters: Sequence[Waiter], outcomes: Sequence[object]) -> None:
        """Answer those who wait for it, and go on with what waits."""
        try:
            for command in commands:
                client = client_of(command)
                if client is not None:
                    self._shares.release(client)
            settle(waiters, outcomes)
            if self._log.is_long():
                self._log.behind = Behind.COPYING
                self._threads.give(self._fold, self._folded)
        finally:
            if self._waiting or self._jobs or self._closing is not None:
                self._call()

    def _together(self, commands: Commands) -> list[object]:
        return self.write(lambda: plan_of(commands, self._handlers, self.ids), lambda: needs_of(commands, self._handlers))

    def _outcomes(self, commands: Commands) -> list[object]:
        """One result or exception for each; an unforeseen failure is halved until it is alone with its cause."""
        try:
            return self._together(commands)
        except UNWRITABLE as error:
            return [unavailable(error) for _ in commands]
        except Exception as error:
            if len(commands) == 1:
                return [error]
            half = len(commands) // 2
            return self._outcomes(commands[:half]) + self._outcomes(commands[half:])

    def _outcome(self, job: Job) -> object:
        try:
            return job(self)
        except UNWRITABLE as error:
            return unavailable(error)
        except Exception as error:
            return error

    def _flushed(self, seconds: float) -> None:
        self._flush += (seconds - self._flush) * LATEST

    def _fold(self) -> None:
        """On a thread, while the connection that writes goes on.

        A long log begins anew next, and writers wait for what is not copied then: so also what came meanwhile is copied here,
        which is little, and at once, before it becomes more.
        """
        for copy in range(COPIES):
            self._log.fold()
            self._log.flush_copied(gently=copy == 0)
            if self._log.pages < LONGEST_LOG:
                break

    def _folded(self, failed: BaseException | None) -> None:
        """Closing waits for this, also where copying failed."""
        if failed is not None:
            LOG.error("copying the log into the store failed; it stays beside it for now", exc_info=failed)
        self._log.behind = Behind.NEARLY if self._log.pages >= LONGEST_LOG else Behind.NO
        self._call()

    def _fold_rest(self) -> list[object]:
        """On a thread, while nobody writes: what came meanwhile, so that the log begins anew."""
        self._log.fold()
        self._log.behind = Behind.NO
        return []

    def _end(self) -> None:
        self._log.fold()
        self._log.close()
        self._connection.close()

    def _ended(self, closing: Waiter, failed: BaseException | None) -> None:
        if failed is not None:
            LOG.error("the store could not be closed well", exc_info=failed)
        self._threads.shutdown()
        settle([closing], [None])


def is_small(commands: Commands) -> bool:
    """Whether a group takes little more time than its flush: a few rows for each command, and no large bodies."""
    weight = 0
    for command in commands:
        if type(command) not in SMALL:
            return False
        weight += len(command.body) if isinstance(command, StoreDelivery) else 0
    return weight < LARGE
