"""Read batching: queries for single records, and for pages, that arrive while the readers are busy share the next transaction.

With row-level security even the smallest read is a transaction of four round trips: scope, record, custom fields, end. A batch
reads many records in as many round trips.

Each page is a statement of its own. If the server cancels it, for its time or its resources, all pages of the transaction are
read again one by one, in separate tasks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Sequence
from typing import TYPE_CHECKING, Any

from touchbase.common.cipher import Cipher
from touchbase.errors import Overloaded
from touchbase.sql.operation import NO_IDS, Query, scope_of
from touchbase.storage.batch import Waiter, settle
from touchbase.storage.postgres.batch_results import run_batch
from touchbase.storage.postgres.connection import is_statement_cancelled, read, unavailable

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

LOG = logging.getLogger("touchbase.storage")

READERS = 2
RECORDS_PER_BATCH = 64
"""Queries for single records in one transaction: it has as many statements as for one query."""
PAGES_PER_BATCH = 8
"""Pages in one transaction, one statement each."""

Queries = Sequence[Query[Any]]


class ReadBatcher:
    """The queue, and the readers that process it; they end when the queue is empty."""

    def __init__(self, pool: Pool, cipher: Cipher, max_batch: int) -> None:
        self._pool = pool
        self._cipher = cipher
        self._max_batch = max_batch
        self._waiting: dict[type, list[tuple[Query[Any], Waiter]]] = {}
        self._readers = 0
        """Number of readers that will check the queue again. It is not the number of tasks: a reader that found the queue empty is
        done only in a later iteration of the event loop, and a query that arrives until then would wait for ever."""
        self._tasks = set[asyncio.Task[None]]()

    def submit(self, query: Query[Any]) -> Waiter:
        """Queue a query for the next batch."""
        waiter: Waiter = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(type(query), []).append((query, waiter))
        if self._readers < READERS:
            self._readers += 1
            self._start(self._run_reader())
        return waiter

    async def _run_reader(self) -> None:
        try:
            await self._process_queue()
        finally:
            self._readers -= 1

    async def _process_queue(self) -> None:
        while self._waiting:
            batch = self._next()
            try:
                done = await run_batch([query for query, _ in batch], self._attempt)
            except Exception as error:
                LOG.exception("a batch of %d reads failed", len(batch))
                done = [unavailable(error) for _ in batch]
            for (query, waiter), outcome in zip(batch, done, strict=True):
                if len(batch) > 1 and _may_have_failed_for_another(query, outcome):
                    self._start(self._read_one(query, waiter))
                else:
                    settle([waiter], [outcome])

    async def _read_one(self, query: Query[Any], waiter: Waiter) -> None:
        if not waiter.done():
            settle([waiter], await run_batch([query], self._attempt))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task, and keep a reference to it: without one it may be garbage-collected."""
        task = asyncio.create_task(work, name="touchbase-reader")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _next(self) -> list[tuple[Query[Any], Waiter]]:
        kind = next(iter(self._waiting))
        waiting = self._waiting[kind]
        batch, later = waiting[: self._max_batch], waiting[self._max_batch :]
        del self._waiting[kind]
        if later:
            self._waiting[kind] = later  # behind the other type
        return batch

    async def _attempt(self, queries: Queries) -> list[object]:
        async with self._pool.acquire() as connection:
            return await read(connection, queries[0].operation.run(queries, NO_IDS, self._cipher), scope_of(queries))


def _may_have_failed_for_another(query: Query[Any], outcome: object) -> bool:
    """Return whether a query may have failed because another query's statement was cancelled."""
    return query.operation.page and isinstance(outcome, Overloaded) and is_statement_cancelled(outcome.__cause__)
