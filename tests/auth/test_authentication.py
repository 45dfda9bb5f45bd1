"""Keys: how they are made and recognised, and what is asked of the store for each call."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import pytest

from touchbase.auth.authentication import ADMIN, READ, Authenticator, add_key, key_parts, make_key
from touchbase.auth.sql import find_key, revoke_key
from touchbase.clients.models import ClientSettings
from touchbase.clients.service import Clients
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.connections.service import Connections
from touchbase.errors import Unauthorized
from touchbase.sql.store import Store
from touchbase.stores import open_store


class Watched:
    """A store that notes what it is asked."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.operations: list[str] = []
        self.asks = asyncio.Event()

    async def read(self, query: Any) -> Any:
        self.operations.append(type(query).__name__)
        self.asks.set()
        await asyncio.sleep(0)  # an engine elsewhere answers later
        return await self._store.read(query)

    async def write(self, command: Any) -> Any:
        self.operations.append(type(command).__name__)
        return await self._store.write(command)


@pytest.fixture
async def watched() -> AsyncIterator[Watched]:
    store = await open_store("sqlite://")
    yield Watched(store)
    await store.close()


class Clock:
    now = 1_790_000_000 * SECOND

    def __call__(self) -> int:
        return self.now


def test_make_key__has_a_prefix_an_id_a_secret_and_a_checksum() -> None:
    key = make_key("test")

    assert re.fullmatch(r"tb_test_[0-9a-f]{12}_[0-9a-f]{64}_[0-9a-f]{8}", key.text)
    assert key_parts(key.text) == (key.key_id, key.digest)


def test_make_key__is_unique() -> None:
    assert len({make_key().text for _ in range(50)}) == 50


def test_key_parts__detects_one_wrong_character() -> None:
    text = make_key().text

    for place in range(len(text)):
        second = "0" if text[place] != "0" else "1"
        assert key_parts(text[:place] + second + text[place + 1 :]) is None


async def test_add_key__stores_only_a_digest_of_the_secret(watched: Watched) -> None:
    text = await add_key(watched, None, [ADMIN], "first", 0)  # type: ignore[arg-type]

    key = await watched.read(find_key(text.split("_")[2]))

    assert text.split("_")[3] not in repr(key)
    assert len(key.digest) == 32


async def test_authenticator__reads_the_store_once_per_second(watched: Watched) -> None:
    clock, store = Clock(), watched
    client = await store.write(ensure_client("ours", clock()))
    text = await add_key(store, client.number, [READ], "test", clock())  # type: ignore[arg-type]
    door = Authenticator(store, Clients(store, clock), clock, keys_needed=True)  # type: ignore[arg-type]

    store.operations.clear()
    for _ in range(3):
        assert (await door.client(text, None, READ)).client_id == "ours"
    quickly = list(store.operations)
    clock.now += 2 * SECOND
    await door.client(text, None, READ)

    assert quickly == ["find_key", "find_client_by_number"]
    assert store.operations == [*quickly, "find_key", "find_client_by_number"]


async def test_authenticator__shares_one_read_between_concurrent_requests(watched: Watched) -> None:
    clock, store = Clock(), watched
    client = await store.write(ensure_client("ours", clock()))
    text = await add_key(store, client.number, [READ], "test", clock())  # type: ignore[arg-type]
    clients, connections = Clients(store, clock), Connections(store, clock)  # type: ignore[arg-type]
    door = Authenticator(store, clients, clock, keys_needed=True)  # type: ignore[arg-type]
    store.operations.clear()

    for _ in range(2):
        await asyncio.gather(*(door.client(text, None, READ) for _ in range(50)))
        await asyncio.gather(*(clients.find("nobody") for _ in range(50)), *(connections.of(client.number) for _ in range(50)))
        clock.now += 2 * SECOND

    assert store.operations == ["find_key", "find_client_by_number", "find_client", "list_connections"] * 2


async def test_clients_get__completes_for_others_if_one_waiting_task_is_cancelled(watched: Watched) -> None:
    clients = Clients(watched, Clock())  # type: ignore[arg-type]
    await clients.ensure("ours")
    clients.forget("ours")
    watched.asks.clear()
    asks = [asyncio.create_task(clients.get("ours")) for _ in range(2)]
    await watched.asks.wait()

    asks[0].cancel()

    assert (await asks[1]).client_id == "ours"


async def test_authenticator__drops_cached_keys_when_the_clock_goes_back(watched: Watched) -> None:
    clock = Clock()
    clients = Clients(watched, clock)  # type: ignore[arg-type]
    text = await add_key(watched, (await clients.ensure("ours")).number, [READ], "first", 0)  # type: ignore[arg-type]
    door = Authenticator(watched, clients, clock, keys_needed=True)  # type: ignore[arg-type]
    await door.client(text, None, READ)
    await watched.write(revoke_key(text.split("_")[2], clock()))

    clock.now -= 3600 * SECOND
    await clients.get("ours")

    assert door.cached(text.encode(), b"ours", READ, clock()) is None
    with pytest.raises(Unauthorized):
        await door.client(text, None, READ)


async def test_authenticator__refuses_a_forged_key_with_the_id_of_another(watched: Watched) -> None:
    clock = Clock()
    text = await add_key(watched, None, [ADMIN], "first", 0)  # type: ignore[arg-type]
    forged = make_key().text.split("_")
    forged[2] = text.split("_")[2]
    body = "_".join(forged[:4])
    from zlib import crc32

    door = Authenticator(watched, Clients(watched, clock), clock, keys_needed=True)  # type: ignore[arg-type]

    with pytest.raises(Unauthorized):
        await door.principal(f"{body}_{crc32(body.encode()):08x}", ADMIN)
    assert (await door.principal(text, ADMIN)).client is None


async def test_put_client__applies_at_once_and_in_other_processes_after_the_cache_time(watched: Watched) -> None:
    clock = Clock()
    here, elsewhere = Clients(watched, clock), Clients(watched, clock)  # type: ignore[arg-type]
    await here.ensure("ours")
    await elsewhere.ensure("ours")

    await here.put("ours", ClientSettings(on_duplicate="return"))

    on_duplicates = [(await first.get("ours")).settings.on_duplicate for first in (here, elsewhere)]
    clock.now += 2 * SECOND
    assert on_duplicates == ["return", "error"]
    assert (await elsewhere.get("ours")).settings.on_duplicate == "return"
