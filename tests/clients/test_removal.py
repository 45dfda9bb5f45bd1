"""Removing clients: piece by piece, by a housekeeper that may be killed, and by the next one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from touchbase.clients.models import DELETING, DELETION_DELAY
from touchbase.clients.removal import BATCH, removal_of
from touchbase.clients.sql.clients import begin_deletion, ensure_client, find_client_by_number
from touchbase.clients.sql.removal import count_client_rows, remove_client_rows
from touchbase.common.timestamps import SECOND
from touchbase.errors import Overloaded
from touchbase.maintenance import Maintenance
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.writes import Creation
from touchbase.sql.store import Store


class Clock:
    def __init__(self) -> None:
        self.now = 1_790_000_000 * SECOND

    def __call__(self) -> int:
        return self.now


async def with_contacts(store: Store, many: int) -> int:
    client = await store.write(ensure_client("ours", 1))
    contacts = [Contact(client.number, 0, 1, 1, f"{n}@a.example", f"{n}@a.example") for n in range(many)]
    await asyncio.gather(*(store.write(create_contact(Creation(contact))) for contact in contacts))
    return client.number


class Dying:
    """A store whose process is killed before it has carried out so many removals more."""

    def __init__(self, store: Store, lives: int) -> None:
        self._store = store
        self.lives = lives
        self.most: list[int] = []

    async def read(self, query: Any) -> Any:
        return await self._store.read(query)

    async def analyze(self) -> list[str]:
        return await self._store.analyze()

    async def write(self, command: Any) -> Any:
        if isinstance(command, remove_client_rows):
            if self.lives == 0:
                raise asyncio.CancelledError
            self.lives -= 1
            self.most.append(command.most)
        return await self._store.write(command)


async def test_client_removal__is_resumed_after_a_kill_at_any_step(store: Store) -> None:
    clock = Clock()
    number = await with_contacts(store, 3 * BATCH + 7)
    await store.write(begin_deletion(number, clock()))
    observed: list[int] = []

    for lives in (0, 1, 2):
        dying = Dying(store, lives)
        with pytest.raises(asyncio.CancelledError):
            await Maintenance(dying, clock).round()  # type: ignore[arg-type]
        client = await store.read(find_client_by_number(number))
        assert client is not None
        assert client.deletion is not None
        assert client.state == DELETING
        observed.append(client.deletion.removed)
        assert max(dying.most, default=0) <= BATCH
        assert client.deletion.total == (None if lives == 0 else 3 * (3 * BATCH + 7) + 5)
    clock.now += DELETION_DELAY
    await Maintenance(store, clock).round()

    assert observed == [0, BATCH, 3 * BATCH]
    assert await store.read(find_client_by_number(number)) is None
    assert await store.read(count_client_rows(number)) == 0


async def test_client_removal__deletes_the_client_row_after_the_delay(store: Store) -> None:
    clock = Clock()
    number = await with_contacts(store, 2)
    await store.write(begin_deletion(number, clock()))
    keeper = Maintenance(store, clock)

    await keeper.round()
    there = await store.read(find_client_by_number(number))
    clock.now += DELETION_DELAY - 1
    await keeper.round()
    still_there = await store.read(find_client_by_number(number))
    clock.now += 1
    await keeper.round()

    assert None not in (there, still_there)
    assert await store.read(find_client_by_number(number)) is None


async def test_maintenance__with_removes_false_removes_no_client(store: Store) -> None:
    clock = Clock()
    number = await with_contacts(store, 2)
    await store.write(begin_deletion(number, clock()))

    await Maintenance(store, clock, removes=False).round()

    assert (
        await store.read(count_client_rows(number)) == 11
    )  # each has an entry of its creation and an event of the log, which has a counter, a part of the use counts, three counts of statuses


async def test_client_removal__completes_when_counting_the_rows_times_out(store: Store) -> None:
    class Busy(Dying):
        async def read(self, query: Any) -> Any:
            if isinstance(query, count_client_rows):
                raise Overloaded("a statement took more than 30 seconds")
            return await super().read(query)

    clock = Clock()
    number = await with_contacts(store, 2)
    client = await store.write(begin_deletion(number, clock()))
    clock.now += DELETION_DELAY

    reported = [removal async for removal in removal_of(Busy(store, 9), clock, client, 500)]  # type: ignore[arg-type]

    assert (reported[-1].done, reported[-1].removed, reported[-1].total) == (True, 12, None)  # 2 notes of the index, 3 counts


async def test_maintenance__stops_on_request(store: Store) -> None:
    clock = Clock()
    keeper = Maintenance(store, clock)

    async with asyncio.timeout(30):
        running = asyncio.create_task(keeper.run())
        keeper.wake()
        keeper.stop()
        await running
