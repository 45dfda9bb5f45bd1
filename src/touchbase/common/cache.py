"""Cache: values of the store by key, for a limited time, with single flight.

The value of a client or a key expires for all its requests at once. Under load these are hundreds, and without
single flight each would send the same query: on PostgreSQL that alone blocked them for a second, every second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, Generic, TypeVar

from touchbase.common.timestamps import Clock, Micros

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
T = TypeVar("T")

SIZE = 10_000
"""Entries; when a cache is full, it is emptied."""


class Cache(Generic[K, V]):
    """Values by key, each fresh for `ttl`; not thread-safe, one event loop owns it.

    A change by this process shows at once if the owner calls `evict`; a change by another process after `ttl`.
    """

    def __init__(self, ttl: Micros, clock: Clock, size: int = SIZE) -> None:
        self._ttl = ttl
        self._clock = clock
        self._size = size
        self._entries: dict[K, tuple[V, Micros, Micros]] = {}
        self._loading: dict[K, asyncio.Task[Any]] = {}
        self._evictions = 0

    def get(self, key: K, now: Micros) -> V | None:
        """Return the value if it is fresh at this time: also not if the clock was put back since. None says nothing about the store."""
        entry = self._entries.get(key)
        return entry[0] if entry is not None and entry[1] <= now < entry[2] else None

    def latest(self, key: K) -> V | None:
        """Return the last value read, fresh or not."""
        entry = self._entries.get(key)
        return None if entry is None else entry[0]

    def items(self) -> list[tuple[K, V]]:
        """Return all keys with their last values, fresh or not."""
        return [(key, entry[0]) for key, entry in self._entries.items()]

    def put(self, key: K, value: V, now: Micros, until: Micros | None = None) -> None:
        """Store a value read at `now`; it is fresh for the cache's time, and not at or after `until`."""
        if len(self._entries) >= self._size:
            self._entries.clear()
        expires = now + self._ttl
        self._entries[key] = (value, now, expires if until is None else min(expires, until))

    def discard(self, key: K) -> None:
        """Remove a value that the store no longer has."""
        self._entries.pop(key, None)

    def evict(self, key: K) -> None:
        """Remove a value that was changed; a read of any key in progress is repeated, because it may be older than the change."""
        self._entries.pop(key, None)
        self._evictions += 1

    def evict_where(self, matches: Callable[[K, V], bool]) -> None:
        """Remove all values for which `matches` is true, as `evict`."""
        for key, value in self.items():
            if matches(key, value):
                del self._entries[key]
        self._evictions += 1

    async def load(self, key: K, read: Callable[[Micros], Awaitable[T]], store: Callable[[T, Micros], None]) -> T:
        """Return what `read` returns for this key, and pass it to `store` with the time of the read.

        Concurrent calls for a key share one read, and its error; the cancellation of one call does not cancel the others.
        """
        task: asyncio.Task[T] | None = self._loading.get(key)
        if task is None:
            task = self._loading[key] = asyncio.create_task(self._load(read, store))
            task.add_done_callback(lambda done: self._finish(key, done))
        return await asyncio.shield(task)

    async def _load(self, read: Callable[[Micros], Awaitable[T]], store: Callable[[T, Micros], None]) -> T:
        now = self._clock()
        while True:
            evictions = self._evictions
            found = await read(now)
            if evictions == self._evictions:
                break
        store(found, now)
        return found

    def _finish(self, key: K, task: asyncio.Task[Any]) -> None:
        del self._loading[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved, in case all waiting calls were cancelled
