"""The limits of a server's connections, the state that they share, and flow control: a pause after a 503, little parsing ahead.

Pipelining: an HTTP client may send many requests before it reads the first response. Parsing all of them at once blocks the event loop:
fifty clients with ninety requests each delayed the others by 70 ms. So the server parses in portions, and parses nothing more
while a request waits behind the one in progress. Bytes that it has already read stay in a buffer, and it stops reading:
a client that sends on fills the system's buffers and has to wait.

Backpressure: refusing a request costs about as much as serving one. HTTP clients that ignore `Retry-After` and send again at
once would take the server's time from other clients. So after a 503 the server does not read their next request for 0.5 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sized
from dataclasses import dataclass, field
from typing import Any, Protocol

from uvicorn.protocols.http.flow_control import FlowControl

from touchbase.common.fair_quota import SHARE
from touchbase.server.error_responses import Headers
from touchbase.server.origin_guard import OriginGuard
from touchbase.server.proxy_headers import TrustedProxies

BLANK_LINE = b"\r\n\r\n"
MIN_BLANK_LINES = 2
"""Blank lines from which on one piece of data may contain more than one request."""
PORTION = 128
"""Bytes to parse at once, plus the bytes up to the next blank line: one request, or a few of the shortest."""
PAUSE_SECONDS = 0.5
"""Seconds after a 503 before the server reads the connection's next request."""
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

    def left(self) -> int:
        """Return how many bytes are free."""
        return self.capacity - self.used

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
    """0: no separate limit."""
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


class Flow(FlowControl):
    """uvicorn's flow control, which also keeps reading paused while there is unparsed data."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self.buffered = b""
        """Data that was read and is not parsed yet."""

    def feed(self, data: bytes, parse: Callable[[bytes], None], waiting: Sized) -> None:
        """Parse the data in portions until a request waits behind the one in progress; buffer the remaining data."""
        if waiting:
            self.buffer(data)
        elif data.count(BLANK_LINE) < MIN_BLANK_LINES:
            parse(data)
        else:
            for portion, end in portions(data):
                parse(portion)
                if waiting:
                    self.buffer(data[end:])
                    return

    def buffer(self, data: bytes) -> None:
        """Buffer the data and pause reading."""
        self.buffered += data
        self.pause_reading()

    def take_buffered(self) -> bytes:
        """Return the buffered data and clear the buffer."""
        buffered, self.buffered = self.buffered, b""
        return buffered

    def resume_reading(self) -> None:
        """Resume reading, unless there is buffered data."""
        if self.read_paused and not self.buffered:
            super().resume_reading()

    def pause_after_503(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read nothing for `PAUSE_SECONDS`."""
        self.pause_reading()
        loop.call_later(PAUSE_SECONDS, self._end_pause)

    def _end_pause(self) -> None:
        if not self._transport.is_closing():
            self.resume_reading()


def portions(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Split data into portions in which few requests can begin, each with its end offset: a request's head ends at a blank line."""
    start = 0
    while start < len(data):
        mark = data.find(BLANK_LINE, start + PORTION)
        end = len(data) if mark < 0 else mark + len(BLANK_LINE)
        yield data[start:end], end
        start = end
