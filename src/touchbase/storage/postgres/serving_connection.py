"""A connection that serves requests: it is closed when a response does not come, because its host is lost or frozen.

It is not cancelled, as the driver's own time limit does: a commit that waits for a standby and is cancelled becomes visible with one
copy, and its sender's next attempt would be acknowledged. A closed connection leaves the commit invisible until the standby has it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg

if TYPE_CHECKING:
    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

FROZEN = "TB001"
"""The state with which a trigger refuses a write of a client that moves (moving.py)."""

ANSWER_SECONDS = 35.0
"""Longer than a statement may take on the server (`STATEMENT_SECONDS`)."""


class ServingConnection(_Connection):
    """A connection whose statements end after a time, with the error of a lost connection."""

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        """Execute a statement, as `asyncpg.Connection.execute`."""
        with self._limit():
            return await super().execute(query, *args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """Execute a statement and return its rows, as `asyncpg.Connection.fetch`."""
        with self._limit():
            return await super().fetch(query, *args, **options)

    @contextmanager
    def _limit(self) -> Iterator[None]:
        closing = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.terminate)
        try:
            yield
        finally:
            closing.cancel()
