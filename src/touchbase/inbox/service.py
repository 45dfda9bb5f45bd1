"""The inbox: kept webhook calls, where each stands, and putting one back to be applied again."""

from __future__ import annotations

from dataclasses import dataclass, replace

from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import NotFound, PayloadDeleted
from touchbase.history.events import StoredEvent
from touchbase.inbox.commands import ReplayDeliveries
from touchbase.inbox.delivery import FAILED, GONE_RETENTION, IGNORED, PARKED, RECEIVED, UNRECOGNISED, Delivery
from touchbase.inbox.queries import DeliveryEvents, DeliveryGroup, GetDelivery, GroupDeliveries, ListDeliveries
from touchbase.sql.store import Store, Writes

GROUPED = (UNRECOGNISED, PARKED, FAILED, IGNORED)
"""States of deliveries that changed nothing, which are shown in groups."""


@dataclass(frozen=True, slots=True)
class DeliveryFilter:
    """Which deliveries are looked for; None means any."""

    client: int | None = None
    channel: str | None = None
    tool: str | None = None
    state: str | None = None
    received_since_us: Micros | None = None
    problems: bool = False
    """Only those that have a problem."""


async def list_deliveries(store: Store, sought: DeliveryFilter, limit: int, before: int | None) -> tuple[list[Delivery], int | None]:
    """A page of deliveries, newest first, and where the next, older one begins."""
    wanted = (sought.client, sought.channel, sought.tool, sought.state, before, sought.received_since_us, sought.problems)
    found = await store.read(ListDeliveries(limit + 1, *wanted))
    page = found[:limit]
    return page, page[-1].id if len(found) > limit else None


async def group_deliveries(store: Store, sought: DeliveryFilter, limit: int) -> list[DeliveryGroup]:
    """Deliveries that changed nothing and look alike, as groups, largest first; of one state, or of all that are `GROUPED`."""
    states = GROUPED if sought.state is None else (sought.state,)
    groups: list[DeliveryGroup] = []
    for state in states:
        groups += await store.read(GroupDeliveries(state, limit, sought.client, sought.channel, sought.tool))
    return sorted(groups, key=lambda group: (-group.count, -group.example_id))[:limit]


async def get_delivery(store: Store, delivery_id: int, client: int | None) -> tuple[Delivery, list[StoredEvent]]:
    """One delivery with its body, and the events that it caused; `NotFound` also when it is another client's."""
    delivery = await find_delivery(store, delivery_id, client)
    return delivery, await store.read(DeliveryEvents(delivery.client, delivery_id))


async def replay_delivery(store: Writes, delivery: Delivery, now: Micros) -> int:
    """Put a delivery back to `received`; applying it again changes nothing that it has changed already. `PayloadDeleted`."""
    refuse_bodiless(delivery)
    return await store.write(ReplayDeliveries(delivery.client, [delivery.id], now))


def put_back(delivery: Delivery) -> Delivery:
    """The delivery as it stands once it was put back."""
    return replace(delivery, state=RECEIVED, attempts=0, error=None)


def why_no_body(delivery: Delivery) -> str | None:
    """In words, why a delivery has no body any more, and since when."""
    if delivery.body_gone is None or delivery.body_gone_us is None:
        return None
    on = to_text(delivery.body_gone_us)[:10]
    if delivery.body_gone == GONE_RETENTION:
        return f"body removed by retention on {on}"
    return f"body removed on {on}, as it told of a person who was erased"


def refuse_bodiless(delivery: Delivery) -> None:
    """Raise `PayloadDeleted` for a delivery that cannot be applied again."""
    why = why_no_body(delivery)
    if why is not None:
        kept = "the events it caused are" if delivery.body_gone == GONE_RETENTION else "what it told of others is"
        raise PayloadDeleted(f"delivery {delivery.id} cannot be applied again: {why}; it is {delivery.state}, and {kept} kept")


async def find_delivery(store: Store, delivery_id: int, client: int | None) -> Delivery:
    """One delivery with its body; `NotFound` also when it is another client's."""
    found = await store.read(GetDelivery(delivery_id, client))
    if found is None:
        raise NotFound(f"there is no delivery with id {delivery_id}")
    return found
