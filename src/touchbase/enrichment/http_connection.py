"""One connection to a server of others: a request at a time, responses parsed by httptools, whose cost is bounded by their length."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from httptools import HttpParserError, HttpParserUpgrade, HttpResponseParser

HEAD_BYTES = 16_384
"""Bytes of a response up to the end of its head, with the responses such as 100 Continue before it."""
PIECE_BYTES = 64
"""A body may have one piece, such as a chunk, per so many bytes of its limit."""
PARSED_BYTES = 4_096
"""Bytes that are parsed before the limits are checked again."""
FIRST_FINAL = 200
"""Status from which a response is the last one to its request."""


class ConnectionLost(Exception):
    """The connection ended before the response was complete; `has_begun`: after its first byte."""

    def __init__(self, why: str, *, has_begun: bool = True) -> None:
        super().__init__(why)
        self.has_begun = has_begun


class NotConnected(ConnectionLost):
    """There was no connection: nothing of the request was sent."""


@dataclass(frozen=True, slots=True)
class ReceivedResponse:
    """A response, perhaps without the end of its body."""

    status: int
    headers: dict[str, str]
    """Names in lower case."""
    body: bytes
    is_cut: bool = False
    """Whether it was not read to its end."""


class OutgoingConnection(asyncio.Protocol):
    """An open connection; asyncio calls the protocol's methods, httptools the methods that begin with `on_`."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._parser = HttpResponseParser(self)
        self._response: asyncio.Future[ReceivedResponse] | None = None
        self._stays_open = True
        self._expect()

    def _expect(self) -> None:
        """Begin a response."""
        self._headers: dict[str, str] = {}
        # Emptied as soon as a response has ended: connection and parser refer to each other, and stay until the garbage collector runs.
        self._body = bytearray()
        self._received = self._pieces = 0
        self._most = 0
        self._has_head = False

    @property
    def is_usable(self) -> bool:
        """Whether another request can be sent."""
        return self._stays_open and self._response is None and self._transport is not None and not self._transport.is_closing()

    async def request(self, data: bytes, most: int) -> ReceivedResponse:
        """Send a request and return its response, cut after about `most` bytes or very many pieces. Raises `ConnectionLost`.

        The connection is not used again after a cut response.
        """
        if self._transport is None or not self.is_usable:
            raise ConnectionLost("the connection was closed", has_begun=False)
        self._expect()
        self._most = most
        self._response = asyncio.get_running_loop().create_future()
        try:
            self._transport.write(data)
            return await self._response
        finally:
            self._response = None

    def close(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport of a new connection."""
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        """Parse a piece of a response."""
        if self._response is None:  # nothing was asked, so whose response would it be?
            self._stays_open = False
            self.close()
            return
        for start in range(0, len(data), PARSED_BYTES):
            self._parse(data[start : start + PARSED_BYTES])
            if self._response is None or self._response.done():
                self._stays_open = self._stays_open and start + PARSED_BYTES >= len(data)
                break

    def _parse(self, data: bytes) -> None:
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except HttpParserUpgrade:
            self._stays_open = False
            self._finish()
        except HttpParserError as error:
            self._fail(f"the response is not HTTP: {error}")
        if not self._has_head and self._received > HEAD_BYTES:
            self._fail(f"the head of the response is longer than {HEAD_BYTES} bytes")
        elif self._received > HEAD_BYTES + self._most or self._pieces > self._most // PIECE_BYTES:
            self._stays_open = False
            self._finish(is_cut=True)

    def connection_lost(self, exc: Exception | None) -> None:
        """End a response that ends with the connection; fail a cut response."""
        self._stays_open = False
        has_length = "content-length" in self._headers or "transfer-encoding" in self._headers
        if self._has_head and not has_length and exc is None:
            self._finish()
        else:
            self._fail(f"the server closed the connection {exc or ''}".strip())

    def on_message_begin(self) -> None:
        """Note a response that follows the one to the request."""
        if self._response is None or self._response.done():
            self._stays_open, self._headers = False, {}

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        self._headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Note that the head is complete, unless another one follows it."""
        self._has_head = self._parser.get_status_code() >= FIRST_FINAL

    def on_body(self, body: bytes) -> None:
        """Take a piece of the body."""
        self._body += body
        self._pieces += 1

    def on_message_complete(self) -> None:
        """End a response; one such as 100 Continue is followed by another."""
        if not self._has_head:
            self._headers = {}
            return
        self._stays_open = self._stays_open and self._parser.should_keep_alive()
        self._finish()

    def _finish(self, *, is_cut: bool = False) -> None:
        if self._response is not None and not self._response.done():
            self._response.set_result(ReceivedResponse(self._parser.get_status_code(), self._headers, bytes(self._body), is_cut))
        self._body = bytearray()

    def _fail(self, why: str) -> None:
        self._stays_open, self._body = False, bytearray()
        if self._response is not None and not self._response.done():
            self._response.set_exception(ConnectionLost(why, has_begun=self._received > 0))
