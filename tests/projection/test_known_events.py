"""A known fact decides nothing again: replays and retries change no identity, no field and no count."""

from __future__ import annotations

import itertools
from typing import Any

import msgspec
import pytest
from tests.projection.test_merged_records import NOON, about, client_of, no_differences, read, states

from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_company, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store

COUNT = itertools.count()
HOUR = 3600 * SECOND
Call = list[dict[str, Any]]


async def keep(store: Store, client: int, call: Call, received_us: Micros, channel: str = "crm") -> int:
    body = msgspec.json.encode(call)
    key = body_key(channel, f"known {next(COUNT)}", "", body)
    return (await store.write(store_delivery(client, channel, key, b"{}", "", body, received_us))).id


async def work(store: Store, at: Micros, turn: int = 50) -> None:
    await InboxWorker(store, read, lambda: at, batch_size=turn).drain()


async def receive(store: Store, client: int, *calls: Call, at: Micros = NOON, channel: str = "crm") -> list[int]:
    stored = []
    for call in calls:
        stored.append(await keep(store, client, call, at, channel))
        await work(store, at)
    return stored


async def replay(store: Store, client: int, ids: list[int], at: Micros = NOON + HOUR) -> None:
    await store.write(replay_deliveries(client, ids, at))
    await work(store, at)


async def people(store: Store, client: int) -> dict[str | None, str | None]:
    return {record.email: record.first_name for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 50)))}


async def create(store: Store, client: int, email: str, name: str, at: Micros) -> int:
    contact = Contact(client, 0, at, at, email=email, email_key=email, first_name=name)
    return (await store.write(create_contact(Creation(contact)))).record.id


async def set_email(store: Store, client: int, contact: int, email: str, at: Micros) -> None:
    await store.write(update_contact(RecordUpdate(client, contact, {"email": email, "email_key": email}, {}, at, f"api:{at}")))


@pytest.mark.parametrize("own_id", ["E1", None])
async def test_replay__leaves_two_people_who_exchanged_an_address_two(store: Store, own_id: str | None) -> None:
    client = await client_of(store)
    call = about("contact", "1", email="info@x.test", fields={"first_name": "Ann"}, occurred_us=NOON - 9, key=own_id)
    stored = await receive(store, client, call)
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    await set_email(store, client, ann.id, "ann@x.test", NOON + 1)
    await create(store, client, "info@x.test", "Bob", NOON + 2)

    await replay(store, client, stored)
    await receive(store, client, call, at=NOON + 3)

    assert await people(store, client) == {"ann@x.test": "Ann", "info@x.test": "Bob"}
    assert await no_differences(store, client)


async def test_late_call__of_an_object_whose_address_another_contact_has_now_is_the_objects(store: Store) -> None:
    client = await client_of(store)
    await receive(store, client, about("contact", "1", email="info@x.test", fields={"first_name": "Ann"}, occurred_us=NOON - 9))
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    await set_email(store, client, ann.id, "ann@x.test", NOON + 1)
    bob = await create(store, client, "info@x.test", "Bob", NOON + 2)

    await receive(store, client, about("contact", "1", email="info@x.test", custom={"plan": "pro"}, occurred_us=NOON - 8), at=NOON + 3)
    sent = [{"event": "email_sent", "email": "info@x.test", "occurred_us": NOON - 7}]
    await receive(store, client, sent, at=NOON + 4, channel="email_campaign")
    await receive(store, client, [sent[0] | {"occurred_us": NOON + 3}], at=NOON + 4, channel="email_campaign")

    assert await people(store, client) == {"ann@x.test": "Ann", "info@x.test": "Bob"}
    assert [item.event for item in await store.read(get_history(client, CONTACT, ann.id)) if item.channel != "api"] == [
        "contact.updated", "contact.updated", "email_sent",
    ]  # fmt: skip
    assert [item.occurred_us for item in await store.read(get_history(client, CONTACT, bob)) if item.channel != "api"] == [NOON + 3]
    assert await no_differences(store, client)


async def test_replay__leaves_two_companies_who_exchanged_a_domain_two(store: Store) -> None:
    client = await client_of(store)
    stored = await receive(store, client, about("company", "1", domain="x.test", fields={"name": "Old"}, occurred_us=NOON - 9))
    [old] = await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))
    await store.write(update_company(RecordUpdate(client, old.id, {"domain": "old.test"}, {}, NOON + 1, "api:1")))
    await store.write(create_company(Creation(Company(client, 0, NOON + 2, NOON + 2, "x.test", "New"))))

    await replay(store, client, stored)

    assert {record.domain: record.name for record in await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))} == {
        "old.test": "Old",
        "x.test": "New",
    }
    assert await no_differences(store, client)


async def test_replay__leaves_two_people_who_exchanged_a_linkedin_address_two(store: Store) -> None:
    client = await client_of(store)
    url, key = "https://linkedin.com/in/ann", "linkedin.com/in/ann"
    reported = [{"event": "linkedin_sent", "linkedin_url": url, "first_name": "Ann", "occurred_us": NOON - 9}]
    stored = await receive(store, client, reported, channel="email_campaign")
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    await store.write(
        update_contact(
            RecordUpdate(client, ann.id, {"linkedin_url": "linkedin.com/in/x", "linkedin_key": "linkedin.com/in/x"}, {}, NOON + 1, "api:1")
        )
    )
    await store.write(
        create_contact(Creation(Contact(client, 0, NOON + 2, NOON + 2, linkedin_url=url, linkedin_key=key, first_name="Bob")))
    )

    await replay(store, client, stored)

    contacts = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert sorted((contact.first_name or "", contact.linkedin_key) for contact in contacts) == [
        ("Ann", "linkedin.com/in/x"), ("Bob", key),
    ]  # fmt: skip
    assert await no_differences(store, client)


async def test_replay__counts_a_reply_for_nobody_but_who_had_it(store: Store) -> None:
    client = await client_of(store)
    stored = await receive(
        store, client, [{"event": "email_replied", "email": "info@x.test", "occurred_us": NOON - 9}], channel="email_campaign"
    )
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    await set_email(store, client, ann.id, "ann@x.test", NOON + 1)
    bob = await create(store, client, "info@x.test", "Bob", NOON + 2)

    await replay(store, client, stored)

    reported = {
        record.id: (record.last_reply_us, record.status) for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    }
    assert reported == {ann.id: (NOON - 9, "replied"), bob: (None, None)}
    assert (await states(store, client))[stored[0]] == "applied"
    assert await no_differences(store, client)


@pytest.mark.parametrize("turn", [1, 50])
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_own_id__counts_once_at_the_earliest_receipt_in_every_order(store: Store, order: tuple[int, ...], turn: int) -> None:
    client = await client_of(store)
    replied = [{"event": "email_replied", "email": "ann@x.test", "key": "E1", "first_name": "Ann"}]
    status = about("contact", "7", email="ann@x.test", key="E2", fields={"last_name": "Lee"}, custom={"plan": "pro"})
    between = about(
        "contact", "7", email="ann@x.test", key="E3", fields={"last_name": "Bee"}, custom={"plan": "old"}, occurred_us=NOON + SECOND
    )
    received = [NOON, NOON + 10 * SECOND, NOON + 20 * SECOND]
    await receive(store, client, between, at=NOON + 2 * SECOND)

    stored = {}
    for place in order:
        stored[place] = await keep(store, client, [*replied, *status], received[place])
        if turn == 1:
            await work(store, NOON + HOUR)
    await work(store, NOON + HOUR)

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    history = await store.read(get_history(client, CONTACT, contact.id))
    assert (contact.last_reply_us, contact.status_changed_us, contact.last_name) == (NOON, NOON, "Bee")
    assert [(custom_field.name, custom_field.value) for custom_field in contact.custom_fields] == [("plan", "old")]
    assert sorted((item.occurred_us, item.delivery_id) for item in history)[:2] == [(NOON, stored[0])] * 2
    assert len(history) == 3
    assert {number: (await states(store, client))[number] for number in stored.values()} == {
        stored[0]: "applied", stored[1]: "ignored", stored[2]: "ignored",
    }  # fmt: skip
    assert await no_differences(store, client)


async def test_own_id__of_a_waiting_fact_counts_once(store: Store) -> None:
    client = await client_of(store)
    waiting = about("contact", "7", fields={"last_name": "Lee"}, key="E1")
    late = await keep(store, client, waiting, NOON + 10)
    await work(store, NOON + HOUR)
    early = await keep(store, client, waiting, NOON)
    await work(store, NOON + HOUR)
    assert await states(store, client) == {late: "ignored", early: "parked"}

    await receive(store, client, about("contact", "7", email="ann@x.test", occurred_us=NOON - 9))

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    history = await store.read(get_history(client, CONTACT, contact.id))
    assert sorted((item.occurred_us, item.delivery_id) for item in history)[1] == (NOON, early)
    assert len(history) == 2
    assert await no_differences(store, client)


async def test_own_id__that_two_people_of_one_call_share_counts_for_both(store: Store) -> None:
    client = await client_of(store)
    opened = [{"event": "email_opened", "email": f"{name}@x.test", "key": "E1", "occurred_us": NOON - 9} for name in ("ann", "bob")]

    stored = await receive(store, client, opened, opened, channel="email_campaign")

    contacts = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert [len(await store.read(get_history(client, CONTACT, contact.id))) for contact in contacts] == [1, 1]
    assert await states(store, client) == {stored[0]: "applied", stored[1]: "ignored"}


@pytest.mark.parametrize("name", ["step", "link", "campaign_id"])
async def test_two_in_one_second__that_differ_in_step_link_or_campaign_id_are_two(store: Store, name: str) -> None:
    client = await client_of(store)
    clicked = {"event": "email_clicked", "email": "ann@x.test", "occurred_us": NOON - 9, "campaign": "Autumn"}

    await receive(store, client, [clicked | {name: "1"}], [clicked | {name: "2"}], [clicked | {name: "1"}], channel="email_campaign")

    [contact] = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert len(await store.read(get_history(client, CONTACT, contact.id))) == 2


async def test_a_call_that_only_confirms__is_no_change_of_the_record(store: Store) -> None:
    """Its values are confirmed by a later event, so a stamp moves; what an answer shows stays, and with it the ETag."""
    client = await client_of(store)
    [reported] = about("contact", "1", email="ann@x.test", occurred_us=NOON, fields={"first_name": "Ann"}, custom={"plan": "gold"})
    await receive(store, client, [reported], at=NOON)
    [before] = await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))

    await receive(store, client, [reported | {"occurred_us": NOON + SECOND}], at=NOON + HOUR)
    [confirmed] = await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))
    await receive(store, client, [reported | {"occurred_us": NOON + 2 * SECOND, "custom": {"plan": "silver"}}], at=NOON + 2 * HOUR)
    [changed] = await store.read(list_records(Listing(CONTACT_TYPE, client, 5)))

    assert confirmed.updated_us == before.updated_us
    assert confirmed.stamps["first_name"] > before.stamps["first_name"]
    assert changed.updated_us > before.updated_us
