"""Parts: what the web application is made of; `app.py` hands them over."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol
from urllib.parse import urlsplit

from touchbase.adapters.interface import ProtocolResponse, WebhookRequest
from touchbase.auth.auth_throttle import KeyThrottle, WebhookThrottle
from touchbase.auth.last_used import KeyUsage
from touchbase.common.timestamps import Clock, Micros
from touchbase.connections.models import SECRETS, Arrival, Connection, ConnectionSettings
from touchbase.connections.service import Connections
from touchbase.connections.tools import Fetcher, Tools
from touchbase.errors import UnrecognisedPayload
from touchbase.events.work import ProcessingStore
from touchbase.events.worker import Read
from touchbase.history.events import Translation
from touchbase.inbox.refused_service import RefusedWebhooks
from touchbase.rate_limit.rate_limiter import RateLimiter

MIB = 1_048_576

AuthMode = Literal["none", "api-key"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What a request may cost us. Limits of single fields stand in `common/field_limits.py`."""

    api_body_bytes: int = MIB
    """As sent, and again after gzip is undone."""
    webhook_body_bytes: int = 4 * MIB
    body_seconds: float = 10.0
    """From the first byte of the body to its last."""
    body_idle_seconds: float = 5.0
    """Between two pieces of the body."""
    nesting: int = 64
    drained_bytes: int = 32 * MIB
    """How much of a body that is too long is still read and thrown away, so that the sender sees the answer."""


class Metrics(Protocol):
    """What the application counts; requests and latencies are counted around it, by `scope["touchbase.template"]`."""

    def delivery_received(self, channel: str, repeated: bool) -> None:
        """A webhook call is on disk; `repeated` when it is one that we had."""
        ...

    def delivery_refused(self, channel: str, tool: str | None, cause: str) -> None:
        """A webhook call was refused, for a cause of `inbox.refused`; `tool` is the one that it looks like."""
        ...

    def request_refused(self, code: str) -> None:
        """An answer was a problem with this code."""
        ...


class NoMetrics:
    """Counts nothing."""

    def delivery_received(self, channel: str, repeated: bool) -> None:
        """Counts nothing."""

    def delivery_refused(self, channel: str, tool: str | None, cause: str) -> None:
        """Counts nothing."""

    def request_refused(self, code: str) -> None:
        """Counts nothing."""


class NoTools:
    """Knows no tool, so that none can be connected and none proves anything."""

    def tools(self, channel: str) -> Sequence[str]:
        """There are none."""
        return ()

    def proves_at_once(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Nothing is proved."""
        return False

    def kinds(self, channel: str, tool: str, settings: ConnectionSettings) -> Sequence[str] | None:
        """No tool has records."""
        return None

    def proves(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """Nothing is proved."""
        return False

    def is_test_call(self, connection: Connection, arrival: Arrival, now: Micros) -> bool:
        """No tool has a test call."""
        return False

    def likely(self, arrival: Arrival, guarded: Collection[str]) -> tuple[str | None, bool]:
        """No tool is recognised."""
        return None, False

    def secrets_of(self, connection: Connection) -> Sequence[str]:
        """The secrets as they are."""
        return connection.secrets

    def most_secrets(self, channel: str, tool: str) -> int:
        """As many as any connection has."""
        return SECRETS

    def why_not_secret(self, channel: str, tool: str, secret: str) -> str | None:
        """Any secret fits."""
        return None

    def is_public(self, channel: str, tool: str, secret: str) -> bool:
        """No secret is a public key."""
        return False

    def has_window(self, channel: str, tool: str) -> bool:
        """No tool signs."""
        return False

    def fetcher(self, channel: str, tool: str) -> Fetcher | None:
        """Nobody is asked."""
        return None


def no_adapter(request: WebhookRequest) -> Translation:
    """No tool is known."""
    raise UnrecognisedPayload("no adapter is here to read it")


def no_answer(body: bytes) -> ProtocolResponse | None:
    """No tool demands a body."""
    return None


def no_worker(client: int) -> None:
    """No worker needs waking."""


def no_maintenance() -> None:
    """No housekeeper needs waking."""


@dataclass(frozen=True, slots=True)
class Dependencies:
    """Everything that the web application needs from outside."""

    store: ProcessingStore
    clock: Clock
    auth: AuthMode = "none"
    limits: Limits = field(default_factory=Limits)
    version: str = "0"
    on_stored: Callable[[int], None] = no_worker
    """Called with the client's number once a new delivery is kept, so that the inbox worker wakes."""
    read: Read = no_adapter
    """The adapters' reading of a call, for rehearsals."""
    senders: Tools = field(default_factory=NoTools)
    connections: Connections | None = None
    """Those that the inbox worker looks at too, so that a change is seen there at once; None: a set of its own."""
    public_url: str = ""
    """The address under which tools and callers reach us, without a slash at its end; empty: what the call's Host header says."""
    fetch_allowed: Sequence[str] = ()
    """Origins that tools' records may be asked of although they are not https."""
    protocol_answer: Callable[[bytes], ProtocolResponse | None] = no_answer
    """The adapters' word on the two bodies of CRMs that demand one in return. Must be quick, and must not raise."""
    metrics: Metrics = field(default_factory=NoMetrics)
    key_uses: KeyUsage = field(default_factory=KeyUsage)
    """Where uses of keys are noted, for somebody else to write down."""
    on_deleting: Callable[[], None] = no_maintenance
    """Called once a client is to be removed, so that the housekeeper wakes."""
    limiter: RateLimiter = field(default_factory=RateLimiter)
    """What clients and keys may ask for in a second."""
    failed_keys: KeyThrottle = field(default_factory=KeyThrottle)
    refused: RefusedWebhooks | None = None
    """Where refused webhook calls are noted, for the housekeeper to store; None: they are only counted."""
    failed_calls: WebhookThrottle = field(default_factory=WebhookThrottle)

    def reached_at(self, path: str) -> bytes:
        """One of our paths as callers reach it: a proxy may have put us under a path of its own, which `public_url` then names."""
        return (urlsplit(self.public_url).path + path).encode()
