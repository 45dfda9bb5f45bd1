"""A bounded cache of values read from the store, with a time to live and single flight.

A cached client or key expires for all requests at once. Under load these are hundreds, and without single flight each
would send the same query: on PostgreSQL that alone blocked them for a second, every second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

from touchbase.common.timestamps import Clock, Micros

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

MAX_CACHED = 10_000
FOREVER: Micros = 2**63 - 1


class Cache(Generic[K, V]):
    """Values by key, each valid for `ttl` after the start of its read, or until it is forgotten; a `ttl` of None: no time limit.

    A value is not valid before its read started either: after the clock was put back, its age is unknown. One event loop owns
    the cache. At most `most` values are cached; when it is full, the older half is evicted. A missing value (None) is not cached.
    """

    def __init__(
        self, clock: Clock, ttl: Micros | None, *, most: int = MAX_CACHED, valid_until: Callable[[V, Micros], Micros] | None = None
    ) -> None:
        """`valid_until` may shorten the validity of a value that was read at a time; a time that has passed: it is not cached."""
        self._clock = clock
        self._ttl = ttl
        self._most = most
        self._valid_until = valid_until
        self._entries: dict[K, tuple[V, Micros, Micros]] = {}
        self._reads: dict[K, asyncio.Task[V | None]] = {}
        self.changes = 0
        """Grows whenever a value is forgotten: one that was read before may be older than the change."""

    def get(self, key: K, now: Micros) -> V | None:
        """Return the cached value; None when it is missing or too old."""
        entry = self._entries.get(key)
        return entry[0] if entry is not None and entry[1] <= now < entry[2] else None

    def peek(self, key: K) -> V | None:
        """Return the cached value even if it is too old; None when it is missing."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    async def read(self, key: K, load: Callable[[], Awaitable[V | None]]) -> V | None:
        """Load a value that `get` does not return; concurrent reads of a key share one load, and its error."""
        task = self._reads.get(key)
        if task is None:
            task = self._reads[key] = asyncio.create_task(self._load(key, load))
            task.add_done_callback(lambda done: self._finish(key, done))
        # The cancellation of one waiting request does not cancel the load of the others.
        return await asyncio.shield(task)

    def put(self, key: K, value: V, now: Micros) -> None:
        """Cache a value that was read at `now`, in place of the present one."""
        self._entries.pop(key, None)
        since, until = (0, FOREVER) if self._ttl is None else (now, now + self._ttl)
        if self._valid_until is not None:
            until = min(until, self._valid_until(value, now))
        if until <= now:
            return
        if len(self._entries) >= self._most:
            for old in list(self._entries)[: self._most - self._most // 2]:
                del self._entries[old]
        self._entries[key] = (value, since, until)

    def forget(self, key: K) -> None:
        """Remove a changed value; a load in progress is repeated, because its result may be older than the change."""
        self._entries.pop(key, None)
        self.changes += 1

    def forget_where(self, is_changed: Callable[[K, V], bool]) -> None:
        """Remove all changed values, as `forget`."""
        for key in [key for key, entry in self._entries.items() if is_changed(key, entry[0])]:
            del self._entries[key]
        self.changes += 1

    async def _load(self, key: K, load: Callable[[], Awaitable[V | None]]) -> V | None:
        now = self._clock()
        while True:
            changes = self.changes
            value = await load()
            if changes == self.changes:
                break
        if value is None:
            self._entries.pop(key, None)
        else:
            self.put(key, value, now)
        return value

    def _finish(self, key: K, task: asyncio.Task[V | None]) -> None:
        del self._reads[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved, in case all waiting requests were cancelled
