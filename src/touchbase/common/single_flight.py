"""Asking the store once for what many want to know at the same moment.

What is remembered of a client or a key runs out for all its callers at once. Under load those are hundreds, and
each would send the same question: on PostgreSQL that alone held them up for a second, every second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class SingleFlight(Generic[T]):
    """Questions under way; whoever has the same question meanwhile gets the same answer, or error."""

    def __init__(self) -> None:
        self._open: dict[object, asyncio.Task[T]] = {}

    async def once(self, about: object, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """The answer to the question about this; `ask` is called unless it is being asked already."""
        task = self._open.get(about)
        if task is None:
            task = self._open[about] = asyncio.create_task(ask())
            task.add_done_callback(lambda done: self._answered(about, done))
        # Who goes away takes the answer from nobody else.
        return await asyncio.shield(task)

    def _answered(self, about: object, task: asyncio.Task[T]) -> None:
        del self._open[about]
        if not task.cancelled():
            task.exception()  # looked at, in case everybody has gone away
