"""Do-not-contact lists: addresses that must not be contacted, for each client and for the whole installation."""

from __future__ import annotations

from touchbase.do_not_contact.addresses import Address, kind_of, normal_form
from touchbase.do_not_contact.commands import FindEntries, FindSuppressed, GetEntry, ListEntries, RemoveEntry, SaveEntries
from touchbase.do_not_contact.models import (
    COMPLAINED,
    EMAIL,
    EVENT,
    HARD_BOUNCED,
    KINDS,
    LINKEDIN_URL,
    MAX_ENTRIES,
    NOTE_LENGTH,
    REASONS,
    REQUESTED,
    RESUBSCRIBED,
    SOURCES,
    UNSUBSCRIBED,
    WRITTEN_SOURCES,
    Addresses,
    Cause,
    Entry,
    NewEntry,
    Saved,
    Suppressed,
)
from touchbase.do_not_contact.service import entry_pages, suppressed

__all__ = [
    "COMPLAINED",
    "EMAIL",
    "EVENT",
    "HARD_BOUNCED",
    "KINDS",
    "LINKEDIN_URL",
    "MAX_ENTRIES",
    "NOTE_LENGTH",
    "REASONS",
    "REQUESTED",
    "RESUBSCRIBED",
    "SOURCES",
    "UNSUBSCRIBED",
    "WRITTEN_SOURCES",
    "Address",
    "Addresses",
    "Cause",
    "Entry",
    "FindEntries",
    "FindSuppressed",
    "GetEntry",
    "ListEntries",
    "NewEntry",
    "RemoveEntry",
    "SaveEntries",
    "Saved",
    "Suppressed",
    "entry_pages",
    "kind_of",
    "normal_form",
    "suppressed",
]
