"""Inbox service: list, group, show and replay deliveries."""

from __future__ import annotations

from dataclasses import dataclass, replace

from touchbase.common.timestamps import Micros, to_text
from touchbase.deliveries.delivery import (
    FAILED,
    IGNORED,
    PARKED,
    RECEIVED,
    REMOVED_BY_RETENTION,
    REMOVED_UNSEARCHABLE,
    UNRECOGNISED,
    Delivery,
)
from touchbase.errors import NotFound, PayloadDeleted
from touchbase.history.events import StoredEvent
from touchbase.inbox.queries import DeliveryGroup
from touchbase.inbox.sql import queries as inbox_queries
from touchbase.inbox.sql import queries as sql_queries
from touchbase.inbox.sql.commands import replay_deliveries
from touchbase.inbox.sql.queries import delivery_events
from touchbase.sql.cell_answers import Before, end_of
from touchbase.sql.store import Store, Writes

MOST_EVENTS = 1_000
"""Events of one delivery that are shown."""
GROUPED = (UNRECOGNISED, PARKED, FAILED, IGNORED)
"""States of deliveries that changed nothing, which are listed in groups."""


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Filter of deliveries; None means any."""

    client: int | None = None
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    received_since_us: Micros | None = None
    problems: bool = False
    """Only deliveries with a problem."""
    received_until_us: Micros | None = None
    """Only deliveries received before this time."""
    like: int | None = None
    """Only deliveries of the group of this one."""


async def list_deliveries(store: Store, filters: DeliveryFilter, limit: int, before: Before | None) -> tuple[list[Delivery], Before | None]:
    """Return a page of deliveries, newest first, and the cursor of the next page."""
    deliveries = await read_deliveries(store, filters, limit + 1, before)
    page = deliveries[:limit]
    return page, end_of(deliveries, limit - 1) if len(deliveries) > limit else None


async def read_deliveries(store: Store, filters: DeliveryFilter, limit: int, before: Before | None) -> list[Delivery]:
    """Return the next deliveries, newest first; `end_of` says where the list goes on behind one of them."""
    chosen = (filters.client, filters.channel, filters.tool, filters.state, before, filters.received_since_us)
    return await store.read(inbox_queries.list_deliveries(limit, *chosen, filters.problems, filters.received_until_us, filters.like))


async def group_deliveries(store: Store, filters: DeliveryFilter, limit: int) -> list[DeliveryGroup]:
    """Return groups of deliveries that changed nothing, largest first; of one state, or of all in `GROUPED`."""
    states = GROUPED if filters.state is None else (filters.state,)
    groups: list[DeliveryGroup] = []
    for state in states:
        groups += await store.read(sql_queries.group_deliveries(state, limit, filters.client, filters.channel, filters.tool))
    return sorted(groups, key=lambda group: (-group.count, -group.example_id))[:limit]


async def get_delivery(store: Store, delivery_id: int, client: int | None) -> tuple[Delivery, list[StoredEvent]]:
    """Return one delivery with its body, and the first events that it caused: one more than are shown, if there are more.

    Raises `NotFound`, also for another client's.
    """
    delivery = await find_delivery(store, delivery_id, client)
    return delivery, await store.read(delivery_events(delivery.client, delivery_id, MOST_EVENTS + 1))


async def replay_delivery(store: Writes, delivery: Delivery, now: Micros) -> int:
    """Set a delivery back to `received`, to be applied again, which is idempotent. `PayloadDeleted`."""
    require_body(delivery)
    return await store.write(replay_deliveries(delivery.client, [delivery.id], now))


def as_replayed(delivery: Delivery) -> Delivery:
    """Return the delivery in the state after a replay."""
    return replace(delivery, state=RECEIVED, attempts=0, error=None)


def body_removal_reason(delivery: Delivery) -> str | None:
    """Return why and when the body was removed, as text, or None."""
    if delivery.body_removed is None or delivery.body_removed_us is None:
        return None
    on = to_text(delivery.body_removed_us)[:10]
    if delivery.body_removed == REMOVED_BY_RETENTION:
        return f"body removed by retention on {on}"
    if delivery.body_removed == REMOVED_UNSEARCHABLE:
        return f"body removed on {on}, because it could not be searched for a person who was erased"
    return f"body removed on {on}, because a person in it was erased"


def require_body(delivery: Delivery) -> None:
    """Raise `PayloadDeleted` for a delivery without a body, which cannot be replayed."""
    reason = body_removal_reason(delivery)
    if reason is not None:
        events = "its events are" if delivery.body_removed == REMOVED_BY_RETENTION else "its events about other people are"
        raise PayloadDeleted(f"delivery {delivery.id} cannot be replayed: {reason}; it is {delivery.state}, and {events} stored")


async def find_delivery(store: Store, delivery_id: int, client: int | None) -> Delivery:
    """Return one delivery with its body. `NotFound`, also for another client's."""
    delivery = await store.read(inbox_queries.get_delivery(delivery_id, client))
    if delivery is None:
        raise NotFound(f"there is no delivery with id {delivery_id}")
    if delivery.lost is not None:
        raise PayloadDeleted(f"delivery {delivery_id} cannot be read: {delivery.lost}")
    return delivery
