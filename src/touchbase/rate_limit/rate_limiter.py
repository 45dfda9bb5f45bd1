"""Rate limiter: limits per client and per key, in this process.

Buckets are in memory: every server process counts for itself, and a restart fills them. API requests above a limit
get `RateLimited`, and their clients can slow down. Tools that send webhooks cannot: their limits are caps that no tool
reaches, and above them they get `Overloaded`, which they retry.
"""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.clients.models import Client, ClientLimits, ClientSettings
from touchbase.common.fair_quota import FairQuota
from touchbase.common.timestamps import Micros
from touchbase.common.token_bucket import BoundedCache, TokenBucket
from touchbase.config import Settings
from touchbase.errors import Overloaded

NO_LIMITS = ClientLimits()
LIMITED = ("requests", "rows", "bytes", "webhooks", "webhook_bytes")
UNLIMITED = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """Limits per second; 0: no limit."""

    key_requests: float = 0
    """Requests with one key."""
    requests: float = 0
    """Requests for one client, with any key."""
    rows: float = 0
    """Rows of one client that API requests store; a contact with two custom fields is three."""
    bytes: float = 0
    """Bytes of the bodies of requests for one client, decompressed, and of uploaded files."""
    webhooks: float = 0
    """Webhooks for one client."""
    webhook_bytes: float = 0
    """Bytes of their bodies, decompressed."""
    burst_seconds: int = 10
    """The burst after a pause, in seconds of the rate."""


class Allowance:
    """One client's buckets; None for no limit."""

    __slots__ = ("bytes", "limits", "requests", "rows", "settings", "webhook_bytes", "webhooks")

    def __init__(self) -> None:
        self.settings: ClientSettings | None = None
        """The client's settings at its last request: the same object means the same limits."""
        self.limits: ClientLimits | None = None
        self.requests: TokenBucket | None = None
        self.rows: TokenBucket | None = None
        self.bytes: TokenBucket | None = None
        self.webhooks: TokenBucket | None = None
        self.webhook_bytes: TokenBucket | None = None

    def apply(self, rates: Rates, limits: ClientLimits, now: Micros) -> None:
        """Apply the client's own limits, or the server's where it has none; a bucket with an unchanged rate stays."""
        self.limits = limits
        for name in LIMITED:
            own = getattr(limits, name)
            rate = getattr(rates, name) if own is None else own
            bucket: TokenBucket | None = getattr(self, name)
            if bucket is None or bucket.rate != rate:
                setattr(self, name, TokenBucket(name, rate, rates.burst_seconds, now) if rate else None)

    def is_new(self, now: Micros) -> bool:
        """Return whether all buckets equal new ones, so that this allowance can be evicted."""
        buckets: list[TokenBucket | None] = [getattr(self, name) for name in LIMITED]
        return all(bucket is None or bucket.is_full(now) for bucket in buckets)


class RateLimiter:
    """Counts requests of clients and keys; `requests` is how many may be in progress at once."""

    def __init__(self, rates: Rates | None = None, *, requests: int = UNLIMITED) -> None:
        self.rates = rates or Rates()
        self._clients: BoundedCache[int, Allowance] = BoundedCache(lambda client, now: Allowance(), Allowance.is_new)
        self._keys: BoundedCache[str, TokenBucket] = BoundedCache(self._new_key, TokenBucket.is_full)
        self._in_progress = FairQuota(requests)
        self.end = self._in_progress.release
        """Count the end of a request of this client."""

    def request(self, client: Client, key_id: str | None, now: Micros) -> TokenBucket | None:
        """Count a request; return the bucket with the fewest tokens left, None without limits.

        Raises `RateLimited`. The key must be authenticated, because its id is cached.
        """
        of_key = None if key_id is None else self.key(key_id, now)
        bucket = self._of(client, now).requests
        if bucket is None:
            return of_key
        if not bucket.take(1, now):
            if of_key is not None:
                of_key.refund(1)  # a request over the client's limit does not count for the key
            raise bucket.error("too many requests for this client")
        return bucket if of_key is None or bucket.tokens <= of_key.tokens else of_key

    def key(self, key_id: str, now: Micros) -> TokenBucket | None:
        """Count a request with a key; raise `RateLimited`."""
        if not self.rates.key_requests:
            return None
        bucket = self._keys.by_name.get(key_id) or self._keys.of(key_id, now)
        if not bucket.take(1, now):
            raise bucket.error("too many requests with this key")
        return bucket

    def body(self, client: int, size: int, now: Micros) -> None:
        """Count the body of a request whose client, given by its number, `request` has counted; raise `RateLimited`."""
        allowance = self._clients.by_name.get(client)
        if allowance is not None and allowance.bytes is not None and not allowance.bytes.take(size, now):
            raise allowance.bytes.error("too many bytes in bodies for this client", size)

    def streamed(self, client: int, size: int, now: Micros) -> None:
        """Count a piece of a file that was sent without its length; later bodies wait for it."""
        allowance = self._clients.by_name.get(client)
        if allowance is not None and allowance.bytes is not None:
            allowance.bytes.owe(size, now)

    def storing(self, client: Client, rows: int, now: Micros) -> None:
        """Count the rows that a request stores; raise `RateLimited`, and then nothing of it may be stored."""
        bucket = self._of(client, now).rows
        if bucket is not None and not bucket.take(rows, now):
            raise bucket.error("too many rows to store for this client", rows)

    def webhook(self, client: Client, now: Micros) -> None:
        """Count a webhook; raise `Overloaded` above a rate that no tool reaches."""
        bucket = self._of(client, now).webhooks
        if bucket is not None and not bucket.take(1, now):
            raise Overloaded("too many webhooks for one client; nothing was stored, send it again", retry_after=bucket.wait(1))

    def webhook_body(self, client: Client, size: int, now: Micros) -> None:
        """Count bytes of the body of a webhook before it is stored; raise `Overloaded`."""
        bucket = self._of(client, now).webhook_bytes
        if bucket is not None and not bucket.take(size, now):
            raise Overloaded("too many bytes of webhooks for one client; nothing was stored, send it again", retry_after=bucket.wait(size))

    def begin(self, client: int) -> None:
        """Count the start of a request; raise `Overloaded` when the client has its share of all requests in progress."""
        if not self._in_progress.acquire(client):
            raise Overloaded("this client has too many requests in progress; send it again in a moment")

    def _of(self, client: Client, now: Micros) -> Allowance:
        allowance = self._clients.by_name.get(client.number) or self._clients.of(client.number, now)
        if allowance.settings is not client.settings:
            allowance.settings = client.settings
            limits = client.settings.limits or NO_LIMITS
            if limits != allowance.limits:
                allowance.apply(self.rates, limits, now)
        return allowance

    def _new_key(self, key_id: str, now: Micros) -> TokenBucket:
        return TokenBucket("key-requests", self.rates.key_requests, self.rates.burst_seconds, now)


def limiter(settings: Settings) -> RateLimiter:
    """Return the rate limiter of this process."""
    rates = Rates(
        key_requests=settings.rate_limit_key_requests,
        requests=settings.rate_limit_requests,
        rows=settings.rate_limit_rows,
        bytes=settings.rate_limit_bytes,
        webhooks=settings.rate_limit_webhooks,
        webhook_bytes=settings.rate_limit_webhook_bytes,
        burst_seconds=settings.rate_limit_burst,
    )
    return RateLimiter(rates, requests=settings.max_requests)
