"""What every engine promises about large deliveries: in parts, begun again after a crash, with the same records and ending."""

from __future__ import annotations

import asyncio
import gzip
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import DAY, SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.deliveries.delivery import MAX_ATTEMPTS, Delivery
from touchbase.deliveries.limits import LARGE, MAX_EVENTS, UNFINISHED
from touchbase.deliveries.work import ReadResult, WorkReport
from touchbase.erasure.service import Eraser
from touchbase.errors import UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT, Event, Translation
from touchbase.history.sql import get_history
from touchbase.inbox import large_delivery
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import get_delivery
from touchbase.projection import apply
from touchbase.projection.inbox_batch import pack_result, read_delivery
from touchbase.projection.normalization import FIELDS_PER_EVENT
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import Creation
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
LATER = NOON + 3600 * SECOND
MANY = 2 * MAX_EVENTS + 40
COUNT = itertools.count()
THIN = {"event": "contact.updated", "object_type": "person", "object_id": "o1", "occurred_us": NOON - DAY, "fields": {"first_name": "A"}}


def translate(delivery: Delivery) -> Translation:
    """A tool whose bodies are our own events."""
    try:
        said = msgspec.json.decode(delivery.body.rstrip(b" "), type=list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise UnrecognisedPayload("not ours") from error
    return Translation("test", [Event(**first) for first in said])


class Apart:
    """The same, looked at as a process apart does it: packed."""

    def __call__(self, delivery: Delivery) -> Translation:
        return translate(delivery)

    async def read_many(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
        return [pack_result(read_delivery(delivery, translate)) for delivery in deliveries]

    async def scan_many(self, deliveries: Sequence[Delivery]) -> list[Any]:
        raise NotImplementedError


def people(count: int = MANY, **more: Any) -> list[dict[str, Any]]:
    return [{"event": "email_sent", "email": f"p{n}@example.com", "occurred_us": NOON - DAY + n, **more} for n in range(count)]


async def client_of(store: Store) -> int:
    return (await store.write(ensure_client("acme", NOON))).number


async def keep(store: Store, client: int, said: list[dict[str, Any]], channel: str = "email_campaign", size: int = 0) -> int:
    body = msgspec.json.encode(said).ljust(size)
    key = body_key(channel, str(next(COUNT)), "", body)
    return (await store.write(store_delivery(client, channel, key, b"{}", "", body, NOON))).id


async def drain(store: Store, client: int, now: int = NOON, read: Any = translate) -> WorkReport:
    total = WorkReport()
    while (report := await store.work(client, 100, read, now)).taken:
        total.taken += report.taken
        total.created += report.created
    return total


async def ending(store: Store, number: int) -> tuple[str, int, str | None]:
    delivery = await store.read(get_delivery(number))
    assert delivery is not None
    return delivery.state, delivery.attempts, delivery.error


async def records(store: Store, client: int) -> list[tuple[Any, ...]]:
    """Every contact, with its history, but for ids."""
    results: list[tuple[Any, ...]] = []
    after: tuple[int, int] | None = None
    while page := await store.read(list_records(Listing(CONTACT_TYPE, client, 200, after=after))):
        after = (page[-1].created_us, page[-1].id)
        for record in page:
            history = await store.read(get_history(client, CONTACT, record.id))
            reported = [(item.event, item.occurred_us, item.key) for item in history]
            results.append((record.email, record.status, record.first_sent_us, record.last_sent_us, record.last_reply_us, reported))
    return sorted(results)


@pytest.mark.parametrize("read", [translate, Apart()], ids=["here", "apart"])
async def test_large_delivery__has_the_same_result_as_its_parts_alone(store: Store, read: Any) -> None:
    client, second = await client_of(store), (await store.write(ensure_client("other", NOON))).number
    number = await keep(store, client, people())
    for person in people():
        await keep(store, second, [person])

    report = await drain(store, client, read=read)
    await drain(store, second)

    assert (report.taken, report.created) == (1, MANY)
    assert await ending(store, number) == ("applied", 1, None)
    assert await records(store, client) == await records(store, second)
    assert [item async for item in verify(store, client, Verified())] == []


@pytest.mark.parametrize("size", [0, LARGE + 1])
async def test_large_delivery__is_processed_in_parts_of_bounded_size(store: Store, size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    observed = parts(monkeypatch)
    client = await client_of(store)
    await keep(store, client, people(), size=size)
    await keep(store, client, people(3), size=size)

    await drain(store, client)

    assert max(observed) <= MAX_EVENTS
    assert sum(observed) >= MANY


async def test_large_delivery__applies_few_events_at_once_when_each_has_many_custom_fields(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    observed = parts(monkeypatch)
    client = await client_of(store)
    custom = {f"field_{n}": "x" for n in range(10 * FIELDS_PER_EVENT)}
    wide = [{"event": "contact.updated", "object_id": f"o{n}", "object_type": "person", "email": f"p{n}@example.com"} for n in range(30)]
    await keep(store, client, [{**item, "occurred_us": NOON - DAY, "custom": custom} for item in wide])

    await drain(store, client)

    assert sum(observed) == 30
    assert max(observed) * len(custom) <= FIELDS_PER_EVENT * MAX_EVENTS


def parts(monkeypatch: pytest.MonkeyPatch, crash_at: int | None = None) -> list[int]:
    """How many events each part of large deliveries has; a process that crashes at a part."""
    cut, observed = large_delivery.subject_parts, list[int]()

    def part(unpack: Callable[[], Any]) -> Any:
        if crash_at == len(observed):
            observed.append(-1)
            raise Crash
        created = unpack()
        observed.append(len(created.subjects))
        return created

    monkeypatch.setattr(
        large_delivery,
        "subject_parts",
        lambda first_large_delivery: [lambda item=item: part(item) for item in cut(first_large_delivery)],
    )
    return observed


class Crash(BaseException):
    """The process ended."""


@pytest.mark.parametrize("crash_at", [0, 1, 2])
async def test_large_delivery__starts_again_after_a_crash(store: Store, crash_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await client_of(store)
    number = await keep(store, client, people())
    with monkeypatch.context() as crashing:
        parts(crashing, crash_at)
        with pytest.raises(Crash):
            await store.work(client, 10, translate, NOON)

    assert await ending(store, number) == ("received", 1, UNFINISHED)
    await drain(store, client, LATER)

    assert await ending(store, number) == ("applied", 2, None)
    assert len(await records(store, client)) == MANY
    assert [item async for item in verify(store, client, Verified())] == []


async def test_small_delivery_that_unpacks_to_much__counts_its_attempt_before_it_is_read(store: Store) -> None:
    client = await client_of(store)
    body = gzip.compress(b'[{"a":"%41%41"}]' * 100_000, 9)
    assert len(body) < 4096
    headers = b'{"content-encoding":"gzip"}'
    number = (await store.write(store_delivery(client, "crm", body_key("crm", "", "", body), headers, "", body, NOON))).id

    def crash(delivery: Delivery) -> Translation:
        raise Crash

    with pytest.raises(Crash):
        await store.work(client, 10, crash, NOON)

    assert await ending(store, number) == ("received", 1, UNFINISHED)


async def test_large_delivery__fails_after_repeated_crashes_and_can_be_replayed(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client = await client_of(store)
    number = await keep(store, client, people())
    with monkeypatch.context() as crashing:
        for attempt in range(MAX_ATTEMPTS):
            parts(crashing, 0)
            with pytest.raises(Crash):
                await store.work(client, 10, translate, NOON + attempt * 3600 * SECOND)
            crashing.undo()

    await drain(store, client, NOON + DAY)
    state, attempts, error = await ending(store, number)
    assert (state, attempts) == ("failed", MAX_ATTEMPTS)
    assert error is not None
    assert error.startswith(f"{MAX_ATTEMPTS} attempts were started")

    await store.write(replay_deliveries(client, [number], LATER))
    await drain(store, client, NOON + DAY)
    assert await ending(store, number) == ("applied", 1, None)


async def test_large_delivery__of_known_events_is_ignored_and_a_replay_changes_nothing(store: Store) -> None:
    client = await client_of(store)
    first = await keep(store, client, people())
    await drain(store, client)
    before = await records(store, client)
    second = await keep(store, client, people())
    await store.write(replay_deliveries(client, [first], NOON))
    await drain(store, client)

    assert (await ending(store, first))[0] == "applied"
    assert await ending(store, second) == ("ignored", 1, "all events in it were already known")
    assert await records(store, client) == before


async def test_large_delivery__about_unknown_objects_is_parked_and_applied_later(store: Store) -> None:
    client = await client_of(store)
    said = [
        {
            "event": "contact.updated",
            "object_type": "person",
            "object_id": f"o{n}",
            "occurred_us": NOON - DAY + n,
            "fields": {"first_name": "A"},
        }
        for n in range(MANY)
    ]
    number = await keep(store, client, said, "crm")
    await drain(store, client)
    assert (await ending(store, number))[0] == "parked"

    expected = [{**first, "event": "contact.created", "email": f"o{n}@example.com", "fields": {}} for n, first in enumerate(said)]
    await keep(store, client, expected, "crm")
    await drain(store, client)

    assert (await ending(store, number))[0] == "applied"


async def test_large_delivery__applies_parked_events_of_an_earlier_part(store: Store) -> None:
    client = await client_of(store)
    thin = {
        "event": "contact.updated",
        "object_type": "person",
        "object_id": "o1",
        "occurred_us": NOON - DAY,
        "fields": {"first_name": "A"},
    }
    named = {**thin, "occurred_us": NOON - DAY + MANY, "email": "o1@example.com"}
    number = await keep(store, client, [THIN, *people(), named], "crm")

    await drain(store, client)

    assert (await ending(store, number))[0] == "applied"


async def test_large_delivery__about_an_erased_person_applies_to_others_and_loses_its_body(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await client_of(store)
    eraser = Eraser(store, lambda request: Translation("test", []), lambda: NOON)
    await eraser.search(await eraser.erase(client, None, (("", "email", "p1@example.com"),)))
    number = await keep(store, client, people())
    with monkeypatch.context() as crashing:
        parts(crashing, 2)
        with pytest.raises(Crash):
            await store.work(client, 10, translate, NOON)
    await drain(store, client, LATER)

    delivery = await store.read(get_delivery(number))
    assert delivery is not None
    assert (delivery.state, delivery.body_removed) == ("applied", "erased")
    assert "p1@example.com" not in {record[0] for record in await records(store, client)}
    assert len(await records(store, client)) == MANY - 1


async def test_large_delivery__lets_other_writes_run_between_its_parts(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client, second = await client_of(store), (await store.write(ensure_client("other", NOON))).number
    await keep(store, client, people())
    cut, created = large_delivery.subject_parts, list[asyncio.Task[Any]]()

    def part(unpack: Callable[[], Any]) -> Any:
        contact = Contact(second, 0, NOON, NOON, email=f"a{len(created)}@b.co", email_key=f"a{len(created)}@b.co")
        assert all(item.done() for item in created[:-1])  # what was asked for two parts ago has been answered
        created.append(asyncio.get_running_loop().create_task(store.write(create_contact(Creation(contact)))))
        return unpack()

    monkeypatch.setattr(
        large_delivery,
        "subject_parts",
        lambda first_large_delivery: [lambda item=item: part(item) for item in cut(first_large_delivery)],
    )
    await drain(store, client)
    await asyncio.gather(*created)

    assert len(created) == 3


async def test_large_delivery__is_applied_oldest_first(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    client, refolded = await client_of(store), list[int]()
    refold = apply.refold_entries
    monkeypatch.setattr(apply, "refold_entries", lambda *args: (refolded.append(1), refold(*args)))
    said = [{"event": "email_sent", "email": "p@example.com", "occurred_us": NOON - n, "key": f"k{n}"} for n in range(MANY)]
    await keep(store, client, said)

    await drain(store, client)

    assert (await records(store, client))[0][2:4] == (NOON - MANY + 1, NOON)
    assert refolded == []


async def test_delivery_over_budget__fails_at_once_and_harms_no_other_delivery(store: Store) -> None:
    class Stopped(Apart):
        async def read_many(self, deliveries: Sequence[Delivery]) -> list[ReadResult]:
            result = await super().read_many(deliveries)
            return [
                ReadResult(why="it took too long", for_good=True) if b"bad" in delivery.body else first
                for delivery, first in zip(deliveries, result, strict=True)
            ]

    client = await client_of(store)
    bad = [await keep(store, client, [{"event": "email_sent", "email": "bad@b.co"}], size=size) for size in (0, LARGE + 1)]
    good = await keep(store, client, people(2))

    await drain(store, client, read=Stopped())

    assert [await ending(store, item) for item in bad] == [("failed", 1, "it took too long")] * 2
    assert (await ending(store, good))[0] == "applied"
