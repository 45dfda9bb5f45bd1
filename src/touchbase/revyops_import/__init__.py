"""Import from RevyOps: contacts and companies of all clients through its API, resumable and compared at the end."""

from __future__ import annotations

from touchbase.revyops_import.client_map import LEFT_OUT, ClientMap, UnknownClient
from touchbase.revyops_import.importer import ImportOptions, RevyOpsImport
from touchbase.revyops_import.journal import Head, Journal, UnusableFolder
from touchbase.revyops_import.list_reader import ListReader, ReadFailed, check_base_url
from touchbase.revyops_import.models import Difference, Entry
from touchbase.revyops_import.results import ClientResult, Result, result_of

__all__ = [
    "LEFT_OUT",
    "ClientMap",
    "ClientResult",
    "Difference",
    "Entry",
    "Head",
    "ImportOptions",
    "Journal",
    "ListReader",
    "ReadFailed",
    "Result",
    "RevyOpsImport",
    "UnknownClient",
    "UnusableFolder",
    "check_base_url",
    "result_of",
]
