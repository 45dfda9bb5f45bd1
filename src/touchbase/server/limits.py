"""What one connection may take, and what all of them share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from touchbase.server.bodies import Bodies
from touchbase.server.error_responses import Headers
from touchbase.server.origin_guard import OriginGuard
from touchbase.server.proxy_headers import Proxies
from touchbase.server.request_cycle import Cycle

NEVER = float("inf")
LINGER = 2.0
"""Seconds that a refused caller gets to read the refusal before the connection is torn down."""
PER_CHUNK = 16
"""Bytes that a chunk of a body may have around it; more is held against the sender."""


def _as_it_is(app: Any) -> Any:
    return app


def _nothing(origin: bytes) -> Headers:
    return ()


def _not_noted(scope: Any) -> None:
    """Nothing is noted."""


class Idle(Protocol):
    """A connection between two requests."""

    def give_way(self) -> None:
        """Close the connection, so that another one gets its place."""


@dataclass(slots=True)
class ServerLimits:
    """The bounds of every connection of a server; times in seconds. The settings say what each means."""

    header_timeout: float
    keep_alive: float
    send_timeout: float
    max_headers: int
    max_header_bytes: int
    max_requests: int
    max_connections: int
    observe: Callable[[Cycle], None]
    """Called once for every request that ends."""
    max_connections_per_address: int = 0
    """0: as many as there may be at all."""
    addresses: dict[str, int] = field(default_factory=dict)
    """Open connections of each peer."""
    bodies: Bodies = field(default_factory=Bodies)
    """The memory for bodies of requests in progress."""
    idle: dict[Idle, None] = field(default_factory=dict)
    """Connections between two requests, the longest idle first; one of them gives way when all places are taken."""
    defaults: bytes = b""
    """Header lines of every answer; the server renews them, for they hold the date."""
    proxies: Proxies | None = None
    """Whose word on their callers is taken; None: nobody's."""
    dress: Callable[[Any], Any] = _as_it_is
    """What an application that answers in place of ours is put into, so that a listed page can read it (`browsers.Cors`)."""
    grants: Callable[[bytes], Headers] = _nothing
    """What a page of this origin is told beside an answer that no application gives (`browsers.Grants`)."""
    on_foreign: Callable[[Any], None] = _not_noted
    """Called with the scope of a call that `own_sites` refuses."""
    own_sites: OriginGuard | None = None
    """What is answered without keys, under which names, and to which pages; None: everything."""
