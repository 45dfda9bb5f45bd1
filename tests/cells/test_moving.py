"""A client moves to another cell while it is used: all of its rows come along, and no write is lost or done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from tests.asgi_client import Clock
from tests.cells.conftest import KEY
from tests.conftest import ENCRYPTION_KEYS
from tests.isolation.conftest import world
from tests.isolation.world import Side, World, furnish

from touchbase.cells import HOME, ListMoves
from touchbase.clients import ListClients
from touchbase.encryption import Cipher, EncryptionKeys
from touchbase.routing import CellRouter
from touchbase.routing.moving import ClientMove
from touchbase.sql.statement import Row
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
