"""Atomic file: a file gets its name only when it is complete; until then it is a part in the same folder."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

SQLITE_SUFFIXES = ("-wal", "-shm", "-journal")
"""Suffixes of the files that SQLite creates next to a store."""
ABANDONED_AFTER = 6 * 60 * 60
"""Seconds without a write after which a part belongs to a process that was killed."""


@contextmanager
def part_of(file: Path) -> Iterator[Path]:
    """Create an empty file in the same folder, readable by its owner only; remove it afterwards unless it was renamed.

    Its name is unique, also among concurrent parts of one file. Abandoned parts are removed first: they are as large as
    the file, and contain the same personal data.
    """
    _remove_abandoned(file)
    part = file.with_name(f"{file.name}.{token_hex(8)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
    finally:
        _remove(part)


def _remove_abandoned(file: Path) -> None:
    parts = re.compile(re.escape(file.name) + r"\.[0-9a-f]{16}\.part")
    with suppress(OSError):  # creating the part reports a folder that cannot be read
        for entry in file.parent.iterdir():
            if parts.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > ABANDONED_AFTER:
                _remove(entry)


def _remove(part: Path) -> None:
    for ending in ("", *SQLITE_SUFFIXES):
        with suppress(OSError):
            Path(f"{part}{ending}").unlink(missing_ok=True)
