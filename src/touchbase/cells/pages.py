"""Pages of lists that span cells: which row is of which cell, so that the next page goes on where this one ends in each of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from heapq import merge
from typing import Any, TypeVar

T = TypeVar("T")

Before = int | Mapping[int, int]
"""Where a list in the order of ids goes on: behind an id; over several cells behind one id in each."""


class CellPage(list[T]):
    """A page of a list over several cells. `ends` has, for each row, the last id shown of each cell up to it."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[dict[int, int]] = []


def merged(pages: Mapping[int, Sequence[T]], before: Before | None, newer: Callable[[T], Any], limit: int) -> CellPage[T]:
    """Merge pages of cells, each in its own order, by the values of `newer`, the greatest first; rows have an `id`."""
    page: CellPage[T] = CellPage()
    seen = dict(before) if isinstance(before, Mapping) else {}
    # A cell's rows stay in the order of its ids, though a row may have been stored a little later than one with a higher id.
    streams = [[(cell, row) for row in rows] for cell, rows in sorted(pages.items())]
    for cell, row in merge(*streams, key=lambda each: newer(each[1]), reverse=True):
        if len(page) == limit:
            break
        seen[cell] = row.id  # type: ignore[attr-defined]
        page.append(row)
        page.ends.append(dict(seen))
    return page


def end_of(found: Sequence[Any], index: int) -> Before:
    """Return where the list goes on behind the row at this index."""
    return found.ends[index] if isinstance(found, CellPage) else int(found[index].id)


def before_in(cell: int, before: Before | None) -> int | None:
    """Return where the list goes on in one cell; None: at its beginning."""
    return before.get(cell) if isinstance(before, Mapping) else before
