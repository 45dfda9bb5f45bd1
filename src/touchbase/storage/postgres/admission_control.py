"""Pace: how long a command that comes now would wait for its answer, judged by the groups before it.

A number of waiting commands says little: a database that flushes in a millisecond is done with thousands in no time, and one
that has stalled with none. So it is the expected time that is bounded.
"""

from __future__ import annotations

from touchbase.errors import Overloaded
from touchbase.storage.batch import MOST

LONGEST_WAIT = 2.0
"""Seconds; whoever would wait longer is refused at once."""
WEIGHT = 0.2
"""What the latest group counts in the usual time of a group: one that was slow by itself is soon forgotten."""


class AdmissionControl:
    """The pace of a few lanes. Times are in seconds, of a clock that never goes back."""

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._busy = 0
        self._usual = 0.0
        self._latest = 0.0

    def begins(self, now: float) -> None:
        """A lane begins a group."""
        self._latest = now
        self._busy += 1

    def ended(self, began: float, now: float) -> None:
        """A group is done."""
        self._busy -= 1
        self._usual += WEIGHT * (now - began - self._usual)

    def wait(self, depth: int, now: float) -> float:
        """How long one more would wait behind so many; longer and longer when no lane comes to an end, nothing when one is free."""
        if self._busy < self._lanes:
            return 0.0
        return (depth // (self._lanes * MOST) + 1) * max(self._usual, now - self._latest)


def too_slow() -> Overloaded:
    """The error for a command that would have to wait too long."""
    return Overloaded("the database is too slow for all who write just now; nothing of this was kept, send it again in a moment")
