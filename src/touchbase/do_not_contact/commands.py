"""Commands that change a do-not-contact list, and queries that read one.

`client` is the client's number; `INSTALLATION` stands for the list of the installation, which applies to all clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import Addresses, Entry, NewEntry, Saved, Suppressed
from touchbase.sql.operation import Command, Query


@dataclass(slots=True)
class SaveEntries(Command[list[Saved]]):
    """Store entries; one for an address that is listed replaces what an earlier request said about it."""

    client: int
    entries: list[NewEntry]
    """Of several for one address the last one counts."""
    at: Micros


@dataclass(slots=True)
class RemoveEntry(Command[None]):
    """Remove an entry, also for replays of the events that made it. `NotFound`."""

    client: int
    id: int
    at: Micros


@dataclass(slots=True)
class GetEntry(Query[Entry | None]):
    """One entry by its id."""

    client: int
    id: int


@dataclass(slots=True)
class FindEntries(Query[list[Entry]]):
    """The entries of these addresses (kind and normal form), also of those whose hash alone is stored; for a person's export."""

    client: int
    addresses: list[tuple[str, str]]


@dataclass(slots=True)
class ListEntries(Query[list[Entry]]):
    """Entries in order of (created_us, id), newest last. Members that are None filter nothing."""

    client: int
    limit: int
    now: Micros
    after: tuple[Micros, int] | None = None
    kind: str | None = None
    value: str | None = None
    """The address in normal form; with `kind`."""
    reason: str | None = None
    source: str | None = None
    active: bool | None = None


@dataclass(slots=True)
class ListClearAddresses(Query[list[tuple[str, str]]]):
    """Addresses (kind and normal form) that a client's list stores in clear, also of removed entries, in their order, after `after`."""

    client: int
    limit: int
    after: tuple[str, str] = ("", "")


@dataclass(slots=True)
class FindSuppressed(Query[list[Suppressed | None]]):
    """For each item, why it must not be contacted now: by the client's list, or else by that of the installation."""

    client: int
    """`INSTALLATION`: by that list alone."""
    items: list[Addresses]
    now: Micros


@dataclass(slots=True)
class InstallationList:
    """The installation's whole list, as each cell has a copy of it."""

    revision: int
    """How often it has changed."""
    rows: list[tuple[Any, ...]]


@dataclass(slots=True)
class ReadInstallationList(Query[InstallationList | None]):
    """The installation's list if it has changed since a revision; None if not."""

    after: int


@dataclass(slots=True)
class RaiseListRevision(Command[None]):
    """Give the list a later revision than `known`, if it has an earlier one, so that every cell gets it again.

    A cell has a later one than the home store after that was restored from a backup.
    """

    known: int


@dataclass(slots=True)
class CopyInstallationList(Command[int]):
    """Replace this cell's copy of the list, unless it is of a later revision; return the revision that it has now."""

    copied: InstallationList
