"""Commands that change a do-not-contact list, and queries that read one.

`client` is the client's number; `INSTALLATION` stands for the list of the installation, which applies to all clients.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.models import Entry, NewEntry, Saved
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
class InstallationList:
    """The installation's whole list, as each cell has a copy of it."""

    revision: int
    """How often it has changed."""
    rows: list[tuple[Any, ...]]
