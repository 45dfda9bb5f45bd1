"""Journal of an import: a folder with one line for each finished page, from which an import that was stopped continues.

A page is written to the store first, then to the journal. After a kill between the two it is imported again, and nothing changes
but its counts. The folder contains personal data: only its owner can read it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from touchbase.errors import TouchbaseError
from touchbase.revyops_import.models import Entry

FILE = "journal.ndjson"
_encode = msgspec.json.Encoder().encode
_entry = msgspec.json.Decoder(Entry).decode


class UnusableFolder(TouchbaseError):
    """The folder of the journal is in use, damaged, or of another import."""


class Head(msgspec.Struct, omit_defaults=True):
    """The first line: what is imported, so that another import does not continue in the same folder."""

    base_url: str
    database: str
    options: dict[str, Any] = {}
    is_ended: bool = False
    """In the last line: the import has come to its end."""


class Journal:
    """The journal in a folder, which belongs to one process until `close`."""

    def __init__(self, folder: Path, head: Head, *, dry_run: bool = False) -> None:
        self.folder = folder
        self._path = folder / (f"dry-run-{FILE}" if dry_run else FILE)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._file = os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.close()
            raise UnusableFolder(f"another import uses the folder {folder}: let it end, or give another one as --work-folder") from None
        try:
            self.continues = self._begin(head, dry_run)
        except BaseException:
            self._file.close()
            raise

    def _begin(self, head: Head, dry_run: bool) -> bool:
        """Return whether an import continues; else make the journal that of a new one."""
        size, first, last = 0, b"", b""
        for line in self._file:
            if line.endswith(b"\n"):  # else it was cut when the process ended
                size += len(line)
                first, last = first or line, line
        known = self._read_head(first) if first else None
        is_over = known is None or dry_run or (self._read_head(last) is not None and last != first)
        if is_over:
            size = 0
        elif known is not None and known != head:
            raise UnusableFolder(
                f"the folder {self.folder} has an unfinished import of {known.base_url} into {known.database} with other options: "
                "repeat that command to finish it, or give another --work-folder"
            )
        self._file.seek(size)
        self._file.truncate()
        if is_over:
            self._write(head)
        return not is_over

    @staticmethod
    def _read_head(line: bytes) -> Head | None:
        try:
            return msgspec.json.decode(line, type=Head)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return None

    def entries(self) -> Iterator[Entry]:
        """Yield the finished pages, in their order."""
        self._file.seek(0)
        for number, line in enumerate(self._file, 1):
            if number == 1 or self._read_head(line) is not None:
                continue
            try:
                yield _entry(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                raise UnusableFolder(f"{self._path} is damaged in line {number}: remove it, and the import begins again") from None

    def append(self, entry: Entry) -> None:
        """Add a finished page."""
        self._write(entry)

    def end(self, head: Head) -> None:
        """Mark the import as ended, so that the next one in this folder begins at the first page."""
        head.is_ended = True
        self._write(head)

    def close(self) -> None:
        """Let other processes use the folder."""
        self._file.close()

    def _write(self, line: Head | Entry) -> None:
        self._file.seek(0, os.SEEK_END)
        self._file.write(_encode(line) + b"\n")
        self._file.flush()
