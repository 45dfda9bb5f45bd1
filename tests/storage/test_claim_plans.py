"""What a claim reads does not grow with what a client has, whatever figures PostgreSQL has of the tables at that moment."""

from __future__ import annotations

import json

import asyncpg
import pytest
from tests.storage.test_busy_clients import nodes

from touchbase.deliveries.claiming import CLAIM, PEEK
from touchbase.sql.statement import Execute, Row, Statement, for_postgres
from touchbase.storage.postgres.connection import column_params

HAS = 20_000
TAKES = 32
# Half of them wait.
FILL = f"""
SET touchbase.clients = 'all';
INSERT INTO client (id, client_id, created_us, settings) SELECT c, 'client' || c, 1, '{{}}' FROM generate_series(1, 300) AS c;
INSERT INTO delivery (client, id, channel, state, received_us, attempts, repeats, next_attempt_us, size, key)
SELECT 1, n, 'crm', CASE WHEN n % 2 = 0 THEN 'applied' ELSE 'received' END, 5, 0, 0, 0, 1, convert_to(n::text, 'utf-8')
FROM generate_series(1, {HAS}) AS n;
INSERT INTO delivery_body (client, id, query, headers, body) SELECT client, id, '', '', repeat('x', 200)::bytea FROM delivery;
"""
FIGURES = {
    "none": "",
    "of the deliveries only": "ANALYZE delivery",
    "of the bodies only": "ANALYZE delivery_body",
    "of all": "ANALYZE",
    "of when nothing waited": "UPDATE delivery SET state = 'applied'; ANALYZE; UPDATE delivery SET state = 'received'",
}


@pytest.mark.parametrize("figures", FIGURES.values(), ids=FIGURES)
@pytest.mark.parametrize(("op", "row"), [(CLAIM, (1, 9, TAKES)), (PEEK, (1, 9, TAKES, 0, 100))], ids=["claim", "peek"])
async def test_claim__reads_only_the_rows_that_it_takes(postgres_url: str, op: Statement, row: Row, figures: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(FILL + figures)

    explained = await connection.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {for_postgres(op)}", *column_params(Execute(op, [row])))
    await connection.close()

    read = [node for node in nodes(json.loads(explained)[0]["Plan"]) if node.get("Relation Name") in ("delivery", "delivery_body")]
    assert [node["Actual Rows"] * node["Actual Loops"] for node in read] == [TAKES, TAKES]
