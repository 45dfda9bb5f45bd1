"""Backoff: skip a key for a while after its work failed, so that other keys are not delayed."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

from touchbase.common.timestamps import SECOND, Clock, Micros, has_passed

K = TypeVar("K", bound=Hashable)


class Backoff(Generic[K]):
    """The keys to skip, each until its delay has passed."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._delays: dict[K, tuple[Micros, Micros]] = {}

    def delay(self, key: K, seconds: float) -> None:
        """Skip this key for so many seconds."""
        self._delays[key] = (int(seconds * SECOND), self._clock())

    def __contains__(self, key: K) -> bool:
        """Return whether the key's delay has not passed yet."""
        if key not in self._delays:
            return False
        if has_passed(*self._delays[key], self._clock()):
            del self._delays[key]
            return False
        return True
