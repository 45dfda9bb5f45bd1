"""Fields of several CRM objects in one record: none of them empties or renames another's, in any order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from tests.projection.test_known_events import receive
from tests.projection.test_merged_records import NOON, client_of, merge, no_differences

from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.history.status_words import PLAIN
from touchbase.records.models import Contact
from touchbase.records.operations import update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.timelines import timeline
from touchbase.records.writes import RecordUpdate
from touchbase.sql.store import Store


def partner(number: str, email: str, name: str, phone: str | None, title: str | None, at: int, **more: Any) -> list[dict[str, Any]]:
    """What Odoo sends of a contact with each change of it: all of it."""
    first, _, last = name.partition(" ")
    reported = {"fields": {"first_name": first, "last_name": last or None}, "custom": {"phone": phone, "function": title}}
    ids = {"object_type": "res.partner", "object_id": number}
    return [{"event": "contact.updated", "email": email, "occurred_us": NOON - 100 + at} | ids | reported | more]


async def values(store: Store, contact: Contact) -> dict[str, str | None]:
    record = await store.read(find_record(contact.client, CONTACT_TYPE, contact.id))
    return {"first": record.first_name, "last": record.last_name} | {
        custom_field.name: custom_field.value for custom_field in record.custom_fields
    }


OLGA = {"first": "Olga", "last": "Odoo", "phone": "+49 30 1", "function": "CEO"}
ODOO = [
    partner("8", "olga@acme.test", "Olga Odoo", "+49 30 1", "CTO", 1),
    partner("8", "olga.new@acme.test", "Olga Odoo", "+49 30 1", "CEO", 2),
    partner("8", "oppo@lead.test", "Olga Odoo", "+49 30 1", "CEO", 3),
    partner("12", "olga.new@acme.test", "Olga O.", None, None, 8),
]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_another_object_with_a_former_address__empties_and_renames_nothing(store: Store, order: tuple[int, ...]) -> None:
    client = await client_of(store)

    await receive(store, client, *(ODOO[place] for place in order))

    records = [await values(store, record) for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))]
    assert OLGA in records
    assert await no_differences(store, client)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_two_objects_with_one_address__keep_each_its_own_values(store: Store, order: tuple[int, ...]) -> None:
    client = await client_of(store)
    calls = [
        partner("8", "olga@acme.test", "Olga Odoo", "+49 30 1", "CEO", 1),
        partner("12", "olga@acme.test", "Olga O.", None, None, 2, custom={"phone": None, "function": None, "plan": "pro"}),
        partner("12", "olga@acme.test", "Olga O.", "+1", None, 3),
    ]

    await receive(store, client, *(calls[place] for place in order))

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert await values(store, contact) == OLGA | {"plan": "pro"}
    assert await no_differences(store, client)


async def test_an_object__clears_its_own_value_and_the_api_clears_any(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, *ODOO[:1], partner("12", "olga@acme.test", "Olga O.", None, None, 2))
    await receive(store, client, partner("8", "olga@acme.test", "Olga Odoo", None, "CTO", 3))
    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert await values(store, contact) == {"first": "Olga", "last": "Odoo", "phone": None, "function": "CTO"}

    await store.write(update_contact(RecordUpdate(client, contact.id, {"last_name": None}, {"function": None}, NOON, "api:1")))
    await receive(store, client, partner("12", "olga@acme.test", "Olga O.", "+1", None, 4))

    assert await values(store, contact) == {"first": "Olga", "last": None, "phone": "+1", "function": None}
    assert await no_differences(store, client)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_a_deletion_of_one_object__leaves_the_other_objects_values(store: Store, order: tuple[int, ...]) -> None:
    client = await client_of(store)
    deleted = [{"event": "contact.deleted", "object_type": "res.partner", "object_id": "8", "occurred_us": NOON - 90}]
    calls = [ODOO[0], partner("12", "olga@acme.test", "Olga O.", "+1", None, 2), deleted]

    await receive(store, client, *(calls[place] for place in order))

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert await values(store, contact) == {"first": "Olga", "last": "O.", "phone": "+1", "function": "CTO"}
    history = await store.read(get_history(client, CONTACT, contact.id))
    assert [item.detail["object"] for item in history if item.event == "contact.deleted"] == [["res.partner", "8"]]
    assert await no_differences(store, client)


async def test_objects_that_are_merged__are_one(store: Store) -> None:
    client = await client_of(store)
    calls = [
        [item | {"object_type": "record"} for item in partner("1", "olga@acme.test", "Olga Odoo", "+1", None, 1)],
        [item | {"object_type": "record"} for item in partner("2", "olga@acme.test", "Olga O.", None, None, 2)],
        merge("contact", "1", "2"),
        [item | {"object_type": "record"} for item in partner("2", "olga@acme.test", "Olga New", "+2", None, 98)],
    ]
    for order in itertools.permutations(calls):
        client = await client_of(store)
        await receive(store, client, *order)

        [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
        assert await values(store, contact) == {"first": "Olga", "last": "New", "phone": "+2", "function": None}
        assert await no_differences(store, client)


def account(number: str, domain: str, at: int) -> list[dict[str, Any]]:
    return [{"event": "company.updated", "object_type": "Account", "object_id": number, "domain": domain, "occurred_us": NOON - 100 + at}]


def of_company(number: str, at: int, contact: str = "1") -> list[dict[str, Any]]:
    reported = {"object_type": "Contact", "object_id": contact, "email": f"p{contact}@x.test", "company_object": ["Account", number]}
    return [{"event": "contact.updated", "occurred_us": NOON - 100 + at, **reported}]


async def company_of_contact(store: Store, client: int, email: str = "p1@x.test") -> str | None:
    contacts = {record.email: record.company_id for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))}
    companies = {record.id: record.domain for record in await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))}
    return companies.get(contacts[email] or 0)


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))))
async def test_a_contact__is_of_the_company_that_its_object_names_in_any_order(store: Store, order: tuple[int, ...], batch: bool) -> None:
    client = await client_of(store)
    calls = [account("A", "a.test", 1), account("B", "b.test", 2), of_company("A", 3), of_company("B", 4)]

    ordered = [calls[place] for place in order]
    await receive(store, client, *([[first for call in ordered for first in call]] if batch else ordered))

    assert await company_of_contact(store, client) == "b.test"
    assert await no_differences(store, client)


@pytest.mark.parametrize("late", [False, True])
async def test_a_company_id_of_the_api__stays_against_an_older_call(store: Store, late: bool) -> None:
    client = await client_of(store)
    await receive(store, client, account("A", "a.test", 1), account("B", "b.test", 2), of_company("A", 3))
    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    companies = {record.domain: record.id for record in await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))}
    await store.write(update_contact(RecordUpdate(client, contact.id, {"company_id": companies["b.test"]}, {}, NOON, "api:1")))

    await receive(store, client, of_company("A", 200 if late else 4), at=NOON + 200)

    assert await company_of_contact(store, client) == ("a.test" if late else "b.test")


async def test_a_company_that_is_merged_into_another__takes_its_contacts_along(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, of_company("1", 1), of_company("2", 1, contact="2"))
    reported = [account("1", "a.test", 2), account("2", "b.test", 3)]
    merged = [{"event": "company.deleted", "object_type": "Account", "object_id": "1", "merged_into": "2", "occurred_us": NOON - 5}]

    await receive(store, client, *reported, merged)

    assert [await company_of_contact(store, client, f"p{n}@x.test") for n in "12"] == ["b.test"] * 2


async def test_the_timeline__sets_a_company_with_the_first_event_that_names_it(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, of_company("A", 3), of_company("A", 4), account("A", "a.test", 5))
    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))

    reported, _, _ = await timeline(store, contact, 10, None, PLAIN)

    changes = [(item.event.occurred_us - NOON, entry.value) for item in reported for entry in item.changed if entry.field == "company_id"]
    assert changes == [(-97, str(contact.company_id))]
