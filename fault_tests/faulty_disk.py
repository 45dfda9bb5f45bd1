"""A disk that keeps what was written in memory until it is flushed, and that can be told to fail.

Whoever kills the process cuts its power: what no flush has taken to the real file is gone, but for torn pieces of it that
a disk may have written earlier. A flush that fails loses what it should have flushed, as on Linux: it still can be read,
and no later flush takes it along.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import apsw

from fault_tests.shared_flag import FAIL_FLUSHES, FAIL_WRITES, SharedFlags

NAME = "crash-volatile"
SECTOR = 512
EARLY = 0.3
"""How many of the writes reach the disk, in part, before anybody asks for it."""
HELD = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class Cache:
    """One file as those who read it see it, and what of it no flush has taken to the disk."""

    def __init__(self, content: bytes) -> None:
        self.shown = bytearray(content)
        self.unflushed: list[tuple[int, bytes | None]] = []
        """Where each piece was written, in order; None where the file was cut."""
        self.lock = threading.RLock()

    def write(self, data: bytes, offset: int) -> None:
        """Put down a piece."""
        if offset > len(self.shown):
            self.shown.extend(bytes(offset - len(self.shown)))
        self.shown[offset : offset + len(data)] = data
        self.unflushed.append((offset, data))

    def cut(self, size: int) -> None:
        """Cut the file, or make it longer."""
        del self.shown[size:]
        self.shown.extend(bytes(size - len(self.shown)))
        self.unflushed.append((size, None))


class VolatileFile(apsw.VFSFile):
    """One open file; all that are open on the same path share its cache."""

    def __init__(self, disk: VolatileDisk, name: Any, flags: list[int]) -> None:
        super().__init__(disk.base, name, flags)
        self._fails = disk.fails
        self._cache = disk.cache_of(name if isinstance(name, str) else name.filename(), self._content)

    def xRead(self, amount: int, offset: int) -> bytes:
        with self._cache.lock:
            return bytes(self._cache.shown[offset : offset + amount])

    def xWrite(self, data: Any, offset: int) -> None:
        content = bytes(data)
        with self._cache.lock:
            if self._fails.on(FAIL_WRITES):
                self._cache.write(content[: len(content) // 2], offset)
                raise apsw.exception_for(apsw.SQLITE_IOERR_WRITE)
            self._cache.write(content, offset)
            if random.random() < EARLY:
                super().xWrite(content[: SECTOR * random.randint(1, 8)], offset)

    def xTruncate(self, newsize: int) -> None:
        with self._cache.lock:
            self._cache.cut(newsize)

    def xSync(self, flags: int) -> None:
        with self._cache.lock:
            unflushed, self._cache.unflushed = self._cache.unflushed, []
            if self._fails.on(FAIL_FLUSHES):
                raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)
            for offset, data in unflushed:
                if data is None:
                    super().xTruncate(offset)
                else:
                    super().xWrite(data, offset)
            super().xSync(flags)

    def xFileSize(self) -> int:
        with self._cache.lock:
            return len(self._cache.shown)

    def _content(self) -> bytes:
        size = super().xFileSize()
        return super().xRead(size, 0) if size else b""


class VolatileDisk(apsw.VFS):
    """What SQLite takes for the system's files from now on. Temporary files are left to the system."""

    def __init__(self, fails: SharedFlags) -> None:
        self.base = apsw.vfs_names()[0]
        self.fails = fails
        self._caches: dict[str, Cache] = {}
        self._lock = threading.Lock()
        super().__init__(NAME, self.base, makedefault=True)

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:
        if name is None or not flags[0] & HELD:
            return apsw.VFSFile(self.base, name, flags)
        return VolatileFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self._lock:
            self._caches.pop(filename, None)
        super().xDelete(filename, syncdir)

    def cache_of(self, path: str, content: Any) -> Cache:
        """The cache of the file at this path, read from the disk when it is the first time."""
        with self._lock:
            found = self._caches.get(path)
            if found is None:
                found = self._caches[path] = Cache(content())
            return found
