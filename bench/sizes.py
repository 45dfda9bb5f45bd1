"""How many bytes each contact, event and delivery takes on disk, with its indexes."""

from __future__ import annotations

import asyncio
from contextlib import closing
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import apsw
import asyncpg

from bench.plan import Plan

PARTS = {"contact": ("contact", "custom_field"), "event": ("event",), "delivery": ("delivery", "delivery_body")}
"""Tables of each thing; the first has one row for each."""


def sizes_of(plan: Plan, engine: str, database: str) -> dict[str, float]:
    """Bytes per contact (with its custom fields), event, and delivery (with its body)."""
    if engine == "sqlite":
        tables, counts = _of_sqlite(database.removeprefix("sqlite:///"))
    else:
        assert plan.superuser is not None
        address = urlunsplit(urlsplit(plan.superuser)._replace(path=urlsplit(database).path))
        tables, counts = asyncio.run(_of_postgres(address))
    return {what: sum(tables[table] for table in parts) / counts[parts[0]] for what, parts in PARTS.items() if counts[parts[0]]}


def _of_sqlite(path: str) -> tuple[dict[str, float], dict[str, int]]:
    with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as connection:
        indexes = dict(connection.execute("SELECT name, tbl_name FROM sqlite_schema WHERE type IN ('table', 'index')").fetchall())
        tables: dict[str, float] = {}
        for name, size in connection.execute("SELECT name, sum(pgsize) FROM dbstat WHERE aggregate = TRUE GROUP BY name").fetchall():
            table = indexes.get(name, name)
            tables[table] = tables.get(table, 0) + size
        counts = {parts[0]: _count(connection, parts[0]) for parts in PARTS.values()}
    return tables, counts


def _count(connection: apsw.Connection, table: str) -> int:
    ((rows,),) = connection.execute(f"SELECT count(*) FROM {table}").fetchall()
    return int(rows)


async def _of_postgres(address: str) -> tuple[dict[str, float], dict[str, int]]:
    connection: Any = await asyncpg.connect(address)
    try:
        tables = {
            table: float(await connection.fetchval("SELECT pg_total_relation_size($1::regclass)", table))
            for parts in PARTS.values()
            for table in parts
        }
        counts = {parts[0]: int(await connection.fetchval(f"SELECT count(*) FROM {parts[0]}")) for parts in PARTS.values()}
    finally:
        await connection.close()
    return tables, counts
