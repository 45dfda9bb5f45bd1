"""Failed keys: how many each address may try before it is made to wait.

Only trying is limited. A key that is known to be true passes from the same address all the while, because behind one
address there may be a whole office.
"""

from __future__ import annotations

from touchbase.domain.errors import RateLimited
from touchbase.domain.times import Micros
from touchbase.service.buckets import Bucket, Remembered

WINDOW = 60
"""Seconds in which an address that has tried too many may try as many again."""


class FailedKeys:
    """Counts keys that failed, by the address they came from; with `most` 0 nobody is made to wait."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._tried: Remembered[str, Bucket] = Remembered(self._new, Bucket.is_full)

    def trying(self, peer: str, now: Micros) -> None:
        """Count a key that is not known to be true, before anybody is asked; raises `RateLimited`."""
        if self._most and not self._tried.of(peer, now).take(1, now):
            raise self._refusal(self._tried.of(peer, now))

    def was_true(self, peer: str, now: Micros) -> None:
        """The key was a true one after all."""
        if self._most:
            self._tried.of(peer, now).give_back(1)

    def _new(self, peer: str, now: Micros) -> Bucket:
        return Bucket("failed-keys", self._most / WINDOW, WINDOW, now)

    def _refusal(self, bucket: Bucket) -> RateLimited:
        seconds = bucket.wait(1)
        detail = f"too many keys from this address have failed; check the key, and try again in {seconds} s"
        return RateLimited(detail, policy=bucket.name, quota=self._most, window=WINDOW, retry_after=seconds)
