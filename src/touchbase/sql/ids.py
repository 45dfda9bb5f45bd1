"""Id blocks: a process reserves blocks of ids in the store and assigns ids from memory; no id is assigned twice.

What a block has left returns to the store with the next reservation and at a clean stop, if it is still the store's last block:
so ids have no gaps while one process writes. A process that is killed loses the rest of its blocks.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from touchbase.sql.statement import SerializationConflict

SMALLEST_BLOCK = 100
LARGEST_BLOCK = 1_000_000
SOON = 10.0
"""A block that is used up within this many seconds is followed by one ten times as large: each block is a transaction on a row that all
processes share."""
LASTS = 60.0
"""Seconds after which a block is used no longer, unless it is still the store's last one: lists are in the order of ids, and must not
mix new rows with rows that another process stored long before."""


class IdsExhausted(SerializationConflict):
    """A plan needed more ids than it had declared, which it could not know before; the transaction is run again with more."""


class Ids:
    """The ids reserved for this process. The engine calls `fill` before a plan runs, the plan calls `take`."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._ranges: dict[str, tuple[int, int]] = {}
        self._blocks: dict[str, tuple[int, float]] = {}
        self._seconds = seconds

    def missing(self, needs: Mapping[str, int]) -> dict[str, int]:
        """Return the names with too few ids left for these needs, and how many to reserve for each."""
        short: dict[str, int] = {}
        for name, count in needs.items():
            start, end = self._ranges.get(name, (0, 0))
            size, since = self._blocks.get(name, (0, 0.0))
            if end - start < count or self._seconds() - since > LASTS:
                size = 10 * size if size and self._seconds() - since <= SOON else SMALLEST_BLOCK
                short[name] = max(min(max(size, SMALLEST_BLOCK), LARGEST_BLOCK), count)
        return short

    def names(self) -> list[str]:
        """Return the names with a block."""
        return list(self._ranges)

    def give_up(self, name: str) -> tuple[int, int]:
        """Remove the rest of a block, `(first, end)`, so that the store can have it back; `(0, 0)` without a block.

        It is removed before the store hears of it: a reservation may be committed although its response is lost.
        """
        return self._ranges.pop(name, (0, 0))

    def fill(self, name: str, first: int, count: int) -> None:
        """Use the block [first, first + count) from now on."""
        self._ranges[name] = (first, first + count)
        self._blocks[name] = count, self._seconds()

    def cut(self, needs: Mapping[str, int]) -> Ids:
        """Split off exactly as many ids as needed, for one of several concurrent batches."""
        piece = Ids()
        for name, count in needs.items():
            start, end = self._ranges.get(name, (0, 0))
            piece._ranges[name] = start, start + count
            self._ranges[name] = (start + count, end)
        return piece

    def unused(self) -> dict[str, tuple[int, int]]:
        """Return the rest of each block, `(first, end)`, for `take_back`."""
        return {**self._ranges}

    def take_back(self, unused: Mapping[str, tuple[int, int]]) -> None:
        """Assign the ids again that were taken since `unused`, by a transaction that was rolled back; no block was reserved since."""
        self._ranges.update(unused)

    def take(self, name: str) -> int:
        """Return the next id. Raises `IdsExhausted` if the plan needs more than it had declared."""
        start, end = self._ranges[name]
        if start >= end:
            raise IdsExhausted(f"no ids of {name} left: the plan took more than it had declared")
        self._ranges[name] = (start + 1, end)
        return start

    def take_several(self, name: str, count: int) -> range:
        """Return the next ids. Raises `IdsExhausted` if the plan needs more than it had declared."""
        start, end = self._ranges[name]
        if end - start < count:
            raise IdsExhausted(f"no {count} ids of {name} left: the plan took more than it had declared")
        self._ranges[name] = (start + count, end)
        return range(start, start + count)
