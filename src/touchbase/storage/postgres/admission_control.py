"""Admission control: estimate from recent batches how long a new command would wait, and refuse it if that is too long.

The length of the queue alone says little: a database that flushes in a millisecond processes thousands of commands quickly,
and a stalled one none. So the expected wait is limited.
"""

from __future__ import annotations

from touchbase.errors import Overloaded
from touchbase.sql.operation import MAX_COMMANDS

MAX_WAIT_SECONDS = 2.0
"""A command that would wait longer is refused at once."""
WEIGHT = 0.2
"""Weight of the latest batch in the moving average of batch times: a single slow batch has little effect."""


class AdmissionControl:
    """Estimates the wait of several writers. Times are in seconds of a monotonic clock."""

    def __init__(self, writers: int) -> None:
        self._writers = writers
        self._busy = 0
        self._average = 0.0
        self._latest = 0.0

    def started(self, now: float) -> None:
        """Record that a writer has started a batch."""
        self._latest = now
        self._busy += 1

    def ended(self, started: float, now: float) -> None:
        """Record that a batch has ended."""
        self._busy -= 1
        self._average += WEIGHT * (now - started - self._average)

    def expected_wait(self, depth: int, now: float) -> float:
        """Return the wait of a command behind `depth` others: 0 when a writer is free; it grows while no writer starts a batch."""
        if self._busy < self._writers:
            return 0.0
        return (depth // (self._writers * MAX_COMMANDS) + 1) * max(self._average, now - self._latest)


def database_too_slow() -> Overloaded:
    """Return the error for a command that would have to wait too long."""
    return Overloaded("the database is too slow for the present writes; nothing was stored, send this again in a moment")
