"""The limit below: the rows of a path written by the driver alone, in groups of 64, each group flushed.

No HTTP, no checks, no rules: what SQLite through apsw, and PostgreSQL through asyncpg on as many connections as the service
has, can do on this machine at this moment.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import closing
from itertools import count
from typing import Any

import apsw
import asyncpg

from bench.bodies import STRIDE, new_run
from bench.dataset import CLIENT
from bench.driver_rows import PARTS, postgres_text, rows_of, sqlite_text
from touchbase.records.sql.rows import CONTACT, CUSTOM_FIELD
from touchbase.sql.rows import names
from touchbase.storage.postgres.engine import WRITERS
from touchbase.storage.sqlite.connection import open_writer

GROUP = 64
STATUS_PAGE = f"SELECT {names(CONTACT)} FROM contact WHERE client = {CLIENT} AND status = 'replied' ORDER BY id LIMIT 51"
_ONE = f"SELECT {names(CONTACT)} FROM contact WHERE client = {CLIENT} AND id = "
_ITS = f"SELECT {names(CUSTOM_FIELD)} FROM custom_field WHERE client = {CLIENT} AND record_kind = 1 AND record_id"


def sqlite_rates(path: str, expected: int, seconds: float) -> dict[str, float]:
    """Requests a second by path, of apsw on this store."""
    run, numbers = new_run(), count(1)
    with closing(open_writer(path, durable=True)) as connection:
        cursor = connection.cursor()
        result = {name: _timed(seconds, lambda name=name: _sqlite_group(cursor, name, numbers, expected, run)) for name in PARTS}  # type: ignore[misc]
        result["get"] = _timed(seconds, lambda: _sqlite_gets(cursor, numbers, expected))
        result["list"] = _timed(seconds, lambda: _sqlite_list(cursor))
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return result


def _timed(seconds: float, work: Callable[[], int]) -> float:
    began, done = time.perf_counter(), work()
    while (passed := time.perf_counter() - began) < seconds:
        done += work()
    return done / passed


def _sqlite_group(cursor: apsw.Cursor, name: str, numbers: count[int], expected: int, run: str) -> int:
    group = [next(numbers) for _ in range(GROUP)]
    cursor.execute("BEGIN IMMEDIATE")
    for part in PARTS[name]:
        cursor.executemany(sqlite_text(part), rows_of(part, group, expected, run))
    cursor.execute("COMMIT")
    return GROUP


def _sqlite_gets(cursor: apsw.Cursor, numbers: count[int], expected: int) -> int:
    for _ in range(GROUP):
        first = (next(numbers) * STRIDE % expected + 1,)
        cursor.execute(f"{_ONE}?", first).fetchall()
        cursor.execute(f"{_ITS} = ?", first).fetchall()
    return GROUP


def _sqlite_list(cursor: apsw.Cursor) -> int:
    ids = [row[1] for row in cursor.execute(STATUS_PAGE).fetchall()]
    cursor.execute(f"{_ITS} IN ({', '.join('?' * len(ids))})", ids).fetchall()
    return 1


async def postgres_rates(address: str, expected: int, seconds: float) -> dict[str, float]:
    """The same of asyncpg."""
    run, numbers = new_run(), count(1)
    connections: list[Any] = [await asyncpg.connect(address, server_settings={"touchbase.clients": "all"}) for _ in range(WRITERS)]
    try:
        result = {name: await _on_connections(connections, seconds, _postgres_group(name, numbers, expected, run)) for name in PARTS}
        result["get"] = await _on_connections(connections, seconds, _postgres_get(numbers, expected))
        result["list"] = await _on_connections(connections, seconds, _postgres_list)
    finally:
        for connection in connections:
            await connection.close()
    return result


async def _on_connections(connections: list[Any], seconds: float, work: Callable[[Any], Any]) -> float:
    began = time.perf_counter()

    async def one(connection: Any) -> int:
        done = int(await work(connection))
        while time.perf_counter() - began < seconds:
            done += await work(connection)
        return done

    done = sum(await asyncio.gather(*map(one, connections)))
    return done / (time.perf_counter() - began)


def _postgres_group(name: str, numbers: count[int], expected: int, run: str) -> Callable[[Any], Any]:
    async def work(connection: Any) -> int:
        # Several lanes write at once: in the order of their records, so that none waits for another in a ring.
        group = sorted((next(numbers) for _ in range(GROUP)), key=lambda n: n % expected)
        async with connection.transaction():
            for part in PARTS[name]:
                await connection.execute(postgres_text(part), *zip(*rows_of(part, group, expected, run), strict=True))
        return GROUP

    return work


def _postgres_get(numbers: count[int], expected: int) -> Callable[[Any], Any]:
    async def work(connection: Any) -> int:
        first_numbers = next(numbers) * STRIDE % expected + 1
        await connection.fetch(f"{_ONE}$1", first_numbers)
        await connection.fetch(f"{_ITS} = $1", first_numbers)
        return 1

    return work


async def _postgres_list(connection: Any) -> int:
    rows = await connection.fetch(STATUS_PAGE)
    await connection.fetch(f"{_ITS} = ANY($1::bigint[])", [row[1] for row in rows])
    return 1
