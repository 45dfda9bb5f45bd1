"""Failed keys: how many each address may try before it is made to wait.

Only trying is limited. A key that is known to be true passes from the same address all the while, because behind one
address there may be a whole office.
"""

from __future__ import annotations

from collections.abc import Hashable

from touchbase.common.timestamps import Micros
from touchbase.common.token_bucket import MOST_REMEMBERED, BoundedCache, TokenBucket
from touchbase.errors import Overloaded, RateLimited

WINDOW = 60
"""Seconds in which an address that has tried too many may try as many again."""


class FailedKeys:
    """Counts keys that failed, by the address they came from; with `most` 0 nobody is made to wait."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._tried: BoundedCache[str, TokenBucket] = BoundedCache(self._new, TokenBucket.is_full)

    def trying(self, peer: str, now: Micros) -> None:
        """Count a key that is not known to be true, before anybody is asked; raises `RateLimited`."""
        if self._most and not self._tried.of(peer, now).take(1, now):
            raise self._refusal(self._tried.of(peer, now))

    def was_true(self, peer: str, now: Micros) -> None:
        """The key was a true one after all."""
        if self._most:
            self._tried.of(peer, now).give_back(1)

    def _new(self, peer: str, now: Micros) -> TokenBucket:
        return TokenBucket("failed-keys", self._most / WINDOW, WINDOW, now)

    def _refusal(self, bucket: TokenBucket) -> RateLimited:
        seconds = bucket.wait(1)
        detail = f"too many keys from this address have failed; check the key, and try again in {seconds} s"
        return RateLimited(detail, policy=bucket.name, quota=self._most, window=WINDOW, retry_after=seconds)


class FailedCalls:
    """Counts webhook calls that lead to no client or fail its secret, by the address they come from; with `most` 0 nobody has to wait.

    What has succeeded from there before goes on: behind one address a tool may call for many clients, of which one is gone.
    The refusal is a 503 and no 429, which a tool would take for good.
    """

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._tried: BoundedCache[Hashable, TokenBucket] = BoundedCache(self._new, TokenBucket.is_full)
        self._succeeded: dict[Hashable, None] = {}

    def trying(self, place: Hashable, what: Hashable, now: Micros) -> None:
        """Count a call before it is looked at, unless this was right before; raises `Overloaded`."""
        if self._most and (place, what) not in self._succeeded:
            bucket = self._tried.of(place, now)
            if bucket.take(1, now):
                bucket.give_back(1)  # only a failure counts: many calls of a new client may come at once
            else:
                told = "too many calls from this address led to no client, or failed its secret; nothing was kept, send it again later"
                raise Overloaded(told, retry_after=bucket.wait(1))

    def failed(self, place: Hashable, now: Micros) -> None:
        """Count a call that failed."""
        if self._most:
            self._tried.of(place, now).take(1, now)

    def was_right(self, place: Hashable, what: Hashable, now: Micros, *, proved: bool = True) -> None:
        """The call did not fail; where it `proved` something, it is not counted the next time."""
        if not self._most or (place, what) in self._succeeded:
            return
        if proved:
            if len(self._succeeded) >= MOST_REMEMBERED:
                self._succeeded.clear()
            self._succeeded[place, what] = None

    def _new(self, place: Hashable, now: Micros) -> TokenBucket:
        return TokenBucket("failed-calls", self._most / WINDOW, WINDOW, now)
