"""Events with equal times count in the order of their receipt, whatever is applied first; those of one webhook in the order of its body."""

from __future__ import annotations

from typing import Any

from tests.projection.orders import orders
from tests.projection.test_known_events import HOUR, keep, replay, work
from tests.projection.test_merged_records import NOON, client_of, no_differences

from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.sql.store import Store

STATUSES = ("New", "Assigned", "In Process")


def changed(status: str) -> list[dict[str, Any]]:
    person = {"object_type": "lead", "object_id": "9", "email": "ann@example.com", "occurred_us": NOON - HOUR}
    values = {"fields": {"last_name": f"Lee {status}"}, "custom": {"stage": status}}
    return [person | {"event": "contact.updated"} | values, person | {"event": "contact.status_changed", "status": status}]


async def shown(store: Store, client: int) -> tuple[Any, ...]:
    [listed] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    contact = await store.read(find_record(client, CONTACT_TYPE, listed.id))
    assert contact is not None
    return contact.status, contact.previous_status, contact.last_name, [field.value for field in contact.custom_fields]


async def test_webhooks_of_one_second__count_in_the_order_of_their_receipt(store: Store) -> None:
    for places in orders(store, 3):
        client = await client_of(store)
        stored = {}
        for place in places:  # received in the order of STATUSES, applied in another one
            stored[place] = await keep(store, client, changed(STATUSES[place]), NOON + place)
            await work(store, NOON + 9)

        assert await shown(store, client) == ("In Process", "Assigned", "Lee In Process", ["In Process"]), places
        assert await no_differences(store, client)

        await replay(store, client, [stored[0], stored[2], stored[1]])
        assert await shown(store, client) == ("In Process", "Assigned", "Lee In Process", ["In Process"]), places


async def test_webhook_received_again__keeps_the_place_of_its_first_receipt(store: Store) -> None:
    for places in orders(store, 3):
        client = await client_of(store)
        calls = [changed("New"), changed("Assigned"), changed("New")]
        for place in places:
            await keep(store, client, calls[place], NOON + place)
            await work(store, NOON + 9)

        assert await shown(store, client) == ("Assigned", "New", "Lee Assigned", ["Assigned"]), places
        assert await no_differences(store, client)


async def test_events_of_one_webhook__count_in_the_order_of_its_body(store: Store) -> None:
    for places in orders(store, 3):
        client, named = await client_of(store), [STATUSES[place] for place in places]

        await keep(store, client, [event for status in named for event in changed(status)], NOON)
        await work(store, NOON + 9)

        assert await shown(store, client) == (named[2], named[1], f"Lee {named[2]}", [named[2]])
        assert await no_differences(store, client)
