"""Types of statuses. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


StatusRole = Literal["not_contacted_yet", "further_along", "do_not_contact"]
"""What the rules of mails, replies and bounces take a status for."""


class FormerName(TypedDict):
    """A name that became this status."""

    name: str
    renamed_at: str
    merged: bool
    by: str | None


class NewStatus(TypedDict):
    """A status to add to the declared set."""

    name: str
    start_set: NotRequired[bool]


class RecordStatus(TypedDict):
    """One status."""

    name: str
    declared: bool
    records: int
    renaming: int
    stands_for: list[str]
    refused: int
    role: StatusRole | None
    next: list[str] | None
    former_names: list[FormerName]


class RenamePreviewOut(TypedDict):
    """What a rename or a merge would do."""

    name: str
    new_name: str
    merge: bool
    records: int
    stands_for: list[str]
    declared: bool
    notes: list[str]


class StatusChange(TypedDict):
    """The new name of a status."""

    name: str


class StatusMerge(TypedDict):
    """The status that another one becomes."""

    into: str


class StatusPage(TypedDict):
    """A page of statuses: the declared ones in their order, then the others by name."""

    data: list[RecordStatus]
    next_cursor: str | None
