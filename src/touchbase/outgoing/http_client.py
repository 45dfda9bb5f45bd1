"""HTTP client of outgoing webhooks: public addresses only, no redirects, connections reused for each origin.

Tools' APIs are read with httpcore, which would take too much processor time here: decision 60.
"""

from __future__ import annotations

import asyncio
import string
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from urllib.parse import quote, urlsplit

from touchbase.common.url_origin import origin_of
from touchbase.connections.tools import FetchFailed
from touchbase.enrichment.http_client import CheckedBackend, certificates
from touchbase.outgoing.http_connection import ConnectionLost, OutgoingConnection, ReceivedResponse
from touchbase.outgoing.models import RESPONSE_BYTES, TIMEOUT, UNREACHABLE

SECONDS = 15.0
"""From the first step of a request to the last byte of its response."""
CONNECT_SECONDS = 10.0
"""For a connection to one address."""
CONNECTIONS = 64
"""Connections to one origin."""
KEEPALIVE = 60.0
"""Seconds that a connection waits for its next request."""
MAX_WAITING = 1_000
"""Connections, of all origins, that wait for their next request."""
Origin = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """Outcome of a request: a response, or the reason why there is none."""

    latency_us: int
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str = ""
    failure: str = ""
    """TIMEOUT or UNREACHABLE, without a response."""
    error: str = ""


def webhook_origin(url: str) -> Origin:
    """Return scheme, host and port of an endpoint's URL, which may have a query; raises `ValueError` for another URL."""
    parts = urlsplit(url)
    if parts.fragment:
        raise ValueError("a fragment is not sent")
    return origin_of(parts._replace(query="").geturl())


@lru_cache(1_000)
def target_of(url: str) -> tuple[Origin, str]:
    """Return the origin of an endpoint's URL, and the first lines of a request to it; raises `ValueError`."""
    origin, parts = webhook_origin(url), urlsplit(url)
    path = quote(f"{parts.path or '/'}{parts.query and '?'}{parts.query}", safe=string.punctuation)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    return origin, f"POST {path} HTTP/1.1\r\nhost: {host}\r\n"


@dataclass(slots=True)
class Host:
    """The connections to one origin."""

    slots: asyncio.Semaphore
    users: int = 0
    """Requests that wait or are in progress."""
    waiting: list[tuple[float, OutgoingConnection]] = field(default_factory=list)
    """Open connections without a request, and since when."""


class WebhookClient:
    """Sends requests; `allowed`: origins that the operator permits, public or not, https or not."""

    def __init__(self, agent: str, allowed: Collection[str] = ()) -> None:
        self._agent = agent
        self._allowed = {origin_of(origin) for origin in allowed}
        hosts = frozenset((host, port) for _, host, port in self._allowed)
        self._network = CheckedBackend(hosts, "correct the URL of the endpoint", "TOUCHBASE_WEBHOOK_ALLOWED_ORIGINS")
        self._hosts: dict[Origin, Host] = {}
        self._open: set[OutgoingConnection] = set()
        self._waiting = 0
        self._sweep: asyncio.TimerHandle | None = None

    def is_allowed(self, origin: Origin) -> bool:
        """Return whether the origin is https, or permitted by the operator."""
        return origin[0] == "https" or origin in self._allowed

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request; its failures are answers too."""
        began = time.perf_counter()

        def failed(failure: str, error: str) -> Answer:
            return Answer(int((time.perf_counter() - began) * 1e6), failure=failure, error=error)

        try:
            origin, start = target_of(url)
        except ValueError:
            return failed(UNREACHABLE, "the URL of the endpoint is invalid")
        if not self.is_allowed(origin):
            return failed(UNREACHABLE, f"{origin[1]} may be reached by https only")
        try:
            async with asyncio.timeout(SECONDS):
                answer = await self._post(origin, self._head(start, headers, body) + body)
        except TimeoutError:
            return failed(TIMEOUT, f"no response within {SECONDS:g} seconds")
        except FetchFailed as error:
            return failed(UNREACHABLE, str(error))
        except (ConnectionLost, OSError) as error:
            why = str(error) if isinstance(error, ConnectionLost) else f"{type(error).__name__} {error}".strip()
            return failed(UNREACHABLE, f"{origin[1]} cannot be reached: {why}"[:200])
        text = answer.body[:RESPONSE_BYTES].decode("utf-8", "replace").replace("\x00", "\ufffd")
        return Answer(int((time.perf_counter() - began) * 1e6), answer.status, answer.headers, text)

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
        fixed = f"user-agent: {self._agent}\r\naccept-encoding: identity\r\ncontent-length: {len(body)}\r\n"
        return f"{start}{fixed}{''.join(lines)}\r\n".encode("latin-1", "replace")

    async def _post(self, origin: Origin, request: bytes) -> ReceivedResponse:
        """Send a request, over a connection that waits if there is one."""
        host = self._hosts.get(origin)
        if host is None:
            host = self._hosts[origin] = Host(asyncio.Semaphore(CONNECTIONS))
        host.users += 1
        try:
            async with host.slots:
                return await self._post_to(host, origin, request)
        finally:
            host.users -= 1
            if not host.users and not host.waiting and self._hosts.get(origin) is host:
                del self._hosts[origin]

    async def _post_to(self, host: Host, origin: Origin, request: bytes) -> ReceivedResponse:
        if (connection := self._take(host)) is not None:
            try:
                return await self._exchange(host, connection, request)
            except ConnectionLost as error:
                # The receiver closed the connection while it waited. It may have the request; a webhook may come twice.
                if error.has_begun:
                    raise
        return await self._exchange(host, await self._connect(origin), request)

    async def _exchange(self, host: Host, connection: OutgoingConnection, request: bytes) -> ReceivedResponse:
        try:
            response = await connection.request(request)
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
        """Close connections that have waited for long, or were closed by the receiver."""
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
        """Open a connection to a checked address, so that a second DNS response cannot redirect it."""
        scheme, host, port = origin
        loop, tls = asyncio.get_running_loop(), certificates() if scheme == "https" else None
        addresses = await self._network.addresses(host, port)
        for number, address in enumerate(addresses, 1):
            try:
                async with asyncio.timeout(CONNECT_SECONDS):
                    _, connection = await loop.create_connection(
                        OutgoingConnection, address, port, ssl=tls, server_hostname=host if tls else None
                    )
            except OSError as error:
                if number == len(addresses):
                    why = str(error) or f"no connection within {CONNECT_SECONDS:g} seconds"
                    raise ConnectionLost(f"{type(error).__name__} {why}") from error
            else:
                self._open.add(connection)
                return connection
        raise ConnectionLost("its name has no address")


_NO_BREAKS = {ord(character): " " for character in "\r\n\0"}
