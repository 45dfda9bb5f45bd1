"""Sending requests with httpcore, which is loaded with the first request."""

from __future__ import annotations

import os
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import httpcore

from touchbase_client import _http
from touchbase_client.core import Wire

if TYPE_CHECKING:
    from touchbase_client._async.client import AsyncOpened


class AsyncHttpTransport:
    """The connections of a client to one address."""

    def __init__(self, url: str, verify: ssl.SSLContext | None = None) -> None:
        self._pool = httpcore.AsyncConnectionPool(**_http.options(url, verify))

    @asynccontextmanager
    async def stream(self, wire: Wire) -> AsyncIterator[AsyncOpened]:
        """Send a request and yield its response; raise `Broken` if the connection fails."""
        content = _http.read_async(wire.content) if isinstance(wire.content, os.PathLike) else wire.content
        headers = _http.headers(wire)
        try:
            async with self._pool.stream(wire.method, wire.url, headers=headers, content=content, extensions=wire.timeouts) as response:
                yield response.status, response.headers, response.aiter_stream()
        except _http.FAILURES as error:
            raise _http.broken(error) from None

    async def aclose(self) -> None:
        """Close all connections."""
        await self._pool.aclose()
