"""Connections to servers of others: public addresses only, no redirects, reused for each origin.

A host name is resolved here, each of its addresses is checked, and the connection goes to a checked address, so that a second
DNS response cannot redirect it (DNS rebinding). Certificates are verified against the host name.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import string
import threading
import time
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from urllib.parse import quote, urlsplit

import certifi

from touchbase.common.url_origin import origin_of
from touchbase.connections.tools import FetchFailed
from touchbase.enrichment.http_connection import ConnectionLost, NotConnected, OutgoingConnection, ReceivedResponse

LOOKUP_SECONDS = 5.0
"""How long a request waits for the addresses of a name."""
SLOW_SECONDS = 60.0
"""A name whose look-up took longer is not looked up again for so long; its late result is used meanwhile."""
MAX_LOOKUPS = 256
"""Look-ups at once, each on its own thread."""


@dataclass(slots=True)
class _Lookup:
    until: float
    """Time of the event loop until which requests wait for it."""
    result: asyncio.Future[list[str] | OSError]


class NameLookup:
    """Looks names up, each once at a time; a name whose server is silent holds up no other name, nor the end of the process.

    The event loop's own look-ups share few threads, and a look-up cannot be ended: a hundred names without an answer stopped all
    others.
    """

    def __init__(self) -> None:
        self._lookups: dict[tuple[str, int], _Lookup] = {}
        self._running = 0

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses of a name; raises `OSError` if it has none, and `ConnectionLost` if that is not known in time."""
        lookup = self._lookups.get((host, port)) or self._start(host, port)
        try:
            async with asyncio.timeout_at(lookup.until):
                addresses = await asyncio.shield(lookup.result)
        except TimeoutError:
            raise ConnectionLost(f"no name server has answered within {LOOKUP_SECONDS:g} seconds") from None
        if isinstance(addresses, OSError):
            raise addresses
        return addresses

    def _start(self, host: str, port: int) -> _Lookup:
        if self._running >= MAX_LOOKUPS:
            raise ConnectionLost(f"{MAX_LOOKUPS} names are being looked up")
        loop = asyncio.get_running_loop()
        lookup = _Lookup(loop.time() + LOOKUP_SECONDS, loop.create_future())

        def look_up() -> None:
            addresses = _addresses(host, port)
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(end, addresses)

        def end(result: list[str] | OSError) -> None:
            self._running -= 1
            if not lookup.result.done():
                lookup.result.set_result(result)
            loop.call_later(SLOW_SECONDS if loop.time() > lookup.until else 0, self._lookups.pop, (host, port))

        threading.Thread(target=look_up, name="touchbase-name", daemon=True).start()
        self._running += 1
        self._lookups[host, port] = lookup
        return lookup


def _addresses(host: str, port: int) -> list[str] | OSError:
    try:
        entries = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        return error
    except UnicodeError:  # a label that is too long
        return OSError("it is no host name")
    return list(dict.fromkeys(str(entry[4][0]) for entry in entries))


CONNECT_SECONDS = 10.0
"""For a connection to one address."""
CONNECTIONS = 64
"""Connections to one origin."""
KEEPALIVE = 60.0
"""Seconds that a connection waits for its next request."""
MAX_WAITING = 1_000
"""Connections, of all origins, that wait for their next request."""
LONGEST_CACHED = 4_000
"""Characters of a URL whose target is cached: cursors of a tool can be much longer."""
Origin = tuple[str, str, int]

# Some Python versions count these networks as public; the last is a metadata service of a cloud.
_NOT_PUBLIC = tuple(map(IPv4Network, ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32")))
# Addresses that embed another, possibly private, address: translated (NAT64), tunnelled (6to4, Teredo), IPv4-compatible.
_EMBEDDING = tuple(map(IPv6Network, ("64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "2001::/32", "::/96")))
# Contains all addresses allocated to the public internet, but not translated ones (RFC 2765) and discard prefixes.
_PUBLIC = IPv6Network("2000::/3")
_NOT_PUBLIC_6 = tuple(map(IPv6Network, ("fec0::/10", "2001::/23", "3fff::/20", "5f00::/16", "100::/64")))


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


def url_origin(url: str) -> Origin:
    """Return scheme, host and port of a URL, which may have a query; raises `ValueError` for another URL."""
    parts = urlsplit(url)
    if parts.fragment:
        raise ValueError("a fragment is not sent")
    return origin_of(parts._replace(query="").geturl())


def target_of(url: str) -> tuple[Origin, str]:
    """Return the origin of a URL, and the first lines of a request to it without the method; raises `ValueError`."""
    return _short_target(url) if len(url) <= LONGEST_CACHED else _target(url)


def _target(url: str) -> tuple[Origin, str]:
    origin, parts = url_origin(url), urlsplit(url)
    path = quote(f"{parts.path or '/'}{parts.query and '?'}{parts.query}", safe=string.punctuation)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    return origin, f"{path} HTTP/1.1\r\nhost: {host}\r\n"


_short_target = lru_cache(1_000)(_target)


@dataclass(slots=True)
class Host:
    """The connections to one origin."""

    slots: asyncio.Semaphore
    users: int = 0
    """Requests that wait or are in progress."""
    waiting: list[tuple[float, OutgoingConnection]] = field(default_factory=list)
    """Open connections without a request, and since when."""


class HttpPool:
    """Sends requests; `allowed`: origins (`https://crm.internal:8443`) that the operator permits, public or not, https or not.

    `advice` and `setting`: what a client and an operator can do about another address.
    """

    def __init__(self, agent: str, allowed: Collection[str], advice: str, setting: str) -> None:
        self._agent = agent
        self._allowed = {origin_of(origin) for origin in allowed}
        self._allowed_hosts = frozenset((host, port) for _, host, port in self._allowed)
        self._advice = f"{advice}, or have the operator list it in {setting}"
        self._names = NameLookup()
        self._hosts: dict[Origin, Host] = {}
        self._open: set[OutgoingConnection] = set()
        self._waiting = 0
        self._sweep: asyncio.TimerHandle | None = None

    def is_allowed(self, origin: Origin) -> bool:
        """Return whether the origin is https, or permitted by the operator."""
        return origin[0] == "https" or origin in self._allowed

    async def send(self, method: str, url: str, headers: Mapping[str, str], body: bytes, most: int) -> ReceivedResponse:
        """Send a request, over a connection that waits if there is one; the response is cut after about `most` bytes.

        Raises `ValueError` for an invalid URL, `FetchFailed` for an address that is not public, `ConnectionLost` and `OSError`.
        """
        origin, start = target_of(url)
        request = self._head(f"{method} {start}", headers, body) + body
        host = self._hosts.get(origin)
        if host is None:
            host = self._hosts[origin] = Host(asyncio.Semaphore(CONNECTIONS))
        host.users += 1
        try:
            async with host.slots:
                return await self._send_to(host, origin, request, most)
        finally:
            host.users -= 1
            if not host.users and not host.waiting and self._hosts.get(origin) is host:
                del self._hosts[origin]

    async def close(self) -> None:
        """Close all connections."""
        if self._sweep is not None:
            self._sweep.cancel()
        for connection in self._open:
            connection.close()
        self._open.clear()
        self._hosts.clear()
        await asyncio.sleep(0)  # transports end in the next turn of the loop

    def _head(self, start: str, headers: Mapping[str, str], body: bytes) -> bytes:
        lines = [f"{name}: {value.translate(_NO_BREAKS)}\r\n" for name, value in headers.items()]
        length = "" if start.startswith("GET ") else f"content-length: {len(body)}\r\n"
        return f"{start}user-agent: {self._agent}\r\naccept-encoding: identity\r\n{length}{''.join(lines)}\r\n".encode("latin-1", "replace")

    async def _send_to(self, host: Host, origin: Origin, request: bytes, most: int) -> ReceivedResponse:
        if (connection := self._take(host)) is not None:
            try:
                return await self._exchange(host, connection, request, most)
            except ConnectionLost as error:
                # The server closed the connection while it waited. It may have the request, which then comes twice.
                if error.has_begun:
                    raise
        return await self._exchange(host, await self._connect(origin), request, most)

    async def _exchange(self, host: Host, connection: OutgoingConnection, request: bytes, most: int) -> ReceivedResponse:
        try:
            response = await connection.request(request, most)
        except BaseException:
            self._drop(connection)
            raise
        if connection.is_usable and self._waiting < MAX_WAITING:
            host.waiting.append((time.monotonic(), connection))
            self._waiting += 1
            if self._sweep is None:
                self._sweep = asyncio.get_running_loop().call_later(KEEPALIVE, self._close_old)
        else:
            self._drop(connection)
        return response

    def _take(self, host: Host) -> OutgoingConnection | None:
        """Take a connection that waits, the one used last first: the others may then become too old."""
        while host.waiting:
            connection = host.waiting.pop()[1]
            self._waiting -= 1
            if connection.is_usable:
                return connection
            self._drop(connection)
        return None

    def _drop(self, connection: OutgoingConnection) -> None:
        connection.close()
        self._open.discard(connection)

    def _close_old(self) -> None:
        """Close connections that have waited for long, or were closed by the server."""
        self._sweep, limit = None, time.monotonic() - KEEPALIVE
        for origin, host in [*self._hosts.items()]:
            old, host.waiting = host.waiting, []
            for since, connection in old:
                if since > limit and connection.is_usable:
                    host.waiting.append((since, connection))
                else:
                    self._drop(connection)
            self._waiting -= len(old) - len(host.waiting)
            if not host.users and not host.waiting:
                del self._hosts[origin]
        if self._waiting:
            self._sweep = asyncio.get_running_loop().call_later(KEEPALIVE / 2, self._close_old)

    async def _connect(self, origin: Origin) -> OutgoingConnection:
        """Open a connection to a checked address."""
        scheme, host, port = origin
        loop, tls = asyncio.get_running_loop(), certificates() if scheme == "https" else None
        addresses = await self._addresses(host, port)
        for number, address in enumerate(addresses, 1):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    _, connection = await loop.create_connection(
                        OutgoingConnection, address, port, ssl=tls, server_hostname=host if tls else None
                    )
            except OSError as error:
                if number == len(addresses):
                    why = str(error) or f"no connection within {CONNECT_SECONDS:g} seconds"
                    raise NotConnected(f"{type(error).__name__} {why}") from error
            else:
                self._open.add(connection)
                return connection
        raise NotConnected("its name has no address")

    async def _addresses(self, host: str, port: int) -> list[str]:
        """Resolve a host name. Raises `FetchFailed` when an address is not public, and `OSError` when there is none."""
        addresses = await self._names.addresses(host, port)
        bad = [address for address in addresses if not is_public(address)]
        if bad and (host, port) not in self._allowed_hosts:
            raise FetchFailed(f"{host} resolves to {bad[0]}, which is not a public address: {self._advice}", stop=True, unsent=True)
        return addresses


@cache
def certificates() -> ssl.SSLContext:
    """Return the system's certificates and certifi's, for systems without any; reading them takes 0.05 s, once per process."""
    context = ssl.create_default_context(cafile=certifi.where())
    context.load_default_certs()
    return context


_NO_BREAKS = {ord(character): " " for character in "\r\n\0"}
