"""Bytes of a page: an engine reads rows in portions, and stops when the page has as many bytes as it may have.

Else two hundred records of a few hundred kilobytes would be read for a response that ends after eight megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, TypeVar

T = TypeVar("T")
FIRST_ROWS = 16
"""Rows of the first portion of a statement: as much as it may have before anything is known of the sizes."""
MOST_ROWS = 1_000
_ROW_BYTES = 64


class Cut(list[T]):
    """Rows of a list that go on behind the last one: the bytes of the page were spent."""


@dataclass(slots=True)
class ByteBudget:
    """Bytes that a page may still read. An engine calls `spend` after each portion of rows."""

    left: int
    columns: Sequence[int]
    """Positions of the texts that can be long."""
    rows: int = FIRST_ROWS
    """Rows of the next portion."""
    is_spent: bool = False
    """Whether reading has stopped before the last row."""

    def spend(self, rows: Sequence[Sequence[Any]]) -> int:
        """Count rows that were read; return how many may be read next, 0 for none."""
        size = _ROW_BYTES * len(rows)
        for column in self.columns:
            size += sum(map(len, filter(None, map(itemgetter(column), rows))))
        self.left -= size
        if self.left <= 0:
            self.is_spent = True
            return 0
        self.rows = max(1, min(MOST_ROWS, self.left * len(rows) // size)) if rows else self.rows
        return self.rows


def newest_of(lists: Collection[list[T]], place_of: Callable[[T], tuple[int, ...]], limit: int) -> list[T]:
    """Return the newest rows of all lists; none older than the end of a `Cut`, behind which there may be newer ones."""
    cuts = [rows for rows in lists if isinstance(rows, Cut)]
    end = max((place_of(rows[-1]) for rows in cuts), default=())
    newest = sorted((row for row in chain.from_iterable(lists) if place_of(row) >= end), key=place_of, reverse=True)[:limit]
    return Cut(newest) if cuts else newest


def page_of(rows: Sequence[T], limit: int) -> tuple[Sequence[T], bool]:
    """Return the first `limit` of these rows, and whether there are more."""
    return rows[:limit], len(rows) > limit or isinstance(rows, Cut)
