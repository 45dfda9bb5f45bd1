"""Stores what has become of requests: the results of many endpoints, of any clients, in one transaction."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from touchbase.common.timestamps import Clock
from touchbase.outgoing.line import Line
from touchbase.outgoing.models import ACTIVE
from touchbase.outgoing.rounds import logged
from touchbase.outgoing.sql.dispatch import StoreProgress
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store

AT_ONCE = 256
"""Endpoints whose results wait in the queue of the store; it executes as many in one transaction. Were there more, the queue, which is
limited, would refuse requests of clients."""
AGAIN_SECONDS = 0.05
STORING = "storing results of outgoing webhooks"
Key = tuple[int, int]


class Results:
    """The endpoints with results that are not stored; `leave` is called with one that this process must not serve any more."""

    def __init__(self, store: Store, token: str, clock: Clock, leave: Callable[[Line], None], outage: Outage | None = None) -> None:
        self._outage = outage or Outage()
        self._store = store
        self._token = token
        self._clock = clock
        self._leave = leave
        self._dirty: dict[Key, Line] = {}
        self._has_some = asyncio.Event()
        self._storing = asyncio.Lock()
        self._stopping = False

    def of(self, line: Line) -> None:
        """Store the results of an endpoint soon."""
        self._dirty[line.endpoint.client, line.endpoint.id] = line
        self._has_some.set()

    def stop(self) -> None:
        """Let `run` return."""
        self._stopping = True
        self._has_some.set()

    async def run(self) -> None:
        """Store until stopped."""
        while not self._stopping:
            await self._has_some.wait()
            self._has_some.clear()
            if await logged(self.flush, STORING, self._outage):
                await asyncio.sleep(AGAIN_SECONDS)
                self._has_some.set()

    async def flush(self) -> float:
        """Store what has happened; return 1.0 if something is left to store, such as what follows a request in progress."""
        async with self._storing:
            waiting, self._dirty = [*self._dirty.items()], {}
            while waiting:
                some, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
                stored = await asyncio.gather(*(self._store_one(line) for _, line in some), return_exceptions=True)
                for (key, line), result in zip(some, stored, strict=True):
                    if isinstance(result, BaseException) or (result and line.has_news):
                        self._dirty.setdefault(key, line)
                for result in stored:
                    if isinstance(result, BaseException):
                        self._dirty = dict(waiting) | self._dirty
                        raise result
            return float(bool(self._dirty))

    async def _store_one(self, line: Line) -> bool:
        """Store the progress of one endpoint; return False if this process does not serve it any more."""
        endpoint, now, new = line.endpoint, self._clock(), line.unstored(self._clock())
        state, rows = line.state, [row for _, row in new.save]
        command = StoreProgress(endpoint.client, endpoint.id, self._token, now, new.position, rows, new.remove, new.attempts)
        command.failing_since_us, command.delivered_us = line.failing_since_us, line.delivered_us
        command.state, command.reason = state, line.reason or None
        is_kept = await self._store.write(command)
        if not is_kept or state != ACTIVE:
            self._leave(line)
        if not is_kept:
            line.forget()
            return False
        line.was_stored(new, now)
        line.stop_is_stored = state != ACTIVE
        return True
