"""What every engine promises about the inbox: kept byte for byte, recognised again, applied once, never lost."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from hashlib import sha256

import msgspec
import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.timestamps import DAY, SECOND
from touchbase.deliveries.delivery import (
    APPLIED,
    DEDUPE_WINDOW,
    FAILED,
    IGNORED,
    MAX_ATTEMPTS,
    PARKED,
    RECEIVED,
    UNDATED_DEDUPE_WINDOW,
    UNRECOGNISED,
    Delivery,
)
from touchbase.deliveries.work import WorkReport
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Event, Translation
from touchbase.inbox.sql.commands import StoredDelivery, count_repeat, forget_dedupe_keys, replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import busy_clients, count_inbox, delivery_events, get_delivery, list_deliveries, old_dedupe_keys
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
LATER = NOON + DEDUPE_WINDOW


@pytest.fixture
async def client(store: Store) -> int:
    return (await store.write(ensure_client("acme", NOON))).number


def call(client: int, body: object, key: bytes | None = None, at: int = NOON) -> store_delivery:
    text = body if isinstance(body, bytes) else msgspec.json.encode(body)
    return store_delivery(client, "email_campaign", key or sha256(text).digest(), b'{"content-type":"application/json"}', "a=1", text, at)


def sent(name: str) -> list[dict[str, object]]:
    return [{"event": "email_sent", "occurred_us": NOON, "email": f"{name}@example.com"}]


def translate(delivery: Delivery) -> Translation:
    """Bodies that are our own events; some break the adapter, some break what comes after it."""
    if delivery.body.startswith(b"nonsense"):
        raise UnrecognisedPayload("nobody understands this")
    if delivery.body.startswith(b"bug"):
        raise ZeroDivisionError("a bug of an adapter")
    if delivery.body.startswith(b"poison"):
        return Translation("test", [Event("email_sent", -(2**70), "poison@example.com")])
    return Translation("test", [Event(**item) for item in msgspec.json.decode(delivery.body)])


def as_crm(delivery: Delivery) -> Translation:
    """The same events, each of which may make its record."""
    return replace(translate(delivery), create_unknown=True)


async def state(store: Store, number: int) -> Delivery:
    delivery = await store.read(get_delivery(number))
    assert delivery is not None
    return delivery


async def test_store_delivery__stores_the_webhook_byte_for_byte(store: Store, client: int) -> None:
    body = bytes(range(256)) * 300

    stored = await store.write(call(client, body))

    result = await state(store, stored.id)
    assert stored == StoredDelivery(stored.id, False)
    assert (result.body, result.query, result.headers) == (body, "a=1", {"content-type": "application/json"})
    assert (result.client, result.client_id, result.state, result.received_us, result.size) == (client, "acme", RECEIVED, NOON, len(body))
    assert await store.read(get_delivery(stored.id, client + 1)) is None


@pytest.mark.parametrize("together", [True, False])
async def test_store_delivery__recognises_a_repeat_and_counts_it(store: Store, client: int, together: bool) -> None:
    if together:
        first, second = await asyncio.gather(store.write(call(client, b"same")), store.write(call(client, b"same")))
    else:
        first, second = await store.write(call(client, b"same")), await store.write(call(client, b"same", at=NOON + UNDATED_DEDUPE_WINDOW))
    await asyncio.gather(*(store.write(count_repeat(client, first.id)) for _ in range(3)))

    assert (first.is_repeat, second) == (False, StoredDelivery(first.id, True))
    assert (await state(store, first.id)).repeats == 3
    assert len(await store.read(list_deliveries(10))) == 1


async def test_store_delivery__stores_a_new_delivery_after_the_dedupe_window(store: Store, client: int) -> None:
    first = await store.write(call(client, b"same"))

    second = await store.write(call(client, b"same", at=LATER + 1))
    third = await store.write(call(client, b"same", at=LATER + 2))
    late = await store.write(call(client, b"same", at=NOON + 1))

    assert not second.is_repeat
    assert second.id != first.id
    assert third == late == StoredDelivery(second.id, True)
    assert len(await store.read(list_deliveries(10))) == 2


async def test_dedupe_window__begins_with_the_first_webhook_and_not_its_last_repeat(store: Store, client: int) -> None:
    first = await store.write(call(client, b"same"))
    again = await store.write(call(client, b"same", at=NOON + UNDATED_DEDUPE_WINDOW))

    after = await store.write(call(client, b"same", at=NOON + UNDATED_DEDUPE_WINDOW + 1))

    assert again == StoredDelivery(first.id, True)
    assert not after.is_repeat


async def test_store_delivery__stores_one_of_concurrent_webhooks_after_the_dedupe_window(store: Store, client: int) -> None:
    first = await store.write(call(client, b"same"))

    results = await asyncio.gather(*(store.write(call(client, b"same", at=LATER + 1 + n % 2)) for n in range(5)))

    assert sorted(result.is_repeat for result in results) == [False, True, True, True, True]
    assert {result.id for result in results} != {first.id}
    assert len({result.id for result in results}) == 1


async def test_store_delivery__recognises_repeats_within_one_group_by_their_times(store: Store, client: int) -> None:
    times = [NOON, NOON + 1, NOON + 3, LATER + 4, LATER + 5, NOON]
    second = store.write(call(client, b"other", at=NOON + 2))

    *remaining, last = await asyncio.gather(*(store.write(call(client, b"same", at=at)) for at in times), second)

    assert [item.is_repeat for item in remaining] == [False, True, False, False, True, True]
    assert not last.is_repeat
    assert len({item.id for item in (*remaining, last)}) == 4


async def test_store_delivery__stores_equal_webhooks_of_two_clients_separately(store: Store, client: int) -> None:
    number = (await store.write(ensure_client("other", NOON))).number

    stored = [await store.write(call(whose, b"same")) for whose in (client, number, number)]

    assert [item.is_repeat for item in stored] == [False, False, True]


async def test_store_delivery__stores_one_of_equal_webhooks_that_several_processes_receive(engine_url: str, open_with) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]
    client = (await stores[0].write(ensure_client("acme", NOON))).number

    rounds = []
    for turn in range(8):
        calls = [(store, f"call {turn}".encode(), NOON + turn) for store in stores for _ in range(4)]
        rounds.append(await asyncio.gather(*(store.write(call(client, body, at=at)) for store, body, at in calls)))

    assert [sum(not item.is_repeat for item in stored) for stored in rounds] == [1] * 8
    assert len({item.id for stored in rounds for item in stored}) == len(await stores[0].read(list_deliveries(50))) == 8


async def test_forget_dedupe_keys__makes_a_webhook_new_and_leaves_its_delivery(store: Store, client: int) -> None:
    old = await store.write(call(client, b"old"))
    young = await store.write(call(client, b"young", at=NOON + 9))
    due = await store.read(old_dedupe_keys(NOON + 9, 10))

    gone = await store.write(forget_dedupe_keys(client, [key for _, key in due] + [sha256(b"young").digest()], NOON + 9))

    assert due == [(client, sha256(b"old").digest())]
    assert gone == 1
    assert await store.write(call(client, b"young", at=NOON + 9)) == StoredDelivery(young.id, True)
    assert not (await store.write(call(client, b"old"))).is_repeat
    assert (await state(store, old.id)).body == b"old"


async def test_old_dedupe_keys__are_paged_in_order(store: Store, client: int) -> None:
    number = (await store.write(ensure_client("other", NOON))).number
    for whose in (client, number):
        for n in range(3):
            await store.write(call(whose, f"{n}".encode(), key=bytes([9 - n])))

    pages = [await store.read(old_dedupe_keys(NOON + 1, 2))]
    while pages[-1]:
        pages.append(await store.read(old_dedupe_keys(NOON + 1, 2, pages[-1][-1])))

    assert [item for page in pages for item in page] == [(whose, bytes([key])) for whose in (client, number) for key in (7, 8, 9)]
    assert await store.read(old_dedupe_keys(NOON, 10)) == []


async def test_work__applies_a_delivery_once(store: Store, client: int) -> None:
    results = await asyncio.gather(*(store.write(call(client, sent(f"p{n}"))) for n in range(10)))

    first = await store.work(client, 100, translate, NOON)
    second = await store.work(client, 100, translate, NOON)

    assert first == WorkReport(10, {APPLIED: 10}, 10)
    assert (first.outcomes, first.applied_since_us) == ({("email_campaign", "test", APPLIED): 10}, [NOON] * 10)
    assert second == WorkReport()
    assert {contact.first_sent_us for contact in await store.read(list_records(Listing(CONTACT_TYPE, client, 100)))} == {NOON}
    assert [(e.event, e.delivery_id) for e in await store.read(delivery_events(client, results[0].id))] == [("email_sent", results[0].id)]
    assert (await state(store, results[0].id)).applied_us == NOON


async def test_work__applies_each_delivery_once_in_several_processes(engine_url: str, open_with) -> None:
    stores = [await open_with(engine_url, {}) for _ in range(3)]
    client = (await stores[0].write(ensure_client("acme", NOON))).number
    await asyncio.gather(*(stores[0].write(call(client, sent(f"p{n % 7}") + sent(f"q{n}"))) for n in range(60)))

    reports = await asyncio.gather(*(stores[n % 3].work(client, 20, translate, NOON) for n in range(9)))
    reports += [await stores[0].work(client, 100, translate, NOON)]

    assert sum(report.taken for report in reports) == 60
    assert sum(report.created for report in reports) == 67
    assert len(await stores[0].read(list_records(Listing(CONTACT_TYPE, client, 100)))) == 67
    assert await stores[0].read(busy_clients(NOON)) == []


async def test_work__takes_the_oldest_deliveries_up_to_its_limit(store: Store, client: int) -> None:
    stored = [await store.write(call(client, sent(f"p{n}"))) for n in range(5)]

    report = await store.work(client, 3, translate, NOON)

    assert report.taken == 3
    assert [(await state(store, first.id)).state for first in stored] == [APPLIED] * 3 + [RECEIVED] * 2
    assert await store.read(busy_clients(NOON)) == [client]


async def test_work__limits_a_failure_to_its_own_delivery(store: Store, client: int) -> None:
    bodies: list[object] = [sent("ann"), b"nonsense", b"bug", b"poison", [], sent("bob")]
    stored = [await store.write(call(client, body)) for body in bodies]

    report = await store.work(client, 100, translate, NOON)

    states = [await state(store, first.id) for first in stored]
    assert [first_state.state for first_state in states] == [APPLIED, UNRECOGNISED, RECEIVED, RECEIVED, IGNORED, APPLIED]
    assert states[1].error == "nobody understands this"
    assert states[2].error == "ZeroDivisionError: a bug of an adapter"
    assert states[3].error
    assert [first_state.attempts for first_state in states] == [1] * 6
    assert report.taken == 6
    assert [record.email for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))] == [
        "ann@example.com",
        "bob@example.com",
    ]


async def test_work__limits_each_record_to_the_maximum_of_custom_fields(store: Store, client: int) -> None:
    for name, first in (("ann", 0), ("bob", 0), ("ann", 500), ("ann", 1_000)):
        event = {"event": "contact.updated", "occurred_us": NOON, "email": f"{name}@example.com"}
        await store.write(call(client, [event | {"custom": {f"field {first + n}": "x" for n in range(500)}}]))

    for _ in range(2):
        await store.work(client, 2, as_crm, NOON)

    records = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert {record.email: len(record.custom_fields) for record in records} == {"ann@example.com": MAX_CUSTOM_FIELDS, "bob@example.com": 500}


async def test_work__replaces_invalid_characters_in_an_error_message(store: Store, client: int) -> None:
    broken = await store.write(call(client, b"bug"))
    full = await store.write(call(client, sent("ann")))

    def breaking(delivery: Delivery) -> Translation:
        if delivery.id == broken.id:
            raise ValueError("half a pair \ud800 and a NUL \0")
        return translate(delivery)

    await store.work(client, 10, breaking, NOON)

    assert (await state(store, broken.id)).error == "ValueError: half a pair ? and a NUL "
    assert (await state(store, full.id)).state == APPLIED


@pytest.mark.parametrize("body", [b"bug", b"poison"])
async def test_failing_delivery__is_retried_later_and_ends_as_failed(store: Store, client: int, body: bytes) -> None:
    stored = await store.write(call(client, body))
    now, tries, outcomes = NOON, 0, list[tuple[str, str, str]]()
    while (result := await state(store, stored.id)).state == RECEIVED:
        now = max(now, result.next_attempt_us)
        assert (await store.work(client, 10, translate, now - 1)).taken == (0 if tries else 1)
        if tries:
            outcomes += (await store.work(client, 10, translate, now)).outcomes
        tries += 1

    assert (result.state, outcomes) == (FAILED, [("email_campaign", "", FAILED)])
    assert result.attempts == MAX_ATTEMPTS
    assert result.error
    assert await store.read(list_deliveries(10, state=FAILED)) != []


async def test_replay__applies_a_delivery_that_was_unrecognised_before(store: Store, client: int) -> None:
    stored = await store.write(call(client, b"nonsense"))
    await store.work(client, 10, translate, NOON)

    count = await store.write(replay_deliveries(client, [stored.id, 999_999], NOON))
    waiting = await state(store, stored.id)
    report = await store.work(client, 10, lambda delivery: Translation("test", [Event("email_sent", NOON, "ann@example.com")]), NOON)

    assert count == 1
    assert (waiting.state, waiting.attempts, waiting.error) == (RECEIVED, 0, None)
    assert report == WorkReport(1, {APPLIED: 1}, 1)


async def test_replayed_delivery__counts_its_lag_from_the_replay(store: Store, client: int) -> None:
    old = [await store.write(call(client, sent(f"old{n}"), at=NOON - DAY)) for n in range(3)]
    await store.work(client, 10, translate, NOON - DAY)
    replays = [(old[2], NOON), (old[0], NOON + 1), (old[1], NOON - 60 * SECOND)]
    for stored_item, at in replays:
        await store.write(replay_deliveries(client, [stored_item.id], at))

    waiting = [(await store.read(count_inbox())).oldest_us[RECEIVED]]
    first = await store.work(client, 1, translate, NOON - 90 * SECOND)  # whatever the clock says
    waiting.append((await store.read(count_inbox())).oldest_us[RECEIVED])
    await store.write(call(client, sent("new"), at=NOON - 5))
    waiting.append((await store.read(count_inbox())).oldest_us[RECEIVED])
    remaining = await store.work(client, 10, translate, NOON + 5)

    assert waiting == [NOON - 60 * SECOND, NOON, NOON - 5]
    assert (first.taken, first.oldest_us) == (1, NOON - 60 * SECOND)
    assert (remaining.taken, remaining.oldest_us, (await state(store, old[0].id)).state) == (3, NOON - 5, APPLIED)


async def test_failing_replayed_delivery__counts_its_lag_from_its_receipt(store: Store, client: int) -> None:
    stored = await store.write(call(client, b"bug", at=NOON - DAY))
    await store.write(replay_deliveries(client, [stored.id], NOON))

    await store.work(client, 10, translate, NOON)

    assert (await store.read(count_inbox())).oldest_us == {RECEIVED: NOON - DAY}


async def test_parked_delivery__is_applied_when_another_names_its_address(store: Store, client: int) -> None:
    thin = {"event": "contact.status_changed", "occurred_us": NOON, "object_type": "contact", "object_id": "7", "status": "customer"}
    named = {"event": "contact.updated", "occurred_us": NOON + 1, "object_type": "contact", "object_id": "7", "email": "ann@example.com"}
    first = await store.write(call(client, [thin], b"thin"))
    await store.work(client, 10, translate, NOON)
    parked = await state(store, first.id)

    await store.write(call(client, [named], b"named"))
    await store.work(client, 10, translate, NOON)

    (ann,) = await store.read(list_records(Listing(CONTACT_TYPE, client, 10)))
    assert parked.state == PARKED
    assert (await state(store, first.id)).state == APPLIED
    assert (ann.email, ann.status) == ("ann@example.com", "customer")


async def test_inbox__is_counted_by_state_and_listed_newest_first(store: Store, client: int) -> None:
    number = (await store.write(ensure_client("other", NOON))).number
    stored = [await store.write(call(client, sent(f"p{n}"), at=NOON + n)) for n in range(4)]
    stored.append(await store.write(call(number, b"nonsense", at=NOON - 1)))
    await store.work(number, 10, translate, NOON)

    counts = await store.read(count_inbox())
    first = await store.read(list_deliveries(3))
    deliveries = await store.read(list_deliveries(3, before=first[-1].id))
    ours = await store.read(list_deliveries(10, client=client, channel="email_campaign", state=RECEIVED))

    assert counts.by_state[RECEIVED] == 4
    assert counts.by_state[UNRECOGNISED] == 1
    assert counts.oldest_us == {RECEIVED: NOON, UNRECOGNISED: NOON - 1}
    assert [delivery.id for delivery in first + deliveries] == sorted((first_item.id for first_item in stored), reverse=True)
    assert {delivery.body for delivery in first} == {b""}
    assert [delivery.id for delivery in ours] == [first_item.id for first_item in reversed(stored[:4])]
    assert await store.read(list_deliveries(10, tool="instantly")) == []
