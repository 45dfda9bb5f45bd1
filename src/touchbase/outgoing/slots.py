"""Slots for requests in progress, shared by all endpoints of a process.

A request holds a fast slot for at most `FAST_SECONDS`; then it counts as slow, and the slot is another endpoint's. So endpoints that do
not respond delay others at most so long, until there are `MAX_SLOW` slow requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
from collections import deque
from collections.abc import Callable, Iterator

from touchbase.outgoing.line import EndpointQueue

FAST = 128
FAST_SECONDS = 0.5
MAX_SLOW = min(2_000, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2)
"""At most half of the files that the process may have open."""


class Slots:
    """Endpoints take turns; `start` begins one request and returns whether there was one."""

    def __init__(self, start: Callable[[EndpointQueue], bool]) -> None:
        self._start = start
        self._waiting: deque[EndpointQueue] = deque()
        self.fast = 0
        self.slow = 0

    def offer(self, line: EndpointQueue) -> None:
        """Queue an endpoint for the next free slot."""
        if not line.is_queued:
            line.is_queued = True
            self._waiting.append(line)
        self._fill()

    def _fill(self) -> None:
        while self._waiting and self.fast < FAST:
            line = self._waiting.popleft()
            line.is_queued = False
            if self._start(line):
                self.fast += 1
                line.is_queued = True
                self._waiting.append(line)

    @contextlib.contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the slot that `start` was called for, until the end of the request."""
        loop, is_slow = asyncio.get_running_loop(), False
        timer: asyncio.TimerHandle

        def become_slow() -> None:
            nonlocal timer, is_slow
            if self.slow >= MAX_SLOW:
                timer = loop.call_later(FAST_SECONDS, become_slow)
                return
            is_slow = True
            self.slow += 1
            self.fast -= 1
            self._fill()

        timer = loop.call_later(FAST_SECONDS, become_slow)
        try:
            yield
        finally:
            timer.cancel()
            if is_slow:
                self.slow -= 1
            else:
                self.fast -= 1
                self._fill()
