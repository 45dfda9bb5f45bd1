"""The limits of a server's connections, and the state that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from touchbase.common.fair_quota import SHARE
from touchbase.server.error_responses import Headers
from touchbase.server.origin_guard import OriginGuard
from touchbase.server.proxy_headers import TrustedProxies

NEVER = float("inf")
LINGER = 2.0
"""Seconds that the peer gets to read an error response before the connection is closed."""
CHUNK_OVERHEAD = 16
"""Bytes of framing that a chunk of a body may have; the excess counts against the limit of headers."""
MAX_CHUNKS = 100_000
"""Chunks of a body: each costs the event loop a microsecond, however short it is."""
PART_COST = 3
"""Chunks that a blank line in a chunk counts as: the parser is called again behind it, as the request may end there."""
CHUNK_BYTES = 64
"""Bytes of a body for which it may have one more."""


def _unwrapped(app: Any) -> Any:
    return app


def _no_headers(origin: bytes) -> Headers:
    return ()


def _ignore(scope: Any) -> None:
    """Do nothing."""


class Idle(Protocol):
    """A connection between two requests."""

    def close_idle(self) -> None:
        """Close the connection, so that another one may be opened."""


class BodyMemory:
    """Memory for bodies of requests, or of responses, by peer address, so that no address can use all of it.

    Each body has its own limit, but hundreds of bodies at once could fill the memory. The received bytes of a body count from
    the first byte until the request has its response. A request that would exceed `capacity` (0: no limit) gets a 503, and its
    bytes are freed.
    """

    __slots__ = ("_by_peer", "capacity", "used")

    def __init__(self, capacity: int = 0) -> None:
        self.capacity = capacity
        self.used = 0
        self._by_peer: dict[str, int] = {}

    def acquire(self, peer: str, size: int) -> bool:
        """Count `size` more bytes; return False if they exceed the capacity or the share of this address."""
        of_peer = self._by_peer.get(peer, 0) + size
        free = self.capacity - self.used - size
        if self.capacity and (free < 0 or of_peer > SHARE * free):
            return False
        self._by_peer[peer] = of_peer
        self.used += size
        return True

    def release(self, peer: str, size: int) -> None:
        """Count `size` fewer bytes."""
        of_peer = self._by_peer.get(peer, 0) - size
        if of_peer > 0:
            self._by_peer[peer] = of_peer
        else:
            self._by_peer.pop(peer, None)
        self.used -= size


@dataclass(slots=True)
class ServerLimits:
    """The limits of every connection of a server; times in seconds. `config.Settings` describes each."""

    header_timeout: float
    keep_alive: float
    send_timeout: float
    max_headers: int
    max_header_bytes: int
    max_requests: int
    max_connections: int
    observe: Callable[[Any], None]
    """Called with the `request_cycle.Cycle` of every request that ends, once."""
    max_connections_per_address: int = 0
    """0: no limit of its own."""
    addresses: dict[str, int] = field(default_factory=dict)
    """Open connections of each peer."""
    bodies: BodyMemory = field(default_factory=BodyMemory)
    """The memory for bodies of requests in progress."""
    unread: BodyMemory = field(default_factory=BodyMemory)
    """The memory for long parts of responses that their peers have not read yet."""
    idle: dict[Idle, None] = field(default_factory=dict)
    """Connections between two requests, the longest idle first; one of them is closed when `max_connections` is reached."""
    defaults: bytes = b""
    """Header lines of every response; the server renews them once a second because they contain the date."""
    proxies: TrustedProxies | None = None
    """The proxies whose `X-Forwarded-*` headers are trusted; None: no proxy."""
    wrap_app: Callable[[Any], Any] = _unwrapped
    """Wraps applications that send error responses, so that pages of listed origins can read them (`origin_guard.Cors`)."""
    cors_headers: Callable[[bytes], Headers] = _no_headers
    """CORS headers, by origin, of error responses that no application sends (`origin_guard.CorsHeaders`)."""
    on_foreign_origin: Callable[[Any], None] = _ignore
    """Called with the scope of a request that `origin_guard` refuses."""
    origin_guard: OriginGuard | None = None
    """Checks the host and origin of requests without keys; None: no check."""
