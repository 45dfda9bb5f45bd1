"""Thread pools whose threads start at once.

A `ThreadPoolExecutor` starts a thread when work is submitted. If the system has no thread left at that time, `submit` raises,
and the work stays in the queue without a thread to run it.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from touchbase.storage.batch import MEMORY_RETRY_SECONDS

T = TypeVar("T")


def started_threads(count: int, name: str) -> ThreadPoolExecutor:
    """Return a pool whose threads all run already."""
    threads = ThreadPoolExecutor(count, name)
    all_run = threading.Barrier(count)
    for _ in range(count):
        threads.submit(all_run.wait)
    return threads


class LoopThreads:
    """A pool that always reports to the event loop: the result of the work, or its error."""

    def __init__(self, count: int, name: str) -> None:
        self._pool = started_threads(count, name)
        self._loop = asyncio.get_running_loop()

    def submit(self, work: Callable[[], T], finished: Callable[[T | BaseException], None]) -> None:
        """Run work on a thread; `finished` is called in the event loop with its result or error."""
        begun: list[None] = []

        def run() -> None:
            if begun:
                return  # `submit` has reported an error already
            begun.append(None)
            result: T | BaseException
            try:
                result = work()
            except BaseException as error:
                result = error
            self._call_in_loop(finished, result)

        try:
            self._pool.submit(run)
        except Exception as error:
            if not begun:  # else a thread runs it in spite of the error
                begun.append(None)
                finished(error)

    def _call_in_loop(self, call: Callable[..., None], *arguments: object) -> None:
        """Schedule a call in the event loop, from a thread; retry while there is no memory for that."""
        pause = threading.Event()
        while True:
            try:
                self._loop.call_soon_threadsafe(call, *arguments)
            except MemoryError:
                pause.wait(MEMORY_RETRY_SECONDS)
            else:
                return

    def shutdown(self) -> None:
        """Refuse further work, and end the threads."""
        self._pool.shutdown(wait=False)
