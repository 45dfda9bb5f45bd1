"""Fetch queue: records that a CRM's thin webhooks only name, to be fetched from its API, and the state of that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from touchbase.common.timestamps import Micros

FETCHED = "x-touchbase-fetched"
"""Header of a delivery that Touchbase fetched itself; its value is the object's type, as in its identity link."""
COMPANY_PREFIX = "company:"
"""Prefix of object types that are companies here."""
State = Literal["idle", "working", "waiting", "stopped"]


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A record to fetch; `wanted_us` is when it was last requested, so that a later request is not lost."""

    object_type: str
    object_id: str
    wanted_us: Micros
    attempts: int = 0
    cursor: str | None = None
    """Of a list of changes: how far it was read."""


@dataclass(frozen=True, slots=True)
class ClaimedFetch:
    """Due records of a claimed queue, and how many requests in a row have failed."""

    requests: list[FetchRequest]
    failures: int = 0


@dataclass(slots=True)
class FetchResult:
    """Changes of a queue by a fetch."""

    next_us: Micros
    """The queue is paused until then."""
    failures: int = 0
    """Requests in a row that failed."""
    stopped: bool = False
    """The queue is paused until the connection is changed."""
    error: str | None = None
    at: Micros = 0
    fetched_us: Micros | None = None
    done: list[FetchRequest] = field(default_factory=list)
    """They leave the queue, unless a webhook requested them again since."""
    not_found: list[FetchRequest] = field(default_factory=list)
    """They are not fetched until a webhook requests them again."""
    retries: list[tuple[FetchRequest, Micros]] = field(default_factory=list)
    """They are fetched at these times."""
    followed: list[tuple[FetchRequest, str, Micros]] = field(default_factory=list)
    """Lists of changes with their next cursors, which are read on at these times, or earlier if a webhook says so."""


@dataclass(slots=True)
class FetchState:
    """State of the fetch queue of one client's tool."""

    tool: str
    next_us: Micros = 0
    failures: int = 0
    stopped: bool = False
    error: str | None = None
    """The last failure, in one sentence."""
    error_us: Micros | None = None
    fetched_us: Micros | None = None
    """When a record was last fetched."""
    wanted: int = 0
    """Records still to be fetched."""
    not_found: int = 0
    """Records that the tool does not have, or refuses to return."""


@dataclass(frozen=True, slots=True)
class FetchOutcome:
    """Result of one request: `records`, `gone`, `limited`, `failed` or `stopped`, and the number of records fetched."""

    tool: str
    outcome: str
    records: int = 0


def kind_and_type(object_type: str) -> tuple[str, str]:
    """Split an identity link's type into the kind of record (contact, company) and the tool's own type."""
    if object_type.startswith(COMPANY_PREFIX):
        return "company", object_type.removeprefix(COMPANY_PREFIX)
    return "contact", object_type


def fetching_state(state: FetchState) -> State:
    """Return the state in one word: stopped, waiting (after failures), working or idle."""
    if state.stopped:
        return "stopped"
    if state.failures:
        return "waiting"
    return "working" if state.wanted else "idle"
