"""The query for a page of records that match a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from touchbase.records.models import Company, Contact
from touchbase.search.sorting import Position, SortKey
from touchbase.search.tree import EVERY, Node
from touchbase.sql.operation import Query

R = TypeVar("R", Contact, Company)

EXACT = "exact"
ESTIMATED = "estimated"


@dataclass(frozen=True, slots=True)
class Count:
    """The number of records that match; an estimate above `ESTIMATE_FROM` unless it is exact."""

    value: int
    is_exact: bool


@dataclass(slots=True)
class Found(Generic[R]):
    """A page of records, and the position after which the next one begins; None if there is none."""

    records: list[R]
    next: Position | None = None
    count: Count | None = None
    is_complete: bool = True
    """False: a full-text search looked at indexed records only, as too many are not indexed yet."""


@dataclass(slots=True)
class SearchRecords(Query[Found[R]], Generic[R]):
    """Records of one client that match, in an order. `after` is the position of the last record of the page before."""

    client: int
    sort: tuple[SortKey, ...]
    limit: int
    where: Node = EVERY
    words: tuple[str, ...] = ()
    """Words of a full-text search, as `words.words_of` returns them: each must begin a word of the record."""
    after: Position | None = None
    count: str = ""
    """EXACT, ESTIMATED, or empty for none."""
    custom_fields: bool = True
    """Whether the records have their custom fields."""
    page_bytes: int = 0
    """Bytes of custom fields after which the page ends; 0: no limit."""


@dataclass(slots=True)
class SearchContacts(SearchRecords[Contact]):
    """Contacts that match."""


@dataclass(slots=True)
class SearchCompanies(SearchRecords[Company]):
    """Companies that match."""


@dataclass(slots=True)
class CountFound(Query[int]):
    """The exact number of records that a search finds; its position does not matter."""

    client: int
    search: SearchRecords[Any]
