"""Switches between the test and the server that it tests: a few bytes in a file that both have mapped, seen at once."""

from __future__ import annotations

import mmap
from pathlib import Path

SIZE = 16
NUMBER = slice(8, 16)
FAIL_WRITES, FAIL_FLUSHES = 0, 1
"""The switches of a disk: whether writes fail, and whether flushes do."""
CLOCK_STOPPED = 0
"""The switch of a clock: whether it stands still at the number, instead of being so many microseconds off."""


class SharedFlags:
    """Up to eight switches, and one number."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            path.write_bytes(bytes(SIZE))
        self.path = path
        with path.open("r+b") as file:
            self._bytes = mmap.mmap(file.fileno(), SIZE)

    def on(self, which: int) -> bool:
        """Whether this switch is on."""
        return self._bytes[which] == 1

    def set(self, *which: int) -> None:
        """Turn these on and all others off."""
        self._bytes[:8] = bytes(int(each in which) for each in range(8))

    @property
    def number(self) -> int:
        """The number."""
        return int.from_bytes(self._bytes[NUMBER], "little", signed=True)

    @number.setter
    def number(self, value: int) -> None:
        self._bytes[NUMBER] = value.to_bytes(8, "little", signed=True)
