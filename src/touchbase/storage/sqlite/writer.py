"""The one connection that writes: commands that arrive while it is busy share its next transaction.

A batch of commands runs in the event loop while flushes take less time than a thread switch: no other request could be
answered much sooner, and no thread competes for the interpreter. Where flushes are slow, the batch is large, or another
process is writing, the batch runs on a thread. *Jobs*, such as inbox batches and migrations, also run on a thread: each
has the connection to itself, and jobs alternate with batches, so that neither can starve the other.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, TypeVar

import apsw

from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairQuota
from touchbase.errors import Overloaded, TouchbaseError
from touchbase.sql.batches import Commands, needs_of, plan_of, weight_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command
from touchbase.sql.statement import Plan, SerializationConflict
from touchbase.sql.store import Vacuumed
from touchbase.storage.batch import (
    MEMORY_RETRY_SECONDS,
    Around,
    FairQueue,
    Waiter,
    client_of,
    client_queue_full,
    queue_refused,
    release,
    reserve,
    settle,
)
from touchbase.storage.sqlite.connection import BUSY_MS, UNWRITABLE, batch_failed, unavailable, write
from touchbase.storage.sqlite.threads import LoopThreads
from touchbase.storage.sqlite.wal import MAX_LOG_PAGES, CheckpointState, WriteAheadLog

T = TypeVar("T")
Job = Callable[["SqliteWriter"], object]
Work = Callable[[], Sequence[object]]

LOG = logging.getLogger("touchbase.storage")

TRIES = 5
SLOW_FLUSH = 0.002
"""Seconds: while flushes take longer, batches run on a thread."""
MAX_INLINE_BYTES = 256 * 1024
"""Bytes of webhook bodies; a batch with more runs on a thread."""
MAX_COPIES = 3
"""Checkpoints of a long log in a row; each copies the pages written during the previous one, so each is shorter."""
FLUSH_WEIGHT = 0.1
"""Weight of the latest flush in the moving average."""


class SqliteWriter:
    """Owns the connection that writes. Only the event loop uses it, except during work that a thread does."""

    def __init__(self, connection: apsw.Connection, copying: apsw.Connection, cipher: Cipher, queue_limit: int, around: Around) -> None:
        self.cursor = connection.cursor()
        self.ids = Ids()
        self.taken = 0
        self._connection = connection
        self._cipher = cipher
        self._around = around
        self._limit = queue_limit
        self._quota = FairQuota(queue_limit)
        self._loop = asyncio.get_running_loop()
        self._waiting: FairQueue[Waiter] = FairQueue()
        self._jobs: deque[tuple[Job, Waiter, bool]] = deque()
        self._threads = LoopThreads(2, "touchbase-writer")
        self._scheduled = False
        self._on_thread = False
        """Whether a thread has the connection."""
        self._job_next = False
        self._closing: Waiter | None = None
        self._flush = 0.0
        self._log = WriteAheadLog(connection, copying)

    @property
    def depth(self) -> int:
        """Number of commands and jobs that wait for a transaction."""
        return len(self._waiting) + len(self._jobs)

    def submit(self, command: Command[Any]) -> Waiter:
        """Queue a command for the next batch. Raises `Overloaded` when the queue is full, or the client's share of it."""
        if len(self._waiting) >= self._limit or self._closing is not None:
            raise queue_refused(self._closing is not None)
        weight, client = weight_of(command), client_of(command)
        if client is not None and not self._quota.acquire(client):
            raise client_queue_full()
        waiter: Waiter = self._loop.create_future()
        self._waiting.append(client, command, weight, waiter)
        self.taken += not command.operation.background
        self._schedule()
        return waiter

    def submit_job(self, job: Job, *, small: bool = False) -> Waiter:
        """Queue a job. A `small` job costs no more than a batch, and can be restarted if another process is writing."""
        if self._closing is not None:
            raise queue_refused(True)
        waiter: Waiter = self._loop.create_future()
        self._jobs.append((job, waiter, small))
        self._schedule()
        return waiter

    async def close(self) -> None:
        """Finish the queues, checkpoint the log and close the file."""
        if self._closing is None:
            self._closing = self._loop.create_future()
            self._schedule()
        await asyncio.shield(self._closing)

    def write(self, plan: Callable[[], Plan[T]], needs: Callable[[], Mapping[str, int]]) -> T:
        """Run a plan in a transaction of its own; retry it after a conflict with another write."""
        for attempt in range(1, TRIES + 1):
            for name, count in self.ids.missing(needs()).items():
                # In a transaction of its own: a rollback of the batch must not free the ids again.
                self.ids.fill(name, write(self.cursor, reserve(name, count, self.ids.give_up(name))), count)
            try:
                return write(self.cursor, plan(), self._flushed, self._around)
            except SerializationConflict:
                if attempt == TRIES:
                    raise Overloaded("too many concurrent writes to the same records; send this again in a moment") from None
        raise AssertionError("TRIES is above 0")

    def vacuum(self, most: int | None) -> Vacuumed:
        """Rewrite a file of up to `most` bytes, and empty the log, which still contains old pages; on a thread.

        `secure_delete` overwrites removed data, but not copies that remain in the unused part of a page when its rows are moved
        to another page. The result is `BLOCKED` when a reader uses the log, or when a limited vacuum has no room.
        """
        is_large = most is not None and self._connection.pragma("page_count") * self._connection.pragma("page_size") > most
        if not is_large:
            try:
                self.cursor.execute("VACUUM")
            except UNWRITABLE:
                if most is None:
                    raise
                return Vacuumed.BLOCKED
        if not self._log.empty():
            return Vacuumed.BLOCKED
        return Vacuumed.TOO_LARGE if is_large else Vacuumed.CLEAN

    def _schedule(self) -> None:
        """Process the queues in the next iteration of the event loop, after all that has arrived by now."""
        if not (self._scheduled or self._on_thread):
            self._scheduled = True
            self._loop.call_soon(self._process)

    def _process(self) -> None:
        self._scheduled = False
        try:
            self._process_next()
        except MemoryError:
            self._scheduled = True
            self._loop.call_later(MEMORY_RETRY_SECONDS, self._process)
        except Exception as error:  # outside of a command: the next batch would meet it too
            commands, waiters = self._waiting.take_all()
            waiters += [waiter for _, waiter, _ in self._jobs]
            self._jobs.clear()
            self._done(commands, waiters, batch_failed(error, len(waiters)))

    def _process_next(self) -> None:
        if self._log.state is CheckpointState.FINAL_DUE:
            self._send(self._final_checkpoint, [], [])
        elif self._jobs and (self._job_next or not self._waiting):
            self._job_next = False
            job, waiter, small = self._jobs.popleft()
            self._execute([], [waiter], lambda: [job(self)], lambda: [self._outcome(job)], lambda: small)
        elif self._waiting:
            self._job_next = True
            commands, waiters, size = self._waiting.take_batch()
            is_quick = partial(is_small, commands, size)
            self._execute(commands, waiters, lambda: self._write_batch(commands), lambda: self._outcomes(commands), is_quick)
        elif self._closing is not None and self._log.state is CheckpointState.IDLE:
            self._on_thread = True  # for good
            self._threads.submit(self._end, partial(self._ended, self._closing))

    def _execute(self, commands: Commands, waiters: Sequence[Waiter], once: Work, bisecting: Work, is_quick: Callable[[], bool]) -> None:
        """Run `once` in the event loop if that is quick, else `bisecting` on a thread."""
        try:
            outcomes = self._run_inline(once, len(waiters)) if is_quick() and self._flush < SLOW_FLUSH else None
        except Exception as error:
            outcomes = batch_failed(error, len(waiters))
        if outcomes is None:
            self._send(bisecting, commands, waiters)
        else:
            self._done(commands, waiters, outcomes)

    def _run_inline(self, work: Work, count: int) -> Sequence[object] | None:
        """Return the results of the work; None, with nothing written, when it has to run on a thread."""
        self._connection.set_busy_timeout(0)
        try:
            return work()
        except apsw.BusyError:
            return None  # another process is writing
        except UNWRITABLE as error:
            return [unavailable(error) for _ in range(count)]
        except Exception:
            return None  # the thread bisects it
        finally:
            self._connection.set_busy_timeout(BUSY_MS)

    def _send(self, work: Work, commands: Commands, waiters: Sequence[Waiter]) -> None:
        """Run work on a thread, which has the connection until then; the waiters are settled in the loop, also after an error."""
        self._on_thread = True

        def finished(outcomes: Sequence[object] | BaseException) -> None:
            self._on_thread = False
            self._done(commands, waiters, batch_failed(outcomes, len(waiters)) if isinstance(outcomes, BaseException) else outcomes)

        self._threads.submit(work, finished)

    def _done(self, commands: Commands, waiters: Sequence[Waiter], outcomes: Sequence[object]) -> None:
        """Settle the waiters, start a checkpoint if one is due, and continue with the queues."""
        try:
            settle(waiters, outcomes)
            release(self._quota, commands)
            if self._log.is_due():
                self._log.state = CheckpointState.RUNNING
                self._threads.submit(self._checkpoint, self._checkpointed)
        finally:
            if self._waiting or self._jobs or self._closing is not None:
                self._schedule()

    def _write_batch(self, commands: Commands) -> list[object]:
        return self.write(lambda: plan_of(commands, self.ids, self._cipher), lambda: needs_of(commands))

    def _outcomes(self, commands: Commands) -> list[object]:
        """Return one result or exception for each command; after an unexpected error the batch is bisected."""
        try:
            return self._write_batch(commands)
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
        self._flush += (seconds - self._flush) * FLUSH_WEIGHT

    def _checkpoint(self) -> None:
        """Checkpoint on a thread while the writing connection continues.

        Before a long log restarts, writers wait for the pages that are not copied. So pages written during this checkpoint
        are copied here too, at once, while they are few.
        """
        for copy in range(MAX_COPIES):
            self._log.checkpoint()
            self._log.flush_copied(gently=copy == 0)
            if self._log.pages < MAX_LOG_PAGES:
                break

    def _checkpointed(self, failed: BaseException | None) -> None:
        """Set the state after a checkpoint, also after a failed one, because `close` waits for it."""
        if failed is not None:
            LOG.error("a checkpoint failed; the write-ahead log is not removed for now", exc_info=failed)
        self._log.state = CheckpointState.FINAL_DUE if self._log.pages >= MAX_LOG_PAGES else CheckpointState.IDLE
        self._schedule()

    def _final_checkpoint(self) -> list[object]:
        """Checkpoint the last pages on a thread, while no write runs, so that the log restarts."""
        self._log.state = CheckpointState.IDLE  # also if it fails: commands must not wait for one that always fails
        self._log.checkpoint()
        return []

    def _end(self) -> None:
        try:
            for name in self.ids.names():
                write(self.cursor, reserve(name, 0, self.ids.give_up(name)))
        except (TouchbaseError, apsw.Error) as error:
            LOG.warning("ids that were reserved and not used are skipped: %s", error)
        self._log.checkpoint()
        self._log.close()
        self._connection.close()

    def _ended(self, closing: Waiter, failed: BaseException | None) -> None:
        if failed is not None:
            LOG.error("closing the store failed", exc_info=failed)
        self._threads.shutdown()
        settle([closing], [None])


def is_small(commands: Commands, size: int) -> bool:
    """Return whether a batch takes little more time than its flush: a few rows for each command, and no large bodies."""
    return size < MAX_INLINE_BYTES and all(map(_is_quick, commands))


_is_quick = attrgetter("operation.quick")
