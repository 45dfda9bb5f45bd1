"""A real streaming standby as the read database: it answers what may take long, never older than the primary; else the primary does."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Iterator, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from bench.server_process import free_port
from fault_tests.cluster import Cluster

from touchbase.cli.doctor import _read_database_findings
from touchbase.clients.sql.clients import ensure_client
from touchbase.config import BadSettings, Settings
from touchbase.records.models import Contact
from touchbase.records.operations import create_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.writes import Creation
from touchbase.reports.sql.statuses import report_statuses
from touchbase.routing.router import CellRouter
from touchbase.server.health import Operations
from touchbase.server.metrics import ProcessMetrics
from touchbase.storage.postgres import standby as standbys
from touchbase.storage.postgres.standby import Standby
from touchbase.stores import open_store
from touchbase.stores.postgres import PostgresStore

pytestmark = pytest.mark.slow
EDGES = (0, 10**15)


@dataclass
class Pair:
    primary: Cluster
    copy: Cluster
    database: str

    @property
    def at_copy(self) -> str:
        return self.database.replace(f":{self.primary.port}/", f":{self.copy.port}/")


@pytest.fixture(scope="module")
def pair() -> Iterator[Pair]:
    """Not in pytest's own folder: where we are root, the server's user may not go there."""
    folder = Path(f"/tmp/touchbase-standby-{os.getpid()}")
    folder.mkdir(mode=0o755)
    primary, copy = Cluster(folder / "primary", free_port()), Cluster(folder / "copy", free_port())
    primary.create()
    try:
        database = primary.new_database()
        copy.follow(primary)
        yield Pair(primary, copy, database)
    finally:
        copy.remove()
        primary.remove()
        shutil.rmtree(folder)


@pytest.fixture
async def store(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PostgresStore]:
    monkeypatch.setattr(standbys, "RETRY_SECONDS", 0.0)
    opened = await open_store(pair.database, read_url=pair.at_copy)
    assert isinstance(opened, PostgresStore)
    yield opened
    await opened.close()


async def answered(operations: Operations) -> str:
    """Return the metrics."""
    sent: list[MutableMapping[str, Any]] = []

    async def receive() -> MutableMapping[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "GET", "path": "/metrics", "query_string": b"", "headers": []}
    await operations.by_path["/metrics"](scope, receive, send)
    return b"".join(message.get("body", b"") for message in sent).decode()


def reader(store: PostgresStore) -> Standby:
    assert store.standby is not None
    return store.standby


async def count(store: PostgresStore) -> int:
    """Add a contact, and return how many a report has at once."""
    client = (await store.write(ensure_client("acme", 1))).number
    address = f"{os.urandom(6).hex()}@example.com"
    await store.write(create_contact(Creation(Contact(client, 0, 1, 1, address, address))))
    rows = await store.read(report_statuses(client, CONTACT_TYPE.kind, EDGES))
    assert isinstance(rows, list)
    return sum(row.records for row in rows)


async def test_read__is_answered_by_the_standby_with_all_that_was_acknowledged(store: PostgresStore) -> None:
    first = await count(store)

    counts = [await count(store) for _ in range(20)]

    assert counts == list(range(first + 1, first + 21))
    assert (reader(store).answered, reader(store).reason) == (21, None)
    assert await reader(store).lag_seconds() < 60


async def test_read__is_answered_by_the_primary_while_the_standby_is_late(
    store: PostgresStore, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await count(store)
    monkeypatch.setattr(standbys, "WAIT_SECONDS", 0.1)
    await asyncio.to_thread(pair.copy.execute, "SELECT pg_wal_replay_pause()")
    await asyncio.to_thread(pair.copy.wait_for, "SELECT pg_get_wal_replay_pause_state()", "paused")
    try:
        late = await count(store), reader(store).answered, reader(store).reason
    finally:
        await asyncio.to_thread(pair.copy.execute, "SELECT pg_wal_replay_resume()")
    monkeypatch.undo()

    assert late[:2] == (first + 1, 1)
    assert "it is behind" in str(late[2])
    assert await count(store) == first + 2


async def test_read__is_answered_by_the_primary_while_the_standby_is_down(store: PostgresStore, pair: Pair) -> None:
    first = await count(store)
    await asyncio.to_thread(pair.copy.stop_at_once)
    try:
        down = await count(store), reader(store).answered
        assert reader(store).reason is not None
    finally:
        await asyncio.to_thread(pair.copy.start)
    again = await count(store)

    assert (down, again) == ((first + 1, 1), first + 2)
    assert (reader(store).answered, reader(store).reason) == (2, None)


async def test_read__is_answered_by_the_primary_if_the_read_database_is_no_standby_of_it(pair: Pair, postgres_url: str) -> None:
    await asyncio.to_thread(pair.primary.execute, f"CREATE DATABASE beside OWNER {urlsplit(pair.database).username}")
    await (await open_store(f"{pair.database.rpartition('/')[0]}/beside")).close()
    await asyncio.to_thread(pair.copy.wait_for, "SELECT count(*) FROM pg_database WHERE datname = 'beside'", 1)
    at_copy = f"{pair.at_copy.rpartition('/')[0]}/beside"
    other = "another database"
    for url, reason in ((pair.database, "it is no standby"), (postgres_url, other), (at_copy, other)):
        store = await open_store(pair.database, read_url=url)
        assert isinstance(store, PostgresStore)
        await count(store)
        assert (reader(store).answered, reason in str(reader(store).reason)) == (0, True)
        await store.close()


async def test_lag__is_in_the_metrics_and_in_doctor(store: PostgresStore, pair: Pair) -> None:
    operations = Operations(store, lambda: 0, ProcessMetrics(), standby=reader(store))
    settings = Settings.read({}, database=pair.database, read_database=pair.at_copy)
    up = await answered(operations), await _read_database_findings(settings)
    await asyncio.to_thread(pair.copy.stop_at_once)
    try:
        down = await answered(operations), await _read_database_findings(settings)
    finally:
        await asyncio.to_thread(pair.copy.start)
    (none,) = await _read_database_findings(replace(settings, read_database=pair.database))

    assert "\ntouchbase_read_database_lag_seconds " in up[0]
    assert "\ntouchbase_read_database_lag_seconds " not in down[0]
    assert [finding.level for _, findings in (up, down) for finding in findings] == ["ok", "problem"]
    assert (none.level, none.detail) == ("problem", "it is no standby")


async def test_warnings__name_a_read_database_that_is_not_used_without_its_password(pair: Pair) -> None:
    store = await open_store(pair.database, read_url="postgresql://someone:canary#1@db/touchbase")
    assert isinstance(store, PostgresStore)
    await count(store)

    (warning,) = CellRouter(store, open_store).warnings

    assert warning.startswith("the read database is not used, the primary answers: TOUCHBASE_READ_DATABASE cannot be parsed")
    await store.close()


def test_setting__is_refused_for_sqlite_and_for_what_is_no_address() -> None:
    with pytest.raises(BadSettings, match="SQLite has none"):
        Settings.read({}, database="sqlite:///x.db", read_database="postgresql://db/touchbase").check_serving()
    with pytest.raises(BadSettings, match="must be the address of a PostgreSQL standby"):
        Settings.read({"TOUCHBASE_READ_DATABASE": "sqlite:///x.db"})
