"""The one connection that writes: commands that arrive while it is busy share its next transaction.

A batch of commands runs in the event loop while flushes take less time than a thread switch: no other request could be
answered much sooner, and no thread competes for the interpreter. Where flushes are slow, the batch is large, or another
process is writing, the batch runs on a thread. A batch that turns out to be long, because it concerns a record with a long history, is
rolled back and starts again on a thread. *Jobs*, such as inbox batches and migrations, also run on a thread: each
has the connection to itself, and jobs alternate with batches, so that neither can starve the other.

The write-ahead log: when it is checkpointed into the file, and by which connection.

A separate connection checkpoints on a thread while the writing connection continues, so that hardly any response waits
for it. Pages written during the checkpoint remain in the log; only when the log has become long do writers wait until
the rest is copied too, and SQLite restarts the log.

SQLite flushes the file only when the whole log is copied, while writers wait: 16 to 22 ms after several partial
checkpoints. So each partial checkpoint is flushed at once, and 1 to 5 ms remain.

A flush of some hundred pages occupies the disk until all are written: commits that flush the log at the same time waited
3 to 5 ms. So `start_writeback` first tells Linux to write the file part by part; commits proceed between two parts.
"""

from __future__ import annotations

import asyncio
import ctypes
import fcntl
import logging
import os
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from enum import Enum
from functools import partial
from operator import attrgetter
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import apsw

from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairQuota
from touchbase.errors import StoreBusy, TouchbaseError
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, Commands, needs_of, plan_of, weight_of
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
from touchbase.storage.sqlite.connection import BUSY_MS, INTERRUPTED, UNWRITABLE, batch_failed, unavailable, write
from touchbase.storage.sqlite.threads import LoopThreads

LOG = logging.getLogger("touchbase.storage")

PAGES_BETWEEN_CHECKPOINTS = 2_000
"""Pages: a checkpoint of them takes some milliseconds of the disk and a processor; copying a page twice is wasted."""
MAX_LOG_PAGES = 8_000
"""Pages: from this length on writers wait until the log restarts."""
SHORT_WAIT_MS = 100
"""How long emptying the log waits for readers, while writers wait."""
PARTS = 24
"""Parts that a writeback divides the file into."""
SMALLEST_PART = 64 * 1024
PAUSE = 0.001
"""Seconds between two parts: a few commits."""
_SYNC_FILE_RANGE_WRITE = 2
"""Start writing, and do not wait."""

Begin = Callable[[int, int, int, int], int]


class CheckpointState(Enum):
    """The state of the checkpoint: none needed, running, or complete but for the last pages of a long log."""

    IDLE = 0
    RUNNING = 1
    FINAL_DUE = 2


class WriteAheadLog:
    """The log of one file."""

    def __init__(self, connection: apsw.Connection, copying: apsw.Connection) -> None:
        self.state = CheckpointState.IDLE
        self._connection = connection
        self._copying = copying
        self.pages = 0
        self._descriptor: int | None = None
        self._due = PAGES_BETWEEN_CHECKPOINTS
        connection.set_wal_hook(self._committed)

    def is_due(self) -> bool:
        """Return whether a checkpoint is due and none is running."""
        return self.pages >= self._due and self.state is CheckpointState.IDLE

    def checkpoint(self) -> None:
        """Copy the log into the file as far as readers allow."""
        self._due = self.pages + PAGES_BETWEEN_CHECKPOINTS
        try:
            self._copying.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except (apsw.BusyError, apsw.LockedError):  # another one checkpoints it now, which is as good
            LOG.debug("the write-ahead log is checkpointed by another process or connection")
        except apsw.Error as error:
            LOG.warning("the store's -wal file grows until the disk can be written again; nothing is lost: %s", error)

    def flush_copied(self, *, gently: bool) -> None:
        """Flush the copied pages to disk while writers continue; with `gently` slowly, so that they are not delayed."""
        if self._descriptor is None:
            self._descriptor = find_reader_descriptor(Path(self._copying.filename))
        if self._descriptor is not None:
            try:
                if gently:
                    start_writeback(self._descriptor)
                os.fsync(self._descriptor)
            except OSError:  # SQLite gets the error too, and does not drop the log
                self._descriptor = None

    def empty(self) -> bool:
        """Copy the log into the file and truncate it; return False when a reader needs it."""
        self._connection.set_busy_timeout(SHORT_WAIT_MS)
        try:
            self._connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        except apsw.BusyError:
            return False
        finally:
            self._connection.set_busy_timeout(BUSY_MS)
        return True

    def close(self) -> None:
        """Close the connection that checkpoints."""
        self._copying.close()

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self.pages:  # the log was checkpointed whole, so SQLite has restarted it
            self._due = PAGES_BETWEEN_CHECKPOINTS
        self.pages = pages
        return apsw.SQLITE_OK


def find_reader_descriptor(file: Path) -> int | None:
    """Return the descriptor that a reading connection of this process has on the file; None where the system does not list it.

    It is not a descriptor that SQLite flushes: a disk error is reported once per descriptor, and SQLite must get it. Nor
    is it a new one: closing that would remove SQLite's locks on the file.
    """
    with suppress(OSError):
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                number = int(link.name)
                if os.path.samestat(os.fstat(number), file.stat()) and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                    return number
    return None


def _sync_file_range() -> Begin | None:
    with suppress(OSError, TypeError, AttributeError):  # only Linux has it
        begin = ctypes.CDLL(None).sync_file_range
        begin.argtypes = [ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_uint]
        return begin
    return None


_begin = _sync_file_range()


def start_writeback(descriptor: int) -> None:
    """Start writing a file's dirty pages to disk, part by part; it takes about 30 ms.

    It guarantees nothing: only a flush does, and reports errors. Raises `OSError` for an invalid descriptor.
    """
    if _begin is None:
        return
    size = os.fstat(descriptor).st_size
    part = max(SMALLEST_PART, -(-size // PARTS))
    for start in range(0, size, part):
        _begin(descriptor, start, part, _SYNC_FILE_RANGE_WRITE)
        time.sleep(PAUSE)


T = TypeVar("T")
Job = Callable[["SqliteWriter"], object]
Work = Callable[[], Sequence[object]]

LOG = logging.getLogger("touchbase.storage")

TRIES = 5
SLOW_FLUSH = 0.002
"""Seconds: while flushes take longer, batches run on a thread."""
MAX_INLINE_BYTES = 256 * 1024
"""Bytes of webhook bodies; a batch with more runs on a thread."""
MAX_INLINE_SECONDS = 0.02
MAX_INLINE_ROWS = 1_000
"""Seconds of a batch in the event loop and rows of one statement; a batch with more starts again on a thread."""
STEPS_PER_CHECK = 10_000
"""Steps of SQLite's virtual machine between two checks of the time: some tenths of a millisecond."""
THREAD_SECONDS = 1.0
"""How long further batches run on a thread after one that was too long: they often concern the same records."""
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
        self._inline_until: float | None = None
        """When the batch that runs in the event loop has to end; None on a thread."""
        self._inline_from = 0.0
        """When batches may run in the event loop again."""
        connection.set_progress_handler(self._is_too_long, STEPS_PER_CHECK)
        self._log = WriteAheadLog(connection, copying)

    @property
    def depth(self) -> int:
        """Number of commands and jobs that wait for a transaction."""
        return len(self._waiting) + len(self._jobs)

    def submit(self, command: Command[Any]) -> Waiter:
        """Queue a command for the next batch. Raises `StoreBusy` when the queue is full, or the client's share of it."""
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
        """Run a plan in one transaction; retry it after a conflict with another write."""
        for attempt in range(1, TRIES + 1):
            for name, count in self.ids.missing(needs()).items():
                # In a transaction of its own: a rollback of the batch must not free the ids again.
                self.ids.fill(name, write(self.cursor, reserve(name, count, self.ids.give_up(name))), count)
            unused = self.ids.unused()
            try:
                most_rows = None if self._inline_until is None else MAX_INLINE_ROWS
                return write(self.cursor, plan(), self._flushed, self._around, most_rows)
            except INTERRUPTED:
                self.ids.take_back(unused)  # nothing of it is stored: the ids of a record do not depend on the machine's load
                raise
            except SerializationConflict:
                if attempt == TRIES:
                    raise StoreBusy("too many concurrent writes to the same records; send this again in a moment") from None
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
            is_inline = is_quick() and self._flush < SLOW_FLUSH and perf_counter() >= self._inline_from
            outcomes = self._run_inline(once, len(waiters)) if is_inline else None
        except Exception as error:
            outcomes = batch_failed(error, len(waiters))
        if outcomes is None:
            self._send(bisecting, commands, waiters)
        else:
            self._done(commands, waiters, outcomes)

    def _run_inline(self, work: Work, count: int) -> Sequence[object] | None:
        """Return the results of the work; None, with nothing written, when it has to run on a thread."""
        self._connection.set_busy_timeout(0)
        self._inline_until = perf_counter() + MAX_INLINE_SECONDS
        try:
            return work()
        except apsw.BusyError:
            return None  # another process is writing
        except INTERRUPTED:
            self._inline_from = perf_counter() + THREAD_SECONDS
            return None
        except UNWRITABLE as error:
            return [unavailable(error) for _ in range(count)]
        except Exception:
            return None  # the thread bisects it
        finally:
            self._inline_until = None
            self._connection.set_busy_timeout(BUSY_MS)

    def _is_too_long(self) -> bool:
        """Return whether SQLite has to interrupt the present statement, because the batch runs in the event loop for too long."""
        return self._inline_until is not None and perf_counter() > self._inline_until

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
