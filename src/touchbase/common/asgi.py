"""ASGI: helpers of application and server about requests: peer address and request id."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

LOCAL_PEER = ""
"""The peer of a request that came over no network, such as a Unix socket."""
STREAMED = "touchbase.streamed"
"""Key in a request's scope: the application uses each piece of the body before it receives the next one, so only one counts as memory."""
HEADER = b"x-request-id"
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
