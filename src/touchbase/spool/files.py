"""Append-only files of records, flushed before an append returns. A record that was not written whole is not there.

A file belongs to the process that has locked it; the files of a process that has ended are taken over by any other.
"""

from __future__ import annotations

import fcntl
import logging
import os
import struct
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from stat import S_ISREG
from zlib import crc32

from touchbase.common.seldom import Seldom

LOG = logging.getLogger("touchbase.spool")
ENDING = ".spool"
DAMAGED = ".damaged"
MAX_FILE_BYTES = 64 * 1024 * 1024
"""A file that is larger gets a successor, so that read files can be removed early."""
SIZE_SECONDS = 1.0
"""How long a count of the bytes in the folder is used."""
HEAD = struct.Struct("<II")
"""Before each record: its length, and its CRC-32."""


class SpoolFiles:
    """The spool files in one folder. Its methods block; one thread at a time may append."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder = folder
        self._most_bytes = most_bytes
        self._open: tuple[Path, int] | None = None
        """The file that this process appends to, and its descriptor."""
        self._size = (0, -SIZE_SECONDS)
        """The bytes in the folder, and when they were counted."""
        self._seldom = Seldom()
        self._shares: dict[str, int] = {}
        """Bytes of each owner that this process has appended and that are not read yet."""

    def append_shared(self, records: Sequence[tuple[str, bytes]]) -> list[bool]:
        """Append the records that their owners have room for, and return which; raises as `append`.

        An owner may have as many bytes as are free before each record: alone half of the folder, two of them a third each. Records
        without an owner may fill the folder.
        """
        self._count(0)
        size, shares = self._size[0], dict(self._shares)
        admitted = []
        for owner, record in records:
            more = HEAD.size + len(record)
            fits = (shares.get(owner, 0) if owner else 0) + more <= self._most_bytes - size
            if fits:
                size += more
                shares[owner] = shares.get(owner, 0) + more
            admitted.append(fits)
        if any(admitted):
            self.append([record for (_, record), fits in zip(records, admitted, strict=True) if fits])
            self._shares = shares
        return admitted

    def append(self, records: Sequence[bytes]) -> None:
        """Append records; return when they are on disk. Raises `OSError`, also for a full folder: then none of them is there."""
        data = b"".join(HEAD.pack(len(record), crc32(record)) + record for record in records)
        self._count(len(data))
        if self._size[0] > self._most_bytes:
            raise OSError(f"the spool would exceed its limit of {self._most_bytes} bytes")
        path, descriptor = self._file()
        before = os.fstat(descriptor).st_size
        try:
            written = 0
            while written < len(data):
                written += os.write(descriptor, data[written:])
            os.fdatasync(descriptor)
        except OSError:
            with suppress(OSError):
                os.ftruncate(descriptor, before)
            self.close()  # a part may have stayed: later records go to another file
            if not before:  # on a full disk there would be one for each refusal
                with suppress(OSError):
                    path.unlink()
            raise
        if before + len(data) > MAX_FILE_BYTES:
            self.close()

    def _file(self) -> tuple[Path, int]:
        if self._open is None:
            if not self._folder.is_dir():
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                _flush(self._folder.parent)
            path = self._folder / f"{time.time_ns():020d}-{token_hex(8)}{ENDING}"
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _flush(self._folder)
            self._open = path, descriptor
        return self._open

    def close(self) -> None:
        """Stop appending to this file; it can be taken from now on."""
        if self._open is not None:
            os.close(self._open[1])
            self._open = None

    def _count(self, more: int) -> None:
        """Add to the number of bytes in the folder; count all once in a while, because other processes write and remove files."""
        size, at = self._size
        if time.monotonic() - at > SIZE_SECONDS:
            size, at = 0, time.monotonic()
            for path in self.paths():
                with suppress(FileNotFoundError):
                    size += path.stat().st_size
            if size < sum(self._shares.values()):
                self._shares.clear()  # a part was read: what is free now is shared anew
        self._size = size + more, at

    def paths(self) -> list[Path]:
        """Return the files, the oldest first: their names begin with their time."""
        with suppress(FileNotFoundError):
            return sorted(path for path in self._folder.iterdir() if path.name.endswith(ENDING))
        return []

    def remove_before(self, at: float) -> list[Path]:
        """Remove the files, also damaged ones, that nobody has open and whose last change is before a time; return them. It blocks."""
        removed = []
        for path in [*self.paths(), *self._folder.glob(f"*{DAMAGED}")]:
            if path.stat().st_mtime >= at:
                continue
            if self._open is not None and path == self._open[0]:
                self.close()
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
                removed.append(path)
            os.close(descriptor)
        return removed

    def take(self) -> TakenFile | None:
        """Return the oldest file that no other process has, for reading; None if there is none."""
        for path in self.paths():
            if self._open is not None and path == self._open[0]:
                self.close()
            try:
                descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK)
            except FileNotFoundError:
                continue
            except OSError as error:  # of another user, or no file: it must not hold up the others
                if self._seldom.is_due(str(path)):
                    LOG.error("%s in the spool cannot be read, and its webhooks wait: %s", path, error)
                continue
            try:
                if not S_ISREG(os.fstat(descriptor).st_mode):
                    raise OSError("no regular file")
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                os.close(descriptor)
                continue
            if not path.exists():  # another process has read and removed it
                os.close(descriptor)
                continue
            return TakenFile(path, descriptor)
        return None


class TakenFile:
    """A file that is being read; nothing is appended to it any more."""

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.is_damaged = False
        """Whether `records` has left something out."""
        self._descriptor = descriptor

    def records(self) -> Iterator[bytes]:
        """Yield the whole records, in order. A broken one with a whole one behind it is left out; any other ends the file.

        Sets `is_damaged`, also after a write that did not end, whose records nobody acknowledged. Zeros at the end of a file are no damage:
        file systems leave them after a loss of power.
        """
        size, place = os.fstat(self._descriptor).st_size, 0
        while place < size:
            record, end = self._read(place, size)
            if record is not None:
                yield record
            elif end < size and self._read(end, size)[0] is not None:
                self.is_damaged = True
            else:
                self.is_damaged = self.is_damaged or any(os.pread(self._descriptor, MAX_FILE_BYTES, place))
                return
            place = end

    def _read(self, place: int, size: int) -> tuple[bytes | None, int]:
        """Return the record at a place, None if it is broken, and where the next one begins: at the end if that is unknown."""
        head = os.pread(self._descriptor, HEAD.size, place)
        length, checksum = HEAD.unpack(head) if len(head) == HEAD.size else (0, 0)
        end = place + HEAD.size + length
        if not length or end > size:
            return None, size
        record = os.pread(self._descriptor, length, place + HEAD.size)
        return record if crc32(record) == checksum else None, end

    def remove(self) -> None:
        """Remove the file, all of whose records are stored."""
        self.path.unlink(missing_ok=True)

    def set_aside(self, folder: Path) -> Path:
        """Move a damaged file for a person to look at; return its new place."""
        folder.mkdir(mode=0o700, exist_ok=True)
        place = folder / f"{self.path.name}{DAMAGED}"
        self.path.rename(place)
        return place

    def release(self) -> None:
        """Release the file for another process or a later attempt."""
        os.close(self._descriptor)


def _flush(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
