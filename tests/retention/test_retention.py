"""What hurries nobody: bodies that were kept long enough, searches that were left, and backups that are told of erasures."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, ClassVar

import pytest
from tests.storage.database_search import find_in_database
from tests.storage.test_contract_erasure import EMAIL, NAMES, NOON, REF, House, crm, full_life, read, sent

from touchbase.clients.models import KEEP_BODIES_DAYS, ClientSettings, Position
from touchbase.clients.sql.clients import ensure_client, find_client_by_number, list_clients, set_client_settings
from touchbase.clients.sql.removal import remove_moved_rows
from touchbase.common.timestamps import DAY, SECOND
from touchbase.connections.models import Connection
from touchbase.deliveries.sql.body_retention import prune_bodies
from touchbase.erasure.models import Erasure
from touchbase.erasure.service import Eraser
from touchbase.erasure.sql.erasures import add_erasures
from touchbase.erasure.sql.persons import list_erasures, open_erasures
from touchbase.errors import Overloaded
from touchbase.history.events import CRM
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import get_delivery
from touchbase.retention import service as retention
from touchbase.retention.service import Retention, UnrecognisedLimits, count_due
from touchbase.sql.store import Store
from touchbase.stores import open_store


@pytest.fixture
async def house(store: Store) -> House:
    return House(store, (await store.write(ensure_client("acme", NOON))).number)


def keeper(house: House) -> Retention:
    return Retention(house.store, house.eraser, house.clock, pause=0)


async def body(house: House, number: int) -> bytes:
    return (await house.state(number))[2]


async def test_retention__prunes_only_bodies_of_applied_and_ignored_deliveries(house: House) -> None:
    applied = await house.tell(sent(EMAIL))
    ignored = await house.tell()
    parked = await house.tell(crm(object_id="1", fields={"first_name": "X"}))
    unrecognised, broken = await house.keep(b"riddle"), await house.keep(b"break it")
    await house.work()
    waiting = await house.keep(b"[]  ")
    contact = (await house.contacts())[REF[2]]
    house.now += KEEP_BODIES_DAYS * DAY
    before = [await body(house, number) for number in (applied, ignored)]
    await keeper(house).run_once()
    at_the_limit = [await body(house, number) for number in (applied, ignored)]

    house.now += 1
    due = await count_due(house.store, (await house.store.read(list_clients()))[0], house.now)
    await keeper(house).run_once()

    assert before == at_the_limit
    assert due == 2
    assert [(await house.state(number))[1:] for number in (applied, ignored)] == [("retention", b"")] * 2
    assert [(await house.state(number))[0] for number in (parked, unrecognised, broken, waiting)] == [
        "parked", "unrecognised", "received", "received",
    ]  # fmt: skip
    assert all([await body(house, number) for number in (parked, unrecognised, broken, waiting)])
    assert (await house.contacts())[REF[2]] == contact
    assert await house.differences() == []


async def test_retention__counts_a_parked_delivery_from_its_application(house: House) -> None:
    parked = await house.tell(crm(object_id="1", fields={"first_name": "X"}))
    house.now += 100 * DAY
    await house.tell(crm(step=3, object_id="1", email=EMAIL))
    await keeper(house).run_once()
    early = await body(house, parked)
    house.now += 91 * DAY
    await keeper(house).run_once()

    assert early != b""
    assert (await house.state(parked))[:2] == ("applied", "retention")


@pytest.mark.parametrize(("days", "is_kept"), [(None, True), (0, False), (500, True)])
async def test_keep_bodies_days__sets_the_retention_of_a_client(house: House, days: int | None, is_kept: bool) -> None:
    await house.store.write(set_client_settings("acme", ClientSettings(keep_bodies_days=days)))
    number = await house.tell(sent(EMAIL))
    house.now += 400 * DAY

    await keeper(house).run_once()

    assert (await body(house, number) != b"") == is_kept


async def test_prune__removes_bodies_page_by_page(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAGE", 2)
    numbers = [await house.tell(sent(EMAIL, step)) for step in range(5)]
    house.now += 91 * DAY

    removed = [await retention.prune(house.store, (await house.store.read(list_clients()))[0], house.now, 2) for _ in range(4)]

    assert removed == [2, 2, 1, 0]
    assert [await body(house, number) for number in numbers] == [b""] * 5


async def test_retention__leaves_the_body_of_a_replayed_delivery(house: House) -> None:
    from touchbase.inbox.sql.commands import replay_deliveries

    number = await house.tell(sent(EMAIL))
    house.now += 91 * DAY
    await house.store.write(replay_deliveries(house.client, [number], house.now))

    await keeper(house).run_once()
    await house.work()

    assert await body(house, number) != b""


async def test_retention__finishes_an_interrupted_erasure_search(house: House, engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from touchbase.erasure import service as erasure_service

    monkeypatch.setattr(erasure_service, "PAGE", 2)
    contact = await full_life(house)
    erasure = await house.eraser.erase(house.client, contact)
    erasure = await house.eraser.step(erasure)  # and then the process is killed
    left = await house.store.read(open_erasures())
    await house.store.close()

    store = await open_store(engine_url)
    again = House(store, house.client, now=NOON)
    await Retention(store, Eraser(store, read, again.clock), again.clock, pause=0).run_once()
    again.now += DAY
    await again.work()
    await store.vacuum()
    result, still_open = await find_in_database(engine_url, *NAMES), await store.read(open_erasures())
    await store.close()

    assert [(item.id, item.swept_to > 0, item.done_us) for item in left] == [(erasure.id, True, None)]
    assert result == []
    assert still_open == []


async def test_add_erasures__erases_people_from_a_restored_backup(store: Store, sqlite_url: str, engine_url: str) -> None:
    later = House(store, (await store.write(ensure_client("acme", NOON))).number)
    restored_store = await open_store("sqlite://") if engine_url == sqlite_url else await open_store(sqlite_url)
    restored = House(restored_store, (await restored_store.write(ensure_client("acme", NOON))).number)
    for item in (later, restored):
        await full_life(item)
        await item.tell(sent("eve@example.com"))
    await later.erase(refs=(REF,))
    listed = await later.store.read(list_erasures(later.client, 200))
    assert listed.secret is not None

    added = await restored_store.write(add_erasures(restored.client, listed.secret, listed.keys, NOON))
    await keeper(restored).run_once()
    people, left = set(await restored.contacts()), await restored_store.read(open_erasures())
    await restored.tell(sent(EMAIL, 9))
    late = set(await restored.contacts())
    differences = await restored.differences()
    await restored_store.close()

    assert added == len(listed.keys)
    assert people == late == {"bob@example.com", "eve@example.com"}
    assert (left, differences) == ([], [])


async def test_retention__stops_at_once(house: House) -> None:
    first_keeper = keeper(house)
    running = asyncio.create_task(first_keeper.run())
    await asyncio.sleep(0)
    first_keeper.stop()

    async with asyncio.timeout(30):
        await running


async def test_get_delivery__returns_empty_content_without_a_body(house: House) -> None:
    number = await house.tell(sent(EMAIL))
    await house.erase(refs=(REF,))

    delivery = await house.store.read(get_delivery(number))

    assert delivery is not None
    assert (delivery.headers, delivery.query, delivery.body, delivery.body_removed_us) == ({}, "", b"", house.now)


async def test_retention__continues_with_other_clients_after_a_failure(store: Store, house: House) -> None:
    other_house = House(store, (await store.write(ensure_client("other", NOON))).number)
    calls = [(item, await item.tell(sent("bob@example.com"))) for item in (house, other_house)]
    for entry, _ in calls:
        await entry.eraser.erase(entry.client, refs=[REF])
    (first, *_) = await store.read(open_erasures())
    due = NOON + 91 * DAY

    async def connections(client: int) -> Sequence[Connection]:
        if client == first.client:
            raise Overloaded("a secret cannot be opened now")
        return ()

    await Retention(store, Eraser(store, read, lambda: due, connections), lambda: due, pause=0).run_once()

    assert [erasure.client for erasure in await store.read(open_erasures())] == [first.client]
    assert [await body(item, number) for item, number in calls] == [b"", b""]


async def remove_all(store: Store, client: int) -> None:
    """Remove a client that lives in another database now, as a move does."""
    position: Position | None = None
    while await store.read(find_client_by_number(client)) is not None:
        _, position = await store.write(remove_moved_rows(client, 1_000, position))


@pytest.mark.parametrize("restarted", [False, True])
async def test_retention__cleans_the_files_after_a_client_was_moved_away(house: House, engine_url: str, restarted: bool) -> None:
    """Also of a person whom nobody has erased yet: the other database's erasure knows nothing of these files."""
    await house.tell(sent("zqmoved@example.com"))
    retention = keeper(house)
    await retention.run_once()
    await remove_all(house.store, house.client)

    await (keeper(house) if restarted else retention).run_once()

    left = await find_in_database(engine_url, "zqmoved")
    assert left == []


async def test_retention__leaves_an_erasure_whose_client_moved_meanwhile_to_the_other_database(
    store: Store, house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    await house.tell(sent("bob@example.com"))
    await house.eraser.erase(house.client, refs=[REF])

    async def moved_away(self: Eraser, erasure: Erasure) -> Erasure:
        await remove_all(store, erasure.client)
        return await really(self, erasure)

    really = Eraser.step
    monkeypatch.setattr(Eraser, "step", moved_away)
    await Retention(store, house.eraser, house.clock, pause=0).run_once()

    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


async def test_retention__costs_idle_clients_no_statement_of_their_own(store: Store, house: House) -> None:
    class Counted:
        calls: ClassVar[list[str]] = []

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def read(self, query: Any) -> Any:
            self.calls.append(type(query).__name__)
            return await store.read(query)

        async def write(self, command: Any) -> Any:
            self.calls.append(type(command).__name__)
            return await store.write(command)

    await asyncio.gather(*(store.write(ensure_client(f"idle-{n}", NOON)) for n in range(2_000)))
    old = await house.tell(sent(EMAIL))
    (riddle,) = await riddles(house, 1, 50)
    house.now += 91 * DAY
    limits = UnrecognisedLimits(days=90, max_bytes=1_000, refused_days=7)

    await Retention(Counted(), house.eraser, house.clock, pause=0, unrecognised=limits, keep_events_days=7).run_once()  # type: ignore[arg-type]

    assert (await body(house, old), await body(house, riddle)) == (b"", b"")
    assert len(Counted.calls) < 30


async def test_retention__retries_a_failed_removal_in_the_next_run(store: Store, house: House) -> None:
    class Full:
        failures = 1

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def write(self, command: Any) -> Any:
            if isinstance(command, prune_bodies) and self.failures:
                self.failures -= 1
                raise Overloaded("the disk is full")
            return await store.write(command)

    applied = await house.tell(sent(EMAIL))
    house.now += 91 * DAY
    retention = Retention(Full(), house.eraser, house.clock, pause=0)  # type: ignore[arg-type]
    await retention.run_once()
    before = await body(house, applied)

    await retention.run_once()

    assert before != b""
    assert await body(house, applied) == b""


def ending(house: House, days: int = 0, most_bytes: int = 0) -> Retention:
    """A keeper that ends what nobody understood."""
    return Retention(house.store, house.eraser, house.clock, pause=0, unrecognised=UnrecognisedLimits(days, most_bytes))


async def riddles(house: House, count: int, size: int, **reported: Any) -> list[int]:
    """Calls of this size that nobody understands, by their ids."""
    commands = [
        store_delivery(
            house.client, CRM, b"%d %d %d" % (house.now, size, n), b"{}", "", (b"riddle %d " % n).ljust(size, b"x"), house.now, **reported
        )
        for n in range(count)
    ]
    numbers = [(await house.store.write(command)).id for command in commands]
    await house.work()
    return numbers


async def test_retention__removes_old_bodies_of_unrecognised_and_unverified_deliveries(house: House) -> None:
    old = await riddles(house, 3, 50)
    verified = await riddles(house, 1, 51, verified=True)
    house.now += 90 * DAY
    young = await riddles(house, 1, 52)
    await ending(house, days=90).run_once()
    before = [await body(house, number) for number in old]

    house.now += 61 * SECOND
    await ending(house, days=90).run_once()

    assert all(before)
    assert [await house.state(number) for number in old] == [("unrecognised", "retention", b"")] * 3
    assert all([await body(house, number) for number in (*verified, *young)])


async def test_retention__removes_the_oldest_unrecognised_bodies_above_a_size(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "PAGE", 2)
    numbers = await riddles(house, 10, 100)
    applied = await house.tell(sent(EMAIL))

    await ending(house, most_bytes=350).run_once()
    first = [await body(house, number) != b"" for number in numbers]
    house.now += 61 * SECOND
    more = await riddles(house, 1, 100)
    await ending(house, most_bytes=350).run_once()
    second = [await body(house, number) != b"" for number in (*numbers, *more)]

    assert first == [False] * 7 + [True] * 3
    assert second == [False] * 8 + [True] * 3
    assert await body(house, applied) != b""


async def test_retention__leaves_unrecognised_bodies_without_a_limit(house: House) -> None:
    numbers = await riddles(house, 2, 100)
    house.now += 1000 * DAY

    await ending(house).run_once()

    assert all([await body(house, number) for number in numbers])
