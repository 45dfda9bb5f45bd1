"""A connection that serves requests: it is closed when a response does not come, because its host is lost or frozen.

It is not cancelled, as the driver's own time limit does: a commit that waits for a standby and is cancelled becomes visible with one
copy, and its sender's next attempt would be acknowledged. A closed connection leaves the commit invisible until the standby has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.statement import Row
from touchbase.storage.postgres.row_level_security import Connection

if TYPE_CHECKING:
    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

ANSWER_SECONDS = 35.0
"""Longer than a statement may take on the server (`STATEMENT_SECONDS`)."""


class ServingConnection(_Connection):
    """A connection whose statements end after a time, with the error of a lost connection."""

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        """Execute a statement, as `asyncpg.Connection.execute`."""
        with self.limit():
            return await super().execute(query, *args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """Execute a statement and return its rows, as `asyncpg.Connection.fetch`."""
        with self.limit():
            return await super().fetch(query, *args, **options)

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Close the connection if the body does not end in time."""
        closing = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.terminate)
        try:
            yield
        finally:
            closing.cancel()


async def fetch_within(connection: Connection, query: str, args: Sequence[object], budget: ByteBudget) -> list[Row]:
    """Execute a statement in a transaction, and read its rows in portions until the budget is spent."""
    rows: list[Row] = []
    with getattr(connection, "limit", nullcontext)():
        cursor = await connection.cursor(query, *args)
        wanted = budget.rows
        while wanted:
            portion: list[Row] = [*map(tuple, await cursor.fetch(wanted))]
            rows += portion
            is_last = len(portion) < wanted
            wanted = budget.spend(portion)
            if is_last:
                break
    return rows
