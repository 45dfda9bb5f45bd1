"""The write-ahead log: when it is checkpointed into the file, and by which connection.

A separate connection checkpoints on a thread while the writing connection continues, so that hardly any response waits
for it. Pages written during the checkpoint remain in the log; only when the log has become long do writers wait until
the rest is copied too, and SQLite restarts the log.

SQLite flushes the file only when the whole log is copied, while writers wait: 16 to 22 ms after several partial
checkpoints. So each partial checkpoint is flushed at once, and 1 to 5 ms remain.

A flush of some hundred pages occupies the disk until all are written: commits that flush the log at the same time waited
3 to 5 ms. So `start_writeback` first tells Linux to write the file part by part; commits proceed between two parts.
"""

from __future__ import annotations

import ctypes
import fcntl
import logging
import os
import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from pathlib import Path

import apsw

from touchbase.storage.sqlite.connection import BUSY_MS

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
