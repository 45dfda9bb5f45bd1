"""Deliveries: webhook calls kept in the inbox, byte for byte, and where each of them stands."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.identity_links import Ref

RECEIVED = "received"
APPLIED = "applied"
IGNORED = "ignored"
PARKED = "parked"
UNRECOGNISED = "unrecognised"
FAILED = "failed"
STATES = (RECEIVED, APPLIED, IGNORED, PARKED, UNRECOGNISED, FAILED)
GONE_ERASED = "erased"
GONE_RETENTION = "retention"
"""Why a delivery has no body any more: a person in it was erased, or it was kept long enough."""
MAX_ATTEMPTS = 10
REPEAT_WINDOW: Micros = 3600 * SECOND
"""How long a body whose events have times or ids counts as a repeat of the first. A later retry is recognised by its events."""
TWIN_WINDOW: Micros = 120 * SECOND
"""How long a body with neither counts as a repeat, and only while no other call about its object came between: later it is news."""
_REPLAYS: Micros = 2**52
"""Replays stand in the queue before what was never tried, each at its time less this: below zero until the year 2112."""


def place_of_replay(at: Micros) -> Micros:
    """`next_attempt_us` of a delivery that is replayed at this moment."""
    return at - _REPLAYS


def waits_since(received_us: Micros, next_attempt_us: Micros) -> Micros:
    """Since when a delivery waits: since its replay, else since its receipt. A replay that has failed counts from its receipt again."""
    return next_attempt_us + _REPLAYS if next_attempt_us < 0 else received_us


@packs_by_position
@dataclass(slots=True)
class Delivery:
    """One kept call. `error` says in one sentence why it is not applied, where there is a reason."""

    client: int
    client_id: str
    id: int
    channel: str
    state: str
    received_us: Micros
    tool: str | None = None
    attempts: int = 0
    repeats: int = 0
    """How often the same bytes arrived again."""
    error: str | None = None
    applied_us: Micros | None = None
    next_attempt_us: Micros = 0
    size: int = 0
    verified: bool | None = None
    """Whether the call has proved who sends it; None for one kept before anybody asked."""
    twin: int | None = None
    """The delivery with equal bytes that it came after within the hour; the fact that it repeats, once that is known."""
    dated: int | None = None
    """1 where all that it says has a time or an id of its own, so that equal bytes are a repeat; None before it was read."""
    problems: dict[str, str] = field(default_factory=dict)
    """What went wrong with what was applied (`history/problems.py`)."""
    headers: dict[str, str] = field(default_factory=dict)
    query: str = ""
    body: bytes = b""
    body_gone: str | None = None
    """Why there is no body any more, nor headers nor query; None while there is one."""
    body_gone_us: Micros | None = None
    guarded: bool = field(default=False, compare=False)
    """Whether somebody of its client was erased: then it is looked through for whom it names while it is translated."""
    told: set[Ref] | None = field(default=None, compare=False)
    """The addresses that stand anywhere in it, once it was looked through."""
