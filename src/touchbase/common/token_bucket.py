"""Token buckets: so much a second, and more at once after a pause."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Generic, TypeVar

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import RateLimited

K = TypeVar("K")
B = TypeVar("B")

MOST_REMEMBERED = 10_000
EPSILON = 1e-6
"""Of a token; what arithmetic may lose, so that whoever waits as long as told is served."""


class TokenBucket:
    """Holds up to `burst` tokens and gets `rate` more a second.

    Over any time it gives at most `burst` + `rate` * seconds. What costs more than `burst` is given by a full bucket,
    which then owes the rest: so nothing is refused for ever, and on the long run the rate holds all the same.
    """

    __slots__ = ("_at", "burst", "label", "name", "quota", "rate", "tokens", "window")

    def __init__(self, name: str, rate: float, window: int, now: Micros) -> None:
        self.name = name
        self.label = name.encode()
        self.rate = rate
        self.window = window
        """Seconds in which an empty bucket fills."""
        self.burst = max(1.0, rate * window)
        self.quota = int(self.burst)
        self.tokens = self.burst
        """As of the last `take`; below 0 while it is owed some."""
        self._at = now

    def take(self, cost: float, now: Micros) -> bool:
        """Take `cost` tokens, if they are there."""
        tokens = self.tokens
        passed = now - self._at
        if passed:
            # A clock that was put back gives nothing for that, and goes on from where it is.
            self._at = now
            if passed > 0:
                tokens += passed * self.rate / SECOND
                tokens = min(tokens, self.burst)
        if tokens < min(cost, self.burst) - EPSILON:
            self.tokens = tokens
            return False
        self.tokens = tokens - cost
        return True

    def give_back(self, cost: float) -> None:
        """Put back what was taken for nothing."""
        self.tokens = min(self.burst, self.tokens + cost)

    def is_full(self, now: Micros) -> bool:
        """Whether it is as good as new."""
        return self.tokens + max(0, now - self._at) * self.rate / SECOND >= self.burst

    @property
    def left(self) -> int:
        """Whole tokens in it, as of the last `take`."""
        return int(self.tokens) if self.tokens > 0 else 0

    @property
    def full_in(self) -> int:
        """Whole seconds from the last `take` until it is full."""
        return ceil((self.burst - self.tokens) / self.rate)

    def wait(self, cost: float) -> int:
        """Whole seconds from the last `take` until `cost` can be taken; at least 1."""
        return max(1, ceil((min(cost, self.burst) - self.tokens) / self.rate))

    def refusal(self, what: str, cost: float = 1) -> RateLimited:
        """The error for a caller who was not given `cost`."""
        seconds = self.wait(cost)
        detail = f"{what}: at most {self.rate:g} a second, or {self.burst:g} at once after a pause; try again in {seconds} s"
        return RateLimited(detail, policy=self.name, quota=self.quota, window=self.window, retry_after=seconds)


class BoundedCache(Generic[K, B]):
    """Buckets by name, at most `most`.

    When there are too many, those go that are as good as new, and if there are none, the older half: what is forgotten
    starts anew with a full bucket, which is why names that anybody can make up cost memory only up to here.
    """

    def __init__(self, new: Callable[[K, Micros], B], is_new: Callable[[B, Micros], bool], most: int = MOST_REMEMBERED) -> None:
        self._new = new
        self._is_new = is_new
        self._most = most
        self.by_name: dict[K, B] = {}

    def of(self, name: K, now: Micros) -> B:
        """The bucket of this name."""
        found = self.by_name.get(name)
        if found is None:
            if len(self.by_name) >= self._most:
                self._forget(now)
            found = self.by_name[name] = self._new(name, now)
        return found

    def _forget(self, now: Micros) -> None:
        for name in [name for name, bucket in self.by_name.items() if self._is_new(bucket, now)]:
            del self.by_name[name]
        if len(self.by_name) > self._most // 2:
            for name in list(self.by_name)[: self._most // 2]:
                del self.by_name[name]
