"""A client moves to another cell while it is used: all of its rows come along, and no write is lost or done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import pytest
from tests.asgi_client import Clock
from tests.cells.conftest import KEY
from tests.conftest import ENCRYPTION_KEYS
from tests.isolation.conftest import world
from tests.isolation.world import Side, World, furnish

from touchbase.cells import HOME, LEASE, ListMoves
from touchbase.clients import ListClients
from touchbase.common.timestamps import SECOND
from touchbase.consistency import Verified, verify
from touchbase.encryption import Cipher, EncryptionKeys
from touchbase.inbox import ListDeliveries
from touchbase.routing import CellRouter, moving_copy
from touchbase.routing.moving import ClientMove, Moved
from touchbase.routing.moving_copy import Progress
from touchbase.sql.statement import Plan, Row, Select
from touchbase.storage import client_rows, open_client_rows
from touchbase.storage.client_rows import ClientRows

__all__ = ["world"]

EU, US = 1, 2
Make = Callable[..., ClientMove]


@pytest.fixture
def addresses(engine_url: str, cell_urls: list[str]) -> dict[int, tuple[str, EncryptionKeys]]:
    """The address of each cell, and its keys: the home store has another one than the cells."""
    return {HOME: (engine_url, ENCRYPTION_KEYS), **{number: (url, EncryptionKeys(KEY)) for number, url in enumerate(cell_urls, 1)}}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def move_of(router: CellRouter, addresses: dict[int, tuple[str, EncryptionKeys]], clock: Clock) -> Make:
    """Makes a move of a client to a cell; nobody waits in it, as its pauses move the clock."""

    async def sleep(seconds: float) -> None:
        clock.move(seconds)
        await asyncio.sleep(0)

    def make(number: int, target: int, **more: Any) -> ClientMove:
        async def open_rows(cell: int) -> tuple[ClientRows, Cipher]:
            url, keys = addresses[cell]
            return await open_client_rows(url, number, keys)

        return ClientMove(router, number, target, open_rows, clock, sleep=sleep, **more)

    return make


@pytest.fixture
async def side(router: CellRouter, world: World) -> Side:
    """A client in the home store that has everything that a client can have."""
    number, key = await world.join(router, "zq001clientqz")
    side = world.side(router, "zq001clientqz", number, key)
    await furnish(side)
    return side


async def dump(addresses: dict[int, tuple[str, EncryptionKeys]], cell: int, number: int) -> dict[str, list[Row]]:
    """Every row that a client has in a cell, secrets decrypted."""
    rows, cipher = await open_client_rows(addresses[cell][0], number, addresses[cell][1])
    try:
        found = await rows.tables()
        end = {}
        for table in [*client_rows.moved_tables(found), client_rows.client_table(found)]:
            page = await rows.read(client_rows.page(table, number, None, None))
            end[table.name] = plain(table, page, cipher)
        return end
    finally:
        await rows.close()


def plain(table: client_rows.MovedTable, rows: list[Row], cipher: Cipher) -> list[Row]:
    from touchbase.connections.sql.encrypted_columns import TABLES, decrypt_row

    encrypted = next((each for each in TABLES if each.name == table.name), None)
    return rows if encrypted is None else [decrypt_row(cipher, encrypted, table.typed, row) for row in rows]


async def test_move__takes_every_row_along_and_leaves_none(
    side: Side, move_of: Make, addresses: dict[int, tuple[str, EncryptionKeys]], router: CellRouter
) -> None:
    before = await dump(addresses, HOME, side.number)
    shown = [await side.sure("GET", path) for path in ("/public/v2/contacts", "/public/v2/companies", "/public/v2/suppressions")]

    moved = await move_of(side.number, EU).run()

    after = await dump(addresses, EU, side.number)
    assert after == before
    assert moved.rows == sum(len(rows) for name, rows in before.items() if name != "client")
    assert {name for name, rows in before.items() if not rows} <= {"client_alias"}
    assert not any((await dump(addresses, HOME, side.number)).values())
    assert [await side.sure("GET", path) for path in ("/public/v2/contacts", "/public/v2/companies", "/public/v2/suppressions")] == shown
    assert await router.home.read(ListMoves()) == []
    assert [client.number for client in await router.read(ListClients())] == [side.number]


# Killed at any moment


class Killed(BaseException):
    """The process was killed: nothing of it runs any more."""


class Mortal:
    """Passes calls on, and notes each as a label; at one of them the process is killed, before or after the call."""

    def __init__(self, die_at: str = "", *, before: bool = True) -> None:
        self.die_at, self.before, self.is_dead = die_at, before, False
        self.labels: list[str] = []

    async def call(self, label: str, work: Callable[[], Awaitable[Any]]) -> Any:
        if self.is_dead or (self.before and label == self.die_at):
            self.is_dead = True
            raise Killed
        self.labels.append(label)
        result = await work()
        if label == self.die_at:
            self.is_dead = True
            raise Killed
        return result


class MortalRows:
    """The rows of a client, used by a process that may be killed."""

    def __init__(self, rows: ClientRows, mortal: Mortal, end: str) -> None:
        self._rows, self._mortal, self._end = rows, mortal, end

    async def write(self, plan: Any) -> Any:
        return await self._mortal.call(f"{self._end} {plan.__name__}", lambda: self._rows.write(plan))

    async def close(self) -> None:
        await self._rows.close()

    async def read(self, plan: Any) -> Any:
        return await self._mortal.call(f"{self._end} {plan.__name__}", lambda: self._rows.read(plan))

    def __getattr__(self, name: str) -> Any:
        return lambda *given: self._mortal.call(f"{self._end} {name}", lambda: getattr(self._rows, name)(*given))


class MortalHome:
    """The home store, used by a process that may be killed."""

    def __init__(self, home: Any, mortal: Mortal) -> None:
        self._home, self._mortal = home, mortal

    async def write(self, command: Any) -> Any:
        return await self._mortal.call(f"home {type(command).__name__}", lambda: self._home.write(command))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._home, name)


@pytest.fixture
def mortal_move(move_of: Make, router: CellRouter, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Moved]]:
    """Runs a move by a process that is killed at a call."""

    async def run(number: int, target: int, mortal: Mortal) -> Moved:
        move = move_of(number, target)
        opening, home = move.open_rows, router.home

        async def open_rows(cell: int) -> tuple[ClientRows, Cipher]:
            rows, cipher = await opening(cell)
            return MortalRows(rows, mortal, "target" if cell == target else "source"), cipher  # type: ignore[return-value]

        move.open_rows = open_rows
        router.home = MortalHome(home, mortal)  # type: ignore[assignment]
        try:
            return await move.run()
        finally:
            router.home = home

    return run


async def lives_in(router: CellRouter, number: int) -> int:
    await router.refresh()
    return router.placement.cell_of(number)


async def change_something(side: Side, turn: int) -> None:
    """Change, create and delete records, unless writes are refused."""
    first, *_, last = (await side.sure("GET", "/public/v2/contacts"))["data"]
    replies = [
        await side("PATCH", f"/public/v2/contacts/{first['id']}", {"last_name": f"after {turn}"}),
        await side("POST", "/public/v2/contacts", {"first_name": f"new {turn}"}),
        await side("DELETE", f"/public/v2/contacts/{last['id']}"),
    ]
    assert {reply.status for reply in replies} <= {200, 201, 204, 503}


async def labels_of_a_move(mortal_move: Callable[..., Awaitable[Moved]], number: int) -> list[str]:
    """Every call of a move, the first of each kind; the client comes back."""
    mortal = Mortal()
    await mortal_move(number, EU, mortal)
    await mortal_move(number, HOME, Mortal())
    return list(dict.fromkeys(mortal.labels))


@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
async def test_move__goes_on_after_a_kill_at_any_of_its_calls(
    side: Side,
    mortal_move: Callable[..., Awaitable[Moved]],
    addresses: dict[int, tuple[str, EncryptionKeys]],
    router: CellRouter,
    clock: Clock,
    before: bool,
) -> None:
    labels = await labels_of_a_move(mortal_move, side.number)
    assert {"home TakeMove", "source watch", "target replace", "source settle", "target arrive", "home SwitchPlace", "home EndMove"} <= set(
        labels
    )
    for turn, label in enumerate(labels):
        source = await lives_in(router, side.number)
        target = EU if source == HOME else HOME
        with pytest.raises(Killed):
            await mortal_move(side.number, target, Mortal(label, before=before))
        await change_something(side, turn)
        clock.move(LEASE / SECOND)
        there = await dump(addresses, await lives_in(router, side.number), side.number)

        if await router.home.read(ListMoves()) or await lives_in(router, side.number) == source:
            await mortal_move(side.number, target, Mortal())

        assert await dump(addresses, target, side.number) == there, label
        assert not any((await dump(addresses, source, side.number)).values()), label
        assert await left_of_moves(addresses, side.number) == [], label
    assert not [found async for found in verify(router, side.number, Verified(), bodies=True)]


async def left_of_moves(addresses: dict[int, tuple[str, EncryptionKeys]], number: int) -> list[str]:
    """What a move has left in the stores of its own."""
    left: list[str] = []
    for cell, (url, keys) in addresses.items():
        rows, _ = await open_client_rows(url, number, keys)
        tables = await rows.tables()
        left += [f"{cell} triggers"] * await rows.watches(client_rows.moved_tables(tables)[:1])
        for name in ("moving_client", "moving_change", "client_move"):
            found = await rows.read(select(f"SELECT count(*) FROM {name}"))
            left += [f"{cell} {name}"] * found[0][0]
        await rows.close()
    return left


def select(sql: str, *params: Any) -> Plan[list[Row]]:
    return (yield Select(sql, params))


# Used meanwhile


@dataclass
class Journal:
    """What was acknowledged, and in which step of the move."""

    names: dict[int, str] = field(default_factory=dict)
    """Contact -> its last name."""
    deleted: set[int] = field(default_factory=set)
    webhooks: int = 0
    steps: set[str] = field(default_factory=set)
    step: str = "before"
    refused: int = 0
    went_on: asyncio.Event = field(default_factory=asyncio.Event)
    """The move went on: time for some more calls."""

    def took(self, status: int) -> bool:
        """Note a response; return whether the call was acknowledged."""
        assert status in (200, 201, 202, 204, 503), status
        if status == 503:
            self.refused += 1
            return False
        self.steps.add(self.step)
        return True


async def use(side: Side, journal: Journal, stop: asyncio.Event) -> None:
    """Create, change and delete contacts and send webhooks until told to stop."""
    for turn in count():
        await journal.went_on.wait()
        journal.went_on.clear()
        if stop.is_set():
            return
        made = await side("POST", "/public/v2/contacts", {"email": f"p{turn}@used.example", "last_name": "new"})
        if journal.took(made.status):
            contact = made.json()["id"]
            journal.names[contact] = "new"
            changed = await side("PATCH", f"/public/v2/contacts/{contact}", {"last_name": f"name {turn}"})
            if journal.took(changed.status):
                journal.names[contact] = f"name {turn}"
            if turn % 3 == 0 and journal.took((await side("DELETE", f"/public/v2/contacts/{contact}")).status):
                journal.deleted.add(contact)
        sent = await side("POST", f"/public/emailcampaign-webhook/{side.client_id}", {"riddle": turn})
        journal.webhooks += journal.took(sent.status)


async def test_move__has_no_body_without_its_delivery_in_the_target_at_any_moment(
    side: Side,
    mortal_move: Callable[..., Awaitable[Moved]],
    addresses: dict[int, tuple[str, EncryptionKeys]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An undo finds bodies by their deliveries."""
    monkeypatch.setattr(moving_copy, "NOTED", 1)
    monkeypatch.setattr(moving_copy, "LARGEST_PAGE", 8)
    monkeypatch.setattr(moving_copy, "SMALLEST_PAGE", 4)
    await side.sure("PATCH", f"/admin/v1/clients/{side.client_id}/connections/email_campaign/instantly", {"secrets": []})
    target, _ = await open_client_rows(addresses[EU][0], side.number, addresses[EU][1])
    lonely = (
        "SELECT b.id FROM delivery_body b WHERE b.client = ? AND NOT EXISTS "
        "(SELECT 1 FROM delivery d WHERE d.client = b.client AND d.id = b.id)"
    )
    received = count()

    class Watched(Mortal):
        async def call(self, label: str, work: Callable[[], Awaitable[Any]]) -> Any:
            if label == "source page" and next(received) < 60:
                await side.sure("POST", f"/public/emailcampaign-webhook/{side.client_id}", {"riddle": next(received)})
            result = await super().call(label, work)
            if label == "target replace":
                assert await target.read(select(lonely, side.number)) == []
            return result

    await mortal_move(side.number, EU, Watched())
    await target.close()
    assert not any((await dump(addresses, HOME, side.number)).values())


async def deliveries_of(side: Side) -> int:
    """The number of the client's deliveries."""
    return len(await side.call.parts.store.read(ListDeliveries(100_000, side.number)))


async def test_move__loses_and_doubles_nothing_that_is_written_meanwhile(
    side: Side, move_of: Make, addresses: dict[int, tuple[str, EncryptionKeys]], router: CellRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving_copy, "LARGEST_PAGE", 32)
    await side.sure("PATCH", f"/admin/v1/clients/{side.client_id}/connections/email_campaign/instantly", {"secrets": []})
    journal, stop, before = Journal(), asyncio.Event(), await deliveries_of(side)

    def note(progress: Progress) -> None:
        journal.step = progress.step
        journal.went_on.set()

    using = asyncio.create_task(use(side, journal, stop))
    try:
        for target in (EU, US, HOME):
            moved = await move_of(side.number, target, report=note).run()
            assert moved.rows > 100
    finally:
        stop.set()
        journal.went_on.set()
        await using

    assert {"copy", "compare", "clean"} <= journal.steps
    for contact, name in journal.names.items():
        found = await side("GET", f"/public/v2/contacts/{contact}")
        assert found.status == 404 if contact in journal.deleted else found.json()["last_name"] == name
    assert await deliveries_of(side) - before == journal.webhooks
    assert not any((await dump(addresses, EU, side.number)).values())
    assert not any((await dump(addresses, US, side.number)).values())
    assert not [found async for found in verify(router, side.number, Verified(), bodies=True)]
