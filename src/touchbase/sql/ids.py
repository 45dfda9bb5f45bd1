"""Id blocks: ids come from memory, blocks of them from the store, so no id is ever given twice."""

from __future__ import annotations

from collections.abc import Mapping

from touchbase.sql.statement import SerializationConflict

BLOCK = 10_000


class Short(SerializationConflict):
    """A plan took more ids than it said it needs, because it could not know; it is run again with more of them."""


class Ids:
    """The ids reserved for this process. The engine fills it before a plan runs; plans `take`."""

    def __init__(self) -> None:
        self._ranges: dict[str, tuple[int, int]] = {}

    def missing(self, needs: Mapping[str, int]) -> dict[str, int]:
        """Which names have too few ids left for these needs, and how many to reserve for each."""
        short: dict[str, int] = {}
        for name, count in needs.items():
            start, end = self._ranges.get(name, (0, 0))
            if end - start < count:
                short[name] = max(BLOCK, count)
        return short

    def fill(self, name: str, first: int, count: int) -> None:
        """Use the block [first, first + count) from now on; what was left of the one before is given up."""
        self._ranges[name] = (first, first + count)

    def cut(self, needs: Mapping[str, int]) -> Ids:
        """A piece with exactly as many ids as needed, for one of several groups in flight."""
        piece = Ids()
        for name, count in needs.items():
            start, end = self._ranges.get(name, (0, 0))
            piece.fill(name, start, count)
            self._ranges[name] = (start + count, end)
        return piece

    def take(self, name: str) -> int:
        """The next id. The engine has made sure that there is one, as far as the plan could say how many it takes; else `Short`."""
        start, end = self._ranges[name]
        if start >= end:
            raise Short(f"no ids of {name} left: the plan took more than it said it needs")
        self._ranges[name] = (start + 1, end)
        return start
