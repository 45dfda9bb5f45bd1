"""Sweeping: answers whose time is over go, a bounded number at a time, and nothing else does."""

from __future__ import annotations

import asyncio

import pytest
from tests.conftest import ExecuteSql

from touchbase.app import assembled, standalone_workers
from touchbase.config import Settings
from touchbase.idempotency import service as idempotency_service
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import LIFETIME, RequestKey, StoredResponse
from touchbase.idempotency.service import CLEANUP_PAUSE, ResponseCleanup
from touchbase.idempotency.sql import expired_responses
from touchbase.inbox.worker import InboxWorker
from touchbase.sql.store import Store
from touchbase.stores import open_store
from touchbase.web import NO_ADAPTERS

NOW = 1_790_000_000_000_000


async def keep(store: Store, *keys: str, client: int = 1, at: int = NOW) -> None:
    for key in keys:
        await store.write(execute_once(RequestKey(client, key, b"f", at), None, lambda _: StoredResponse(b"x")))


async def test_response_cleanup__deletes_only_expired_responses(store: Store, execute_sql: ExecuteSql) -> None:
    await keep(store, "a", "b")
    await keep(store, "a", client=2)
    await keep(store, "c", at=NOW + 1)

    gone = await ResponseCleanup(store)(NOW + LIFETIME)

    assert gone == 3
    assert await execute_sql("SELECT key FROM idempotency_key") == [("c",)]


async def test_response_cleanup__deletes_a_bounded_number_and_continues_in_the_next_run(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency_service, "CLEANUP_BATCH", 2)
    await keep(store, "a", "b", "c")
    sweep = ResponseCleanup(store)
    then = NOW + LIFETIME

    assert [await sweep(then) for _ in range(3)] == [2, 1, 0]


async def test_response_cleanup__pauses_after_an_incomplete_batch(store: Store) -> None:
    sweep = ResponseCleanup(store)
    then = NOW + LIFETIME
    first = await sweep(then)
    await keep(store, "a")

    assert (first, await sweep(then + CLEANUP_PAUSE - 1), await sweep(then + CLEANUP_PAUSE)) == (0, 0, 1)


async def test_response_cleanup__does_not_pause_when_the_clock_goes_back(store: Store) -> None:
    sweep = ResponseCleanup(store)
    await sweep(NOW + 3 * LIFETIME)
    await keep(store, "a")

    assert await sweep(NOW + LIFETIME) == 1


async def test_response_cleanup__runs_in_a_drain_of_the_inbox(store: Store, execute_sql: ExecuteSql) -> None:
    await keep(store, "a")

    await InboxWorker(store, NO_ADAPTERS.translate, lambda: NOW + LIFETIME, tasks=[ResponseCleanup(store)]).drain()

    assert await execute_sql("SELECT key FROM idempotency_key") == []


async def test_periodic_task__is_retried_after_an_error_and_the_worker_continues(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    tries: list[int] = []

    async def breaks(now_us: int) -> None:
        tries.append(now_us)
        if len(tries) > 1:
            worker.stop()
        raise ZeroDivisionError

    ticks = iter(range(NOW, NOW + 10_000 * 2_000_000, 2_000_000))
    worker = InboxWorker(store, NO_ADAPTERS.translate, lambda: next(ticks), tasks=[breaks])
    async with asyncio.timeout(30):
        worker.wake_client(1)
        await worker.run()

    assert len(tries) == 2
    assert "a periodic task failed" in caplog.text


async def waiting(store: Store) -> list[tuple[int, str]]:
    return await store.read(expired_responses(NOW + LIFETIME, 5))


@pytest.mark.parametrize("alone", [True, False])
async def test_response_cleanup__runs_in_the_server_and_in_a_standalone_worker(sqlite_url: str, alone: bool) -> None:
    store = await open_store(sqlite_url)
    await keep(store, "a")
    settings = Settings.read({}, database=sqlite_url)

    async with asyncio.timeout(30):
        if alone:
            async with standalone_workers(settings, lambda: NOW + LIFETIME) as worker:
                await worker.drain()
        else:
            async with assembled(settings, lambda: NOW + LIFETIME) as application:
                while await waiting(application.store):
                    pass

    assert await waiting(store) == []
    await store.close()
