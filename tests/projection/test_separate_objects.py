"""Objects of one CRM that have had one address: two records where their addresses differ now, in every order."""

from __future__ import annotations

import itertools
import os
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.projection.orders import orders
from tests.projection.test_known_events import keep, receive, work
from tests.projection.test_merged_records import NOON, client_of

from touchbase.common.timestamps import SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store

ANN, INFO = "ann@x.test", "info@x.test"
Call = list[dict[str, Any]]


def partner(number: str, email: str | None, at: int, event: str = "contact.updated", **more: Any) -> Call:
    named = {} if email is None else {"email": email}
    return [{"event": event, "object_type": "partner", "object_id": number, "occurred_us": NOON + at * SECOND, **named, **more}]


def sent(email: str, at: int, event: str = "email_sent", **more: Any) -> Call:
    return [{"event": event, "email": email, "occurred_us": NOON + at * SECOND, **more}]


async def snapshots(store: Store, client: int) -> list[tuple[Any, ...]]:
    """Address, name, custom fields, status and dates of each contact, and what its history tells."""
    results = []
    for item in await store.read(list_records(Listing(CONTACT_TYPE, client, 50))):
        record = await store.read(find_record(client, CONTACT_TYPE, item.id))
        history = [(event.occurred_us, event.event) for event in await store.read(get_history(client, CONTACT, item.id))]
        values = sorted((custom_field.name, custom_field.value) for custom_field in record.custom_fields if custom_field.value is not None)
        dates = (record.first_sent_us, record.last_sent_us, record.last_reply_us)
        results.append((record.email, record.linkedin_url, record.first_name, values, record.status, record.origin, dates, sorted(history)))
    return sorted(results, key=repr)


async def differences(store: Store, client: int) -> list[str]:
    return [str(item) async for item in verify(store, client, Verified())]


async def apply_in(store: Store, calls: list[Call], order: tuple[int, ...], at_once: bool = False) -> int:
    client = await client_of(store)
    if at_once:
        for place in order:
            await keep(store, client, calls[place], NOON, "crm")
        await work(store, NOON)
    else:
        await receive(store, client, *(calls[place] for place in order))
    return client


PASSED_ON = [
    partner("1", INFO, -50, fields={"first_name": "Ann"}, custom={"phone": "1"}),
    partner("1", ANN, -40, fields={"first_name": "Anna"}),
    partner("2", INFO, -30, fields={"first_name": "Bob"}, custom={"phone": "2"}),
    sent(INFO, -45),
    sent(INFO, -20, "email_replied"),
]


@pytest.mark.parametrize("at_once", [False, True])
async def test_address_that_passed_to_another_object__is_the_others_in_every_order(store: Store, at_once: bool) -> None:
    wanted = None
    for order in orders(store, 5):
        client = await apply_in(store, PASSED_ON, order, at_once)

        result = await snapshots(store, client)
        assert [item[:4] for item in result] == [(ANN, None, "Anna", [("phone", "1")]), (INFO, None, "Bob", [("phone", "2")])], order
        assert [len(item[7]) for item in result] == [3, 2], order
        wanted = wanted or result
        assert result == wanted, order
        assert await differences(store, client) == [], order


SHARED = [
    partner("1", INFO, -50, fields={"first_name": "Ann"}),
    partner("2", INFO, -45, fields={"first_name": "Bob"}),
    partner("1", ANN, -40),
    partner("1", None, -35, "contact.status_changed", status="Won"),
    sent(ANN, -10, "email_replied", first_name="A."),
]


async def test_object_that_leaves_a_shared_address__takes_its_own_history_along_in_every_order(store: Store) -> None:
    wanted = None
    for order in orders(store, 5):
        client = await apply_in(store, SHARED, order)

        result = await snapshots(store, client)
        assert [(item[0], item[2], item[4]) for item in result] == [(ANN, "Ann", "Won"), (INFO, "Bob", None)], order
        wanted = wanted or result
        assert result == wanted, order
        assert await differences(store, client) == [], order


async def test_objects_that_have_one_address_again__are_one_record_again(store: Store) -> None:
    calls = [partner("1", INFO, -50), partner("2", INFO, -45), partner("1", ANN, -40), partner("2", ANN, -30)]
    for order in itertools.permutations(range(4)):
        client = await apply_in(store, calls, order)

        [first] = await snapshots(store, client)
        assert (first[0], len(first[7])) == (ANN, 4), order
        assert await differences(store, client) == [], order


async def test_objects_of_two_crms__stay_one_record_when_one_of_them_changes_its_address(store: Store) -> None:
    client = await client_of(store)
    others = [{**item, "object_type": "person"} for item in partner("7", INFO, -50)]

    await receive(store, client, others, partner("1", INFO, -45), partner("1", ANN, -40))

    [first] = await snapshots(store, client)
    assert (first[0], len(first[7])) == (ANN, 3)


async def test_record_of_the_api__stays_the_first_objects_with_what_the_api_wrote(store: Store) -> None:
    for order in itertools.permutations(range(3)):
        client = await client_of(store)
        contact = Contact(client, 0, NOON - 90 * SECOND, NOON - 90 * SECOND, email=INFO, email_key=INFO, first_name="Api", from_api=True)
        created = (await store.write(create_contact(Creation(contact)))).record.id
        await receive(
            store, client, *([partner("1", INFO, -50), partner("1", ANN, -40), partner("2", INFO, -30)][place] for place in order)
        )

        result = {
            record.id: (record.email, record.first_name) for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))
        }
        assert result.pop(created) == (ANN, "Api"), order
        assert list(result.values()) == [(INFO, None)], order
        assert await differences(store, client) == [], order


async def test_address_that_the_api_set_last__keeps_the_objects_of_its_record_together(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, partner("1", INFO, -50), partner("2", INFO, -45))
    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))
    await store.write(update_contact(RecordUpdate(client, contact.id, {"email": ANN, "email_key": ANN}, {}, NOON - 20 * SECOND, "api:1")))

    await receive(store, client, partner("1", "old@x.test", -40))

    [first] = await snapshots(store, client)
    assert first[0] == ANN
    assert await differences(store, client) == []


async def test_lead_of_a_campaign_tool__unites_no_two_records_whose_objects_differ(store: Store) -> None:
    client = await apply_in(store, PASSED_ON, (0, 1, 2))
    lead = {"object_type": "lead", "object_id": "L"}

    await receive(store, client, sent(ANN, -9, **lead), sent(INFO, -8, **lead), channel="email_campaign")

    assert [(item[0], len(item[7])) for item in await snapshots(store, client)] == [(ANN, 3), (INFO, 2)]
    assert await differences(store, client) == []


async def test_companies_whose_accounts_have_other_domains_now__take_their_contacts_along(store: Store) -> None:
    def account(number: str, domain: str, at: int) -> Call:
        return [
            {"event": "company.updated", "object_type": "account", "object_id": number, "domain": domain, "occurred_us": NOON + at * SECOND}
        ]

    def person(number: str, of: str) -> Call:
        return partner(number, f"p{number}@x.test", -20, company_object=["account", of])

    calls = [
        account("A", "old.test", -50),
        account("B", "old.test", -45),
        account("A", "new.test", -40),
        person("1", "A"),
        person("2", "B"),
    ]
    for order in orders(store, 5):
        client = await apply_in(store, calls, order)

        companies = {record.id: record.domain for record in await store.read(list_records(Listing(COMPANY_TYPE, client, 9)))}
        result = sorted(
            (record.email, companies.get(record.company_id or 0))
            for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))
        )
        assert result == [("p1@x.test", "new.test"), ("p2@x.test", "old.test")], order
        assert await differences(store, client) == [], order


OBJECTS = st.sampled_from([("partner", "1"), ("partner", "2"), ("partner", "3")])
ADDRESSES = st.sampled_from([ANN, INFO, "bob@x.test"])
TOLD = st.one_of(
    st.tuples(OBJECTS, ADDRESSES, st.sampled_from(["Ann", "Bob"])),
    st.tuples(st.just(("", "")), ADDRESSES, st.sampled_from(["email_sent", "email_replied"])),
)


def decided(reported: list[Any]) -> list[Any]:
    """Without what campaign tools tell under an address that several objects have had and none has: decision 33 does not hold it."""
    now = {of: address for of, address, _ in reported if of[0]}
    several = {address for _, address, _ in reported if len({of for of, item, _ in reported if of[0] and item == address}) > 1}
    return [item for item in reported if item[0][0] or item[1] in now.values() or item[1] not in several]


@pytest.mark.slow_on_postgresql
@settings(max_examples=int(os.environ.get("TOUCHBASE_MODEL_EXAMPLES") or examples(60)), deadline=None, suppress_health_check=[*HealthCheck])
@given(facts=st.lists(TOLD, min_size=3, max_size=7), data=st.data())
async def test_any_order_of_what_is_told_of_objects__gives_the_same_records(store: Store, facts: list[Any], data: st.DataObject) -> None:
    calls = [
        partner(number, email, at, object_type=kind, fields={"first_name": word}) if number else sent(email, at, word)
        for at, ((kind, number), email, word) in enumerate(decided(facts), start=-50)
    ]
    order = data.draw(st.permutations(range(len(calls))))

    in_time = await apply_in(store, calls, tuple(range(len(calls))))
    mixed = await apply_in(store, calls, tuple(order), data.draw(st.booleans()))

    assert await snapshots(store, mixed) == await snapshots(store, in_time)
    for client in (in_time, mixed):
        assert await differences(store, client) == []


async def test_objects_that_a_waiting_call_has_merged__are_one_record_though_their_addresses_differ(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, partner("1", None, -9, "contact.deleted", merged_into="2"), sent(INFO, -8))

    await keep(store, client, partner("2", ANN, -7), NOON, "crm")
    await keep(store, client, partner("1", INFO, -6), NOON, "crm")
    await work(store, NOON)

    [first] = await snapshots(store, client)
    assert (first[0], len(first[7])) == (INFO, 4)
    assert await differences(store, client) == []


async def test_object_that_another_was_merged_into__goes_with_it(store: Store) -> None:
    client = await client_of(store)
    calls = [
        partner("1", INFO, -9),
        partner("2", INFO, -8),
        partner("2", None, -7, "contact.deleted", merged_into="3"),
        partner("1", ANN, -6),
    ]

    await receive(store, client, *calls, partner("3", None, -5, custom={"phone": "3"}))

    assert [(item[0], item[3]) for item in await snapshots(store, client)] == [(ANN, []), (INFO, [("phone", "3")])]
    assert await differences(store, client) == []


PROFILE = "https://linkedin.com/in/info"
UNDER_BOTH = [
    partner("1", INFO, -50),
    partner("1", ANN, -40),
    partner("2", INFO, -30),
    sent(INFO, -45, linkedin_url=PROFILE),
    sent(INFO, -20, linkedin_url=PROFILE),
]


async def test_linkedin_address_of_two_objects__is_of_the_one_that_had_it_first_in_every_order(store: Store) -> None:
    for order in orders(store, 5):
        client = await apply_in(store, UNDER_BOTH, order)

        assert [item[:2] for item in await snapshots(store, client)] == [(ANN, PROFILE), (INFO, None)], order
        assert await differences(store, client) == [], order


async def test_event_that_names_only_a_linkedin_address__is_of_the_object_that_has_it(store: Store) -> None:
    calls = [*UNDER_BOTH, [{"event": "linkedin_replied", "linkedin_url": PROFILE, "occurred_us": NOON - 10 * SECOND}]]
    for order in itertools.islice(itertools.permutations(range(6)), None, None, 19):
        client = await apply_in(store, calls, order)

        assert [(*item[:2], len(item[7])) for item in await snapshots(store, client)] == [(ANN, PROFILE, 4), (INFO, None, 2)], order
        assert await differences(store, client) == [], order


async def test_object_without_the_linkedin_address_of_another__has_the_next_one(store: Store) -> None:
    calls = [*UNDER_BOTH, sent(INFO, -15, linkedin_url=f"{PROFILE}-2")]
    for order in itertools.islice(itertools.permutations(range(6)), None, None, 19):
        client = await apply_in(store, calls, order)

        assert [item[:2] for item in await snapshots(store, client)] == [(ANN, PROFILE), (INFO, f"{PROFILE}-2")], order
        assert await differences(store, client) == [], order


async def test_object_that_a_merge_makes_one_with_another__leaves_the_record_of_a_third(store: Store) -> None:
    calls = [partner("2", INFO, -6), partner("1", INFO, -5), partner("3", ANN, -4, merged_into="1")]
    for order in itertools.permutations(range(3)):
        client = await apply_in(store, calls, order)

        assert [(item[0], len(item[7])) for item in await snapshots(store, client)] == [(ANN, 2), (INFO, 1)], order
        assert await differences(store, client) == [], order


async def test_objects_that_come_to_a_former_address_in_one_call__are_two_records(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, partner("2", ANN, -4))

    await receive(store, client, [*partner("2", INFO, -5), *partner("1", INFO, -6)])

    assert [(item[0], len(item[7])) for item in await snapshots(store, client)] == [(ANN, 2), (INFO, 1)]
    assert await differences(store, client) == []


async def test_record_that_two_objects_come_to_again__has_the_latest_address(store: Store) -> None:
    calls = [partner("1", INFO, -9), partner("2", INFO, -6), partner("2", ANN, -3), partner("1", ANN, -5), partner("2", INFO, -4)]
    for order in orders(store, 5):
        client = await apply_in(store, calls, order)

        [first] = await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))
        record = await store.read(find_record(client, CONTACT_TYPE, first.id))
        assert (record.email, record.stamps["email"][1]) == (ANN, NOON - 3 * SECOND), order


async def test_custom_field_whose_events_leave_a_record__leaves_it_too(store: Store) -> None:
    client = await apply_in(
        store, [partner("1", INFO, -9), partner("2", INFO, -8, custom={"phone": "2"}), partner("1", ANN, -7)], (0, 1, 2)
    )

    result = {
        record.email: await store.read(find_record(client, CONTACT_TYPE, record.id))
        for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))
    }
    assert {email: [custom_field.name for custom_field in full_value.custom_fields] for email, full_value in result.items()} == {
        ANN: [],
        INFO: ["phone"],
    }


async def test_object_that_returns_to_an_address__joins_the_record_of_the_api_that_has_it(store: Store) -> None:
    calls = [partner("1", INFO, -50), partner("2", INFO, -45), partner("2", ANN, -40), partner("2", INFO, -30)]
    for order in itertools.permutations(range(4)):
        client = await client_of(store)
        await store.write(create_contact(Creation(Contact(client, 0, NOON - 90 * SECOND, NOON - 90 * SECOND, email=INFO, email_key=INFO))))
        await receive(store, client, *(calls[place] for place in order))

        [first] = await snapshots(store, client)
        assert (first[0], len(first[7])) == (INFO, 5), order
        assert await differences(store, client) == [], order
