"""Authentication throttle: limits failed keys, and failed webhooks, per address.

Only failures are limited. A valid key passes from the same address at any time, because many users may share one address.
"""

from __future__ import annotations

from collections.abc import Hashable

from touchbase.common.timestamps import Micros
from touchbase.common.token_bucket import MAX_CACHED, BoundedCache, TokenBucket
from touchbase.errors import Overloaded, RateLimited

WINDOW = 60
"""Seconds in which an empty bucket of failures refills."""


class KeyThrottle:
    """Limits failed keys, or another kind of `failures`, to `most` in `window` seconds per address; 0: no limit."""

    def __init__(self, most: int = 0, window: int = WINDOW, *, failures: str = "keys from this address have failed; check the key") -> None:
        """`failures` follows "too many" in the error."""
        self._most = most
        self._window = window
        self._failures = failures
        self._tried: BoundedCache[Hashable, TokenBucket] = BoundedCache(self._new, TokenBucket.is_full)

    def check(self, peer: Hashable, now: Micros) -> None:
        """Count a key that is not known to be valid, before the store is read; raise `RateLimited`."""
        if self._most and not self._tried.of(peer, now).take(1, now):
            raise self._error(self._tried.of(peer, now))

    def succeeded(self, peer: Hashable, now: Micros) -> None:
        """Stop counting a checked key that was valid."""
        if self._most:
            self._tried.of(peer, now).refund(1)

    def _new(self, peer: Hashable, now: Micros) -> TokenBucket:
        return TokenBucket(f"failed-{self._failures.partition(' ')[0]}", self._most / self._window, self._window, now)

    def _error(self, bucket: TokenBucket) -> RateLimited:
        seconds = bucket.wait(1)
        detail = f"too many {self._failures}, and try again in {seconds} s"
        return RateLimited(detail, policy=bucket.name, quota=self._most, window=self._window, retry_after=seconds)


class WebhookThrottle:
    """Limits webhooks that name no client or fail its secret to `most` a minute per address; 0: no limit.

    What succeeded from an address before passes: a tool may send for many clients from one address, of which one was removed.
    The error is a 503, because tools treat a 429 as permanent.
    """

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._tried: BoundedCache[Hashable, TokenBucket] = BoundedCache(self._new, TokenBucket.is_full)
        self._succeeded: dict[Hashable, None] = {}

    def check(self, source: Hashable, subject: Hashable, now: Micros) -> None:
        """Raise `Overloaded` for a webhook from a source with too many failures, unless this subject succeeded before."""
        if self._most and (source, subject) not in self._succeeded:
            bucket = self._tried.of(source, now)
            if bucket.take(1, now):
                bucket.refund(1)  # only a failure counts: many webhooks of a new client may come at once
            else:
                detail = "too many webhooks from this address named no client or failed its secret; nothing was stored, send it again later"
                raise Overloaded(detail, retry_after=bucket.wait(1))

    def failed(self, source: Hashable, now: Micros) -> None:
        """Count a webhook that failed."""
        if self._most:
            self._tried.of(source, now).take(1, now)

    def succeeded(self, source: Hashable, subject: Hashable, now: Micros, *, verified: bool = True) -> None:
        """Admit later webhooks of this source and subject in `check`, if this one was `verified`."""
        if not self._most or (source, subject) in self._succeeded:
            return
        if verified:
            if len(self._succeeded) >= MAX_CACHED:
                self._succeeded.clear()
            self._succeeded[source, subject] = None

    def _new(self, source: Hashable, now: Micros) -> TokenBucket:
        return TokenBucket("failed-calls", self._most / WINDOW, WINDOW, now)
