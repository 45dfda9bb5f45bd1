"""Sweeping: calls too old to be repeated are forgotten, a bounded number at a time, and no others are."""

from __future__ import annotations

import asyncio

import pytest
from tests.conftest import ExecuteSql

from touchbase.app import assembled, standalone_workers
from touchbase.clients.sql.clients import ensure_client
from touchbase.config import Settings
from touchbase.inbox import cleanup as inbox_cleanup
from touchbase.inbox.cleanup import EXPIRE_AFTER, PAUSE, DedupeCleanup
from touchbase.inbox.sql.commands import store_delivery
from touchbase.inbox.sql.queries import old_dedupe_keys
from touchbase.sql.store import Store
from touchbase.stores import open_store

NOW = 1_790_000_000_000_000
THEN = NOW + EXPIRE_AFTER + 1


async def keep(store: Store, *keys: bytes, name: str = "acme", at: int = NOW) -> None:
    client = (await store.write(ensure_client(name, NOW))).number
    for key in keys:
        await store.write(store_delivery(client, "crm", key, b"{}", "", b"{}", at))


async def left(execute_sql: ExecuteSql) -> list[bytes]:
    return [bytes(key) for (key,) in await execute_sql("SELECT key FROM dedupe_key ORDER BY client, key")]


async def test_dedupe_cleanup__deletes_only_expired_keys(store: Store, execute_sql: ExecuteSql) -> None:
    await keep(store, b"a", b"b")
    await keep(store, b"a", name="other")
    await keep(store, b"c", at=NOW + 1)

    gone = await DedupeCleanup(store)(THEN)

    assert (gone, await left(execute_sql)) == (3, [b"c"])


async def test_dedupe_cleanup__deletes_a_bounded_number_and_continues_in_the_next_run(
    store: Store, execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_cleanup, "BATCH_SIZE", 2)
    monkeypatch.setattr(inbox_cleanup, "MAX_BATCHES", 2)
    await keep(store, *[bytes([n]) for n in range(7)])
    sweep = DedupeCleanup(store)

    gone = [await sweep(THEN), await sweep(THEN), await sweep(THEN)]

    assert (gone, await left(execute_sql)) == ([4, 3, 0], [])


async def test_dedupe_cleanup__pauses_after_a_complete_pass(store: Store) -> None:
    sweep = DedupeCleanup(store)
    first = await sweep(THEN)
    await keep(store, b"a")

    assert (first, await sweep(THEN + PAUSE - 1), await sweep(THEN + PAUSE)) == (0, 0, 1)


async def waiting(store: Store) -> list[tuple[int, bytes]]:
    return await store.read(old_dedupe_keys(THEN - EXPIRE_AFTER, 5))


@pytest.mark.parametrize("alone", [True, False])
async def test_dedupe_cleanup__runs_in_the_server_and_in_a_standalone_worker(sqlite_url: str, alone: bool) -> None:
    store = await open_store(sqlite_url)
    await keep(store, b"a")
    settings = Settings.read({}, database=sqlite_url)
    before = await waiting(store)

    async with asyncio.timeout(30):
        if alone:
            async with standalone_workers(settings, lambda: THEN) as worker:
                await worker.drain()
        else:
            async with assembled(settings, lambda: THEN) as application:
                while await waiting(application.store):
                    pass

    assert (len(before), await waiting(store)) == (1, [])
    await store.close()
