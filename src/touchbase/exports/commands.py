"""Queries of exports: pages of records, already encoded, and the names of custom fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.records.commands import ListCompanies, ListContacts
from touchbase.sql.operation import Query


@dataclass(slots=True)
class EncodedPage:
    """Records of a page as they are sent."""

    body: bytes
    rows: int
    after: tuple[Micros, int] | None
    """Where the next page begins; None: there is none."""


@dataclass(slots=True)
class ExportRecords(Query[EncodedPage]):
    """A page of the list that `listing` is (its filters, order, place and limit), encoded where it is read."""

    listing: ListContacts | ListCompanies
    encode: Callable[[Sequence[tuple[Any, ...]], Sequence[str | None]], bytes]
    """Rows of `exports.sql`, and why each must not be contacted (empty if that is not looked up) -> bytes; on a reading thread."""
    suppressed_at: Micros | None = None
    """The time for which suppressions are looked up; None: they are not."""
    suppressed: bool | None = None
    """Only records that are suppressed then, or are not."""
    ids: list[int] | None = None
    """The records of the page, which a search has found; None: the ones of the list's filters."""

    @property
    def client(self) -> int:
        """The client's number."""
        return self.listing.client
