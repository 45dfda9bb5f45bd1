"""HTTP client of outgoing webhooks: public addresses only, no redirects, connections reused for each origin."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpcore

from touchbase.common.url_origin import origin_of
from touchbase.connections import FetchFailed
from touchbase.enrichment import CheckedBackend, certificates
from touchbase.outgoing.models import RESPONSE_BYTES, TIMEOUT, UNREACHABLE

SECONDS = 15.0
"""From the first step of a request to the last byte of its response."""
READ_BYTES = 65_536
"""Bytes of a response that are read, so that its connection can be used again."""
MAX_POOLS = 1_000
"""Origins whose connections stay open."""
CONNECTIONS = 64
"""Connections to one origin."""
KEEPALIVE = 60.0
_TIMEOUTS = {"timeout": {"connect": 10.0, "read": SECONDS, "write": SECONDS, "pool": SECONDS}}
Origin = tuple[str, str, int]


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a request: a response, or why there is none."""

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


class WebhookClient:
    """Sends requests; `allowed`: origins that the operator permits, public or not, https or not."""

    def __init__(self, agent: str, allowed: Collection[str] = ()) -> None:
        self._agent = agent.encode()
        self._allowed = {origin_of(one) for one in allowed}
        hosts = frozenset((host, port) for _, host, port in self._allowed)
        self._backend = CheckedBackend(hosts, "correct the URL of the endpoint", "TOUCHBASE_WEBHOOK_ALLOWED_ORIGINS")
        self._pools: dict[Origin, httpcore.AsyncConnectionPool] = {}
        self._in_use: dict[Origin, int] = {}

    def is_allowed(self, origin: Origin) -> bool:
        """Return whether the origin is https, or permitted by the operator."""
        return origin[0] == "https" or origin in self._allowed

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> Answer:
        """Send a request; its failures are answers too."""
        began = time.perf_counter()

        def failed(failure: str, error: str) -> Answer:
            return Answer(int((time.perf_counter() - began) * 1e6), failure=failure, error=error)

        try:
            origin = webhook_origin(url)
        except ValueError:
            return failed(UNREACHABLE, "the URL of the endpoint is invalid")
        if not self.is_allowed(origin):
            return failed(UNREACHABLE, f"{origin[1]} may be reached by https only")
        try:
            async with asyncio.timeout(SECONDS):
                status, found, text = await self._post(origin, url, headers, body)
        except (TimeoutError, httpcore.ReadTimeout, httpcore.WriteTimeout, httpcore.PoolTimeout):
            return failed(TIMEOUT, f"no response within {SECONDS:g} seconds")
        except FetchFailed as error:
            return failed(UNREACHABLE, str(error))
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as error:
            return failed(UNREACHABLE, f"{origin[1]} cannot be reached: {type(error).__name__} {error}".strip()[:200])
        return Answer(int((time.perf_counter() - began) * 1e6), status, found, text)

    async def close(self) -> None:
        """Close all connections."""
        pools, self._pools = list(self._pools.values()), {}
        for pool in pools:
            await pool.aclose()

    async def _post(self, origin: Origin, url: str, headers: Mapping[str, str], body: bytes) -> tuple[int, dict[str, str], str]:
        sent = [(b"host", urlsplit(url).netloc.encode("ascii")), (b"user-agent", self._agent), (b"accept-encoding", b"identity")]
        sent += [(b"content-length", str(len(body)).encode())]
        sent += [(name.encode(), value.encode("latin-1", "replace")) for name, value in headers.items()]
        pool = await self._pool(origin)
        self._in_use[origin] = self._in_use.get(origin, 0) + 1
        try:
            async with pool.stream("POST", url, headers=sent, content=body, extensions=_TIMEOUTS) as response:
                found = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
                read = bytearray()
                async for piece in response.aiter_stream():
                    read += piece
                    if len(read) > READ_BYTES:
                        break
                return response.status, found, bytes(read[:RESPONSE_BYTES]).decode("utf-8", "replace").replace("\x00", "\ufffd")
        finally:
            self._in_use[origin] -= 1

    async def _pool(self, origin: Origin) -> httpcore.AsyncConnectionPool:
        """Return the origin's pool; the one used least recently is closed for a new one."""
        pool = self._pools.pop(origin, None)
        if pool is None:
            idle = [one for one in self._pools if not self._in_use.get(one)] if len(self._pools) >= MAX_POOLS else []
            if idle:
                self._in_use.pop(idle[0], None)
                await self._pools.pop(idle[0]).aclose()
            pool = httpcore.AsyncConnectionPool(
                ssl_context=certificates(), max_connections=CONNECTIONS, keepalive_expiry=KEEPALIVE, network_backend=self._backend
            )
        self._pools[origin] = pool
        return pool
