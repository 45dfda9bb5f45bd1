"""Whom a worker leaves alone for a while, as their last turn failed: it must not be the others who wait for that."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from touchbase.common.timestamps import SECOND, Clock, Micros, has_passed

K = TypeVar("K", bound=Hashable)


class Backoff(Generic[K]):
    """Those whose turns failed, until they may have another."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._left: dict[K, tuple[Micros, Micros]] = {}

    def leave(self, one: K, seconds: float) -> None:
        """Leave this one alone for so long."""
        self._left[one] = (int(seconds * SECOND), self._clock())

    def __contains__(self, one: K) -> bool:
        """Whether this one's time is not over yet."""
        if one not in self._left:
            return False
        if has_passed(*self._left[one], self._clock()):
            del self._left[one]
            return False
        return True
