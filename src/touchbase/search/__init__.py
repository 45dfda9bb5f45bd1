"""Search: filters, sorting and full text over contacts and companies."""

from __future__ import annotations

from touchbase.search.commands import IndexRecords, NextToIndex
from touchbase.search.fields import Flag, add_flag
from touchbase.search.queries import SearchCompanies, SearchContacts
from touchbase.search.service import SearchRequest, index_waiting, prepare, search_records

__all__ = [
    "Flag",
    "IndexRecords",
    "NextToIndex",
    "SearchCompanies",
    "SearchContacts",
    "SearchRequest",
    "add_flag",
    "index_waiting",
    "prepare",
    "search_records",
]
