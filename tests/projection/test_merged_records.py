"""Records that turn out to be one: objects that a CRM merges, people known by two names, whatever comes first."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import msgspec
import pytest
from tests.conftest import ENCRYPTION_KEYS
from tests.projection.orders import orders

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import DAY, SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import COMPANY, CONTACT, Event, Translation
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.projection import apply as projection
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RECORD_TYPES
from touchbase.records.sql.reads import Listing, find_united, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store
from touchbase.stores import open_store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are lists of our own events."""
    return Translation("test", [msgspec.convert(item, Event) for item in msgspec.json.decode(request.body)])


async def client_of(store: Store) -> int:
    return (await store.write(ensure_client(f"client-{next(COUNT)}", NOON))).number


async def receive(store: Store, client: int, *calls: list[dict[str, Any]], channel: str = "crm") -> list[int]:
    """Keep these calls and apply each before the next comes."""
    stored = []
    for call in calls:
        body = msgspec.json.encode(call)
        key = body_key(channel, str(next(COUNT)), "", body)
        stored.append((await store.write(store_delivery(client, channel, key, b"{}", "", body, NOON))).id)
        await InboxWorker(store, read, lambda: NOON).drain()
    return stored


async def made_through_the_api(store: Store, client: int, *emails: str) -> None:
    for email in emails:
        await store.write(create_contact(Creation(Contact(client, 0, NOON - DAY, NOON - DAY, email=email, email_key=email))))


async def states(store: Store, client: int) -> dict[int, str]:
    return {delivery.id: delivery.state for delivery in await store.read(list_deliveries(50, client))}


async def no_differences(store: Store, client: int) -> bool:
    return [str(item) async for item in verify(store, client, Verified())] == []


def about(kind: str, number: str, **more: Any) -> list[dict[str, Any]]:
    return [{"event": f"{kind}.updated", "object_type": "record", "object_id": number, **more}]


def merge(kind: str, loser: str, survivor: str) -> list[dict[str, Any]]:
    return [{"event": f"{kind}.deleted", "object_type": "record", "object_id": loser, "merged_into": survivor, "occurred_us": NOON - 5}]


@pytest.mark.parametrize("named", ["1", "2", "3"])
@pytest.mark.parametrize("at_once", [False, True])
async def test_merged_objects__are_one_contact_in_every_order(store: Store, named: str, at_once: bool) -> None:
    calls = [
        merge("contact", "1", "2"),
        merge("contact", "2", "3"),
        about("contact", named, email="ann@example.com", occurred_us=NOON - 4),
        about("contact", "1", custom={"plan": "pro"}, occurred_us=NOON - 3),
        about("contact", "3", fields={"last_name": "Lee"}, occurred_us=NOON - 2),
    ]

    for places in orders(store, 5) if not at_once else [range(5), range(4, -1, -1)]:
        order = [calls[place] for place in places]
        client = await client_of(store)
        await receive(store, client, *([[item for call in order for item in call]] if at_once else order))

        [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
        history = await store.read(get_history(client, CONTACT, contact.id))
        assert (contact.email, contact.last_name, [(custom_field.name, custom_field.value) for custom_field in contact.custom_fields]) == (
            "ann@example.com", "Lee", [("plan", "pro")],
        )  # fmt: skip
        assert len(history) == 5
        assert set((await states(store, client)).values()) == {"applied"}


async def test_webhook_about_a_merged_object__reaches_the_surviving_record(store: Store) -> None:
    client = await client_of(store)
    await receive(
        store, client,
        about("company", "1", domain="example.com", occurred_us=NOON - 9),
        about("company", "2", domain="example.org", occurred_us=NOON - 8),
        merge("company", "1", "2"), about("company", "1", fields={"name": "Example"}, occurred_us=NOON - 1),
    )  # fmt: skip

    [company] = await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))

    assert (company.domain, company.name) == ("example.org", "Example")
    assert len(await store.read(get_history(client, COMPANY, company.id))) == 4
    assert await no_differences(store, client)


async def test_contact_created_by_the_api__survives_a_merge_into_another(store: Store) -> None:
    client = await client_of(store)
    await made_through_the_api(store, client, "ann@example.com")
    [ours] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))

    await receive(
        store, client,
        about("contact", "2", email="bob@example.com", occurred_us=NOON - 9), about("contact", "1", email="ann@example.com"),
        merge("contact", "1", "2"),
    )  # fmt: skip

    assert [record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))] == [ours.id]


@pytest.mark.parametrize(("kind", "number"), [("contact", CONTACT), ("company", COMPANY)])
async def test_find_united__returns_the_surviving_record(store: Store, kind: str, number: int) -> None:
    client = await client_of(store)
    page = list_records(Listing(RECORD_TYPES[number], client, 10))
    await receive(
        store, client,
        *(about(kind, n, email=f"p{n}@example.com", domain=f"{n}.example", occurred_us=NOON - 9) for n in "123"),
    )  # fmt: skip
    records = [record.id for record in await store.read(page)]

    await receive(store, client, merge(kind, "3", "2"), merge(kind, "2", "1"))

    [stored] = [record.id for record in await store.read(page)]
    uniteds = [await store.read(find_united(client, number, record)) for record in (*records, max(records) + 1)]
    assert uniteds == [*(None if record == stored else stored for record in records), None]
    assert await store.read(find_united(client + 1, number, records[-1])) is None
    assert [await store.read(find_united(client, second, records[-1])) for second in (CONTACT, COMPANY) if second != number] == [None]


async def test_two_contacts_created_by_the_api__are_one_once_their_crm_merges_them(store: Store) -> None:
    emails = {"1": "ann@example.com", "2": "bob@example.com"}
    merging = [merge("contact", "1", "2")[0] | {"absorbed": True}]
    naming = [about("contact", number, email=email, occurred_us=NOON - 9) for number, email in emails.items()]
    renaming = about("contact", "2", fields={"last_name": "Lee"}, occurred_us=NOON - 3)

    for order in itertools.permutations([*naming, merging, renaming]):
        client = await client_of(store)
        await made_through_the_api(store, client, *emails.values())
        await receive(store, client, *order)

        contacts = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
        shown = [(contact.email, contact.further_emails, contact.last_name) for contact in contacts]
        assert shown == [("bob@example.com", '["ann@example.com"]', "Lee")], order
        assert await no_differences(store, client)


async def test_object_id__may_belong_to_a_person_and_a_company(store: Store) -> None:
    client = await client_of(store)
    named = [about("company", "7", domain="example.com"), about("contact", "7", email="ann@example.com")]

    await receive(store, client, about("contact", "7", fields={"last_name": "Lee"}), *named, about("company", "7", fields={"name": "Ex"}))

    [contact], [company] = (
        await store.read(list_records(Listing(CONTACT_TYPE, client, 10))),
        await store.read(list_records(Listing(COMPANY_TYPE, client, 10))),
    )
    assert (contact.last_name, company.name) == ("Lee", "Ex")
    assert set((await states(store, client)).values()) == {"applied"}


async def test_repeated_event_in_a_merging_webhook__stays_with_the_first_delivery(store: Store) -> None:
    client = await client_of(store)
    by_linkedin = {"event": "email_opened", "linkedin_url": "https://linkedin.com/in/ann", "occurred_us": NOON - 9}
    by_email = {"event": "email_sent", "email": "ann@example.com", "occurred_us": NOON - 8}
    both = {"event": "email_opened", "email": "ann@example.com", "linkedin_url": "https://linkedin.com/in/ann", "occurred_us": NOON - 7}

    first = await receive(store, client, [by_linkedin], [by_email], channel="email_campaign")
    await receive(store, client, [by_email, both], channel="email_campaign")

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    causes = [event.delivery_id for event in await store.read(get_history(client, CONTACT, contact.id))]
    assert causes[:2] == first
    assert await no_differences(store, client)


async def test_repeated_parked_event__is_parked_once(store: Store) -> None:
    client = await client_of(store)
    waiting = about("contact", "7", fields={"last_name": "Lee"}, occurred_us=NOON - 9)

    first, again = await receive(store, client, waiting, waiting)

    assert await states(store, client) == {first: "parked", again: "ignored"}
    await receive(store, client, about("contact", "7", email="ann@example.com", occurred_us=NOON - 8))
    assert (await states(store, client))[first] == "applied"


async def test_parked_events_above_the_limit__fail_and_are_applied_by_a_replay(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await client_of(store)
    monkeypatch.setattr(projection, "MAX_PARKED", 2)
    waiting = [about("contact", "7", fields={"last_name": f"Lee {n}"}, occurred_us=NOON - 9 + n) for n in range(4)]

    first, second, third, fourth = await receive(store, client, *waiting[:1], waiting[1] + waiting[2], waiting[3], waiting[0])
    parked = await states(store, client)
    named = about("contact", "7", email="ann@example.com", occurred_us=NOON - 1)
    await receive(store, client, named)
    await store.write(replay_deliveries(client, [second, third], NOON))
    await InboxWorker(store, read, lambda: NOON).drain()

    assert parked == {first: "parked", second: "failed", third: "failed", fourth: "ignored"}
    assert {(await states(store, client))[number] for number in (first, second, third)} == {"applied"}
    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert contact.last_name == "Lee 3"
    assert await no_differences(store, client)


async def test_concurrent_workers__merge_the_events_of_one_object(store: Store) -> None:
    client = await client_of(store)
    for number in range(40):
        for call in (
            about("contact", str(number), fields={"last_name": "Lee"}, occurred_us=NOON - 9),
            about("contact", str(number), email=f"p{number}@example.com", occurred_us=NOON - 8),
            [{"event": "email_sent", "email": f"q{number}@example.com", "occurred_us": NOON - 7}],
            about("contact", str(number), email=f"q{number}@example.com", occurred_us=NOON - 6),
        ):
            body = msgspec.json.encode(call)
            await store.write(store_delivery(client, "crm", body_key("crm", str(next(COUNT)), "", body), b"{}", "", body, NOON))

    await asyncio.gather(*(InboxWorker(store, read, lambda: NOON, batch_size=1).drain() for _ in range(4)))

    contacts = await store.read(list_records(Listing(CONTACT_TYPE, client, 200)))
    assert [
        (contact.email, contact.last_name) for contact in sorted(contacts, key=lambda first_contact: int(str(first_contact.email)[1:-12]))
    ] == [(f"q{number}@example.com", "Lee") for number in range(40)]
    assert set((await states(store, client)).values()) == {"applied"}
    assert await no_differences(store, client)


async def company_of_calls(store: Store, client: int, *numbers: str) -> dict[str, int]:
    """Companies that a CRM has told of, by its numbers."""
    await receive(store, client, *(about("company", number, domain=f"c{number}.example", occurred_us=NOON - 9) for number in numbers))
    return {record.domain[1:-8]: record.id for record in await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))}


async def test_merge_of_contacts__moves_the_company_to_the_surviving_contact(store: Store) -> None:
    client = await client_of(store)
    companies = await company_of_calls(store, client, "1")
    await receive(store, client, *(about("contact", n, email=f"p{n}@example.com", occurred_us=NOON - 9) for n in "12"))
    second = next(
        record for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10))) if record.email == "p2@example.com"
    )
    await store.write(update_contact(RecordUpdate(client, second.id, {"company_id": companies["1"]}, {}, NOON - 8, "k")))

    await receive(store, client, merge("contact", "2", "1"))

    assert [record.company_id for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))] == [companies["1"]]
    assert await no_differences(store, client)


@pytest.mark.parametrize("in_one_call", [True, False])
async def test_merge_of_companies__moves_and_updates_their_contacts(store: Store, in_one_call: bool) -> None:
    client = await client_of(store)
    companies = await company_of_calls(store, client, "1", "2")
    for name in ("ann", "bob"):
        contact = Contact(client, 0, NOON - DAY, NOON + 5, email=f"{name}@example.com", email_key=f"{name}@example.com")
        contact.company_id = companies["2"]
        await store.write(create_contact(Creation(contact)))
    calls = [about("contact", "7", email="ann@example.com", occurred_us=NOON - 2), merge("company", "2", "1")]

    stored = await receive(store, client, *([[*calls[0], *calls[1]]] if in_one_call else calls))

    contacts = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert {(await states(store, client))[number] for number in stored} == {"applied"}
    assert [(item.company_id, item.updated_us > NOON + 5) for item in contacts] == [(companies["1"], True)] * 2


async def test_merge__preserves_the_record_that_existed_first_regardless_of_ids(engine_url: str, store: Store) -> None:
    client = await client_of(store)
    await made_through_the_api(store, client, "first@example.com")  # this process takes the lower ids
    other_store = await open_store(engine_url, encryption_keys=ENCRYPTION_KEYS)
    expected = about("contact", "5", email="ann@example.com", occurred_us=NOON - 9, custom={"plan": "pro"})
    await receive(other_store, client, expected)
    await made_through_the_api(other_store, client, "api@example.com")
    await receive(other_store, client, about("contact", "6", email="api@example.com", occurred_us=NOON - 8))
    await other_store.close()
    before = {record.email: record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))}

    reported = [{"event": "email_sent", "email": "new@example.com", "occurred_us": NOON - 7}]
    await receive(store, client, [*reported, *about("contact", "5", email="new@example.com", occurred_us=NOON - 6)])

    after = {record.id: record for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))}
    assert set(after) == set(before.values())
    assert after[before["ann@example.com"]].email == "new@example.com"
    more = about("contact", "9", email="third@example.com", occurred_us=NOON - 5)
    both = [about("contact", number, email="third@example.com", occurred_us=NOON - 4)[0] for number in ("5", "6")]
    await receive(store, client, [*more, *both])
    contacts = {record.id: record for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))}
    assert before["ann@example.com"] not in contacts
    assert [(custom_field.name, custom_field.value) for custom_field in contacts[before["api@example.com"]].custom_fields] == [
        ("plan", "pro")
    ]
    assert await no_differences(store, client)


async def test_parked_events__join_their_record_with_any_number_of_fields(store: Store) -> None:
    client = await client_of(store)
    waiting = [about("contact", "1", custom={f"f{n}-{m}": "x" for m in range(300)}, occurred_us=NOON - 9 + n) for n in range(3)]

    *_, last = await receive(store, client, *waiting, about("contact", "1", email="ann@example.com", occurred_us=NOON - 2))

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert len(contact.custom_fields) == 900
    assert (await states(store, client))[last] == "applied"


async def test_webhook_that_merges_several_records__leaves_one_contact(store: Store) -> None:
    client = await client_of(store)
    profile = "https://linkedin.com/in/r"
    abouts = [about("contact", n, email=f"r{n}@example.com", linkedin_url=f"{profile}{n}", occurred_us=NOON - 9) for n in "123"]
    alone = [{"event": "linkedin_sent", "linkedin_url": f"{profile}4", "occurred_us": NOON - 8}]
    first_about = about("contact", "1", merged_into="2", email="r3@example.com", linkedin_url=f"{profile}4", occurred_us=NOON - 7)

    *_, last = await receive(store, client, *abouts, alone, first_about)

    assert len(await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))) == 1
    assert (await states(store, client))[last] == "applied"


async def test_event_of_two_merged_records__counts_for_one_delivery_and_the_other_is_ignored(store: Store) -> None:
    client = await client_of(store)
    twice = [[{"event": "email_sent", "email": f"q{n}@example.com", "key": "E1", "occurred_us": NOON - 9}] for n in "12"]
    named = [about("contact", n, email=f"q{n}@example.com", occurred_us=NOON - 8) for n in "12"]

    stored = await receive(store, client, *twice, *named, merge("contact", "2", "1"))

    reported = await states(store, client)
    assert sorted(reported[number] for number in stored[:2]) == ["applied", "ignored"]
    assert await no_differences(store, client)
