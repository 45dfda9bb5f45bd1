"""A limit on log lines that say the same."""

from __future__ import annotations

import time
from collections.abc import Callable

REMINDER_SECONDS = 60.0
MAX_LINES = 100


class Seldom:
    """Decides whether a line is logged: each one once a minute; any thread may ask, at the risk of a line too many."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._said: dict[str, float] = {}

    def is_due(self, line: str) -> bool:
        """Return whether this line was not logged within a minute; it counts as logged now."""
        now, at = self._seconds(), self._said.get(line)
        if at is not None and now - at < REMINDER_SECONDS:
            return False
        if len(self._said) >= MAX_LINES:
            self._said.clear()
        self._said[line] = now
        return True
