"""Verifying: a store that nobody meddled with has no differences, and any value changed by hand is found and named."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import apsw
import msgspec
import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import DAY, SECOND
from touchbase.connections.models import Connection
from touchbase.consistency.service import Verified, verify
from touchbase.consistency.sql import audit_records
from touchbase.enrichment.worker import store_fetched
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT, Event, Translation
from touchbase.inbox.receive import receive_webhook
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sandbox.pool import Sandbox
from touchbase.sql.store import Store
from touchbase.stores import open_store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()
ExecuteSql = Callable[..., Awaitable[list[tuple[Any, ...]]]]

ANN = {"email": "ann@example.com", "linkedin_url": "https://linkedin.com/in/ann"}
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("email_campaign", ANN | {"event": "email_sent", "occurred_us": NOON - 9 * SECOND, "first_name": "Ann"}),
    ("email_campaign", ANN | {"event": "email_sent", "occurred_us": NOON - 7 * SECOND}),
    ("email_campaign", ANN | {"event": "email_replied", "occurred_us": NOON - 8 * SECOND}),
    ("crm", {"event": "contact.updated", "email": "ann@example.com", "object_type": "contact", "object_id": "1",
             "fields": {"last_name": "Lee"}, "custom": {"plan": "pro", "seats": None}, "occurred_us": NOON - 6 * SECOND}),
    ("crm", {"event": "contact.status_changed", "object_type": "contact", "object_id": "1", "status": "customer",
             "occurred_us": NOON - 5 * SECOND}),
    ("crm", {"event": "contact.updated", "object_type": "contact", "object_id": "2", "fields": {"last_name": "Li"}}),
    ("crm", {"event": "contact.deleted", "object_type": "contact", "object_id": "3", "merged_into": "2"}),
    ("crm", {"event": "company.status_changed", "domain": "example.com", "object_type": "company", "object_id": "7", "name": "Ex",
             "status": "lead", "occurred_us": NOON - 4 * SECOND}),
    ("crm", {"event": "company.updated", "domain": "example.com", "fields": {"name": "Example"}, "occurred_us": NOON - 3 * SECOND}),
]  # fmt: skip


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events."""
    return Translation("test", [msgspec.convert(msgspec.json.decode(request.body), Event)])


async def filled(store: Store, times: int = 1) -> int:
    """A client with every kind of thing that is kept; what waits waits under two links that were merged."""
    client = (await store.write(ensure_client("acme", NOON))).number
    bob = Contact(client, 0, NOON - DAY, NOON - DAY, email="bob@example.com", email_key="bob@example.com", status="New", first_name="B")
    contact = await store.write(create_contact(Creation(bob, [("size", "4")])))
    await store.write(
        update_contact(
            RecordUpdate(client, contact.record.id, {"status": "Warm", "first_name": "Bob"}, {"size": "5"}, NOON - DAY // 2, "w1")
        )
    )
    for channel, said in CALLS * times:
        body, number = msgspec.json.encode(said), str(next(COUNT))
        key, headers = body_key(channel, "", f"x-event: {number}", body), msgspec.json.encode({"x-event": number})
        await store.write(store_delivery(client, channel, key, headers, "", body, NOON))
    await InboxWorker(store, read, lambda: NOON).drain()
    return client


async def findings_of(store: Store, client: int, page: int = 200) -> list[str]:
    return [str(item) async for item in verify(store, client, Verified(), page=page, bodies=True)]


@pytest.mark.parametrize("page", [1, 2, 200])
async def test_verify__finds_no_differences_after_webhooks_and_writes(store: Store, page: int) -> None:
    client = await filled(store, times=2)
    so_far = Verified()

    verifies = [item async for item in verify(store, client, so_far, page=page, bodies=True)]

    assert verifies == []
    assert so_far == Verified(contacts=2, companies=1, events=13, deliveries=18, differences=0)


@pytest.mark.parametrize(
    ("statement", "field"),
    [
        ("UPDATE contact SET status = 'lost' WHERE email_key = 'ann@example.com'", "contact_status is 'lost', and must be 'customer'"),
        ("UPDATE contact SET previous_status = NULL", "previous_status is unset, and must be 'replied'"),
        ("UPDATE contact SET status_changed_us = 0 WHERE email_key = 'bob@example.com'", "status_changed_at is 1970-01-01T00:00:00Z, and"),
        ("UPDATE contact SET status_entry_us = 1 WHERE email_key = 'ann@example.com'", "status_entry_us is"),
        ("UPDATE contact SET status_cause = 'sent' WHERE email_key = 'ann@example.com'", "status_cause is 'sent', and must be 'status'"),
        ("UPDATE event SET status = 'Old' WHERE event = 'contact.created'", "previous_status is 'New', and must be 'Old'"),
        ("UPDATE contact SET first_sent_us = first_sent_us + 1 WHERE first_sent_us IS NOT NULL", "first_campaign_email_sent is"),
        ("UPDATE contact SET last_sent_us = NULL", "last_campaign_email_sent is unset, and must be 2026-09-21T14:13:13Z"),
        ("UPDATE contact SET last_reply_us = 5 WHERE last_reply_us IS NULL", "last_reply_received is 1970-01-01T00:00:00.000005Z"),
        ("UPDATE contact SET first_name = 'Anna' WHERE email_key = 'ann@example.com'", "first_name is 'Anna', and must be 'Ann'"),
        ("UPDATE contact SET first_name = 'Rob' WHERE email_key = 'bob@example.com'", "first_name is 'Rob', and must be 'Bob'"),
        ("UPDATE contact SET origin = 'elsewhere' WHERE email_key = 'ann@example.com'", "origin is 'elsewhere', and must be 'test'"),
        ("UPDATE contact SET stamps = NULL, last_name = NULL WHERE email_key = 'ann@example.com'", "last_name is unset, and must be 'Lee'"),
        ("UPDATE contact SET email_key = 'eve@example.com' WHERE email_key = 'ann@example.com'", "email_key is 'eve@example.com'"),
        ("UPDATE contact SET linkedin_key = NULL", "linkedin_key is unset, and must be 'linkedin.com/in/ann'"),
        ("UPDATE company SET status = NULL", "company_status is unset, and must be 'lead'"),
        ("UPDATE company SET name = 'Exemplar'", "name is 'Exemplar', and must be 'Example'"),
        ("UPDATE company SET domain = 'https://Example.com'", "domain is 'https://Example.com', and must be 'example.com'"),
        ("UPDATE contact SET last_name = 'Lu' WHERE email_key = 'bob@example.com'",
         "last_name is 'Lu', and must be unset, because no event"),
        ("UPDATE contact SET origin = 'x' WHERE email_key = 'bob@example.com'", "origin is 'x', and must be unset, because no event"),
        ("UPDATE custom_field SET name = 'other' WHERE name = 'plan'", "custom field other is 'pro', and must be unset, because no event"),
        ("UPDATE custom_field SET stamp_key = 'x' WHERE name = 'size'", "custom field size is '5', and must be unset, because no event"),
        ("UPDATE contact SET email = 'eve@example.com', email_key = 'eve@example.com' WHERE email_key = 'ann@example.com'",
         "email is 'eve@example.com', and must be 'ann@example.com', set by an event"),
        ("UPDATE contact SET email = 'eve@example.com', email_key = 'eve@example.com' WHERE email_key = 'bob@example.com'",
         "email is 'eve@example.com', and must be 'bob@example.com', set by an event"),
        ("UPDATE contact SET email = NULL, email_key = NULL WHERE email_key = 'ann@example.com'",
         "email is unset, and must be 'ann@example.com', set by an event"),
        ("UPDATE contact SET linkedin_url = 'linkedin.com/in/eve', linkedin_key = 'linkedin.com/in/eve' WHERE linkedin_key IS NOT NULL",
         "linkedin_url is 'linkedin.com/in/eve', and must be 'https://linkedin.com/in/ann', set by an event"),
        ("UPDATE company SET domain = 'eve.example'", "domain is 'eve.example', and must be 'example.com', set by an event"),
        ("UPDATE link SET record_id = (SELECT id FROM contact WHERE email_key = 'bob@example.com') WHERE record_kind = 1",
         "link is test contact 1, and must be absent, because no event of the record names it"),
        ("UPDATE link SET record_kind = 2, record_id = (SELECT id FROM company) WHERE record_kind = 1",
         "link is test contact 1, and must be absent, because it is a link of a contact"),
        ("UPDATE custom_field SET value = 'free' WHERE name = 'plan'", "custom field plan is 'free', and must be 'pro'"),
        ("UPDATE custom_field SET stamped_us = 1 WHERE name = 'seats'", "custom field seats is unset, and must be unset, set by"),
        ("UPDATE custom_field SET value = '6' WHERE name = 'size'", "custom field size is '6', and must be '5'"),
        ("DELETE FROM custom_field WHERE name = 'plan'", "custom field plan is unset, and must be 'pro'"),
        ("UPDATE custom_field SET record_id = 999 WHERE name = 'plan'", "contact 999: custom field is present, and must be absent"),
        ("UPDATE link SET record_id = 999 WHERE record_kind = 1", "contact 999: link is present, and must be absent"),
        ("UPDATE link SET record_id = 999 WHERE record_kind = 2", "company 999: link is present, and must be absent"),
        ("UPDATE event SET record_id = 999 WHERE record_kind = 2", "company 999: event is present, and must be absent"),
        ("DELETE FROM link WHERE record_kind = 3", "waiting events is 4, and must be 0"),
        ("UPDATE event SET occurred_us = 7 WHERE event = 'email_replied'", "last_reply_received is"),
        ("DELETE FROM event WHERE event = 'email_replied'", "last_reply_received is"),
        ("UPDATE event SET effect = 'reply' WHERE effect = 'sent'", "first_campaign_email_sent is"),
        ("UPDATE event SET status = 'cold' WHERE event = 'contact.status_changed'", "contact_status is 'customer', and must be 'cold'"),
        ("UPDATE delivery SET state = 'applied' WHERE state = 'ignored'",
         "state is 'applied', and must be another, because it has no event"),
        ("UPDATE delivery SET state = 'parked' WHERE state = 'applied'",
         "state is 'parked', and must be another, because none of its events is parked"),
        ("UPDATE delivery SET state = 'applied' WHERE state = 'parked'",
         "state is 'applied', and must be another, because one of its events"),
        ("UPDATE delivery SET state = 'ignored' WHERE state = 'applied'",
         "state is 'ignored', and must be another, because it has an event"),
        ("UPDATE delivery SET state = 'lost' WHERE state = 'applied'", "state is 'lost', and must be one of received, applied, "),
        ("UPDATE delivery SET state = 'unrecognised'", "state is 'unrecognised', and must be another, because it has no error"),
        ("UPDATE delivery SET state = 'received', body_removed = 'erased'",
         "state is 'received', and must be another, because it has no body"),
        ("UPDATE delivery SET applied_us = NULL", "state is 'applied', and must be another, because it has no end time"),
        ("UPDATE delivery_body SET body = headers", "bytes, and must be another, because its key was computed from another webhook"),
        ("UPDATE delivery_body SET query = 'a=b'", "and must be another, because its key was computed from another webhook"),
        ("UPDATE delivery_body SET headers = body", "and must be another, because its key was computed from another webhook"),
        ("UPDATE delivery SET channel = 'crm'", "and must be another, because its key was computed from another webhook"),
        ("UPDATE delivery SET body_removed = 'erased' WHERE state = 'applied'",
         "bytes, and must be absent, because it was removed (erased)"),
        ("DELETE FROM delivery WHERE state = 'applied'", "events is 1, and must be 0, because there is no such delivery"),
        ("DELETE FROM delivery_body", "body is missing, and must be present, because neither erasure nor retention removed it"),
    ],
)  # fmt: skip
@pytest.mark.slow_on_postgresql
async def test_verify__names_a_value_changed_by_hand(store: Store, execute_sql: ExecuteSql, statement: str, field: str) -> None:
    client = await filled(store, times=2)

    await execute_sql(statement)

    result = await findings_of(store, client, page=2)
    assert any(field in item for item in result), result


async def test_verify__finds_a_merge_link_from_an_existing_record(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    [[bob]] = await execute_sql("SELECT id FROM contact WHERE email_key = 'bob@example.com'")
    linked = f"UPDATE link SET tool = '', object_type = 'contact', object_id = '{bob}' WHERE record_kind = 1 AND object_id = '1'"

    await execute_sql(linked)

    assert [item.partition(": ")[2] for item in await findings_of(store, client)] == [
        f"link is of contact {bob}, and must be absent, because there is a contact {bob}"
    ]


async def test_verify__reads_the_links_of_a_record_in_order_whenever_they_were_written(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    [[bob]] = await execute_sql("SELECT id FROM contact WHERE email_key = 'bob@example.com'")

    for (number,) in await execute_sql("SELECT id FROM link ORDER BY tool DESC, object_type DESC, object_id DESC"):
        await execute_sql("UPDATE link SET record_kind = 1, record_id = ? WHERE id = ?", bob, number)

    links = (await store.read(audit_records(client, CONTACT, 0, 100))).links[bob]
    assert len(links) > 2
    assert links == sorted(links)


async def test_verify__finds_exchanged_addresses(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)

    for old, new in (("ann", "eve"), ("bob", "ann"), ("eve", "bob")):
        new_key, old_key = f"{new}@example.com", f"{old}@example.com"
        await execute_sql("UPDATE contact SET email = ?, email_key = ? WHERE email_key = ?", new_key, new_key, old_key)

    assert sorted(item.partition(": ")[2] for item in await findings_of(store, client)) == [
        "email is 'ann@example.com', and must be 'bob@example.com', set by an event",
        "email is 'bob@example.com', and must be 'ann@example.com', set by an event",
    ]


async def test_verify__finds_a_former_address_of_another_record(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    [bob] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="bob@example.com")))
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="ann@example.com")))
    await store.write(update_contact(RecordUpdate(client, bob.id, {"email": "rob@x.test", "email_key": "rob@x.test"}, {}, NOON, "w2")))
    assert await findings_of(store, client) == []

    await execute_sql("UPDATE link SET record_id = ? WHERE tool = '' AND record_id = ?", ann.id, bob.id)

    assert [item.partition(": ")[2] for item in await findings_of(store, client)] == [
        "link is email bob@example.com, and must be absent, because no event of the record names it"
    ]


async def test_verify__finds_a_history_of_two_people(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    for number in ("8", "9"):
        said = {"event": "contact.updated", "object_type": "contact", "object_id": number, "email": f"p{number}@x.test"}
        body = msgspec.json.encode(said)
        await store.write(store_delivery(client, "crm", body_key("crm", "", "", body), b"{}", "", body, NOON + 1))
        await InboxWorker(store, read, lambda: NOON + 1).drain()
    ids = {record.email: record.id for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))}
    assert await findings_of(store, client) == []

    await execute_sql("UPDATE event SET record_id = ? WHERE record_id = ?", ids["p8@x.test"], ids["p9@x.test"])

    wanted = "history is of objects with different addresses, and must be divided into a record each: p8@x.test, p9@x.test"
    assert f"contact {ids['p8@x.test']}: {wanted}" in await findings_of(store, client)


@pytest.mark.parametrize("by_api", [True, False])
async def test_verify__finds_a_changed_company_of_a_contact(store: Store, execute_sql: ExecuteSql, by_api: bool) -> None:
    client = await filled(store)
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="ann@example.com")))
    [company] = await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))
    other_record = (await store.write(create_company(Creation(Company(client, 0, NOON, NOON, "other.test"))))).record
    if by_api:
        await store.write(update_contact(RecordUpdate(client, ann.id, {"company_id": company.id}, {}, NOON + 1, "w2")))
    else:
        said = {"event": "contact.updated", "object_type": "contact", "object_id": "1", "company_object": ["company", "7"]}
        body = msgspec.json.encode(said)
        await store.write(store_delivery(client, "crm", body_key("crm", "", "", body), b"{}", "", body, NOON + 1))
        await InboxWorker(store, read, lambda: NOON + 1).drain()
    assert await findings_of(store, client) == []

    await execute_sql("UPDATE contact SET company_id = ? WHERE id = ?", other_record.id, ann.id)

    assert [item.partition(": ")[2] for item in await findings_of(store, client)] == [
        f"company_id is {other_record.id}, and must be {company.id}, set by an event"
    ]


async def test_verify__accepts_a_contact_whose_company_was_merged(store: Store) -> None:
    client = await filled(store)
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="ann@example.com")))
    [company] = await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))
    await store.write(update_contact(RecordUpdate(client, ann.id, {"company_id": company.id}, {}, NOON + 1, "w2")))
    await store.write(create_company(Creation(Company(client, 0, NOON, NOON, "other.test"))))
    said = {"event": "company.updated", "domain": "other.test", "object_type": "company", "object_id": "7"}
    body = msgspec.json.encode(said)
    await store.write(store_delivery(client, "crm", body_key("crm", "", "", body), b"{}", "", body, NOON + 1))
    await InboxWorker(store, read, lambda: NOON + 1).drain()

    [left] = await store.read(list_records(Listing(COMPANY_TYPE, client, 10)))
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="ann@example.com")))
    assert (ann.company_id, left.id != company.id) == (left.id, True)
    assert await findings_of(store, client) == []


async def test_verify__accepts_a_record_without_an_event_of_its_creation(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    # An earlier version: neither the creation nor a write of what was there already is in the history, and no event names addresses.
    await execute_sql("UPDATE contact SET initial_status = 'New' WHERE email_key = 'bob@example.com'")
    await execute_sql("DELETE FROM event WHERE event = 'contact.created'")
    for detail, key in await execute_sql("SELECT detail, key FROM event WHERE delivery_id IS NOT NULL"):
        said = msgspec.json.decode(detail)
        plain = {name: value for name, value in said.items() if name not in ("named", "object")}
        await execute_sql("UPDATE event SET detail = ? WHERE key = ?", msgspec.json.encode(plain).decode(), key)
    [(stamps, number)] = await execute_sql("SELECT stamps, id FROM contact WHERE email_key = 'ann@example.com'")
    restated = msgspec.json.decode(stamps) | {"email": [1, NOON - 1, "api:p:9"], "first_name": [1, NOON - 1, "api:p:9"]}
    await execute_sql("UPDATE contact SET stamps = ? WHERE id = ?", msgspec.json.encode(restated).decode(), number)

    assert await findings_of(store, client) == []


async def test_verify__finds_a_missing_company(sqlite_url: str) -> None:
    store = await open_store(sqlite_url)
    client = await filled(store)

    with apsw.Connection(sqlite_url.removeprefix("sqlite:///")) as connection:  # PostgreSQL refuses it
        connection.execute("UPDATE contact SET company_id = 999 WHERE email_key = 'ann@example.com'")

    assert any(
        "company_id is 999, and must be unset, because there is no such company" in item for item in await findings_of(store, client)
    )
    await store.close()


@pytest.mark.parametrize("naming", [{"x-event": "a"}, {"x-event": "a, b"}, {"x-event": "a", "idempotency-key": "1"}, {"user-agent": "x"}])
async def test_verify__accepts_the_dedupe_key_of_a_received_webhook(store: Store, naming: dict[str, str]) -> None:
    client = await store.write(ensure_client("acme", NOON))
    several = [(name.encode(), word.encode()) for name, value in naming.items() for word in value.split(", ")]
    for headers in (several, [(name.encode(), value.encode()) for name, value in naming.items()]):
        await receive_webhook(store, client, "crm", headers, query="a=b&c=d", body=b"{} ", at=NOON, sandbox=Sandbox("test"))

    assert await findings_of(store, client.number) == []


async def test_verify__accepts_the_dedupe_key_of_a_fetched_record(store: Store) -> None:
    client = (await store.write(ensure_client("acme", NOON))).number
    connection = Connection(client, "crm", "hubspot", NOON, NOON, access_token="secret-token")
    await store_fetched(store, connection, "contacts", b'{"id": 1}', NOON)

    assert await findings_of(store, client) == []


async def test_verify__omits_a_record_that_is_corrected_during_the_check(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    await execute_sql("UPDATE contact SET status = 'lost' WHERE email_key = 'ann@example.com'")

    class Mending:
        """Answers reads, and has the value mended after the first."""

        async def read(self, query: Any) -> Any:
            result = await store.read(query)
            await execute_sql("UPDATE contact SET status = 'customer' WHERE email_key = 'ann@example.com'")
            return result

    assert await findings_of(Mending(), client) == []  # type: ignore[arg-type]


async def test_verify__accepts_an_api_write_after_an_event_with_a_future_time(store: Store) -> None:
    client = await filled(store)
    ahead = {"event": "contact.updated", "email": "ann@example.com", "fields": {"last_name": "Lu"}, "custom": {"plan": "max"},
             "occurred_us": NOON + 3600 * SECOND}  # fmt: skip
    body = msgspec.json.encode(ahead)
    await store.write(store_delivery(client, "crm", body_key("crm", "", "", body), b"{}", "", body, NOON))
    await InboxWorker(store, read, lambda: NOON).drain()
    [ann] = await store.read(list_records(Listing(CONTACT_TYPE, client, 1, email_key="ann@example.com")))

    changed = await store.write(update_contact(RecordUpdate(client, ann.id, {"last_name": "Lo"}, {"plan": "mini"}, NOON + 1, "w2")))

    assert (changed.last_name, {custom_field.name: custom_field.value for custom_field in changed.custom_fields}["plan"]) == ("Lo", "mini")
    assert await findings_of(store, client) == []


async def test_verify__checks_only_the_given_client(store: Store, execute_sql: ExecuteSql) -> None:
    client = await filled(store)
    number = (await store.write(ensure_client("other", NOON))).number

    await execute_sql("UPDATE contact SET status = 'lost'")

    assert await findings_of(store, number) == []
    assert len(await findings_of(store, client)) == 2


async def test_verify__finds_a_missing_custom_field_of_a_record_over_500(store: Store, execute_sql: ExecuteSql) -> None:
    client = (await store.write(ensure_client("acme", NOON))).number
    for word in ("a", "b"):
        said = {"event": "contact.updated", "email": "ann@example.com", "custom": {f"{word}{n}": "x" for n in range(300)}}
        body = msgspec.json.encode(said | {"occurred_us": NOON - SECOND})
        await store.write(store_delivery(client, "crm", body_key("crm", word, "", body), b"{}", word, body, NOON))
    await InboxWorker(store, read, lambda: NOON).drain()

    await execute_sql("DELETE FROM custom_field WHERE name = 'b5'")

    assert ["custom field b5" in item for item in await findings_of(store, client)] == [True]
