"""Rounds of a sender: events were stored here, something is due, or it is time to look for events of other processes."""

from __future__ import annotations

import asyncio
import contextlib
import time

from touchbase.common.timestamps import SECOND, Micros
from touchbase.event_log.signal import LOGGED
from touchbase.sql.outage import Outage
from touchbase.sql.worker import Worker

TICK_SECONDS = 0.01
"""Time between the beginnings of two rounds at least; a longer round is followed by four times as long without one."""
POLL_SECONDS = 0.25
"""How often to look for events of other processes, and for changed endpoints; events of this process are signalled."""
UNUSED_POLL_SECONDS = 2.0
"""How often to look for an endpoint that another process has added, while there is none; every cell of a process does."""
LONGEST_PAUSE = 0.25
"""Seconds without a round after a very long one, such as the first of a process, which reads all endpoints."""


def shortest(took: float) -> float:
    """Return the seconds between the beginnings of a round that took so long and of the next."""
    return max(TICK_SECONDS, took + min(4 * took, LONGEST_PAUSE))


class SignalledWorker(Worker):
    """A worker that stored events wake, and that does not do rounds without a pause."""

    poll_seconds = 1.0
    """Pause after a round that failed."""

    def __init__(self, outage: Outage | None = None) -> None:
        super().__init__(outage)
        self._has_logged = False
        """Whether this process has stored events since the round before."""
        self._due: Micros = 0
        self._began = 0.0
        """When the round in progress began."""

    def wants_events(self) -> bool:
        """Return whether stored events need a round. The signal is one for all cells."""
        return True

    def take_signal(self) -> bool:
        """Return whether events were stored since the last call."""
        was, self._has_logged = self._has_logged, False
        return was

    def plan(self, due: Micros, now: Micros) -> float:
        """Set when the next round is needed at the latest; return the seconds until then."""
        self._due = due
        return (due - now) / SECOND

    def hasten(self, at: Micros | None) -> None:
        """Have the next round at this time, if it was planned for later."""
        if at is not None and at < self._due:
            self._due = at
            self.wake()

    async def run(self) -> None:
        """Do rounds until stopped, also when events are stored."""
        loop = asyncio.get_running_loop()

        def logged() -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed
                loop.call_soon_threadsafe(self._logged)

        self._began = time.monotonic()
        LOGGED.listen(logged)
        try:
            await super().run()
        finally:
            LOGGED.forget(logged)

    async def _wait(self, seconds: float) -> None:
        least = shortest(time.monotonic() - self._began)
        await super()._wait(seconds)
        if not self._stopping.is_set():
            await asyncio.sleep(self._began + least - time.monotonic())
        self._began = time.monotonic()

    def _logged(self) -> None:
        self._has_logged = True
        if self.wants_events():
            self.wake()
