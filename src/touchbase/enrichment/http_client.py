"""Calling an API: https only, to addresses that were checked, no redirect followed, an answer of bounded size in bounded time.

A name is resolved here, every address that it has is checked, and the connection goes to a checked one; nobody can
answer otherwise in between. Certificates are checked against the name.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Collection, Iterable
from typing import Any
from urllib.parse import urlsplit

import httpcore

from touchbase.common.url_origin import origin_of
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.enrichment.addresses import is_public

SECONDS = 30.0
"""From the first step of a call to the last byte of its answer."""
LARGEST = 8 * 1024 * 1024
"""Bytes of an answer."""
CONNECTIONS = 16
KEPT_OPEN = 30.0
_TIMEOUTS = {"timeout": {"connect": 10.0, "read": SECONDS, "write": SECONDS, "pool": SECONDS}}
_UNREACHABLE = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, TimeoutError, OSError)

# Its lines would tell of every connection; none of ours does.
logging.getLogger("httpcore").setLevel(logging.WARNING)


class HttpClient:
    """Calls APIs; `allowed` are origins (`https://crm.internal:8443`) that an operator has named, private or not."""

    def __init__(self, agent: str, allowed: Collection[str] = ()) -> None:
        self._agent = agent
        self._allowed = {origin_of(one) for one in allowed}
        places = frozenset((host, port) for _, host, port in self._allowed)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=_certificates(),
            max_connections=CONNECTIONS,
            keepalive_expiry=KEPT_OPEN,
            network_backend=_Checked(places),
        )

    async def ask(self, base: str, call: ApiRequest) -> ApiResponse:
        """Send a call to the API at this base address; raises `FetchFailed`, which never holds anything of the call."""
        try:
            origin = origin_of(base)
        except ValueError:
            raise FetchFailed("the setting api_base is no address of an API; correct it", stop=True) from None
        if origin[0] != "https" and origin not in self._allowed:
            raise FetchFailed(f"{origin[1]} is asked by https only; correct the setting api_base", stop=True)
        try:
            async with asyncio.timeout(SECONDS):
                return await self._send(base.rstrip("/") + call.path, call)
        except _UNREACHABLE as error:
            raise FetchFailed(f"{origin[1]} cannot be reached: {_why(error)}") from None

    async def close(self) -> None:
        """Let go of all connections."""
        await self._pool.aclose()

    async def _send(self, url: str, call: ApiRequest) -> ApiResponse:
        host = urlsplit(url).netloc
        fixed = {"host": host, "user-agent": self._agent, "accept-encoding": "identity"}
        if call.body:
            fixed["content-length"] = str(len(call.body))
        headers = [(name.encode(), value.encode("latin-1", "replace")) for name, value in {**fixed, **call.headers}.items()]
        async with self._pool.stream(call.method, url, headers=headers, content=call.body or None, extensions=_TIMEOUTS) as response:
            found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
            body = bytearray()
            async for piece in response.aiter_stream():
                body += piece
                if len(body) > LARGEST:
                    raise FetchFailed(f"its answer is longer than {LARGEST} bytes")
            return ApiResponse(response.status, found, bytes(body))


class _Checked(httpcore.AsyncNetworkBackend):
    """Connects to public addresses, and to places that an operator has named."""

    def __init__(self, allowed: frozenset[tuple[str, int]]) -> None:
        self._allowed = allowed
        self._network = httpcore.AnyIOBackend()

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,  # noqa: ASYNC109
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:  # fmt: skip
        """Connect to a checked address of this host."""
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
        bad = [one for one in addresses if not is_public(one)]
        if bad and (host, port) not in self._allowed:
            raise FetchFailed(
                f"{host} leads to {bad[0]}, which is no public address: correct the setting api_base, "
                "or let the operator name it in TOUCHBASE_FETCH_ALLOWED_ORIGINS",
                stop=True,
            )
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(address, port, timeout, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """Wait."""
        await self._network.sleep(seconds)


def _certificates() -> ssl.SSLContext:
    """The system's certificates, and those that come with the client, for systems that have none."""
    context = httpcore.default_ssl_context()
    context.load_default_certs()
    return context


def _why(error: Exception) -> str:
    """What went wrong before anything was sent may be told; later texts could quote what was sent."""
    told = str(error) if isinstance(error, httpcore.ConnectError | socket.gaierror) else ""
    return f"{type(error).__name__} {told}".strip()[:200]
