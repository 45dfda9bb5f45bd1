"""Group commit: commands that arrive while all writers are busy share the next transaction.

A writer is a task with a connection of its own. Several writers commit at the same time, which PostgreSQL
combines into one flush of its log. A batch contains commands of one type, so that it is one statement.
"""

from __future__ import annotations

import asyncio
import logging
from collections import OrderedDict
from collections.abc import Sequence
from functools import partial
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairQuota
from touchbase.errors import StoreBusy
from touchbase.sql.operation import MAX_COMMANDS, NEEDS_TRANSACTION, Command, Commands, plan_of, scope_of, weight_of
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.storage.batch import (
    MEMORY_RETRY_SECONDS,
    Around,
    FairQueue,
    Waiter,
    client_of,
    client_queue_full,
    queue_refused,
    release,
    settle,
)
from touchbase.storage.postgres.batch_results import run_batch
from touchbase.storage.postgres.connection import ReconnectingConnection, unavailable, write, write_alone
from touchbase.storage.postgres.ids import SharedIds

MAX_WAIT_SECONDS = 2.0
"""A command that would wait longer is refused at once."""
WEIGHT = 0.2
"""Weight of the latest batch in the moving average of batch times: a single slow batch has little effect."""


class AdmissionControl:
    """Estimates from recent batches how long a command would wait. Times are in seconds of a monotonic clock.

    The length of the queue alone says little: a database that flushes in a millisecond processes thousands of commands quickly, and
    a stalled one none.
    """

    def __init__(self, writers: int) -> None:
        self._writers = writers
        self._busy = 0
        self._average = 0.0
        self._latest = 0.0

    def started(self, now: float) -> None:
        """Record that a writer has started a batch."""
        self._latest = now
        self._busy += 1

    def ended(self, started: float, now: float) -> None:
        """Record that a batch has ended."""
        self._busy -= 1
        self._average += WEIGHT * (now - started - self._average)

    def expected_wait(self, depth: int, now: float) -> float:
        """Return the wait of a command behind `depth` others: 0 when a writer is free; it grows while no writer starts a batch."""
        if self._busy < self._writers:
            return 0.0
        return (depth // (self._writers * MAX_COMMANDS) + 1) * max(self._average, now - self._latest)


def database_too_slow() -> StoreBusy:
    """Return the error for a command that would have to wait too long."""
    return StoreBusy("the database is too slow for the present writes; nothing was stored, send this again in a moment")


LOG = logging.getLogger("touchbase.storage")


class PostgresWriter:
    """The queue, and the tasks that write its commands."""

    def __init__(
        self, url: str, cipher: Cipher, ids: SharedIds, *, writers: int, queue_limit: int, transaction: Around, single: Around
    ) -> None:
        self._cipher = cipher
        self._transaction = transaction
        self._single = single
        self._ids = ids
        self._limit = queue_limit
        self._quota = FairQuota(queue_limit)
        self._admission = AdmissionControl(writers)
        self._loop = asyncio.get_running_loop()
        self._waiting: OrderedDict[type, FairQueue[Waiter]] = OrderedDict()
        self._idle: list[asyncio.Future[None]] = []
        self._closing = False
        self.depth = 0
        self.taken = 0
        self._connections = [ReconnectingConnection(url) for _ in range(writers)]
        self._tasks = [asyncio.create_task(self._run_writer(connection), name="touchbase-writer") for connection in self._connections]

    def submit(self, command: Command[Any]) -> Waiter:
        """Queue a command for the next batch. Raises `StoreBusy` when the queue is full or slow, or the client's share is full."""
        if self.depth >= self._limit or self._closing:
            raise queue_refused(self._closing)
        if self._admission.expected_wait(self.depth, self._loop.time()) > MAX_WAIT_SECONDS:
            raise database_too_slow()
        weight, client = weight_of(command), client_of(command)
        if client is not None and not self._quota.acquire(client):
            raise client_queue_full()
        waiter: Waiter = self._loop.create_future()
        queue = self._waiting.get(type(command))
        if queue is None:
            queue = self._waiting[type(command)] = FairQueue()
        queue.append(client, command, weight, waiter)
        self.depth += 1
        self.taken += not command.operation.background
        if self._idle:
            self._wake()
        return waiter

    def use_address(self, url: str) -> None:
        """Write to this address from the next batch on."""
        for connection in self._connections:
            connection.use_address(url)

    async def close(self) -> None:
        """Finish the queue and close the connections."""
        self._closing = True
        while self._idle:
            self._wake()
        await asyncio.gather(*self._tasks)

    def _wake(self) -> None:
        self._idle.pop().set_result(None)

    async def _run_writer(self, connection: ReconnectingConnection) -> None:
        while True:
            while self._waiting:
                try:
                    commands, waiters = self._next()
                except MemoryError:
                    await asyncio.sleep(MEMORY_RETRY_SECONDS)
                except Exception as error:  # outside of a command: the next batch would meet it too
                    self._refuse_waiting(error)
                else:
                    await self._execute(connection, commands, waiters)
            if self._closing:
                return await connection.close()
            wake: asyncio.Future[None] = self._loop.create_future()
            self._idle.append(wake)
            await wake

    async def _execute(self, connection: ReconnectingConnection, commands: Commands, waiters: Sequence[Waiter]) -> None:
        """Execute a batch and settle its waiters; no error ends the writer."""
        started = self._loop.time()
        self._admission.started(started)
        try:
            release(self._quota, commands)
            done = await run_batch(commands, partial(self._attempt, connection))
        except Exception as error:
            LOG.exception("a batch of %d writes failed", len(commands))
            done = [unavailable(error) for _ in commands]
        finally:
            self._admission.ended(started, self._loop.time())
        settle(waiters, done)

    def _next(self) -> tuple[list[Command[Any]], list[Waiter]]:
        kind = next(iter(self._waiting))
        queue = self._waiting[kind]
        self._waiting.move_to_end(kind)  # behind the other types
        commands, waiters, _ = queue.take_batch()
        self.depth -= len(commands)
        if not queue:
            del self._waiting[kind]
        return commands, waiters

    def _refuse_waiting(self, error: Exception) -> None:
        """Refuse all commands in the queue."""
        LOG.error("the next of %d waiting writes cannot be taken", self.depth, exc_info=error)
        while self._waiting:
            _, queue = self._waiting.popitem()
            commands, waiters = queue.take_all()
            self.depth -= len(commands)
            settle(waiters, [unavailable(error) for _ in waiters])
            release(self._quota, commands)

    async def _attempt(self, connection: ReconnectingConnection, commands: Commands) -> list[object]:
        operation = commands[0].operation
        scope, ids = scope_of(commands), await self._ids.cut(operation.needs(commands))
        if operation.is_solo(commands) and scope != ALL_CLIENTS:
            # The statement that writes is a transaction by itself; a transaction with a scope would cost two more round trips.
            results = await write_alone(await connection.with_scope(scope), plan_of(commands, ids, self._cipher, alone=True), self._single)
            return await self._completed(connection, commands, results)
        return await write(await connection.connection(), plan_of(commands, ids, self._cipher), scope, self._transaction)

    async def _completed(self, connection: ReconnectingConnection, commands: Commands, results: list[object]) -> list[object]:
        """Return the results, after running commands again that need a transaction."""
        indexes = [index for index, result in enumerate(results) if result is NEEDS_TRANSACTION]
        if indexes:
            completed = await run_batch([commands[index] for index in indexes], partial(self._attempt, connection))
            for index, result in zip(indexes, completed, strict=True):
                results[index] = result
        return results
