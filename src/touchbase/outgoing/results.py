"""Storing of results of requests: of many endpoints, of any clients, in one transaction."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from touchbase.common.timestamps import Clock
from touchbase.outgoing.line import EndpointQueue
from touchbase.outgoing.models import ACTIVE
from touchbase.outgoing.sql.dispatch import store_progress
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.outgoing")
AT_ONCE = 256
"""Endpoints whose results wait in the queue of the store; it executes as many in one transaction. Were there more, the queue, which is
limited, would refuse requests of clients."""
IDLE_SECONDS = 3_600.0
STORING = "storing results of outgoing webhooks"
Key = tuple[int, int]


class Results(Worker):
    """The endpoints with results that are not stored; `leave` is called with an endpoint that this process must not serve any more."""

    log, label, failure = LOG, STORING, f"{STORING} failed and will be retried"
    poll_seconds = longest_retry = 0.05
    """Pause before unsaved results are stored, such as results during a request in progress."""

    def __init__(
        self, store: Store, token: str, clock: Clock, leave: Callable[[EndpointQueue], None], outage: Outage | None = None
    ) -> None:
        super().__init__(outage)
        self._store = store
        self._token = token
        self._clock = clock
        self._leave = leave
        self._dirty: dict[Key, EndpointQueue] = {}
        self._storing = asyncio.Lock()

    def of(self, line: EndpointQueue) -> None:
        """Store the results of an endpoint soon."""
        self._dirty[line.endpoint.client, line.endpoint.id] = line
        self.wake()

    async def _round(self) -> float:
        return IDLE_SECONDS if await self.flush() else self.poll_seconds

    async def flush(self) -> bool:
        """Store results; return whether none is left: results during a request in progress are."""
        async with self._storing:
            waiting, self._dirty = [*self._dirty.items()], {}
            while waiting:
                batch, waiting = waiting[:AT_ONCE], waiting[AT_ONCE:]
                stored = await asyncio.gather(*(self._store_one(line) for _, line in batch), return_exceptions=True)
                for (key, line), result in zip(batch, stored, strict=True):
                    if isinstance(result, BaseException) or (result and line.has_news):
                        self._dirty.setdefault(key, line)
                for result in stored:
                    if isinstance(result, BaseException):
                        self._dirty = dict(waiting) | self._dirty
                        raise result
            return not self._dirty

    async def _store_one(self, line: EndpointQueue) -> bool:
        """Store the progress of one endpoint; return False if this process does not serve it any more."""
        endpoint, now, new = line.endpoint, self._clock(), line.unstored(self._clock())
        state, rows = line.state, [row for _, row in new.save]
        command = store_progress(
            endpoint.client, endpoint.id, self._token, now, new.position, rows, new.remove, new.attempts,
            line.failing_since_us, line.delivered_us, state, line.reason or None,
        )  # fmt: skip
        is_stored = await self._store.write(command)
        if not is_stored or state != ACTIVE:
            self._leave(line)
        if not is_stored:
            line.forget()
            return False
        line.was_stored(new, now)
        line.stop_is_stored = state != ACTIVE
        return True
