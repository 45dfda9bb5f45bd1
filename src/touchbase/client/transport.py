"""Sending bytes with httpcore, which is loaded with the first request."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import httpcore

from touchbase.client.core import Wire, received
from touchbase.client.retries import Broken, Received

MOST_CONNECTIONS = 20
IDLE_SECONDS = 30.0
"""Seconds that an unused connection stays open."""
PIECE = 1 << 18
"""Bytes of a file that are read at once."""
_NOT_SENT = (httpcore.ConnectError, httpcore.ConnectTimeout, httpcore.PoolTimeout)
FAILURES = (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError)


def broken(error: Exception) -> Broken:
    """Return what an error of a connection means. The error itself is not shown: it may quote what was sent."""
    if isinstance(error, httpcore.ConnectTimeout):
        return Broken("it cannot be reached in time", sent=False)
    if isinstance(error, httpcore.PoolTimeout):
        return Broken("all connections are in use; share fewer calls among the threads, or make another `Touchbase`", sent=False)
    if isinstance(error, httpcore.ConnectError):
        return Broken(f"it cannot be reached ({error})", sent=False)
    if isinstance(error, httpcore.TimeoutException):
        return Broken("it did not answer in time", sent=True)
    return Broken("the connection broke", sent=True)


def _options(verify: ssl.SSLContext | None) -> dict[str, Any]:
    context = ssl.create_default_context() if verify is None else verify
    return {"ssl_context": context, "max_connections": MOST_CONNECTIONS, "keepalive_expiry": IDLE_SECONDS}


class SyncTransport:
    """Connections of a program without an event loop; threads may share it."""

    def __init__(self, verify: ssl.SSLContext | None = None) -> None:
        self._pool = httpcore.ConnectionPool(**_options(verify))

    def send(self, wire: Wire) -> Received | Broken:
        """Send a request and read its whole response."""
        try:
            with self._opened(wire) as response:
                return received(response.status, response.headers, response.read())
        except FAILURES as error:
            return broken(error)

    @contextmanager
    def stream(self, wire: Wire) -> Iterator[tuple[int, list[tuple[bytes, bytes]], Callable[[], Iterator[bytes]], Callable[[], bytes]]]:
        """Send a request; yield status, headers, and how to read the body: in pieces, or at once. Raises `FAILURES`."""
        with self._opened(wire) as response:
            yield response.status, response.headers, response.iter_stream, response.read

    def close(self) -> None:
        """Close all connections."""
        self._pool.close()

    @contextmanager
    def _opened(self, wire: Wire) -> Iterator[httpcore.Response]:
        headers: list[tuple[str, str]] = [*wire.headers, *_length(wire.content)]
        content = _pieces(wire.content) if isinstance(wire.content, os.PathLike) else wire.content
        with self._pool.stream(wire.method, wire.url, headers=headers, content=content, extensions=wire.timeouts) as response:
            yield response


class AsyncTransport:
    """Connections of a program on an asyncio event loop."""

    def __init__(self, verify: ssl.SSLContext | None = None) -> None:
        self._pool = httpcore.AsyncConnectionPool(**_options(verify))

    async def send(self, wire: Wire) -> Received | Broken:
        """Send a request and read its whole response."""
        try:
            async with self._opened(wire) as response:
                return received(response.status, response.headers, await response.aread())
        except FAILURES as error:
            return broken(error)

    @asynccontextmanager
    async def stream(self, wire: Wire) -> AsyncIterator[tuple[int, list[tuple[bytes, bytes]], Callable[[], AsyncIterator[bytes]], Any]]:
        """Send a request; yield status, headers, and how to read the body: in pieces, or at once. Raises `FAILURES`."""
        async with self._opened(wire) as response:
            yield response.status, response.headers, response.aiter_stream, response.aread

    async def close(self) -> None:
        """Close all connections."""
        await self._pool.aclose()

    @asynccontextmanager
    async def _opened(self, wire: Wire) -> AsyncIterator[httpcore.Response]:
        headers: list[tuple[str, str]] = [*wire.headers, *_length(wire.content)]
        content = _pieces_async(wire.content) if isinstance(wire.content, os.PathLike) else wire.content
        async with self._pool.stream(wire.method, wire.url, headers=headers, content=content, extensions=wire.timeouts) as response:
            yield response


def _length(content: bytes | os.PathLike[str] | None) -> list[tuple[str, str]]:
    return [("Content-Length", str(Path(content).stat().st_size))] if isinstance(content, os.PathLike) else []


def _pieces(path: os.PathLike[str]) -> Iterator[bytes]:
    with Path(path).open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


async def _pieces_async(path: os.PathLike[str]) -> AsyncIterator[bytes]:
    file = await asyncio.to_thread(Path(path).open, "rb")
    try:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
    finally:
        file.close()
