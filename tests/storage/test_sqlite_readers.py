"""SQLite: a query that is answered in a moment does not wait for reports."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from tests.operations import executed_by, handler

from touchbase.clients.sql.clients import ensure_client, list_clients
from touchbase.reports.sql.statuses import report_statuses
from touchbase.sql.ids import Ids
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan
from touchbase.storage.sqlite import engine


@pytest.fixture(autouse=True)
def _as_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many threads as a server has."""
    monkeypatch.setattr(engine, "READERS", 4)
    monkeypatch.setattr(engine, "LONG_READERS", 2)


async def test_query__does_not_wait_for_reports(sqlite_url: str, open_with: Any) -> None:
    store = await open_with(sqlite_url, {})
    await store.write(ensure_client("acme", 1))
    may_end, begun = threading.Event(), threading.Semaphore(0)

    def report(queries: Sequence[report_statuses], ids: Ids) -> Plan[list[object]]:
        begun.release()
        assert may_end.wait(30)
        return ["reported"]
        yield

    with executed_by({report_statuses: handler(report)}):
        try:
            reports = [asyncio.create_task(store.read(report_statuses(1, 1, [0, 1]))) for _ in range(engine.READERS + engine.LONG_READERS)]
            await asyncio.to_thread(begun.acquire)

            async with asyncio.timeout(20):
                clients = await store.read(list_clients())
        finally:
            may_end.set()
        answers = await asyncio.gather(*reports)

    assert [client.client_id for client in clients] == ["acme"]
    assert answers == ["reported"] * len(reports)


async def test_query__does_not_wait_for_slow_queries_of_another_client(sqlite_url: str, open_with: Any) -> None:
    store = await open_with(sqlite_url, {})
    slow, second = [(await store.write(ensure_client(name, 1))).number for name in ("slow", "other")]
    may_end, begun = threading.Event(), threading.Semaphore(0)

    @query
    def read_slowly(client: int) -> Plan[int]:
        if client == slow:
            begun.release()
            assert may_end.wait(30)
        return client
        yield

    try:
        reads = [asyncio.create_task(store.read(read_slowly(slow))) for _ in range(3 * engine.READERS)]
        for _ in range(engine.READERS - 1):
            assert await asyncio.to_thread(begun.acquire, timeout=20)
        reads[-1].cancel()

        async with asyncio.timeout(20):
            answers = [await store.read(read_slowly(second)) for _ in range(3)]
    finally:
        may_end.set()

    assert answers == [second] * 3
    assert await asyncio.gather(*reads[:-1]) == [slow] * (3 * engine.READERS - 1)
