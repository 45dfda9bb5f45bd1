"""The asynchronous client."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING, Self, TypeVar

from touchbase.client.async_groups import AsyncGroups
from touchbase.client.core import Core, Wire, received
from touchbase.client.errors import IncompleteDownload
from touchbase.client.request import Request, Response
from touchbase.client.retries import Broken, Received, Retries

if TYPE_CHECKING:
    import ssl

    from touchbase.client.transport import AsyncTransport

T = TypeVar("T")


class _Connections:
    """The connections that clients of one address share; httpcore is loaded with the first request."""

    def __init__(self, verify: ssl.SSLContext | None) -> None:
        self._verify = verify
        self._transport: AsyncTransport | None = None

    @property
    def transport(self) -> AsyncTransport:
        if self._transport is None:
            from touchbase.client.transport import AsyncTransport

            self._transport = AsyncTransport(self._verify)
        return self._transport

    async def close(self) -> None:
        transport, self._transport = self._transport, None
        if transport is not None:
            await transport.close()


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
    ) -> None:
        super().__init__(self)
        self._core = Core.of(url, key, client_id, timeout, retries or Retries())
        self._connections = _Connections(verify)

    def for_client(self, client_id: str | None) -> Self:
        """Return the same server, acting for another client; both share their connections."""
        made = type(self)(self._core.url, timeout=self._core.timeout)
        made._core, made._connections = self._core.for_client(client_id), self._connections
        return made

    def __repr__(self) -> str:
        client = f", client_id={self._core.client_id!r}" if self._core.client_id else ""
        return f"AsyncTouchbase({self._core.url!r}{client})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.close()

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
            ended = await self._connections.transport.send(wire)
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

    async def _pieces(self, wire: Wire) -> AsyncGenerator[bytes | Received | Broken, None]:
        """Yield the pieces of a successful response, the first of them empty; or what it is in place of one."""
        from touchbase.client.transport import FAILURES, broken

        try:
            async with self._connections.transport.stream(wire) as (status, headers, pieces, whole):
                if not 200 <= status < 300:
                    yield received(status, headers, await whole())
                    return
                yield b""
                async for piece in pieces():
                    yield piece
        except FAILURES as error:
            yield broken(error)
