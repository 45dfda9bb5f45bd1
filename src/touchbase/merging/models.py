"""Merges by request: policies, and the stored record from which a merge is undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.conversations.merged import TeamState
from touchbase.history.events import CONTACT
from touchbase.history.identity_links import Ref
from touchbase.records.models import Company, Contact, Record
from touchbase.sql.rows import encode

NEWEST = "newest"
IF_EMPTY = "if_empty"
KEEP = "keep"
MOST_COMPLETE = "most_complete"
SURVIVORSHIPS = (NEWEST, IF_EMPTY, KEEP, MOST_COMPLETE)
"""Rule for the survivor's value: the last written one; its own, else another's; its own only; the fullest record's."""
MOST_RECORDS = 20
"""Records that one merge may merge into another."""


CUSTOM = "cf."
"""Begins the name of a custom field among names of fields."""


@dataclass(frozen=True, slots=True)
class Policy:
    """Which values the survivor of a merge has."""

    survivorship: str
    """One of `SURVIVORSHIPS`."""
    from_ids: Mapping[str, int] = field(default_factory=dict)
    """Field, the status or a custom field (`cf.NAME`) -> the record whose value it gets, whatever the survivorship."""


@dataclass(slots=True)
class Part:
    """One record as it was before a merge."""

    record: Record
    links: list[Ref]
    contacts: list[int] = field(default_factory=list)
    """Of a company: its contacts."""
    team: TeamState = field(default_factory=TeamState)
    """Of a contact: what people decided, wrote and read about it."""


@dataclass(slots=True)
class MergedField:
    """One value of the survivor: the record that it is from, and the survivor's own value before."""

    name: str
    value: str | int | None
    source: int
    before: str | int | None
    is_custom: bool = False


@dataclass(slots=True)
class Merge:
    """One merge: the survivor as it is now or would be, and where its values are from."""

    id: int | None
    """None for a preview."""
    record: Record
    absorbed: list[int]
    fields: list[MergedField]
    at: Micros


@dataclass(slots=True)
class Undone:
    """A merge that was undone: all its records as they are now, the survivor first."""

    records: list[Record]


def content_text(survivor: Part, absorbed: list[Part]) -> str:
    """Return the column `content` of a merge."""
    return encode({"survivor": survivor, "absorbed": absorbed})


def parts_of(kind: int, content: str) -> tuple[Part, list[Part]]:
    """Return the survivor and the others, as they were."""
    snapshot: Any = (_CONTACTS if kind == CONTACT else _COMPANIES)(content)
    survivor, *absorbed = (Part(part.record, part.links, part.contacts, part.team) for part in (snapshot.survivor, *snapshot.absorbed))
    return survivor, absorbed


@dataclass(slots=True)
class _ContactPart:
    record: Contact
    links: list[tuple[str, str, str]]
    contacts: list[int]
    team: TeamState = field(default_factory=TeamState)


@dataclass(slots=True)
class _CompanyPart:
    record: Company
    links: list[tuple[str, str, str]]
    contacts: list[int]
    team: TeamState = field(default_factory=TeamState)


@dataclass(slots=True)
class _Contacts:
    survivor: _ContactPart
    absorbed: list[_ContactPart]


@dataclass(slots=True)
class _Companies:
    survivor: _CompanyPart
    absorbed: list[_CompanyPart]


_CONTACTS = msgspec.json.Decoder(_Contacts).decode
_COMPANIES = msgspec.json.Decoder(_Companies).decode
