"""Sends the requests of all methods, and repeats them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self, TypeVar

from touchbase_client._async.groups import AsyncGroups
from touchbase_client.core import Core, Wire, received
from touchbase_client.errors import IncompleteDownload
from touchbase_client.request import Request, Response
from touchbase_client.retries import Broken, Received, Retries

if TYPE_CHECKING:
    import ssl

T = TypeVar("T")

AsyncOpened = tuple[int, list[tuple[bytes, bytes]], AsyncIterator[bytes]]
"""Status, headers, and the pieces of the body."""


class AsyncTransport(Protocol):
    """Sends requests; that of `transport` sends them over connections."""

    def stream(self, wire: Wire) -> AbstractAsyncContextManager[AsyncOpened]:
        """Send a request and yield its response; raise `Broken` if the connection fails, also while the pieces are read."""

    async def aclose(self) -> None:
        """Close all connections."""


class _Connections:
    """The connections that clients of one address share; httpcore is loaded with the first request."""

    def __init__(self, url: str, verify: ssl.SSLContext | None, transport: AsyncTransport | None) -> None:
        self._url, self._verify = url, verify
        self._transport = transport
        self._lock = Lock()

    @property
    def transport(self) -> AsyncTransport:
        with self._lock:
            if self._transport is None:
                from touchbase_client._async.transport import AsyncHttpTransport

                self._transport = AsyncHttpTransport(self._url, self._verify)
            return self._transport

    async def aclose(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.aclose()


class AsyncTouchbase(AsyncGroups):
    """A Touchbase server, for programs on an asyncio event loop.

    `url`: its address, with a path if it has one. `key`: an API key; none for a server without keys. `client_id`: the client to act
    for, if the key is not of one client. `timeout`: seconds without an answer before a request counts as lost. `retries`: how
    requests are repeated. `verify`: certificates to trust other than the system's.
    """

    def __init__(
        self,
        url: str,
        key: str | None = None,
        *,
        client_id: str | None = None,
        timeout: float = 30.0,
        retries: Retries | None = None,
        verify: ssl.SSLContext | None = None,
        transport: AsyncTransport | None = None,
    ) -> None:
        super().__init__(self)
        self._core = Core.of(url, key, client_id, timeout, retries or Retries())
        self._connections = _Connections(self._core.url, verify, transport)

    def for_client(self, client_id: str | None) -> Self:
        """Return the same server, acting for another client; both share their connections."""
        copy = type(self)(self._core.url, timeout=self._core.timeout)
        copy._core, copy._connections = self._core.for_client(client_id), self._connections
        return copy

    def __repr__(self) -> str:
        client = f", client_id={self._core.client_id!r}" if self._core.client_id else ""
        return f"AsyncTouchbase({self._core.url!r}{client})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    @property
    def retries(self) -> Retries:
        """How requests are repeated."""
        return self._core.retries

    async def sleep(self, seconds: float, /) -> None:
        """Wait."""
        await asyncio.sleep(seconds)

    async def send(self, request: Request[T], /) -> Response[T]:
        """Send a request until it has a final outcome; return its answer or raise its error."""
        attempts = self._core.attempts(request)
        wire = self._core.wire(request, attempts)
        while True:
            ended = await self._ended(wire)
            pause = attempts.pause(ended)
            if pause is None:
                return self._core.answer(request, ended, attempts)
            await self.sleep(pause)

    async def stream(self, request: Request[bytes], /) -> AsyncGenerator[bytes, None]:
        """Send a request and yield its answer in pieces; repeat it until the first piece, but not after it."""
        attempts = self._core.attempts(request)
        wire = self._core.wire(request, attempts)
        while True:
            async with aclosing(self._pieces(wire)) as pieces:
                first = await anext(pieces)
                if isinstance(first, bytes):
                    async for piece in pieces:
                        if not isinstance(piece, bytes):
                            raise IncompleteDownload(f"the connection to {self._core.url} broke before the end of the answer")
                        yield piece
                    return
            pause = attempts.pause(first)
            if pause is None:
                self._core.answer(request, first, attempts)
                return
            await self.sleep(pause)

    async def _ended(self, wire: Wire) -> Received | Broken:
        """Send a request once and read its response."""
        try:
            async with self._connections.transport.stream(wire) as (status, headers, pieces):
                return received(status, headers, b"".join([piece async for piece in pieces]))
        except Broken as broken:
            return broken

    async def _pieces(self, wire: Wire) -> AsyncGenerator[bytes | Received | Broken, None]:
        """Yield the pieces of a successful response, the first of them empty; yield an error response instead of them."""
        try:
            async with self._connections.transport.stream(wire) as (status, headers, pieces):
                if not 200 <= status < 300:
                    yield received(status, headers, b"".join([piece async for piece in pieces]))
                    return
                yield b""
                async for piece in pieces:
                    yield piece
        except Broken as broken:
            yield broken
