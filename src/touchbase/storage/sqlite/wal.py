"""The write-ahead log: when and by whom it is folded into the file.

A connection of its own copies it on a thread while the connection that writes goes on, so that hardly any answer waits for it.
What is written meanwhile stays behind; only when the log has become long all the same do writers wait until the rest is
copied too and it begins anew.

SQLite flushes the file only when all of the log is copied, which is when writers wait: 16 to 22 ms for what had been copied in many
goes. So each copy that they do not wait for is flushed at once, little by little (`write_out.py`), and 1 to 5 ms are left.
"""

from __future__ import annotations

import fcntl
import logging
import os
from contextlib import suppress
from enum import Enum
from pathlib import Path

import apsw

from touchbase.storage.sqlite.connection import BUSY_MS
from touchbase.storage.sqlite.writeback import write_out

LOG = logging.getLogger("touchbase.storage")

PAGES_BETWEEN_CHECKPOINTS = 2_000
"""Pages: to copy them takes the disk and a processor for some thousandths of a second, the second time the same pages for nothing."""
LONGEST_LOG = 8_000
"""Pages: from here on writers wait until the log begins anew."""
SHORT_WAIT_MS = 100
"""How long emptying the log waits for readers: writers wait meanwhile."""


class Behind(Enum):
    """How far the log is behind the file: not so that it matters, being copied now, or copied but for the last pages."""

    NO = 0
    COPYING = 1
    NEARLY = 2


class WriteAheadLog:
    """The log beside one file."""

    def __init__(self, connection: apsw.Connection, copying: apsw.Connection) -> None:
        self.behind = Behind.NO
        self._connection = connection
        self._copying = copying
        self.pages = 0
        self._reading: int | None = None
        self._due = PAGES_BETWEEN_CHECKPOINTS
        connection.set_wal_hook(self._committed)

    def is_long(self) -> bool:
        """Whether enough was written since the last time, and nobody folds it."""
        return self.pages >= self._due and self.behind is Behind.NO

    def fold(self) -> None:
        """Copy the log into the file as far as readers allow."""
        self._due = self.pages + PAGES_BETWEEN_CHECKPOINTS
        try:
            self._copying.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
        except apsw.Error as error:
            LOG.warning("the log stays beside the store for now: %s", error)

    def flush_copied(self, *, gently: bool) -> None:
        """Let what was copied so far reach the disk, while writers go on; `gently` where it may take its time for their sake."""
        if self._reading is None:
            self._reading = reading_descriptor(Path(self._copying.filename))
        if self._reading is not None:
            try:
                if gently:
                    write_out(self._reading)
                os.fsync(self._reading)
            except OSError:  # SQLite will be told too, and keeps the log
                self._reading = None

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

    def close(self) -> None:
        """Let go of the file."""
        self._copying.close()

    def _committed(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        if pages < self.pages:  # folded whole, so SQLite began it anew
            self._due = PAGES_BETWEEN_CHECKPOINTS
        self.pages = pages
        return apsw.SQLITE_OK


def reading_descriptor(file: Path) -> int | None:
    """A descriptor of this file that a reader of this process holds; None where the system does not say.

    Not one that SQLite flushes: an error of the disk is told once at each descriptor, and it must be told to SQLite. Nor one of
    our own: to close it would take away the locks that SQLite has on the file.
    """
    with suppress(OSError):
        for link in Path("/proc/self/fd").iterdir():
            with suppress(OSError):
                number = int(link.name)
                if os.path.samestat(os.fstat(number), file.stat()) and fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
                    return number
    return None
