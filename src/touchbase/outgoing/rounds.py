"""When the dispatcher does its next round: events were stored here, something is due, or it is time to look for others' events."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import Overloaded
from touchbase.event_log.signal import LOGGED
from touchbase.sql.outage import Outage

LOG = logging.getLogger("touchbase.outgoing")
TICK_SECONDS = 0.01
"""Time between the beginnings of two rounds at least; a longer round is followed by four times as long without one."""
POLL_SECONDS = 0.25
"""How often to look for events of other processes, and for changed endpoints; events of this process are signalled."""
UNUSED_POLL_SECONDS = 1.0
"""How often to look for an endpoint that another process has added, while there is none; every cell of a process does."""
LONGEST_PAUSE = 0.25
"""Seconds without a round after one that took very long, such as the first of a process, which reads all endpoints."""


async def logged(step: Callable[[], Awaitable[float]], what: str, outage: Outage) -> float:
    """Return what a step returns; after an error, which is logged, the seconds until it is tried again."""
    try:
        pause = await step()
    except Overloaded as error:
        outage.waits(what, error)
        return max(POLL_SECONDS, error.retry_after)
    except Exception:
        LOG.exception("%s failed and will be retried", what)
        return 1.0
    outage.works(what)
    return pause


def shortest(took: float) -> float:
    """Return the seconds between the beginnings of a round that took so long and of the next."""
    return max(TICK_SECONDS, took + min(4 * took, LONGEST_PAUSE))


class Rounds:
    """The rhythm of one dispatcher; the event loop of the process owns it."""

    def __init__(self, wants_events: Callable[[], bool] = lambda: True) -> None:
        self._wants_events = wants_events
        """Returns whether stored events need a round; without endpoints they do not. The signal is one for all cells."""
        self.has_logged = False
        """Whether this process has stored events since the round before."""
        self._due: Micros = 0
        self._wake_up = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """Begin the next round as soon as possible."""
        self._wake_up.set()

    def stop(self) -> None:
        """End after the round in progress."""
        self._stopping = True
        self._wake_up.set()

    def take_signal(self) -> bool:
        """Return whether events were stored since this was asked last."""
        was, self.has_logged = self.has_logged, False
        return was

    def plan(self, due: Micros, now: Micros) -> float:
        """Set when the next round is needed at the latest; return the seconds until then."""
        self._due = due
        return (due - now) / SECOND

    def hasten(self, at: Micros | None) -> None:
        """Have the next round at this time, if it was planned for later."""
        if at is not None and at < self._due:
            self._due = at
            self._wake_up.set()

    async def run(self, do_round: Callable[[], Awaitable[float]]) -> None:
        """Do rounds until stopped; each returns the seconds until the next, if nothing happens before."""
        loop = asyncio.get_running_loop()

        def logged() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._logged)

        LOGGED.listen(logged)
        try:
            while not self._stopping:
                self._wake_up.clear()
                began = time.monotonic()
                pause = await do_round()
                least = shortest(time.monotonic() - began)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._wake_up.wait(), pause)
                if not self._stopping:
                    await asyncio.sleep(began + least - time.monotonic())
        finally:
            LOGGED.forget(logged)

    def _logged(self) -> None:
        self.has_logged = True
        if self._wants_events():
            self._wake_up.set()
