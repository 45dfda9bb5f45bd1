"""Reading together: queries for single records, and for pages of them, that come while the lanes are busy share the next transaction.

Row-level security makes even the smallest read a transaction of four round trips: its scope, the record, its custom fields, the end. A lane
asks for many records in as many.

A page is a statement of its own. Where the server gives that up, for its time or for what it took, all pages of the transaction are read
again each by itself, beside the lanes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from touchbase.errors import Overloaded
from touchbase.sql.command import Query
from touchbase.storage import query_handlers
from touchbase.storage.batch import Waiter, settle
from touchbase.storage.postgres.batch_results import outcomes
from touchbase.storage.postgres.connection import is_given_up, read, unavailable
from touchbase.storage.query_handlers import TOGETHER
from touchbase.storage.rls_scope import scope_of

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

LOG = logging.getLogger("touchbase.storage")

LANES = 2
RECORDS = 64
"""Queries for single records in one transaction: as many steps as for one."""
PAGES = 8
"""Pages in one transaction: each takes a step of its own."""

Queries = Sequence[Query[Any]]


class ReadBatcher:
    """The queue, and the lanes that empty it; there are none while nobody asks."""

    def __init__(self, pool: Pool, most: int) -> None:
        self._pool = pool
        self._most = most
        self._waiting: dict[type, list[tuple[Query[Any], Waiter]]] = {}
        self._lanes = 0
        """Those that will look at the queue again. Not the tasks: one that has looked for the last time is done only in a later turn of the
        loop, and who asked meanwhile would wait for a lane that never comes."""
        self._tasks = set[asyncio.Task[None]]()

    def ask(self, query: Query[Any]) -> Waiter:
        """Have a query answered from what is flushed, with those that wait beside it."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(type(query), []).append((query, waiter))
        if self._lanes < LANES:
            self._lanes += 1
            self._start(self._live())
        return waiter

    async def _live(self) -> None:
        try:
            await self._empty()
        finally:
            self._lanes -= 1

    async def _empty(self) -> None:
        while self._waiting:
            group = self._next()
            try:
                done = await outcomes([query for query, _ in group], self._attempt)
            except Exception as error:
                LOG.exception("a group of %d reads failed", len(group))
                done = [unavailable(error) for _ in group]
            for (query, waiter), outcome in zip(group, done, strict=True):
                if len(group) > 1 and _may_be_anothers(query, outcome):
                    self._start(self._alone(query, waiter))
                else:
                    settle([waiter], [outcome])

    async def _alone(self, query: Query[Any], waiter: Waiter) -> None:
        if not waiter.done():
            settle([waiter], await outcomes([query], self._attempt))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Do this beside others; a task that nobody holds may be collected."""
        task = asyncio.create_task(work, name="touchbase-reader")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _next(self) -> list[tuple[Query[Any], Waiter]]:
        kind = next(iter(self._waiting))
        waiting = self._waiting.pop(kind)
        if waiting[self._most :]:
            self._waiting[kind] = waiting[self._most :]  # behind the other type
        return waiting[: self._most]

    async def _attempt(self, queries: Queries) -> list[object]:
        async with self._pool.acquire() as connection:
            return await read(connection, TOGETHER[type(queries[0])](queries), scope_of(queries))


def _may_be_anothers(query: Query[Any], outcome: object) -> bool:
    """Whether a query failed for what the statement of another one took."""
    return type(query) in query_handlers.PAGES and isinstance(outcome, Overloaded) and is_given_up(outcome.__cause__)
