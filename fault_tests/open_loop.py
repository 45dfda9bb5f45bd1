"""Open-loop load at a fixed rate above capacity; counts the outcome of each request."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import httptools
import uvloop
from bench.bodies import Shape, new_run
from bench.load import Address

TICK = 0.001
LAST_SECONDS = 10.0


@dataclass
class Tally:
    """Outcomes of the requests, and seconds from sending to response."""

    served: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    odd: dict[int, int] = field(default_factory=dict)
    due: int = 0
    unsent: int = 0
    """Requests that were due while every connection was busy."""
    broken: int = 0
    """Requests whose connection closed without a response."""
    seconds: float = 0.0

    def note(self, status: int, seconds: float) -> None:
        if status == 201:
            self.served.append(seconds)
        elif status == 503:
            self.refused.append(seconds)
        else:
            self.odd[status] = self.odd.get(status, 0) + 1


class _Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, tally: Tally, free: list[_Connection]) -> None:
        self._tally, self._free = tally, free
        self._parser = httptools.HttpResponseParser(self)
        self._sent: float | None = None
        self.transport: Any = None

    @property
    def busy(self) -> bool:
        return self._sent is not None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self._free.append(self)

    def call(self, message: bytes) -> None:
        self._sent = perf_counter()
        self.transport.write(message)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        assert self._sent is not None
        self._tally.note(self._parser.get_status_code(), perf_counter() - self._sent)
        self._sent = None
        if self._parser.should_keep_alive():
            self._free.append(self)

    def connection_lost(self, error: Exception | None) -> None:
        if self.busy:
            self._tally.broken += 1
            self._sent = None


def send_at_rate(address: Address, shape: Shape, connections: int, seconds: float, rate: float) -> Tally:
    """Send `rate` requests per second for `seconds`, each on a free connection."""
    return uvloop.run(_send_at_rate(address, shape, connections, seconds, rate))


async def _send_at_rate(address: Address, shape: Shape, connections: int, seconds: float, rate: float) -> Tally:
    tally, free = Tally(), list[_Connection]()
    loop, bodies = asyncio.get_running_loop(), shape.bodies(new_run())
    head = f"POST {shape.path} HTTP/1.1\r\nHost: {address.host}\r\nContent-Type: application/json\r\nContent-Length: ".encode()
    lines = [(await loop.create_connection(lambda: _Connection(tally, free), address.host, address.port))[1] for _ in range(connections)]
    began = perf_counter()
    while (gone := perf_counter() - began) < seconds:
        wanted = int(gone * rate) - tally.due
        tally.due += wanted
        for _ in range(wanted):
            if free:
                body = next(bodies)
                free.pop().call(b"%b%d\r\n\r\n%b" % (head, len(body), body))
            else:
                tally.unsent += 1
        await asyncio.sleep(TICK)
    tally.seconds = perf_counter() - began
    await _wait_for_responses(lines)
    return tally


async def _wait_for_responses(lines: list[_Connection]) -> None:
    """Wait for outstanding responses, then close all connections."""
    until = perf_counter() + LAST_SECONDS
    while any(line.busy for line in lines) and perf_counter() < until:  # noqa: ASYNC110 - an event would cost a little of every answer
        await asyncio.sleep(TICK)
    for line in lines:
        line.transport.close()
    await asyncio.sleep(0)
