"""Flags shared by a test and its server through a memory-mapped file."""

from __future__ import annotations

import mmap
from pathlib import Path

SIZE = 16
NUMBER = slice(8, 16)
FAIL_WRITES, FAIL_FLUSHES = 0, 1
"""Flags of the faulty disk: writes fail, flushes fail."""
CLOCK_STOPPED = 0
"""Flag of the clock: it stands at `number`; otherwise `number` is its offset in microseconds."""


class SharedFlags:
    """Up to eight flags and one integer."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        self.path = path
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), SIZE)

    def on(self, which: int) -> bool:
        """True if the flag is set."""
        return self._bytes[which] == 1

    def set(self, *which: int) -> None:
        """Set these flags and clear all others."""
        self._bytes[:8] = bytes(int(index in which) for index in range(8))

    @property
    def number(self) -> int:
        """The shared integer."""
        return int.from_bytes(self._bytes[NUMBER], "little", signed=True)

    @number.setter
    def number(self, value: int) -> None:
        self._bytes[NUMBER] = value.to_bytes(8, "little", signed=True)
