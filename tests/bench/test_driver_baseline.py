"""The driver alone writes rows that the present schema takes."""

from __future__ import annotations

from pathlib import Path

from bench.driver_baseline import postgres_rates, sqlite_rates
from bench.driver_rows import PARTS

from touchbase.clients.sql.clients import ensure_client
from touchbase.stores import open_store

SECONDS = 0.001


async def _store(url: str) -> None:
    store = await open_store(url)
    await store.write(ensure_client("acme", 1))
    await store.close()


async def test_sqlite_alone__writes_each_path(tmp_path: Path) -> None:
    await _store(f"sqlite:///{tmp_path / 'store.db'}")

    rates = sqlite_rates(str(tmp_path / "store.db"), 10, SECONDS)

    assert rates.keys() == {*PARTS, "get", "list"}
    assert min(rates.values()) > 0


async def test_postgresql_alone__writes_each_path(empty_postgres_url: str) -> None:
    await _store(empty_postgres_url)

    rates = await postgres_rates(empty_postgres_url, 10, SECONDS)

    assert rates.keys() == {*PARTS, "get", "list"}
    assert min(rates.values()) > 0
