"""Limits: what each client and each key may ask for in a second, in this process.

Buckets live in memory: every server process counts for itself, and a restart fills them. Two things are told apart.
Callers of the API are refused (`RateLimited`) and can pace themselves. Tools that send webhooks cannot: they are never
refused for their rate below a cap that no tool reaches, and then they are told to come again (`Overloaded`).
"""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.clients.models import Client, ClientLimits, ClientSettings
from touchbase.common.fair_quota import FairQuota
from touchbase.common.timestamps import Micros
from touchbase.common.token_bucket import BoundedCache, TokenBucket
from touchbase.errors import Overloaded

OWN = ClientLimits()
LIMITED = ("requests", "rows", "bytes", "webhooks", "webhook_bytes")
ALL_THE_ROOM = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What is allowed in a second; 0: as much as anybody likes."""

    key_requests: float = 0
    """Requests with one key."""
    requests: float = 0
    """Requests for one client, with whatever key."""
    rows: float = 0
    """Rows of one client that callers of the API ask to store; a contact with two custom fields is three."""
    bytes: float = 0
    """Bytes of the bodies that ask for it."""
    webhooks: float = 0
    """Webhook calls for one client."""
    webhook_bytes: float = 0
    """Bytes of their bodies."""
    burst_seconds: int = 10
    """After a pause the rate of so many seconds may come at once."""


class Allowance:
    """One client's buckets; None where nothing is limited."""

    __slots__ = ("bytes", "decided", "requests", "rows", "settings", "webhook_bytes", "webhooks")

    def __init__(self) -> None:
        self.settings: ClientSettings | None = None
        """The client's settings when last seen: while they are the same object, so are its limits."""
        self.decided: ClientLimits | None = None
        self.requests: TokenBucket | None = None
        self.rows: TokenBucket | None = None
        self.bytes: TokenBucket | None = None
        self.webhooks: TokenBucket | None = None
        self.webhook_bytes: TokenBucket | None = None

    def decide(self, rates: Rates, limits: ClientLimits, now: Micros) -> None:
        """Take the client's own limits, and the server's where it has none; buckets whose rate stays are kept."""
        self.decided = limits
        for name in LIMITED:
            own = getattr(limits, name)
            rate = getattr(rates, name) if own is None else own
            known: TokenBucket | None = getattr(self, name)
            if known is None or known.rate != rate:
                setattr(self, name, TokenBucket(name, rate, rates.burst_seconds, now) if rate else None)

    def is_new(self, now: Micros) -> bool:
        """Whether nothing is lost by forgetting it."""
        buckets: list[TokenBucket | None] = [getattr(self, name) for name in LIMITED]
        return all(bucket is None or bucket.is_full(now) for bucket in buckets)


class RateLimiter:
    """Counts what clients and keys ask for; `requests` is how many may be in progress at once."""

    def __init__(self, rates: Rates | None = None, *, requests: int = ALL_THE_ROOM) -> None:
        self.rates = rates or Rates()
        self._clients: BoundedCache[int, Allowance] = BoundedCache(lambda client, now: Allowance(), Allowance.is_new)
        self._keys: BoundedCache[str, TokenBucket] = BoundedCache(self._new_key, TokenBucket.is_full)
        self._in_progress = FairQuota(requests)
        self.end = self._in_progress.give
        """Note that a request of this client is over that had begun."""

    def request(self, client: Client, key_id: str | None, now: Micros) -> TokenBucket | None:
        """Count a request; answers the bucket that has least left, None without limits.

        Raises `RateLimited`. The key must have proved to be a true one: its name is remembered.
        """
        of_key = None if key_id is None else self.key(key_id, now)
        bucket = self._of(client, now).requests
        if bucket is None:
            return of_key
        if not bucket.take(1, now):
            if of_key is not None:
                of_key.give_back(1)  # what was refused for another reason is not the key's
            raise bucket.refusal("too many requests for this client")
        return bucket if of_key is None or bucket.tokens <= of_key.tokens else of_key

    def key(self, key_id: str, now: Micros) -> TokenBucket | None:
        """Count a request with a key; raises `RateLimited`."""
        if not self.rates.key_requests:
            return None
        bucket = self._keys.by_name.get(key_id) or self._keys.of(key_id, now)
        if not bucket.take(1, now):
            raise bucket.refusal("too many requests with this key")
        return bucket

    def storing(self, client: Client, rows: int, size: int, now: Micros) -> None:
        """Count what a request asks to store; raises `RateLimited`, and then nothing of it may be stored."""
        allowance = self._of(client, now)
        if allowance.rows is not None and not allowance.rows.take(rows, now):
            raise allowance.rows.refusal("too many rows to store for this client", rows)
        if allowance.bytes is not None and not allowance.bytes.take(size, now):
            if allowance.rows is not None:
                allowance.rows.give_back(rows)
            raise allowance.bytes.refusal("too many bytes to store for this client", size)

    def webhook(self, client: Client, now: Micros) -> None:
        """Count a webhook call; raises `Overloaded` above a rate that no tool has."""
        bucket = self._of(client, now).webhooks
        if bucket is not None and not bucket.take(1, now):
            raise Overloaded("more calls than one client may have; nothing was kept, send it again", retry_after=bucket.wait(1))

    def webhook_body(self, client: Client, size: int, now: Micros) -> None:
        """Count the body of a webhook call before it is stored; raises `Overloaded`."""
        bucket = self._of(client, now).webhook_bytes
        if bucket is not None and not bucket.take(size, now):
            raise Overloaded("more bytes than one client's calls may have; nothing was kept, send it again", retry_after=bucket.wait(size))

    def begin(self, client: int) -> None:
        """Note that a request of a client is in progress; raises `Overloaded` when it has as many as the others can bear."""
        if not self._in_progress.take(client):
            raise Overloaded("this client has too many requests in progress for the others to get theirs; send it again in a moment")

    def _of(self, client: Client, now: Micros) -> Allowance:
        found = self._clients.by_name.get(client.number) or self._clients.of(client.number, now)
        if found.settings is not client.settings:
            found.settings = client.settings
            limits = client.settings.limits or OWN
            if limits != found.decided:
                found.decide(self.rates, limits, now)
        return found

    def _new_key(self, key_id: str, now: Micros) -> TokenBucket:
        return TokenBucket("key-requests", self.rates.key_requests, self.rates.burst_seconds, now)
