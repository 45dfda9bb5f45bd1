"""ASGI 3: types, scope members that application and server share, and requests from within this process."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from functools import lru_cache
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = dict[bytes, bytes]
LOCAL_PEER = ""
"""The peer of a request that came over no network, such as a Unix socket."""
STREAMED = "touchbase.streamed"
"""Key in a request's scope: the application uses each piece of the body before it receives the next one, so only one counts as memory."""
HEADER = b"x-request-id"
CONSOLE_HEADER = b"x-touchbase-console"
"""Sent by the console's page. A page of another origin cannot send it: no origin is allowed to by CORS."""
LONGEST_REQUEST_ID = 128
_SLASH = re.compile("%2f", re.IGNORECASE)
_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:=/+\-]{1,128}")


def peer_of(scope: Mapping[str, Any]) -> str:
    """Return the peer of an ASGI scope, for limits per address. Behind a trusted proxy the scope has the HTTP client's address."""
    return peer_at(scope.get("client"))


def peer_at(address: Sequence[Any] | None) -> str:
    """Return the peer at a socket's address (host, port); `LOCAL_PEER` for None."""
    return _network_of(str(address[0])) if address else LOCAL_PEER


@lru_cache(maxsize=4096)
def _network_of(host: str) -> str:
    """Return an IPv4 address as it is; of an IPv6 address its /64, since one HTTP client usually has all addresses of a /64."""
    try:
        ip = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    if ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.IPv6Network((int(ip) >> 64 << 64, 64)))


def is_valid_request_id(request_id: bytes) -> bool:
    """Return whether an HTTP client's request id is safe in responses and log lines."""
    return _REQUEST_ID.fullmatch(request_id) is not None


def client_request_id(headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Return the HTTP client's own request id if it is valid; header names are lower case."""
    request_id = dict(headers).get(HEADER)
    return request_id.decode("ascii") if request_id is not None and is_valid_request_id(request_id) else None


def path_of(raw: str) -> str:
    """Decode a path for routing, except `%2F`, which does not separate segments; a proxy in front reads it the same way."""
    if "%" not in raw:
        return raw
    return "%2F".join(urllib.parse.unquote(part) for part in _SLASH.split(raw))


FROM_HERE: Mapping[str, Any] = {
    "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http", "root_path": "", "client": None, "server": None,
}  # fmt: skip
"""The scope of a request that no connection has brought."""


async def send_inner(
    app: App, method: str, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]], body: bytes, like: Mapping[str, Any] = FROM_HERE
) -> tuple[int, bytes]:
    """Send a request; return status and body of the response. `like`: the scope of the request that it is made for."""
    scope: Scope = {
        **{name: like.get(name) for name in FROM_HERE}, "method": method, "path": path, "raw_path": path.encode(), "query_string": query,
        "headers": [*headers, (b"content-length", b"%d" % len(body))],
    }  # fmt: skip
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop() if waiting else {"type": "http.disconnect"}

    async def collect(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, collect)
    return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])
