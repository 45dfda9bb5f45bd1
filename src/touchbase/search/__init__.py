"""Search: filters, sorting and full text over contacts and companies."""

from __future__ import annotations

from touchbase.search.commands import IndexRecords, NextToIndex
from touchbase.search.queries import SearchCompanies, SearchContacts
from touchbase.search.service import index_waiting

__all__ = [
    "IndexRecords",
    "NextToIndex",
    "SearchCompanies",
    "SearchContacts",
    "index_waiting",
]
