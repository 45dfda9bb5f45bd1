"""Deliveries: webhooks stored byte for byte, each with its state."""

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
REMOVED_BY_ERASURE = "erased"
REMOVED_BY_RETENTION = "retention"
REMOVED_UNSEARCHABLE = "unsearchable"
"""Why a body was removed: a person in it was erased, the retention period ended, or an erasure could not search it."""
UNSEARCHABLE = "its body could not be searched for erased people within the limits, and was removed"
MAX_ATTEMPTS = 10
DEDUPE_WINDOW: Micros = 3600 * SECOND
"""How long equal bytes are a repeat, if all events in them have a time or an id. Later retries are recognised by their events."""
UNDATED_DEDUPE_WINDOW: Micros = 120 * SECOND
"""The same for a body with undated events, and only while no other webhook about its object came in between."""
LOADED = "x-touchbase-loaded"
"""Header of the deliveries that a first load stores: a person sees where they come from."""
LOADED_KEY = "loaded "
"""Prefix of the ids that a load gives to messages which it may read twice; the tool's webhooks do not have them."""
_REPLAY_OFFSET: Micros = 2**52
"""Subtracted from the time of a replay, so that replays come before new deliveries in the queue; negative until the year 2112."""


def replay_attempt_us(at: Micros) -> Micros:
    """Return `next_attempt_us` of a delivery replayed at this time."""
    return at - _REPLAY_OFFSET


def waiting_since(received_us: Micros, next_attempt_us: Micros) -> Micros:
    """Return since when a delivery is queued: its replay, else its receipt. A failed replay counts from the receipt again."""
    return next_attempt_us + _REPLAY_OFFSET if next_attempt_us < 0 else received_us


@packs_by_position
@dataclass(slots=True)
class Delivery:
    """One stored webhook. `error`: one sentence why it is not applied, or None."""

    client: int
    client_id: str
    id: int
    channel: str
    state: str
    received_us: Micros
    tool: str | None = None
    attempts: int = 0
    repeats: int = 0
    """Number of repeats with the same bytes."""
    error: str | None = None
    applied_us: Micros | None = None
    next_attempt_us: Micros = 0
    size: int = 0
    verified: bool | None = None
    """Whether the signature was valid; None for a delivery stored before signatures were checked."""
    duplicate_of: int | None = None
    """The earlier delivery with equal bytes within the dedupe window; later the delivery that it is known to repeat."""
    dated: int | None = None
    """1 if each of its events has a time or an id, so that equal bytes are a repeat; None before it was read."""
    problems: dict[str, str] = field(default_factory=dict)
    """Problems of the applied events (`history/problems.py`)."""
    trace: str | None = None
    """The span of its receipt, as `tracing` writes it; None if that was not recorded."""
    headers: dict[str, str] = field(default_factory=dict)
    query: str = ""
    body: bytes = b""
    body_removed: str | None = None
    """Why body, headers and query were removed; None while they are stored."""
    body_removed_us: Micros | None = None
    object: str | None = None
    """Where headers, query and body are in object storage; None: in the database, or removed."""
    lost: str | None = None
    """Why they cannot be read from there, now or later; None: they were read."""
    guarded: bool = field(default=False, compare=False)
    """Whether its client has erased people: then it is scanned for addresses during translation."""
    addresses: set[Ref] | None = field(default=None, compare=False)
    """All addresses found by the scan; None before it."""
    unsearchable: bool = field(default=False, compare=False)
    """Whether the scan could not search all of it: its body is removed, because it may name an erased person."""
