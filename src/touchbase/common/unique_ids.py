"""Serials: names that are given once, by this process or any other, and cost a counter's step each."""

from __future__ import annotations

import os
from itertools import count
from secrets import token_hex


class UniqueIds:
    """A random word of this process and a running number.

    Worker processes are copies of one that has begun already, word and number with it: each begins anew.
    """

    def __init__(self) -> None:
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self.process = token_hex(8)
        self._numbers = count()

    def next(self) -> tuple[str, int]:
        """The word and the next number: no other pair is the same."""
        return self.process, next(self._numbers)
