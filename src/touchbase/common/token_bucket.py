"""Token buckets: a rate per second, with a burst after a pause."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil
from typing import Generic, TypeVar

from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import RateLimited

K = TypeVar("K")
B = TypeVar("B")

MAX_CACHED = 10_000
EPSILON = 1e-6
"""Float tolerance in tokens, so that a client that waits exactly `Retry-After` is admitted."""


class TokenBucket:
    """A bucket of up to `burst` tokens that refills with `rate` tokens per second; not thread-safe.

    Over any time it gives at most `burst` + `rate` * seconds. A cost above `burst` is admitted by a full bucket, which
    then has a negative balance: so no cost is refused for ever, and over time the rate still applies.
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
        """Tokens after the last `take`; negative after a cost above `burst`."""
        self._at = now

    def take(self, cost: float, now: Micros) -> bool:
        """Take `cost` tokens; return False if there are fewer."""
        tokens = self.tokens
        passed = now - self._at
        if passed:
            # A clock that was put back adds no tokens; the refill continues from the new time.
            self._at = now
            if passed > 0:
                tokens += passed * self.rate / SECOND
                tokens = min(tokens, self.burst)
        if tokens < min(cost, self.burst) - EPSILON:
            self.tokens = tokens
            return False
        self.tokens = tokens - cost
        return True

    def owe(self, cost: float, now: Micros) -> None:
        """Take `cost` tokens, also more than there are: later takes wait until they are repaid."""
        self.take(0, now)
        self.tokens -= cost

    def refund(self, cost: float) -> None:
        """Put back tokens whose request was not carried out."""
        self.tokens = min(self.burst, self.tokens + cost)

    def is_full(self, now: Micros) -> bool:
        """Return whether the bucket is full, the same as a new one."""
        return self.tokens + max(0, now - self._at) * self.rate / SECOND >= self.burst

    @property
    def left(self) -> int:
        """Complete tokens at the last `take`."""
        return int(self.tokens) if self.tokens > 0 else 0

    @property
    def full_in(self) -> int:
        """Whole seconds from the last `take` until the bucket is full."""
        return ceil((self.burst - self.tokens) / self.rate)

    def wait(self, cost: float) -> int:
        """Return the whole seconds from the last `take` until `cost` can be taken; at least 1."""
        return max(1, ceil((min(cost, self.burst) - self.tokens) / self.rate))

    def error(self, what: str, cost: float = 1) -> RateLimited:
        """Return the error for a request whose `cost` was not admitted."""
        seconds = self.wait(cost)
        detail = f"{what}: at most {self.rate:g} a second, or {self.burst:g} at once after a pause; try again in {seconds} s"
        return RateLimited(detail, policy=self.name, quota=self.quota, window=self.window, retry_after=seconds)


class BoundedCache(Generic[K, B]):
    """A cache of buckets by name, at most `most`, so that names from requests cannot use unbounded memory.

    When it is full, buckets that equal new ones are evicted, and the older half if too many are left. An evicted name
    starts again with a full bucket.
    """

    def __init__(self, new: Callable[[K, Micros], B], is_new: Callable[[B, Micros], bool], most: int = MAX_CACHED) -> None:
        self._new = new
        self._is_new = is_new
        self._most = most
        self.by_name: dict[K, B] = {}

    def of(self, name: K, now: Micros) -> B:
        """Return the bucket of this name."""
        bucket = self.by_name.get(name)
        if bucket is None:
            if len(self.by_name) >= self._most:
                self._evict(now)
            bucket = self.by_name[name] = self._new(name, now)
        return bucket

    def _evict(self, now: Micros) -> None:
        for name in [name for name, bucket in self.by_name.items() if self._is_new(bucket, now)]:
            del self.by_name[name]
        if len(self.by_name) > self._most // 2:
            for name in list(self.by_name)[: self._most // 2]:
                del self.by_name[name]
