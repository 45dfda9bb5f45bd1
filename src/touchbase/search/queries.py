"""Searches of records, and their pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.search.sorting import Position, SortKey
from touchbase.search.tree import EVERY, Node

R = TypeVar("R", Contact, Company)

EXACT = "exact"
ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Count:
    """The number of records that match; an estimate above `ESTIMATE_FROM` unless it is exact."""

    value: int
    is_exact: bool


@dataclass(slots=True)
class SearchPage(Generic[R]):
    """A page of records, and the position after which the next one begins; None if there is none.

    The records are in the order of the search; `next` of a page that was read backward is before its first record.
    """

    records: list[R]
    next: Position | None = None
    rank: int | None = None
    """Records before the first one; None if the search does not name the place of its page."""
    counts: tuple[int, ...] | None = None
    """Records that match, in each part of the order, if `share` was searched for."""
    count: Count | None = None
    is_complete: bool = True
    """False: a full-text search looked at indexed records only, as too many are not indexed yet."""


@dataclass(slots=True)
class RecordSearch(Generic[R]):
    """Records of one client that match, in an order. `after` is the position of the last record of the page before."""

    kind: RecordType[R]
    client: int
    sort: tuple[SortKey, ...]
    limit: int
    where: Node = EVERY
    words: tuple[str, ...] = ()
    """Words of a full-text search, as `words.words_of` returns them: each must begin a word of the record."""
    after: Position | None = None
    backward: bool = False
    """Whether the page ends before `after`, and begins as many records earlier."""
    rank: int | None = None
    """Rank of the record at `after`; None if it is not known."""
    share: float | None = None
    """Where the page begins, from 0, the first record, to 1, the last page; in place of `after`."""
    counts: tuple[int, ...] = ()
    """Records that match, in each part of the order, if `share` is searched for and they were counted a short while ago."""
    count: str = ""
    """EXACT, ESTIMATED, or empty for none."""
    custom_fields: bool = True
    """Whether the records have their custom fields."""
    page_bytes: int = 0
    """Bytes of custom fields after which the page ends; 0: no limit."""
