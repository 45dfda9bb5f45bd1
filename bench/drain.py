"""When deliveries were applied, as the store says afterwards: no look at a server while it is measured."""

from __future__ import annotations

import asyncio
from contextlib import closing
from itertools import accumulate
from typing import Any

import apsw
import asyncpg

_TURNS = "SELECT applied_us, count(*) FROM delivery WHERE applied_us >= {} GROUP BY applied_us ORDER BY applied_us"

Batches = list[tuple[int, int]]
"""When each turn of the inbox began, in microseconds since 1970, and how many deliveries it applied; oldest first."""


def batches_since(database: str, since_us: int) -> Batches:
    """The turns since then."""
    if database.startswith("sqlite:"):
        with closing(apsw.Connection(database.removeprefix("sqlite:///"), flags=apsw.SQLITE_OPEN_READONLY)) as store:
            return store.execute(_TURNS.format("?"), (since_us,)).fetchall()
    return asyncio.run(_on_postgres(database, since_us))


async def _on_postgres(database: str, since_us: int) -> Batches:
    connection: Any = await asyncpg.connect(database)
    try:
        await connection.execute("SET touchbase.clients = 'all'")
        return [*map(tuple, await connection.fetch(_TURNS.format("$1"), since_us))]
    finally:
        await connection.close()


def rates(batches: Batches, parts: int) -> list[float]:
    """Deliveries applied a second in each of so many equal parts of these turns.

    How long a turn took the beginning of the next one tells, so the last counts for nothing.
    """
    done_before = accumulate((count for _, count in batches), initial=0)
    marks = [(at, done) for (at, _), done in zip(batches, done_before, strict=False)]
    ends = [_when(marks, marks[-1][1] * part / parts) for part in range(parts + 1)]
    return [marks[-1][1] / parts / (ends[part + 1] - ends[part]) * 1e6 for part in range(parts)]


def _when(marks: list[tuple[int, int]], done: float) -> float:
    """When so many were done, on a straight line between the two marks around it."""
    k = next(k for k, (_, count) in enumerate(marks) if count >= done and k > 0)
    (began, least), (ended, most) = marks[k - 1], marks[k]
    return began + (ended - began) * (done - least) / (most - least)
