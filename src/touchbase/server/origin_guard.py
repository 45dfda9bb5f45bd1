"""What pages in a browser may do: nothing, unless their origin is listed.

A browser carries a page's calls to wherever the page likes, also to the machine it runs on. With keys that is
no danger, for a page does not hold them. Without keys the machine's own address is all that guards the data, and
a page of a stranger must not get past it: neither by calling across origins nor under a name of the
stranger's that suddenly means this machine (DNS rebinding).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from ipaddress import ip_address
from typing import Any, Protocol

from touchbase.server.error_responses import BY_PUBLIC_NAME, FOREIGN_HOST, FOREIGN_ORIGIN, ErrorResponse, request_id_in
from touchbase.server.proxy_headers import Proxies

METHODS = b"GET, HEAD, POST, PUT, PATCH, DELETE"
TAKEN = b"Authorization, Content-Type, Content-Encoding, Idempotency-Key, If-Match, X-Api-Key, X-Client-Id, X-Request-Id"
SHOWN = (
    b"Allow, Deprecation, ETag, Idempotency-Replayed, Location, RateLimit, RateLimit-Policy, Retry-After, Sunset, "
    b"WWW-Authenticate, X-Request-Id"
)
REMEMBERED = b"600"
"""Seconds that a browser may go by the answer to its first question."""

RECEIVERS = ("/public/emailcampaign-webhook/", "/public/crm-webhook/")
CROSS_SITE = b"cross-site"
_PORT = re.compile(r":[0-9]{1,5}\Z")


class Asked(Protocol):
    """What a request says of where it comes from; an empty text where it says nothing."""

    host: bytes
    origin: bytes
    fetch_site: bytes
    """`Sec-Fetch-Site`: what a browser says of the page that calls."""
    forwarded_host: bytes
    """`X-Forwarded-Host` as it came, whoever wrote it: it takes rights away and gives none."""
    proxies: Proxies | None
    """The listed proxies, on a connection of one of them."""


class OriginGuard:
    """What a server without keys answers, by the name it is called under, the way the call came, and the page that sends it.

    `public` are names under which other machines reach this server: what comes by one of them, or through a listed proxy, is for the
    webhook addresses only. With `any_name` something in front checks who calls, and all other names are as good as our own.
    """

    def __init__(self, names: Iterable[str], origins: Collection[str] = (), *, public: Iterable[str] = (), any_name: bool = False) -> None:
        self._origins = frozenset(each.encode() for each in origins)
        self._any_name = any_name
        own, outside = (frozenset(each.lower() for each in some) for some in (names, public))
        self._is_own = lru_cache(maxsize=1024)(lambda host: _is_own(host.decode("latin-1"), own))
        self._is_public = lru_cache(maxsize=1024)(lambda host: _name(host.decode("latin-1")) in outside)

    def refusal(self, path: str, method: str, asked: Asked) -> ErrorResponse | None:
        """Why this call is not taken, or None."""
        is_webhook = path.startswith(RECEIVERS)
        hosts = [asked.host, *_listed(asked.forwarded_host)]
        if not is_webhook and (asked.proxies is not None or any(self._is_public(host) for host in hosts)):
            return BY_PUBLIC_NAME
        is_own = self._any_name or all(not host or self._is_own(host) for host in hosts)
        if not is_own and not is_webhook:
            return FOREIGN_HOST
        origin = asked.origin
        if origin in self._origins or not (origin or asked.fetch_site == CROSS_SITE):
            return None
        if origin:
            # Under a name that is not ours, the page may be of whoever owns the name, as after DNS rebinding.
            is_same = is_own and origin.partition(b"://")[2].lower() == asked.host.lower()
            return None if is_same else FOREIGN_ORIGIN
        # Without an origin, a page elsewhere follows a link: that reads and changes nothing that the page could see.
        return FOREIGN_ORIGIN if is_webhook or method not in ("GET", "HEAD") else None


def _listed(hosts: bytes) -> list[bytes]:
    return [host.strip() for host in hosts.split(b",")] if hosts else []


def _name(host: str) -> str:
    return _PORT.sub("", host.lower()).removesuffix(".").removeprefix("[").removesuffix("]")


def _is_own(host: str, own: frozenset[str]) -> bool:
    """Whether a host is one that no stranger can point at us: a bare address, localhost, or a listed name."""
    name = _name(host)
    if name in own or name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


class CorsHeaders:
    """What every answer tells browsers: that the pages of the listed origins may read it."""

    def __init__(self, origins: Collection[str]) -> None:
        self._origins = frozenset(each.encode() for each in origins)

    def lists(self, origin: bytes) -> bool:
        """Whether pages of this origin may call."""
        return origin in self._origins

    def __call__(self, origin: bytes) -> list[tuple[bytes, bytes]]:
        """The headers of an answer to a page of this origin."""
        granted = [(b"vary", b"origin")]
        if origin in self._origins:
            granted += [(b"access-control-allow-origin", origin), (b"access-control-expose-headers", SHOWN)]
        return granted


class Cors:
    """The application, for pages of the listed origins too (CORS); keys are theirs to send, cookies there are none."""

    def __init__(self, app: Any, origins: Collection[str]) -> None:
        self.app = app
        self._grants = CorsHeaders(origins)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a browser's question whether a page may call, or pass the call on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        origin = _header(scope, b"origin")
        if scope["method"] == "OPTIONS" and self._grants.lists(origin) and _header(scope, b"access-control-request-method"):
            await _answer_preflight(scope, send, origin)
            return
        granted = scope["touchbase.granted"] = self._grants(origin)
        scope["extensions"] = {}  # an answer in one message would pass by what is granted

        async def send_granted(message: Any) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [*message.get("headers", ()), *granted]
            await send(message)

        await self.app(scope, receive, send_granted)


async def _answer_preflight(scope: Any, send: Any, origin: bytes) -> None:
    scope["touchbase.route"] = "preflight"
    headers = [
        (b"access-control-allow-origin", origin),
        (b"access-control-allow-methods", METHODS),
        (b"access-control-allow-headers", TAKEN),
        (b"access-control-max-age", REMEMBERED),
        (b"vary", b"origin, access-control-request-method, access-control-request-headers"),
        (b"x-request-id", request_id_in(scope).encode()),
    ]
    await send({"type": "http.response.start", "status": 204, "headers": headers})
    await send({"type": "http.response.body"})


def _header(scope: Any, name: bytes) -> bytes:
    found: bytes = next((value for key, value in scope["headers"] if key == name), b"")
    return found
