"""Waiting for events: many requests wait, and one task looks for all of them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Iterator, Mapping
from weakref import WeakSet

from touchbase.common.fair_quota import FairQuota
from touchbase.common.seldom import Seldom
from touchbase.errors import Overloaded, RateLimited, TouchbaseError
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.queries import find_new_events, list_newest_events
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.events")
LOOK_SECONDS = 0.5
"""Time between two looks for events of other processes; events of this process are signalled."""
MOST_WAITING = 256
RETRY_SECONDS = 5
"""`Retry-After` of a request that may not wait."""


class ChangedClients:
    """Clients with events that one reader of all clients has not taken yet."""

    def __init__(self) -> None:
        self.since: dict[int, int] = {}
        """Client -> the sequence after which its events begin."""


class Feed:
    """The requests that wait for events; the event loop of one process owns it."""

    def __init__(self, store: Store, most: int = MOST_WAITING, look_seconds: float = LOOK_SECONDS) -> None:
        self._store = store
        self._seldom = Seldom()
        self._most = most
        self._quota = FairQuota(most)
        self._look_seconds = look_seconds
        self._waiting: dict[asyncio.Future[None], Mapping[int, int] | ChangedClients] = {}
        """Waiter -> its clients, and the sequence after which it waits for each; or the changes of all clients."""
        self._readers_of_all: WeakSet[ChangedClients] = WeakSet()
        self._newest: dict[int, int] = {}
        """The newest sequence of every client at the latest look for readers of all: one for the process, as there are many clients."""
        self._looking: asyncio.Task[None] | None = None
        self._wake = asyncio.Event()
        self.stopping = asyncio.Event()

    def stop(self) -> None:
        """End all waiting, because the server stops."""
        self.stopping.set()
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)

    @contextlib.contextmanager
    def place(self, client: int) -> Iterator[None]:
        """Take a place among the waiting requests; raises `RateLimited` if the client has its share, `Overloaded` if all are taken."""
        if self._quota.used >= self._most:
            raise Overloaded(f"{self._most} requests wait for events already; try again, or read without `wait`", retry_after=RETRY_SECONDS)
        if not self._quota.acquire(client):
            raise RateLimited(
                "too many requests of this client wait for events; use one reader with several types in place of many",
                policy="waiting", quota=self._most, window=1, retry_after=RETRY_SECONDS,
            )  # fmt: skip
        try:
            yield
        finally:
            self._quota.release(client)

    async def follow_all(self) -> ChangedClients:
        """Return what will list the clients with events from now on, for `wait` and `take`."""
        await self._look_at_all()
        changed = ChangedClients()
        self._readers_of_all.add(changed)
        return changed

    def take(self, changed: ChangedClients) -> dict[int, tuple[int, int]]:
        """Return the clients with events since the last call: client -> the sequence after which they begin, and the last one."""
        since, changed.since = changed.since, {}
        return {client: (sequence, self._newest[client]) for client, sequence in since.items()}

    async def wait(self, after: Mapping[int, int] | ChangedClients, seconds: float) -> None:
        """Return when a client has an event after its sequence, after so many seconds, or when the server stops."""
        if self.stopping.is_set() or seconds <= 0 or (isinstance(after, ChangedClients) and after.since):
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting[waiter] = after
        self._wake.set()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_while_waiting(), name="event-feed")
        try:
            async with asyncio.timeout(seconds):
                await waiter
        except TimeoutError:
            pass
        finally:
            del self._waiting[waiter]
            if not self._waiting:
                self._wake.set()  # the task ends at once

    async def _look_while_waiting(self) -> None:
        loop = asyncio.get_running_loop()

        def signalled() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._wake.set)

        LOGGED.listen(signalled)
        try:
            while self._waiting:
                self._wake.clear()
                await self._look()
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), self._look_seconds)
        finally:
            LOGGED.forget(signalled)
            self._looking = None

    async def _look(self) -> None:
        """Wake the waiters whose client has later events."""
        since: dict[int, int] = {}
        for after in self._waiting.values():
            for client, sequence in () if isinstance(after, ChangedClients) else after.items():
                since[client] = min(sequence, since.get(client, sequence))
        try:
            newest = await self._store.read(find_new_events(since)) if since else {}
            if any(isinstance(after, ChangedClients) for after in self._waiting.values()):
                await self._look_at_all()
        except TouchbaseError as error:
            if self._seldom.is_due(error.detail):
                LOG.warning("readers of events wait: %s", error.detail)
            return
        except Exception:
            LOG.exception("looking for new events failed; it is tried again")
            return
        for waiter, after in self._waiting.items():
            if isinstance(after, ChangedClients):
                has_news = bool(after.since)
            else:  # of few clients there is something new; a waiter may have hundreds
                has_news = any(last > after.get(client, last) for client, last in newest.items())
            if has_news and not waiter.done():
                waiter.set_result(None)

    async def _look_at_all(self) -> None:
        """List the clients with later events for the readers of all clients. Two looks at once list nothing twice."""
        newest = await self._store.read(list_newest_events())
        before = self._newest
        later = {client: before.get(client, 0) for client, last in newest.items() if last > before.get(client, 0)}
        for changed in self._readers_of_all:
            changed.since = {**later, **changed.since}
        before.update((client, newest[client]) for client in later)
