"""A file that gets its name only when it is whole; until then it is a part beside it."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from secrets import token_hex

BESIDE = ("-wal", "-shm", "-journal")
"""How the files end that SQLite keeps beside a store."""
LEFT_BEHIND = 6 * 60 * 60
"""Seconds: a part that nobody wrote to for so long belongs to somebody who was killed."""


@contextmanager
def part_of(file: Path) -> Iterator[Path]:
    """A new empty file beside this one, which only its owner can read; gone afterwards unless it was renamed.

    Nobody else's part has its name, also when two are made for one file at once. Parts that were left behind are removed
    first: they are as large as what they were to be, and hold the same people.
    """
    _remove_left_behind(file)
    part = file.with_name(f"{file.name}.{token_hex(8)}.part")
    os.close(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        yield part
    finally:
        _remove(part)


def _remove_left_behind(file: Path) -> None:
    ours = re.compile(re.escape(file.name) + r"\.[0-9a-f]{16}\.part")
    with suppress(OSError):  # a folder that cannot be read is told of where the part is made
        for each in file.parent.iterdir():
            if ours.fullmatch(each.name) and time.time() - each.stat().st_mtime > LEFT_BEHIND:
                _remove(each)


def _remove(part: Path) -> None:
    for ending in ("", *BESIDE):
        with suppress(OSError):
            Path(f"{part}{ending}").unlink(missing_ok=True)
