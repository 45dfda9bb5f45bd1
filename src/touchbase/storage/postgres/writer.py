"""Writing groups: commands that arrive while every lane flushes share the next transaction.

A lane is a task with a connection of its own. Several lanes flush at the same time, which PostgreSQL
turns into one flush of its log. A group holds commands of one type, because then it is one statement.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Sequence
from functools import partial
from typing import Any

from touchbase.common.fair_quota import FairQuota
from touchbase.records.suppression_guard import GUARD_NEEDED
from touchbase.sql.command import Command
from touchbase.storage.batch import WITHOUT_MEMORY, Commands, Handlers, Waiter, client_of, over_its_share, plan_of, refusal, settle, take
from touchbase.storage.postgres import admission_control
from touchbase.storage.postgres.admission_control import AdmissionControl
from touchbase.storage.postgres.batch_results import outcomes
from touchbase.storage.postgres.connection import ReconnectingConnection, unavailable, write, write_alone
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.rls_scope import EVERYBODY, scope_of

LOG = logging.getLogger("touchbase.storage")


class Writer:
    """The queue, and the lanes that empty it."""

    def __init__(self, url: str, handlers: Handlers, ids: SharedIds, *, lanes: int, queue_limit: int) -> None:
        self._handlers = handlers
        self._ids = ids
        self._limit = queue_limit
        self._shares = FairQuota(queue_limit)
        self._pace = AdmissionControl(lanes)
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[type, deque[tuple[Command[Any], Waiter]]] = {}
        self._asleep: list[asyncio.Future[None]] = []
        self._closing = False
        self.depth = 0
        self.taken = 0
        self._tasks = [asyncio.create_task(self._live(ReconnectingConnection(url)), name="touchbase-writer") for _ in range(lanes)]

    def submit(self, command: Command[Any]) -> Waiter:
        """Queue a command for the next group; `Overloaded` at once when the queue is full or slow, or the client's share is full."""
        if self.depth >= self._limit or self._closing:
            raise refusal(self._closing)
        if self._pace.wait(self.depth, self._loop.time()) > admission_control.LONGEST_WAIT:
            raise admission_control.too_slow()
        client = client_of(command)
        if client is not None and not self._shares.acquire(client):
            raise over_its_share()
        waiter: Waiter = self._loop.create_future()
        queue = self._waiting.get(type(command))
        if queue is None:
            queue = self._waiting[type(command)] = deque()
        queue.append((command, waiter))
        self.depth += 1
        self.taken += 1
        if self._asleep:
            self._wake()
        return waiter

    async def close(self) -> None:
        """Finish what waits and let go of the connections."""
        self._closing = True
        while self._asleep:
            self._wake()
        await asyncio.gather(*self._tasks)

    def _wake(self) -> None:
        self._asleep.pop().set_result(None)

    async def _live(self, line: ReconnectingConnection) -> None:
        while True:
            while self._waiting:
                try:
                    group = self._next()
                except MemoryError:
                    await asyncio.sleep(WITHOUT_MEMORY)
                else:
                    await self._carry_out(line, group)
            if self._closing:
                return await line.close()
            bell: asyncio.Future[None] = self._loop.create_future()
            self._asleep.append(bell)
            await bell

    async def _carry_out(self, line: ReconnectingConnection, group: Sequence[tuple[Command[Any], Waiter]]) -> None:
        """Carry out a group and answer those who wait for it: a lane lives on, whatever becomes of one group."""
        waiters = [waiter for _, waiter in group]
        began = self._loop.time()
        self._pace.begins(began)
        try:
            done = await outcomes([command for command, _ in group], partial(self._attempt, line))
        except Exception as error:
            LOG.exception("a group of %d writes failed", len(group))
            done = [unavailable(error) for _ in group]
        finally:
            self._pace.ended(began, self._loop.time())
        settle(waiters, done)

    def _next(self) -> list[tuple[Command[Any], Waiter]]:
        kind = next(iter(self._waiting))
        queue = self._waiting[kind]
        group = take(queue)
        del self._waiting[kind]
        if queue:
            self._waiting[kind] = queue  # behind the other types
        self.depth -= len(group)
        for command, _ in group:
            client = client_of(command)
            if client is not None:
                self._shares.release(client)
        return group

    async def _attempt(self, line: ReconnectingConnection, commands: Commands) -> list[object]:
        handler = self._handlers[type(commands[0])]
        scope, ids = scope_of(commands), await self._ids.cut(handler.needs(commands))
        if handler.solo and scope != EVERYBODY and not any(getattr(command, "guarded", False) for command in commands):
            # The statement that writes is a transaction by itself; a scope of its own would cost that two more round trips.
            results = await write_alone(await line.limited(scope), plan_of(commands, self._handlers, ids, alone=True))
            return await self._guarded(line, commands, results)
        return await write(await line.connection(), plan_of(commands, self._handlers, ids), scope)

    async def _guarded(self, line: ReconnectingConnection, commands: Commands, results: list[object]) -> list[object]:
        """The results, after another run of the commands that turned out to need a check for erased persons."""
        places = [place for place, result in enumerate(results) if result is GUARD_NEEDED]
        if places:
            again = await outcomes([commands[place] for place in places], partial(self._attempt, line))
            for place, result in zip(places, again, strict=True):
                results[place] = result
        return results
