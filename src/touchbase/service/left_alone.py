"""Whom a worker leaves alone for a while, as their last turn failed: it must not be the others who wait for that."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from touchbase.domain.ports import Clock
from touchbase.domain.times import SECOND, Micros

K = TypeVar("K", bound=Hashable)


class LeftAlone(Generic[K]):
    """Those whose turns failed, until they may have another."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._until: dict[K, Micros] = {}

    def leave(self, one: K, seconds: float) -> None:
        """Leave this one alone for so long."""
        self._until[one] = self._clock() + int(seconds * SECOND)

    def __contains__(self, one: K) -> bool:
        """Whether this one's time is not over yet."""
        until = self._until.get(one)
        if until is None or self._clock() < until:
            return until is not None
        del self._until[one]
        return False
