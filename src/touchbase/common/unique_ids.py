"""Unique ids: a random word per process and a counter."""

from __future__ import annotations

import os
from itertools import count
from secrets import token_hex


class UniqueIds:
    """Generates pairs of this process's random word and a running number, unique among all processes.

    A forked process starts with a new word and number, because it has a copy of its parent's.
    """

    def __init__(self) -> None:
        self._restart()
        os.register_at_fork(after_in_child=self._restart)

    def _restart(self) -> None:
        self.process = token_hex(8)
        self._numbers = count()

    def next(self) -> tuple[str, int]:
        """Return the next pair."""
        return self.process, next(self._numbers)
