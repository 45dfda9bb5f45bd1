"""A simulated disk for SQLite: unflushed writes stay in memory, and writes and flushes can fail.

Killing the process is a power cut: unflushed writes are lost, except for torn parts that a disk may have written earlier.
A failed flush loses its writes, as on Linux: they can still be read, and no later flush writes them.
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
"""Part of the writes that reach the disk before a flush."""
HELD = apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_WAL | apsw.SQLITE_OPEN_MAIN_JOURNAL


class Cache:
    """Content of one file as readers see it, with its unflushed writes."""

    def __init__(self, content: bytes) -> None:
        self.shown = bytearray(content)
        self.unflushed: list[tuple[int, bytes | None]] = []
        """Offset of each unflushed write, in order; None for a truncation."""
        self.lock = threading.RLock()

    def write(self, data: bytes, offset: int) -> None:
        """Write at an offset."""
        if offset > len(self.shown):
            self.shown.extend(bytes(offset - len(self.shown)))
        self.shown[offset : offset + len(data)] = data
        self.unflushed.append((offset, data))

    def cut(self, size: int) -> None:
        """Truncate or extend the file."""
        del self.shown[size:]
        self.shown.extend(bytes(size - len(self.shown)))
        self.unflushed.append((size, None))


class VolatileFile(apsw.VFSFile):
    """One open file; open files of one path share a cache."""

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
    """The default VFS of SQLite while installed; temporary files still use the system's VFS."""

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
        """Get the cache of a path; the first call reads the file."""
        with self._lock:
            response = self._caches.get(path)
            if response is None:
                response = self._caches[path] = Cache(content())
            return response
