"""What the transports of both clients have in common: how httpcore is set up, and what its errors mean."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import httpcore

from touchbase_client.core import Wire
from touchbase_client.retries import Broken

MOST_CONNECTIONS = 20
IDLE_SECONDS = 30.0
"""Seconds that an unused connection stays open."""
PIECE = 1 << 18
"""Bytes of a file that are read at once."""
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


def options(url: str, verify: ssl.SSLContext | None) -> dict[str, Any]:
    """Return the settings of a pool of connections. The system's certificates take 20 ms to read, so http:// goes without them."""
    context = ssl.create_default_context() if verify is None and not url.lower().startswith("http:") else verify
    return {"ssl_context": context, "max_connections": MOST_CONNECTIONS, "keepalive_expiry": IDLE_SECONDS}


def headers(wire: Wire) -> list[tuple[str, str]]:
    """Return the headers of a request, with the length of its file."""
    length = [("Content-Length", str(Path(wire.content).stat().st_size))] if isinstance(wire.content, os.PathLike) else []
    return [*wire.headers, *length]


def read(path: os.PathLike[str]) -> Iterator[bytes]:
    """Yield a file in pieces."""
    with Path(path).open("rb") as file:
        while piece := file.read(PIECE):
            yield piece


async def read_async(path: os.PathLike[str]) -> AsyncIterator[bytes]:
    """Yield a file in pieces, which a thread reads."""
    file = await asyncio.to_thread(Path(path).open, "rb")
    try:
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield piece
    finally:
        file.close()
