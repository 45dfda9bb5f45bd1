"""Objects that a CRM merges: the values of the object that absorbed the other win, whichever were written last, in any order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from tests.projection.orders import orders
from tests.projection.test_known_events import receive, replay
from tests.projection.test_merged_records import NOON, about, client_of, no_differences

from touchbase.common.timestamps import SECOND
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.records.models import Contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.timelines import explain
from touchbase.sql.store import Store

Call = list[dict[str, Any]]


def at(step: int) -> int:
    return NOON - 100 * SECOND + step * SECOND


def created(number: str, step: int, status: str, **values: Any) -> Call:
    person = {"event": "contact.created", "object_type": "record", "object_id": number, "occurred_us": at(step), **values}
    return [person, person | {"event": "contact.status_changed", "status": status, "fields": {}}]


def merged(loser: str, survivor: str, step: int, *, is_absorbed: bool = True) -> dict[str, Any]:
    gone = {"event": "contact.deleted", "object_type": "record", "object_id": loser, "merged_into": survivor, "occurred_us": at(step)}
    return gone | {"absorbed": is_absorbed}


ANN = created("1", 1, "customer", email="ann@example.com", fields={"first_name": "Ann"}, custom={"plan": "pro"})
LEE = created(
    "2", 2, "lead", email="lee@example.com", fields={"first_name": "A. Lee", "last_name": "Lee"}, custom={"plan": "free", "seats": "3"}
)
MERGES = {
    "into the first": ([merged("2", "1", 3)], "1"),
    "into a new one": ([merged("2", "3", 3), merged("1", "3", 3, is_absorbed=False)], "3"),
}


async def the_one(store: Store, client: int) -> Contact:
    [listed] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    contact = await store.read(find_record(client, CONTACT_TYPE, listed.id))
    assert contact is not None
    return contact


def values(contact: Contact) -> tuple[Any, ...]:
    custom = {field.name: field.value for field in contact.custom_fields}
    return contact.email, contact.first_name, contact.last_name, contact.status, contact.previous_status, custom


@pytest.mark.parametrize("merge", MERGES)
async def test_merge_in_the_crm__keeps_the_values_of_the_object_that_absorbed_the_other(store: Store, merge: str) -> None:
    merges, survivor = MERGES[merge]
    later = about("contact", survivor, fields={"last_name": "Lee-Fox"}, occurred_us=at(4))

    for places in orders(store, 4):
        client = await client_of(store)
        calls: Sequence[Call] = [ANN, LEE, merges, later]
        stored = [await receive(store, client, calls[place], at=NOON + place) for place in places]

        contact = await the_one(store, client)
        expected = ("ann@example.com", "Ann", "Lee-Fox", "customer", None, {"plan": "pro", "seats": "3"})
        assert values(contact) == expected, places
        assert await no_differences(store, client)
        timeline = await explain(contact, await store.read(get_history(client, CONTACT, contact.id)))
        shown = {change.field: change.value for _, changes in timeline for change in changes}
        assert (shown["first_name"], shown["contact_status"], shown["plan"]) == ("Ann", "customer", "pro")

        await replay(store, client, [number for numbers in stored for number in numbers])
        assert values(await the_one(store, client)) == expected


async def test_merge_in_the_crm__takes_what_only_the_absorbed_object_has(store: Store) -> None:
    client = await client_of(store)

    await receive(store, client, created("1", 1, "customer", email="ann@example.com"), LEE, [merged("2", "1", 3)])

    contact = await the_one(store, client)
    assert values(contact) == ("ann@example.com", "A. Lee", "Lee", "customer", None, {"plan": "free", "seats": "3"})
