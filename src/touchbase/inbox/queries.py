"""Results of the inbox's queries: counts and groups of deliveries."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros

MOST_COUNTED = 100_000
"""Deliveries that `count_states` reads: some 50 ms."""


@dataclass(slots=True)
class StateCount:
    """Deliveries of one tool in one state."""

    channel: str
    tool: str | None
    state: str
    count: int


@dataclass(slots=True)
class StateCounts:
    """Counts, the largest first, and whether they are of all deliveries that were asked for."""

    counts: list[StateCount]
    is_complete: bool


@dataclass(slots=True)
class DeliveryGroup:
    """Deliveries in one state with the same fingerprint: count, times, and an example."""

    client: int
    client_id: str
    channel: str
    tool: str | None
    state: str
    fingerprint: str | None
    """`deliveries/payload_fingerprint.py`."""
    count: int
    first_us: Micros
    last_us: Micros
    example_id: int
    """The newest one."""
    reason: str | None
    """Why the example is not applied."""


@dataclass(slots=True)
class InboxCounts:
    """The number of deliveries in each state, and the receipt of the oldest."""

    by_state: dict[str, int]
    oldest_us: dict[str, Micros]
    """Without empty states."""


@dataclass(slots=True)
class RefusedWebhook:
    """One refused webhook, or several alike within a second; `calls` is their number."""

    client: int
    received_us: Micros
    channel: str
    cause: str
    tool: str | None = None
    """The tool that it resembles, unverified."""
    size: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    client_id: str = ""
    """The id in the URL."""
    calls: int = 1
    body: str | None = None
    """The id of its body (`RefusedBody.digest`), if it may be stored."""
    id: int = 0
    """Set by the store."""
