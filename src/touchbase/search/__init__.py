"""Search: filters, sorting and full text over contacts and companies."""

from __future__ import annotations

from touchbase.search.across_clients import Place, SearchFor, records_across
from touchbase.search.commands import IndexRecords, NextToIndex
from touchbase.search.fields import Flag, add_flag
from touchbase.search.queries import CountFound, FindPosition, MatchesFilter, SearchCompanies, SearchContacts, SearchRecords
from touchbase.search.service import SearchRequest, filter_parser, index_all, index_waiting, prepare, record_members, search_records
from touchbase.search.sorting import Position

__all__ = [
    "CountFound",
    "FindPosition",
    "Flag",
    "IndexRecords",
    "MatchesFilter",
    "NextToIndex",
    "Place",
    "Position",
    "SearchCompanies",
    "SearchContacts",
    "SearchFor",
    "SearchRecords",
    "SearchRequest",
    "add_flag",
    "filter_parser",
    "index_all",
    "index_waiting",
    "prepare",
    "record_members",
    "records_across",
    "search_records",
]
