"""Verifying: a store that nobody meddled with has no differences, and any value changed by hand is found and named."""

from __future__ import annotations

import itertools
from collections.abc import Awaitable, Callable
from typing import Any

import msgspec
import pytest

from touchbase.domain.commands import CreateContact, EnsureClient, KeepDelivery, UpdateContact
from touchbase.domain.contact import Contact
from touchbase.domain.delivery import WebhookRequest
from touchbase.domain.events import Event, Translation
from touchbase.domain.keys import body_key
from touchbase.domain.ports import Store
from touchbase.domain.queries import ListContacts
from touchbase.domain.times import DAY, SECOND
from touchbase.service.process_inbox import InboxWorker
from touchbase.service.verify import Verified, verify

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()
ByHand = Callable[..., Awaitable[list[tuple[Any, ...]]]]

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
    client = (await store.write(EnsureClient("acme", NOON))).number
    bob = Contact(client, 0, NOON - DAY, NOON - DAY, email="bob@example.com", email_key="bob@example.com", status="New", first_name="B")
    made = await store.write(CreateContact(bob, [("size", "4")]))
    await store.write(UpdateContact(client, made.record.id, {"status": "Warm", "first_name": "Bob"}, {"size": "5"}, NOON - DAY // 2, "w1"))
    for channel, said in CALLS * times:
        body = msgspec.json.encode(said)
        await store.write(KeepDelivery(client, channel, body_key(channel, str(next(COUNT)), "", body), b"{}", "", body, NOON))
    await InboxWorker(store, read, lambda: NOON).drain()
    return client


async def told(store: Store, client: int, page: int = 200) -> list[str]:
    return [str(each) async for each in verify(store, client, Verified(), page=page)]


@pytest.mark.parametrize("page", [1, 2, 200])
async def test_what_calls_and_callers_have_made_has_no_differences(store: Store, page: int) -> None:
    client = await filled(store, times=2)
    so_far = Verified()

    found = [each async for each in verify(store, client, so_far, page=page)]

    assert found == []
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
        ("UPDATE custom_field SET value = 'free' WHERE name = 'plan'", "custom field plan is 'free', and must be 'pro'"),
        ("UPDATE custom_field SET stamped_us = 1 WHERE name = 'seats'", "custom field seats is unset, and must be unset, as"),
        ("UPDATE custom_field SET value = '6' WHERE name = 'size'", "custom field size is '6', and must be '5'"),
        ("DELETE FROM custom_field WHERE name = 'plan'", "custom field plan is unset, and must be 'pro'"),
        ("UPDATE custom_field SET record_id = 999 WHERE name = 'plan'", "contact 999: custom field is there, and must be gone"),
        ("UPDATE link SET record_id = 999 WHERE record_kind = 1", "contact 999: link is there, and must be gone"),
        ("UPDATE link SET record_id = 999 WHERE record_kind = 2", "company 999: link is there, and must be gone"),
        ("UPDATE event SET record_id = 999 WHERE record_kind = 2", "company 999: event is there, and must be gone"),
        ("DELETE FROM link WHERE record_kind = 3", "waiting events is 4, and must be 0"),
        ("UPDATE event SET occurred_us = 7 WHERE event = 'email_replied'", "last_reply_received is"),
        ("DELETE FROM event WHERE event = 'email_replied'", "last_reply_received is"),
        ("UPDATE event SET effect = 'reply' WHERE effect = 'sent'", "first_campaign_email_sent is"),
        ("UPDATE event SET status = 'cold' WHERE event = 'contact.status_changed'", "contact_status is 'customer', and must be 'cold'"),
        ("UPDATE delivery SET state = 'applied' WHERE state = 'ignored'", "state is 'applied', and must be another, as no event is of it"),
        ("UPDATE delivery SET state = 'parked' WHERE state = 'applied'", "state is 'parked', and must be another, as no event of it waits"),
        ("UPDATE delivery SET state = 'applied' WHERE state = 'parked'", "state is 'applied', and must be another, as an event of it"),
    ],
)  # fmt: skip
async def test_a_value_changed_by_hand_is_found_and_named(store: Store, by_hand: ByHand, statement: str, field: str) -> None:
    client = await filled(store, times=2)

    await by_hand(statement)

    found = await told(store, client, page=2)
    assert any(field in each for each in found), found


async def test_a_record_that_is_mended_while_the_page_is_checked_is_not_told(store: Store, by_hand: ByHand) -> None:
    client = await filled(store)
    await by_hand("UPDATE contact SET status = 'lost' WHERE email_key = 'ann@example.com'")

    class Mending:
        """Answers reads, and has the value mended after the first."""

        async def read(self, query: Any) -> Any:
            found = await store.read(query)
            await by_hand("UPDATE contact SET status = 'customer' WHERE email_key = 'ann@example.com'")
            return found

    assert await told(Mending(), client) == []  # type: ignore[arg-type]


async def test_a_call_of_the_api_rules_over_a_tool_whose_clock_runs_ahead(store: Store) -> None:
    client = await filled(store)
    ahead = {"event": "contact.updated", "email": "ann@example.com", "fields": {"last_name": "Lu"}, "custom": {"plan": "max"},
             "occurred_us": NOON + 3600 * SECOND}  # fmt: skip
    body = msgspec.json.encode(ahead)
    await store.write(KeepDelivery(client, "crm", body_key("crm", "", "", body), b"{}", "", body, NOON))
    await InboxWorker(store, read, lambda: NOON).drain()
    [ann] = await store.read(ListContacts(client, 1, email_key="ann@example.com"))

    changed = await store.write(UpdateContact(client, ann.id, {"last_name": "Lo"}, {"plan": "mini"}, NOON + 1, "w2"))

    assert (changed.last_name, {one.name: one.value for one in changed.custom_fields}["plan"]) == ("Lo", "mini")
    assert await told(store, client) == []


async def test_other_clients_are_left_out(store: Store, by_hand: ByHand) -> None:
    client = await filled(store)
    other = (await store.write(EnsureClient("other", NOON))).number

    await by_hand("UPDATE contact SET status = 'lost'")

    assert await told(store, other) == []
    assert len(await told(store, client)) == 2


async def test_a_lost_field_is_missed_on_a_record_that_calls_have_filled_beyond_500(store: Store, by_hand: ByHand) -> None:
    client = (await store.write(EnsureClient("acme", NOON))).number
    for word in ("a", "b"):
        said = {"event": "contact.updated", "email": "ann@example.com", "custom": {f"{word}{n}": "x" for n in range(300)}}
        body = msgspec.json.encode(said | {"occurred_us": NOON - SECOND})
        await store.write(KeepDelivery(client, "crm", body_key("crm", word, "", body), b"{}", "", body, NOON))
    await InboxWorker(store, read, lambda: NOON).drain()

    await by_hand("DELETE FROM custom_field WHERE name = 'b5'")

    assert ["custom field b5" in each for each in await told(store, client)] == [True]
