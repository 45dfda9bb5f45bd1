"""Threads that are there from the start.

A pool starts its threads when work comes. Where the system has none left just then, the pool raises and the work stays in its queue, for
a thread that nobody starts any more.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from touchbase.storage.batch import WITHOUT_MEMORY

T = TypeVar("T")


def started_threads(count: int, name: str) -> ThreadPoolExecutor:
    """A pool whose threads all run."""
    threads = ThreadPoolExecutor(count, name)
    all_run = threading.Barrier(count)
    for _ in range(count):
        threads.submit(all_run.wait)
    return threads


class LoopThreads:
    """A pool whose work always comes back to the event loop: as its result, or as what it failed of."""

    def __init__(self, count: int, name: str) -> None:
        self._pool = started_threads(count, name)
        self._loop = asyncio.get_running_loop()

    def give(self, work: Callable[[], T], back: Callable[[T | BaseException], None]) -> None:
        """Have a thread do this, and `back` called in the loop with what came of it."""
        begun: list[None] = []

        def run() -> None:
            if begun:
                return  # the loop has given it up
            begun.append(None)
            result: T | BaseException
            try:
                result = work()
            except BaseException as error:
                result = error
            self.call(back, result)

        try:
            self._pool.submit(run)
        except Exception as error:
            if not begun:  # else a thread has it all the same
                begun.append(None)
                back(error)

    def call(self, call: Callable[..., None], *arguments: object) -> None:
        """Have the loop call this, from a thread; again and again while there is no memory even for that."""
        pause = threading.Event()
        while True:
            try:
                self._loop.call_soon_threadsafe(call, *arguments)
            except MemoryError:
                pause.wait(WITHOUT_MEMORY)
            else:
                return

    def shutdown(self) -> None:
        """Take no more work, and let the threads end."""
        self._pool.shutdown(wait=False)
