"""HTTP client for tools' APIs: https only, public addresses only, no redirects, responses limited in size and time.

A host name is resolved here, each of its addresses is checked, and the connection goes to a checked address, so that a second
DNS response cannot redirect it (DNS rebinding). Certificates are verified against the host name.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Collection, Iterable
from functools import cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Any
from urllib.parse import urlsplit

import httpcore

from touchbase.common.url_origin import origin_of
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed

SECONDS = 30.0
"""From the first step of a request to the last byte of its response."""
MAX_BYTES = 8 * 1024 * 1024
"""Bytes of a response."""
CONNECTIONS = 16
KEEPALIVE = 30.0
"""Seconds that an idle connection stays open."""
_TIMEOUTS = {"timeout": {"connect": 10.0, "read": SECONDS, "write": SECONDS, "pool": SECONDS}}
_UNREACHABLE = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, TimeoutError, OSError)

# Some Python versions count these networks as public; the last is a metadata service of a cloud.
_NOT_PUBLIC = tuple(map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))
# Addresses that embed another, possibly private, address: translated (NAT64), tunnelled (6to4, Teredo), IPv4-compatible.
_EMBEDDING = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))
# Contains all addresses allocated to the public internet, but not translated ones (RFC 2765) and discard prefixes.
_PUBLIC = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(map(IPv6Network, ("fec0::/10", "2001::/23", "3fff::/20", "5f00::/16", "100::/64")))

# httpcore logs each connection; Touchbase's logs do not.
logging.getLogger("httpcore").setLevel(logging.WARNING)


def is_public(text: str) -> bool:
    """Return whether an address, as a resolver returns it, belongs to the public internet."""
    try:
        ip = ip_address(text.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv6Address):
        if ip.ipv4_mapped is not None:
            return _is_public_4(ip.ipv4_mapped)
        excluded = any(ip in network for network in (*_EMBEDDING, *_NOT_PUBLIC_6))
        return ip in _PUBLIC and ip.is_global and not ip.is_multicast and not excluded
    return _is_public_4(ip)


def _is_public_4(ip: IPv4Address) -> bool:
    return ip.is_global and not ip.is_multicast and not ip.is_reserved and not any(ip in network for network in _NOT_PUBLIC)


class HttpClient:
    """HTTP client; `allowed`: origins (`https://crm.internal:8443`) that the operator permits, public or not."""

    def __init__(self, agent: str, allowed: Collection[str] = ()) -> None:
        self._agent = agent
        self._allowed = {origin_of(origin) for origin in allowed}
        hosts = frozenset((host, port) for _, host, port in self._allowed)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=certificates(),
            max_connections=CONNECTIONS,
            keepalive_expiry=KEEPALIVE,
            network_backend=CheckedBackend(hosts, "correct the setting api_base", "TOUCHBASE_FETCH_ALLOWED_ORIGINS"),
        )

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        """Send a request to the API at this base URL. Raises `FetchFailed`, which contains nothing of the request."""
        try:
            origin = origin_of(base)
        except ValueError:
            raise FetchFailed("the setting api_base is not the URL of an API; correct it", stop=True) from None
        if origin[0] != "https" and origin not in self._allowed:
            raise FetchFailed(f"{origin[1]} may be reached by https only; correct the setting api_base", stop=True)
        try:
            async with asyncio.timeout(SECONDS):
                return await self._send(base.rstrip("/") + request.path, request)
        except _UNREACHABLE as error:
            raise FetchFailed(f"{origin[1]} cannot be reached: {_reason(error)}") from None

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    async def _send(self, url: str, request: ApiRequest) -> ApiResponse:
        host = urlsplit(url).netloc
        fixed = {"host": host, "user-agent": self._agent, "accept-encoding": "identity"}
        if request.body:
            fixed["content-length"] = str(len(request.body))
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in {**fixed, **request.headers}.items()]
        async with self._pool.stream(request.method, url, headers=headers, content=request.body or None, extensions=_TIMEOUTS) as response:
            response_headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            body = bytearray()
            async for piece in response.aiter_stream():
                body += piece
                if len(body) > MAX_BYTES:
                    raise FetchFailed(f"the response is longer than {MAX_BYTES} bytes")
            return ApiResponse(response.status, response_headers, bytes(body))


class CheckedBackend(httpcore.AsyncNetworkBackend):
    """Network backend that connects to public addresses, and to the hosts and ports that the operator permits.

    `advice` and `setting`: what a client and an operator can do about another address.
    """

    def __init__(self, allowed: frozenset[tuple[str, int]], advice: str, setting: str) -> None:
        self._allowed = allowed
        self._advice = f"{advice}, or have the operator list it in {setting}"
        self._network = httpcore.AnyIOBackend()

    async def addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host name. Raises `FetchFailed` when an address is not public, and `OSError` when there is none."""
        infos = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(address[4][0]) for address in infos))
        bad = [address for address in addresses if not is_public(address)]
        if bad and (host, port) not in self._allowed:
            raise FetchFailed(f"{host} resolves to {bad[0]}, which is not a public address: {self._advice}", stop=True)
        return addresses

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,  # noqa: ASYNC109
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        """Connect to a checked address of this host. Raises `FetchFailed` when one of its addresses is not public."""
        addresses = await self.addresses(host, port)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Sleep for this many seconds."""
        await self._network.sleep(seconds)


@cache
def certificates() -> ssl.SSLContext:
    """Return the system's certificates and those of the library, for systems without any; reading them takes 0.05 s, once per process."""
    context = httpcore.default_ssl_context()
    context.load_default_certs()
    return context


def _reason(error: Exception) -> str:
    """Return an error's text only if it arose before the request was sent; later texts could quote the request."""
    text = str(error) if isinstance(error, httpcore.ConnectError | socket.gaierror) else ""
    return f"{type(error).__name__} {text}".strip()[:200]
