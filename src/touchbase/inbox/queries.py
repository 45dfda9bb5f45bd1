"""Queries that read the inbox: pages, counts and groups of deliveries."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history.events import StoredEvent
from touchbase.inbox.delivery import Delivery
from touchbase.sql.command import Query


@dataclass(slots=True)
class ListDeliveries(Query[list[Delivery]]):
    """Deliveries without their bodies, newest first; `before` is the last id of the page before."""

    limit: int
    client: int | None = None
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    before: int | None = None
    received_since_us: Micros | None = None
    problems: bool = False
    """Only those that have a problem."""


@dataclass(slots=True)
class CountDeliveries(Query[int]):
    """How many deliveries of one client `ListDeliveries` would list."""

    client: int
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    before: int | None = None
    received_since_us: Micros | None = None


@dataclass(slots=True)
class DeliveryGroup:
    """Deliveries in one state that look alike: how many, since when, and one of them to look at."""

    client_id: str
    channel: str
    tool: str | None
    state: str
    shape: str | None
    """`inbox/payload_fingerprint.py`."""
    count: int
    first_us: Micros
    last_us: Micros
    example_id: int
    """The newest of them."""
    reason: str | None
    """Why that one is not applied."""


@dataclass(slots=True)
class GroupDeliveries(Query[list[DeliveryGroup]]):
    """Groups of deliveries in one of the states that changed nothing, largest first."""

    state: str
    limit: int
    client: int | None = None
    channel: str | None = None
    tool: str | None = None


@dataclass(slots=True)
class GetDelivery(Query[Delivery | None]):
    """One delivery with headers and body; of any client when `client` is None."""

    id: int
    client: int | None = None


@dataclass(slots=True)
class DeliveryEvents(Query[list[StoredEvent]]):
    """The stored events that one delivery caused."""

    client: int
    delivery_id: int


@dataclass(slots=True)
class BusyClients(Query[list[int]]):
    """Numbers of the active clients that have deliveries due by `now_us`."""

    now_us: Micros


@dataclass(slots=True)
class InboxCounts:
    """How many deliveries are in each state, and when the oldest of each was received."""

    by_state: dict[str, int]
    oldest_us: dict[str, Micros]
    """Without the states that nothing is in."""


@dataclass(slots=True)
class CountInbox(Query[InboxCounts]):
    """Counts over all clients; states that end (`applied`, `ignored`) are not counted, there may be millions."""


@dataclass(slots=True)
class OldDedupeKeys(Query[list[tuple[int, bytes]]]):
    """Client and key of calls received before `before_us` that are still recognised, in this order, those behind `after`."""

    before_us: Micros
    limit: int
    after: tuple[int, bytes] | None = None
