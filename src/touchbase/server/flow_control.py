"""Flow control of a connection: how far it parses ahead of its responses, and a pause after a 503.

Pipelining: an HTTP client may send many requests before it reads the first response. Parsing all of them at once blocks the event loop:
fifty clients with ninety requests each delayed the others by 70 ms. So the server parses in portions, and parses nothing more
while a request waits behind the one in progress. Bytes that it has already read stay in a buffer, and it stops reading:
a client that sends on fills the system's buffers and has to wait.

Backpressure: refusing a request costs about as much as serving one. HTTP clients that ignore `Retry-After` and send again at
once would take the server's time from other clients. So after a 503 the server does not read their next request for 0.5 s.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sized

from uvicorn.protocols.http.flow_control import FlowControl

BLANK_LINE = b"\r\n\r\n"
MIN_BLANK_LINES = 2
"""Blank lines from which on one piece of data may contain more than one request."""
PORTION = 128
"""Bytes to parse at once, plus the bytes up to the next blank line: one request, or a few of the shortest."""
PAUSE_SECONDS = 0.5
"""Seconds after a 503 before the server reads the connection's next request."""


class Flow(FlowControl):
    """uvicorn's flow control, which also keeps reading paused while there is unparsed data."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self.buffered = b""
        """Data that was read and is not parsed yet."""

    def feed(self, data: bytes, parse: Callable[[bytes], None], waiting: Sized) -> None:
        """Parse the data in portions until a request waits behind the one in progress; buffer the remaining data."""
        if waiting:
            self.buffer(data)
        elif data.count(BLANK_LINE) < MIN_BLANK_LINES:
            parse(data)
        else:
            for portion, end in portions(data):
                parse(portion)
                if waiting:
                    self.buffer(data[end:])
                    return

    def buffer(self, data: bytes) -> None:
        """Buffer the data and pause reading."""
        self.buffered += data
        self.pause_reading()

    def take_buffered(self) -> bytes:
        """Return the buffered data and clear the buffer."""
        buffered, self.buffered = self.buffered, b""
        return buffered

    def resume_reading(self) -> None:
        """Resume reading, unless there is buffered data."""
        if self.read_paused and not self.buffered:
            super().resume_reading()

    def pause_after_503(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read nothing for `PAUSE_SECONDS`."""
        self.pause_reading()
        loop.call_later(PAUSE_SECONDS, self._end_pause)

    def _end_pause(self) -> None:
        if not self._transport.is_closing():
            self.resume_reading()


def portions(data: bytes) -> Iterator[tuple[bytes, int]]:
    """Split data into portions in which few requests can begin, each with its end offset: a request's head ends at a blank line."""
    start = 0
    while start < len(data):
        blank_line = data.find(BLANK_LINE, start + PORTION)
        end = len(data) if blank_line < 0 else blank_line + len(BLANK_LINE)
        yield data[start:end], end
        start = end
