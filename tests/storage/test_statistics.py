"""The planner's statistics follow tables that grow fast, so that plans made for an empty table do not stay."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from touchbase.storage.postgres.engine import FEWEST_ROWS
from touchbase.stores import open_store

FEW = FEWEST_ROWS // 5
"""The server's count of rows is about right: connections that other tests closed may add theirs late."""


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(
        "SET touchbase.clients = 'all'; INSERT INTO client (id, client_id, created_us, settings) VALUES (1, 'acme', 1, '{}')"
    )
    # The server's own ANALYZE at that moment would hold a lock, for which ours does not wait.
    await connection.execute("ALTER TABLE contact SET (autovacuum_enabled = off)")
    yield connection
    await connection.execute("ALTER TABLE contact RESET (autovacuum_enabled)")
    await connection.close()


async def add_contacts(postgres: asyncpg.Connection[Any], first: int, last: int) -> None:
    await postgres.execute(
        "INSERT INTO contact (client, id, created_us, updated_us, email_key, from_api) "
        f"SELECT 1, n, n, n, 'p' || n || '@example.com', 1 FROM generate_series({first}, {last}) n"
    )
    await postgres.execute("SELECT pg_stat_force_next_flush()")


async def test_table__is_analyzed_when_it_has_doubled(postgres: asyncpg.Connection[Any], postgres_url: str) -> None:
    store = await open_store(postgres_url)
    try:
        await add_contacts(postgres, 1, FEWEST_ROWS - FEW)
        assert "contact" not in await store.analyze()

        await add_contacts(postgres, FEWEST_ROWS - FEW + 1, FEWEST_ROWS + FEW)
        assert "contact" in await store.analyze()
        assert "contact" not in await store.analyze()

        await add_contacts(postgres, FEWEST_ROWS + FEW + 1, 2 * FEWEST_ROWS)
        assert "contact" not in await store.analyze()

        await add_contacts(postgres, 2 * FEWEST_ROWS + 1, 2 * FEWEST_ROWS + 3 * FEW)
        assert "contact" in await store.analyze()
    finally:
        await store.close()


async def test_analyze__does_nothing_on_sqlite(tmp_path: Path) -> None:
    store = await open_store(f"sqlite:///{tmp_path}/store.db")
    try:
        assert await store.analyze() == []
    finally:
        await store.close()
