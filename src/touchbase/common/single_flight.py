"""Single flight: concurrent requests for the same value share one read of the store.

The cached value of a client or a key expires for all its requests at once. Under load these are hundreds, and
without single flight each would send the same query: on PostgreSQL that alone blocked them for a second, every second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Reads in progress by key; concurrent duplicates get the result, or the error, of the first."""

    def __init__(self) -> None:
        self._open: dict[object, asyncio.Task[T]] = {}

    async def do(self, key: object, read: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Return the value of this key; `read` is called unless a read of the key is in progress."""
        task = self._open.get(key)
        if task is None:
            task = self._open[key] = asyncio.create_task(read())
            task.add_done_callback(lambda done: self._finish(key, done))
        # The cancellation of one waiting request does not cancel the read of the others.
        return await asyncio.shield(task)

    def _finish(self, key: object, task: asyncio.Task[T]) -> None:
        del self._open[key]
        if not task.cancelled():
            task.exception()  # marks it as retrieved, in case all waiting requests were cancelled
