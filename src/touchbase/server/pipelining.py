"""How far a connection is read ahead of its answers.

A caller may send many requests before it reads the first answer. All that came in one piece would be parsed at once, and
everybody else waits meanwhile: fifty callers with ninety requests each held the others up for 70 ms. So it is parsed in
portions, and while a request waits behind the one in progress nothing more is parsed. What has been read by then is kept,
and reading stops: whoever sends on fills the buffers between us, and then has to wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sized

from uvicorn.protocols.http.flow_control import FlowControl

BLANK_LINE = b"\r\n\r\n"
SEVERAL = 2
"""Blank lines in one piece from which on it may hold more than one request."""
PORTION = 128
"""Bytes that are parsed at once, with what follows up to the next blank line: one request, or a few of the shortest."""


class Flow(FlowControl):
    """uvicorn's switch for reading, which stays off while there is something that was read too early."""

    def __init__(self, transport: asyncio.Transport) -> None:
        super().__init__(transport)
        self.held = b""
        """What was read and is not parsed yet."""

    def take(self, data: bytes, feed: Callable[[bytes], None], waiting: Sized) -> None:
        """Feed this in portions, until a request waits behind the one in progress; keep what is left then."""
        if waiting:
            self.hold(data)
        elif data.count(BLANK_LINE) < SEVERAL:
            feed(data)
        else:
            for portion, end in portions(data):
                feed(portion)
                if waiting:
                    self.hold(data[end:])
                    return

    def hold(self, data: bytes) -> None:
        """Keep this for later, and read no more until then."""
        self.held += data
        self.pause_reading()

    def release(self) -> bytes:
        """What was kept, which is no longer."""
        held, self.held = self.held, b""
        return held

    def resume_reading(self) -> None:
        """Read on, unless something is kept."""
        if self.read_paused and not self.held:
            super().resume_reading()


def portions(data: bytes) -> Iterator[tuple[bytes, int]]:
    """This in pieces in which not many requests can begin, and where each ends: no request's head is whole before a blank line."""
    start = 0
    while start < len(data):
        found = data.find(BLANK_LINE, start + PORTION)
        end = len(data) if found < 0 else found + len(BLANK_LINE)
        yield data[start:end], end
        start = end
