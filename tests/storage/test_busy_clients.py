"""Finding clients with waiting deliveries costs a few looks for each client, whatever each has waiting."""

from __future__ import annotations

import json
from typing import Any

import asyncpg

from touchbase.encryption.cipher import NO_CIPHER
from touchbase.inbox.sql.queries import busy_clients
from touchbase.sql.operation import plan_of_query
from touchbase.sql.statement import Select
from touchbase.stores import open_store

EACH = 20_000
# Two clients with much waiting, one with a single delivery, one that has to wait before it is tried again.
FILL = f"""
SET touchbase.clients = 'all';
INSERT INTO client (id, client_id, created_us, settings) SELECT c, 'client' || c, 1, '{{}}' FROM generate_series(1, 4) AS c;
INSERT INTO delivery (client, id, channel, state, received_us, attempts, repeats, next_attempt_us, size, key)
SELECT c, c * 1000000 + n, 'crm', CASE WHEN n % 5 = 0 THEN 'applied' ELSE 'received' END, 5, 0, 0, CASE c WHEN 4 THEN 99 ELSE 0 END, 1,
  convert_to(n::text, 'utf-8')
FROM (VALUES (1, {EACH}), (2, {EACH}), (3, 1), (4, 3)) AS given (c, many), generate_series(1, many) AS n;
ANALYZE delivery;
"""


def nodes(plan: dict[str, Any]) -> list[dict[str, Any]]:
    """Every step of a plan of PostgreSQL."""
    return [plan, *(node for part in plan.get("Plans", ()) for node in nodes(part))]


async def test_busy_clients__reads_few_rows_of_an_index_on_postgresql(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(FILL)
    requested = next(plan_of_query(busy_clients(5), NO_CIPHER))
    assert isinstance(requested, Select)

    explained = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {requested.sql.replace('?', '$1')}", *requested.params)
    await connection.close()

    plan = json.loads(explained)[0]["Plan"]
    read = [node for node in nodes(plan) if node.get("Relation Name") == "delivery"]
    assert {node.get("Index Name") for node in read} == {"delivery_waiting"}
    assert sum(node["Actual Rows"] * node["Actual Loops"] for node in read) < 20


async def test_busy_clients__finds_only_clients_with_due_deliveries(postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(FILL)
    await connection.close()
    store = await open_store(postgres_url)

    results = [await store.read(busy_clients(now)) for now in (5, 99)]
    await store.close()

    assert results == [[1, 2, 3], [1, 2, 3, 4]]
