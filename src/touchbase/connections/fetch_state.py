"""Fetching: records that a CRM's thin calls only name, asked for at its API, and how that goes."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros

FETCHED = "x-touchbase-fetched"
"""Header of a delivery that we have fetched ourselves: the object's type, as its link has it."""
COMPANIES = "company:"
"""What the type of an object that is a company here begins with."""


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """An object of a tool whose record is wanted; `wanted_us` tells whether it was wanted anew since."""

    object_type: str
    object_id: str
    wanted_us: Micros
    attempts: int = 0


@dataclass(frozen=True, slots=True)
class ClaimedFetch:
    """What a worker may ask for, and how many calls in a row have failed before."""

    wanted: list[FetchRequest]
    failures: int = 0


@dataclass(slots=True)
class FetchState:
    """How asking one tool of one client for records goes."""

    tool: str
    next_us: Micros = 0
    failures: int = 0
    stopped: bool = False
    error: str | None = None
    """The last failure, in one sentence."""
    error_us: Micros | None = None
    fetched_us: Micros | None = None
    """When a record came last."""
    wanted: int = 0
    """Records still to be asked for."""
    noted: int = 0
    """Records that the tool did not have, or would not give."""


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """What one call to a tool came to: `records`, `gone`, `limited`, `failed` or `stopped`, and how many records it brought."""

    tool: str
    outcome: str
    records: int = 0


def kind_and_word(object_type: str) -> tuple[str, str]:
    """A link's type as what the object is here (contact, company) and the tool's own word for it."""
    if object_type.startswith(COMPANIES):
        return "company", object_type.removeprefix(COMPANIES)
    return "contact", object_type
