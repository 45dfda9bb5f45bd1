"""Origin checks and CORS: which web pages may send requests to this server.

A browser sends a page's requests to any address, also to the machine that it runs on. With keys that is harmless,
because a page has no key. Without keys only the loopback address protects the data, so pages of other sites must be
refused, both for cross-origin requests and under a foreign host name that resolves to this machine (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Protocol

from touchbase.server.error_responses import BY_PUBLIC_NAME, FOREIGN_HOST, FOREIGN_ORIGIN, ErrorResponse, request_id_in
from touchbase.server.proxy_headers import TrustedProxies

METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
ALLOWED_HEADERS = (
    b"Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-Match, If-None-Match, Prefer, X-Api-Key, X-Client-Id, "
    b"X-Master-Api-Key, X-Request-Id"
)
EXPOSED_HEADERS = (
    b"Allow, Deprecation, ETag, Idempotency-Replayed, Location, Preference-Applied, RateLimit, RateLimit-Policy, Retry-After, Sunset, "
    b"Touchbase-Ignored, Touchbase-Unanswered-Databases, WWW-Authenticate, X-Request-Id"
)
PREFLIGHT_MAX_AGE = b"600"
"""Seconds that a browser may cache a preflight response."""

RECEIVERS = ("/public/emailcampaign-webhook/", "/public/crm-webhook/")
CROSS_SITE = b"cross-site"
_PORT = re.compile(r":[0-9]{1,5}\Z")


class RequestOrigin(Protocol):
    """The headers of a request that show its origin; empty if the request has none."""

    host: bytes
    origin: bytes
    fetch_site: bytes
    """`Sec-Fetch-Site`: the browser's relation between the page's site and this one."""
    forwarded_host: bytes
    """`X-Forwarded-Host` as received, from any peer: it can only restrict a request."""
    proxies: TrustedProxies | None
    """The trusted proxies, if the peer is one of them."""


class OriginGuard:
    """Checks the host name, proxy and origin of requests to a server without keys.

    `public` are names under which other machines reach this server: requests under them, or through a trusted proxy, may use
    webhook addresses only. With `any_name`, something in front authenticates requests, and all other host names are accepted.
    """

    def __init__(self, names: Iterable[str], origins: Collection[str] = (), *, public: Iterable[str] = (), any_name: bool = False) -> None:
        self._origins = frozenset(origin.encode() for origin in origins)
        self._any_name = any_name
        own, outside = (frozenset(origin.lower() for origin in origins) for origins in (names, public))
        self._is_own = lru_cache(maxsize=1024)(lambda host: _is_own(host.decode("latin-1"), own))
        self._is_public = lru_cache(maxsize=1024)(lambda host: _name(host.decode("latin-1")) in outside)

    def refusal(self, path: str, method: str, request: RequestOrigin) -> ErrorResponse | None:
        """Return the error response to this request, or None if it may proceed."""
        is_webhook = path.startswith(RECEIVERS)
        hosts = [request.host, *_split(request.forwarded_host)]
        if not is_webhook and (request.proxies is not None or any(map(self._is_public, hosts))):
            return BY_PUBLIC_NAME
        is_own = self._any_name or all(map(self._is_own, filter(None, hosts)))
        if not is_own and not is_webhook:
            return FOREIGN_HOST
        origin = request.origin
        if origin in self._origins or not (origin or request.fetch_site == CROSS_SITE):
            return None
        if origin:
            # Under a foreign name, the page may belong to the name's owner, as after DNS rebinding.
            is_same = is_own and origin.partition(b"://")[2].lower() == request.host.lower()
            return None if is_same else FOREIGN_ORIGIN
        # Without an Origin header the browser follows a link of another site, whose page cannot read the response.
        return FOREIGN_ORIGIN if is_webhook or method not in ("GET", "HEAD") else None


def _split(hosts: bytes) -> list[bytes]:
    return [host.strip() for host in hosts.split(b",")] if hosts else []


def _name(host: str) -> str:
    return _PORT.sub("", host.lower()).removesuffix(".").removeprefix("[").removesuffix("]")


def _is_own(host: str, own: frozenset[str]) -> bool:
    """Return whether a host is an IP address, localhost or a listed name: names that no other site's DNS controls."""
    name = _name(host)
    if name in own or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class CorsHeaders:
    """The CORS headers of responses, which let pages of the listed origins read them."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(origin.encode() for origin in origins)

    def lists(self, origin: bytes) -> bool:
        """Return whether pages of this origin may send requests."""
        return origin in self._origins

    def __call__(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        """Return the CORS headers of a response to a page of this origin."""
        added = [(b"vary", b"origin")]
        if origin in self._origins:
            added += [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", EXPOSED_HEADERS)]
        return added


class Cors:
    """ASGI middleware that adds CORS headers for the listed origins; pages may send keys, and no cookies."""

    def __init__(self, app: Any, origins: Collection[str]) -> None:
        self.app = app
        self._cors_headers = CorsHeaders(origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Respond to a preflight request, or pass the request on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        origin = _header(scope, b"origin")
        if scope["method"] == "OPTIONS" and self._cors_headers.lists(origin) and _header(scope, b"access-control-request-method"):
            await _send_preflight_response(scope, send, origin)
            return
        added = scope["touchbase.granted"] = self._cors_headers(origin)

        async def send_with_headers(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        await self.app(scope, receive, send_with_headers)


async def _send_preflight_response(scope: Any, send: Any, origin: bytes) -> None:
    scope["touchbase.route"] = "preflight"
    headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", ALLOWED_HEADERS),
        (b"access-control-max-age", PREFLIGHT_MAX_AGE),
        (b"vary", b"origin, access-control-request-method, access-control-request-headers"),
        (b"x-request-id", request_id_in(scope).encode()),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body"})


def _header(scope: Any, name: bytes) -> bytes:
    header: bytes = next((value for key, value in scope["headers"] if key == name), b"")
    return header
