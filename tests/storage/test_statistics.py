"""The planner's statistics follow tables that grow fast, so that plans made for an empty table do not stay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from touchbase.storage.postgres.engine import FEWEST_ROWS
from touchbase.stores import open_store


@pytest.fixture
async def grown(postgres_url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    """A connection, and a new table: connections that other tests closed may still count rows of the store's tables, or a truncation."""
    connection = await asyncpg.connect(postgres_url)
    # The server's own ANALYZE at that moment would hold a lock, for which ours does not wait.
    await connection.execute("CREATE TABLE grown (n bigint) WITH (autovacuum_enabled = off)")
    yield connection
    await connection.execute("DROP TABLE grown")
    await connection.close()


async def add_rows(connection: asyncpg.Connection[Any], count: int) -> None:
    await connection.execute(f"INSERT INTO grown SELECT generate_series(1, {count})")
    await connection.execute("SELECT pg_stat_force_next_flush()")


async def test_table__is_analyzed_when_it_has_doubled(grown: asyncpg.Connection[Any], postgres_url: str) -> None:
    store = await open_store(postgres_url)
    try:
        await add_rows(grown, FEWEST_ROWS - 1)
        assert "grown" not in await store.analyze()

        await add_rows(grown, 1)
        assert "grown" in await store.analyze()
        assert "grown" not in await store.analyze()

        await add_rows(grown, FEWEST_ROWS - 1)
        assert "grown" not in await store.analyze()

        await add_rows(grown, 1)
        assert "grown" in await store.analyze()
    finally:
        await store.close()


async def test_analyze__does_nothing_on_sqlite(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/store.db")
    try:
        assert await store.analyze() == []
    finally:
        await store.close()
