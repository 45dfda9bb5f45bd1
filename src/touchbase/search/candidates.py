"""Candidates of a search: the ids of records that may match, found by an index, as long as they are few."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from touchbase.search.sorting import SortKey
from touchbase.search.sql import Dialect
from touchbase.search.tree import Node
from touchbase.sql.statement import Plan, Row

FEW = 2_000
"""Candidates that are read and sorted. With more, records are read in the order of the page."""


@dataclass(slots=True)
class Candidates:
    """Finds the candidates of one search."""

    client: int
    kind: int

    def of_search(self, where: Node, words: Collection[str]) -> Plan[Collection[int] | None]:
        """Return the ids of all records that may match; None if no index finds few of them."""
        return None
        yield

    def exact(self, sort: Sequence[SortKey]) -> Iterator[tuple[str, Row]]:
        """Yield conditions that let an index with the order of the page read matching records only."""
        yield from ()

    def words_hold(self, words: Collection[str], d: Dialect, params: list[object]) -> str:
        """Return the condition that a record has these words, and append its parameters."""
        return "TRUE"
