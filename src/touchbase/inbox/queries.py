"""Queries of the inbox: pages, counts and groups of deliveries."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.sql.cell_answers import Before
from touchbase.sql.operation import Query


@dataclass(slots=True)
class ListDeliveries(Query[list[Delivery]]):
    """List deliveries without bodies, newest first; `before`: the last id of the previous page."""

    limit: int
    client: int | None = None
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    before: Before | None = None
    received_since_us: Micros | None = None
    problems: bool = False
    """Only deliveries with a problem."""
    received_until_us: Micros | None = None
    """Only deliveries received before this time."""
    like: int | None = None
    """Only deliveries of the group of this one, as `group_deliveries` groups them."""


@dataclass(slots=True)
class CountDeliveries(Query[int]):
    """Count the deliveries of one client that `ListDeliveries` would list."""

    client: int
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    before: int | None = None
    received_since_us: Micros | None = None
    like: int | None = None


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
