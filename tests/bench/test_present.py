"""The driver alone writes rows that the present schema takes, and the lists take the cursors of the benchmark."""

from __future__ import annotations

from pathlib import Path

from bench.driver_baseline import postgres_rates, sqlite_rates
from bench.driver_rows import PARTS
from bench.pages_deep import FILTERS, _cursor
from tests.asgi_client import MakeClient

from touchbase.clients.sql.clients import ensure_client
from touchbase.sql.store import Store
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


async def test_forged_cursors_of_deep_pages__are_taken(store: Store, make_client: MakeClient) -> None:
    call = make_client(store)

    for filters in FILTERS:
        query = "&".join(filter(None, (filters.format(company=1), _cursor(filters, 0.5, 100, 1_790_000_000_000_000))))
        assert (await call("GET", f"/public/v2/contacts?{query}")).status == 200, query
