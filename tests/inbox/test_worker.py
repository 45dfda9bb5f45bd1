"""How deliveries end: applied, ignored, parked, unrecognised or failed, and applied again when replayed."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import asyncpg
import msgspec
import pytest

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.models import ClientSettings, StatusSet
from touchbase.clients.sql.clients import ensure_client, set_client_settings
from touchbase.common.timestamps import DAY, SECOND
from touchbase.deliveries.delivery import MAX_ATTEMPTS, Delivery
from touchbase.deliveries.work import WorkReport
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import Event, Translation
from touchbase.inbox import worker as events_worker
from touchbase.inbox.fair_scheduler import MAX_LAG, MAX_PAUSE, pause_seconds
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Contact
from touchbase.records.operations import update_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import RecordUpdate
from touchbase.sql.store import Store
from touchbase.stores import open_store

NOON = 1_790_000_000 * SECOND
COUNT = itertools.count()


class Clock:
    now = NOON

    def __call__(self) -> int:
        return self.now


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are lists of our own events; "broken" breaks it and "strange" is not its own."""
    said = msgspec.json.decode(request.body)
    if said == "broken":
        raise ZeroDivisionError("the adapter has a fault")
    if said == "strange":
        raise UnrecognisedPayload("no tool that we know sends this")
    return Translation("test", [msgspec.convert(first, Event) for first in said])


async def client_of(store: Store, settings: ClientSettings | None = None) -> int:
    client = await store.write(ensure_client("acme", NOON))
    if settings is not None:
        await store.write(set_client_settings("acme", settings))
    return client.number


async def keep(store: Store, client: int, said: Any, channel: str = "email_campaign", headers: bytes = b"{}") -> int:
    body = said if isinstance(said, bytes) else msgspec.json.encode(said)
    key = body_key(channel, str(next(COUNT)), "", body)
    delivery = await store.write(store_delivery(client, channel, key, headers, "", body, NOON))
    return delivery.id


async def delivery(store: Store, number: int) -> Delivery:
    delivery = await store.read(get_delivery(number))
    assert delivery is not None
    return delivery


async def contacts(store: Store, client: int) -> list[Contact]:
    listed = await store.read(list_records(Listing(CONTACT_TYPE, client, 50)))
    records = [await store.read(find_record(client, CONTACT_TYPE, record.id)) for record in listed]
    return [record for record in records if record is not None]


SENT = {"event": "email_sent", "email": "ann@example.com", "occurred_us": NOON - DAY}


@pytest.mark.parametrize(
    ("said", "channel", "state", "reason"),
    [
        ([SENT], "email_campaign", "applied", None),
        ([], "email_campaign", "ignored", "understood, but not used: no event in it"),
        ([{"event": "account_event", "source_event": "account_error"}], "email_campaign", "ignored", "not used: account_error"),
        ([{"event": "unknown", "source_event": "moon_landed"}], "email_campaign", "unrecognised", "do not know: moon_landed"),
        ("strange", "email_campaign", "unrecognised", "no tool that we know sends this"),
        ([{"event": "email_replied"}], "email_campaign", "unrecognised", "names no person"),
        ([{"event": "campaign_completed"}], "email_campaign", "ignored", "campaign_completed"),
        ([{"event": "contact.updated", "object_id": "7"}], "crm", "parked", "waits until"),
    ],
)
async def test_delivery__ends_in_its_state_with_a_reason(store: Store, said: Any, channel: str, state: str, reason: str | None) -> None:
    client = await client_of(store)
    number = await keep(store, client, said, channel)

    report = await InboxWorker(store, read, Clock()).drain()

    ended = await delivery(store, number)
    assert (ended.state, report.ended) == (state, {state: 1})
    assert ended.error is None if reason is None else reason in str(ended.error)


async def test_worker__limits_a_failure_to_its_own_delivery(store: Store) -> None:
    client = await client_of(store)
    before, bad, after = [await keep(store, client, said) for said in ([SENT], "broken", [SENT | {"email": "bob@example.com"}])]

    await InboxWorker(store, read, Clock()).drain()

    assert [(await delivery(store, number)).state for number in (before, bad, after)] == ["applied", "received", "applied"]
    assert (await delivery(store, bad)).error == "ZeroDivisionError: the adapter has a fault"


async def test_failing_delivery__ends_as_failed_and_can_be_replayed(store: Store) -> None:
    client, clock = await client_of(store), Clock()
    bad = await keep(store, client, "broken")
    for _ in range(MAX_ATTEMPTS):
        await InboxWorker(store, read, clock).drain()
        clock.now += DAY
    assert ((await delivery(store, bad)).state, (await delivery(store, bad)).attempts) == ("failed", MAX_ATTEMPTS)

    def mended(request: WebhookRequest) -> Translation:
        return Translation("test", [Event(**SENT)])

    replayed = await store.write(replay_deliveries(client, [bad], clock()))
    await InboxWorker(store, mended, clock).drain()

    assert replayed == 1
    assert (await delivery(store, bad)).state == "applied"


async def test_repeated_event__counts_once_in_two_deliveries(store: Store) -> None:
    client = await client_of(store)
    first, second = [await keep(store, client, [SENT]) for _ in range(2)]

    await InboxWorker(store, read, Clock()).drain()

    assert [(await delivery(store, number)).state for number in (first, second)] == ["applied", "ignored"]
    assert len(await contacts(store, client)) == 1


async def test_replay_of_an_applied_delivery__changes_nothing(store: Store) -> None:
    client = await client_of(store)
    number = await keep(store, client, [SENT, {"event": "email_replied", "email": "ann@example.com"}])
    clock = Clock()
    await InboxWorker(store, read, clock).drain()
    before = await contacts(store, client)

    clock.now += DAY
    await store.write(replay_deliveries(client, [number], clock()))
    await InboxWorker(store, read, clock).drain()

    assert await contacts(store, client) == before


async def test_parked_events__are_applied_in_order_of_time_once_the_address_is_known(store: Store) -> None:
    client = await client_of(store)
    said = [
        {"event": "contact.status_changed", "object_id": "7", "status": "customer", "occurred_us": NOON - 1},
        {"event": "contact.status_changed", "object_id": "7", "status": "lead", "occurred_us": NOON - 2},
    ]
    parked = [await keep(store, client, [first], "crm") for first in said]
    await InboxWorker(store, read, Clock()).drain()

    await keep(store, client, [{"event": "contact.updated", "object_id": "7", "email": "ann@example.com", "occurred_us": NOON - 3}], "crm")
    await InboxWorker(store, read, Clock()).drain()

    [contact] = await contacts(store, client)
    assert (contact.status, contact.previous_status, contact.status_changed_us) == ("customer", "lead", NOON - 1)
    assert {(await delivery(store, number)).state for number in parked} == {"applied"}


async def test_late_webhook_about_a_former_address__finds_the_contact_renamed_by_the_api(store: Store) -> None:
    client = await client_of(store)
    await keep(store, client, [SENT])
    await InboxWorker(store, read, Clock()).drain()
    [before] = await contacts(store, client)
    new = {"email": "ann@example.org", "email_key": "ann@example.org"}
    await store.write(update_contact(RecordUpdate(client, before.id, new, {}, NOON, "api")))

    await keep(store, client, [{"event": "email_replied", "email": "ann@example.com", "occurred_us": NOON - 5}])
    await InboxWorker(store, read, Clock()).drain()

    [after] = await contacts(store, client)
    assert (after.id, after.email, after.last_reply_us) == (before.id, "ann@example.org", NOON - 5)


async def test_create_unknown_off__creates_no_contact_and_preserves_the_delivery(store: Store) -> None:
    client = await client_of(store, ClientSettings(create_unknown=False))
    number = await keep(store, client, [SENT])

    await InboxWorker(store, read, Clock()).drain()

    assert await contacts(store, client) == []
    assert "about an unknown record" in str((await delivery(store, number)).error)


async def test_linkedin_only_contact__is_merged_with_the_contact_of_its_address(store: Store) -> None:
    client = await client_of(store)
    url = "https://www.linkedin.com/in/Ann-Lee/"
    await keep(store, client, [{"event": "linkedin_replied", "linkedin_url": url, "occurred_us": NOON - 9}])
    await keep(store, client, [SENT])
    await InboxWorker(store, read, Clock()).drain()
    assert len(await contacts(store, client)) == 2

    await keep(store, client, [{"event": "email_opened", "email": "ann@example.com", "linkedin_url": url, "occurred_us": NOON - 5}])
    await InboxWorker(store, read, Clock()).drain()

    [contact] = await contacts(store, client)
    assert (contact.email, contact.last_reply_us, contact.first_sent_us) == ("ann@example.com", NOON - 9, NOON - DAY)


async def test_status__follows_the_set_and_spelling_of_the_client(store: Store) -> None:
    client = await client_of(store, ClientSettings(contact_statuses=StatusSet(["Fresh", "Do not contact", "Interested"])))
    await keep(store, client, [SENT])
    labelled = {"event": "lead_status_changed", "email": "ann@example.com", "status": "interested", "occurred_us": NOON - 5}
    await keep(store, client, [labelled])

    await InboxWorker(store, read, Clock()).drain()

    [contact] = await contacts(store, client)
    assert (contact.status, contact.previous_status, contact.first_sent_us) == ("Interested", None, NOON - DAY)


async def test_crm_values__set_fields_and_custom_fields_and_the_latest_wins(store: Store) -> None:
    client = await client_of(store)
    person = {"event": "contact.updated", "email": "ann@example.com", "object_id": "7"}
    later = person | {"fields": {"last_name": "Lee"}, "custom": {"plan": "pro", "seats": None}, "occurred_us": NOON - 1}
    earlier = person | {"fields": {"last_name": "Li"}, "custom": {"plan": "free", "seats": "3"}, "occurred_us": NOON - 2}
    await keep(store, client, [later], "crm")
    await keep(store, client, [earlier], "crm")

    await InboxWorker(store, read, Clock()).drain()

    [contact] = await contacts(store, client)
    assert contact.last_name == "Lee"
    assert {custom_field.name: custom_field.value for custom_field in contact.custom_fields} == {"plan": "pro", "seats": None}


@pytest.mark.parametrize("channel", ["email_campaign", "crm"])
@pytest.mark.parametrize("odd", ["a\0b", "x" * 20_000, "é" * 5_000, " ", "🙂"])
async def test_odd_text__does_not_prevent_a_delivery_from_being_applied(store: Store, channel: str, odd: str) -> None:
    client = await client_of(store)
    said: dict[str, Any] = {
        "event": "lead_status_changed" if channel == "email_campaign" else "contact.status_changed",
        "email": "ann@example.com", "status": odd, "first_name": odd, "last_name": odd, "campaign": odd, "source_event": odd,
        "linkedin_url": odd, "object_type": odd, "object_id": odd, "key": odd, "message_id": odd, "name": odd,
        "fields": {"last_name": odd}, "custom": {odd: odd}, "changed": [{"property": odd, "value": odd, "previous": odd}],
    }  # fmt: skip
    number = await keep(store, client, [said], channel)

    await InboxWorker(store, read, Clock()).drain()

    assert (await delivery(store, number)).state == "applied"


@pytest.mark.parametrize(
    ("took", "commands", "behind", "held_up", "stored"),
    [
        (1_000, 5, SECOND, 1, 0.0248),
        (1_000, 10, SECOND, 1, 0.3967),
        (1_000, 10, SECOND, 0.5, 0.0248),
        (1_900, 2, SECOND, 1, 0.0019),
        (500_000, 5_000, SECOND, 1, MAX_PAUSE),
        (2_000_000, 5_000, SECOND, 0, MAX_PAUSE),
        (20_000, 3, SECOND, 1, 0),
        (1_000, 1, SECOND, 1, 0),
        (10_000, 100, MAX_LAG, 1, 0),
        (0, 5, -5, 1, 0.0248),
    ],
    ids=[
        "many callers",
        "twice as many",
        "twice as many, half of whom need not wait",
        "for as long as the turn took, where they are fewer",
        "never for long",
        "never for long after a long turn",
        "few callers",
        "one caller",
        "behind for too long",
        "a clock that went back",
    ],
)
def test_pause_seconds__is_above_zero_only_for_many_writes_and_a_small_lag(
    took: int, commands: int, behind: int, held_up: float, stored: float
) -> None:
    assert pause_seconds(took, commands, behind, held_up) == pytest.approx(stored, rel=0.01)


async def test_worker_pause__depends_on_the_share_of_writes_that_the_store_blocks(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    held_up: list[float] = []
    monkeypatch.setattr(events_worker, "pause_seconds", lambda took, commands, behind, part, patience: held_up.append(part) or 0)
    client = await client_of(store)
    await keep(store, client, [SENT])
    worker = InboxWorker(store, read, Clock(), on_report=lambda _: worker.stop())
    worker.wake_client(client)

    await asyncio.wait_for(worker.run(), 10)

    assert held_up == [store.blocked_share]


async def test_drain__leaves_deliveries_that_another_worker_holds(postgres_url: str) -> None:
    # Nobody can hold a delivery on SQLite, where a turn is one transaction after the other.
    store = await open_store(postgres_url)
    number = await keep(store, await client_of(store), [SENT])
    worker = InboxWorker(store, read, Clock())
    holding = await asyncpg.connect(postgres_url, server_settings={"touchbase.clients": "all"})
    async with holding.transaction():
        await holding.execute("SELECT FROM delivery WHERE id = $1 FOR UPDATE", number)
        async with asyncio.timeout(30):
            left = await worker.drain()
    await holding.close()
    done = await worker.drain()

    assert (left.taken, done.taken) == (0, 1)
    assert (await delivery(store, number)).state == "applied"
    await store.close()


A_DAY = 86_400.0


async def test_worker_pause__ends_for_a_delivery_of_another_client(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_worker, "pause_seconds", lambda *turn: A_DAY)
    monkeypatch.setattr(events_worker, "SHORT_PAUSE", 0)
    busy, quiet = await client_of(store), (await store.write(ensure_client("quiet", NOON))).number
    applied = asyncio.Queue[WorkReport]()
    worker = InboxWorker(store, read, Clock(), batch_size=1, on_report=applied.put_nowait)
    for step in range(3):
        await keep(store, busy, [SENT | {"occurred_us": NOON - step}])
    worker.wake_client(busy)
    working = asyncio.create_task(worker.run())
    await asyncio.wait_for(applied.get(), 10)

    stored = await keep(store, quiet, [SENT])
    worker.wake_client(quiet)
    await asyncio.wait_for(applied.get(), 10)

    assert (await delivery(store, stored)).state == "applied"
    worker.stop()
    await asyncio.wait_for(working, 10)


async def test_worker__finds_deliveries_of_another_process_while_it_is_busy(store: Store) -> None:
    busy = await client_of(store)
    quiet = (await store.write(ensure_client("quiet", NOON))).number
    clock = Clock()
    turns = itertools.count()

    def never_idle(report: WorkReport) -> None:
        clock.now += SECOND
        worker.wake_client(busy)
        if next(turns) == 5:
            worker.stop()

    worker = InboxWorker(store, read, clock, batch_size=1, on_report=never_idle)

    for step in range(8):
        await keep(store, busy, [SENT | {"occurred_us": NOON - step}])
    stored = await keep(store, quiet, [SENT])
    worker.wake_client(busy)

    await worker.run()

    assert (await delivery(store, stored)).state == "applied"


async def test_worker__finds_deliveries_after_the_clock_went_back(store: Store) -> None:
    client, clock, event = await client_of(store), Clock(), asyncio.Event()
    worker = InboxWorker(store, read, clock, on_report=lambda _: event.set())
    await keep(store, client, [SENT])
    working = asyncio.create_task(worker.run())
    await asyncio.wait_for(event.wait(), 10)

    event.clear()
    clock.now = NOON - DAY
    stored = await keep(store, client, [SENT | {"email": "bob@example.com"}])
    await asyncio.wait_for(event.wait(), 10)

    assert (await delivery(store, stored)).state == "applied"
    worker.stop()
    await working


async def test_concurrent_workers__apply_each_delivery_once(store: Store) -> None:
    client = await client_of(store)
    for step in range(40):
        await keep(store, client, [SENT | {"occurred_us": NOON - step, "email": f"p{step % 7}@example.com"}])
    reports = await asyncio.gather(*(InboxWorker(store, read, Clock(), batch_size=5).drain() for _ in range(3)))

    ended = await store.read(list_deliveries(200, client))
    assert {item.state for item in ended} == {"applied"}
    assert sum(report.ended.get("applied", 0) for report in reports) == 40
    assert len(await contacts(store, client)) == 7
