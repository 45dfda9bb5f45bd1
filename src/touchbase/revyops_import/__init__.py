"""Import from RevyOps: contacts and companies of all clients, e-mails of one workspace; resumable, and compared at the end."""

from __future__ import annotations

from touchbase.revyops_import.client_map import LEFT_OUT, ClientMap, UnknownClient
from touchbase.revyops_import.importer import ImportOptions, RevyOpsImport
from touchbase.revyops_import.journal import Head, Journal, UnusableFolder
from touchbase.revyops_import.list_reader import ListReader, ReadFailed, check_base_url
from touchbase.revyops_import.models import Difference, Entry
from touchbase.revyops_import.results import ClientResult, Result, result_of
from touchbase.revyops_import.their_emails import plain_type

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
    "plain_type",
    "result_of",
]
