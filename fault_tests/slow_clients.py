"""Slow clients: idle, slow with headers or bodies, or not reading responses. They reconnect after being cut off.

Runs as a separate process (`python -m fault_tests.slow_clients`), so that it does not delay the measured clients. It prints
`there` once all are connected, runs until standard input gives a number of seconds, waits at most so long until every kind was
cut, and prints the counts.
"""

from __future__ import annotations

import asyncio
import json
import random
import resource
import socket
import sys
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import cycle
from time import perf_counter
from typing import Any

RECONNECT_WITHIN_SECONDS = 1.0
"""Slow clients connect at random moments within so many seconds, so that they are not in step."""
DRIP_SECONDS = 0.2
PHASES = 10
"""Slow clients send in this many groups in turn, so that they are not in step."""
CONNECTED_AT_ONCE = 100
RECEIVE_BUFFER_BYTES = 4_096
"""Receive buffer of a client that does not read."""
DEAF_SECONDS = 4.0
"""Seconds after which a client that does not read begins to read, to see that it was cut off."""
FILES = 12_000

CREATE = b"POST /public/v2/contacts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a slow client sends at first, and then periodically."""

    first: bytes
    drip: bytes
    reads: bool = True


KINDS = {
    "slow headers": Kind(b"GET / HTTP/1.1\r\nHost: localhost\r\n", b"X-More: 1\r\n"),
    "a slow body": Kind(CREATE, b"1"),
    "half a body": Kind(CREATE + b"{", b""),
    "closed ears": Kind(b"GET /openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 90, b"", reads=False),
}


class _Peer(asyncio.Protocol):
    """One connection of a slow client."""

    def __init__(self, group: SlowClients, name: str) -> None:
        self._group, self.name, self.kind = group, name, KINDS[name]
        self.since = perf_counter()
        self.phase = random.randrange(PHASES)
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        if not self.kind.reads:
            # Python 3.11.2 begins to read right after this, even if paused here.
            asyncio.get_running_loop().call_soon(transport.pause_reading)
        transport.write(self.kind.first)
        self._group.open.add(self)

    def drip(self) -> None:
        if self.kind.drip:
            self.transport.write(self.kind.drip)
        if not self.kind.reads and perf_counter() - self.since > DEAF_SECONDS:
            self.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._group.reconnect(self)


class SlowClients:
    """All idle and slow connections of one process."""

    def __init__(self, host: str, port: int, slow: int) -> None:
        self._host, self._port, self._slow = host, port, slow
        self.cut: Counter[str] = Counter()
        self.open: set[_Peer] = set()
        self._idle: list[asyncio.StreamReader] = []
        self._writers: list[asyncio.StreamWriter] = []
        self._reconnecting = set[asyncio.Task[None]]()
        self._running = True

    async def connect_all(self, idle: int) -> None:
        """Open `idle` idle connections, then the slow ones."""
        for first in range(0, idle, CONNECTED_AT_ONCE):
            await asyncio.gather(*(self._connect_idle() for _ in range(first, min(first + CONNECTED_AT_ONCE, idle))))
        await asyncio.gather(*(self._connect(name) for name in KINDS for _ in range(self._slow)))

    async def run(self, stop_request: asyncio.Task[str]) -> None:
        """Send slowly until `stop_request` gives a number of seconds, then until every kind was cut or they are over."""
        until, phases = None, cycle(range(PHASES))
        while until is None or (perf_counter() < until and any(self.cut[name] < self._slow for name in KINDS)):
            await asyncio.sleep(DRIP_SECONDS / PHASES)
            phase = next(phases)
            for peer in [item for item in self.open if item.phase == phase]:
                peer.drip()
            if until is None and stop_request.done():
                until = perf_counter() + float(stop_request.result() or 0)
        self._running = False

    @property
    def idle(self) -> int:
        """Count of idle connections that are still open."""
        return sum(1 for reader in self._idle if not reader.at_eof())

    def reconnect(self, peer: _Peer) -> None:
        """Count a connection that was cut and reconnect it while the run lasts."""
        self.open.discard(peer)
        self.cut[peer.name] += 1
        if self._running:
            task = asyncio.get_running_loop().create_task(self._connect(peer.name))
            self._reconnecting.add(task)
            task.add_done_callback(self._reconnecting.discard)

    async def _connect_idle(self) -> None:
        """Open a connection, send one request, then stay idle."""
        reader, writer = await asyncio.open_connection(self._host, self._port)
        writer.write(LIVE)
        await reader.readuntil(b"}")
        self._idle.append(reader)
        self._writers.append(writer)

    async def _connect(self, name: str) -> None:
        await asyncio.sleep(random.uniform(0, RECONNECT_WITHIN_SECONDS))
        with suppress(OSError):
            result = socket.socket()
            result.setblocking(False)
            if not KINDS[name].reads:
                result.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER_BYTES)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(result, (self._host, self._port))
            await loop.create_connection(lambda: _Peer(self, name), sock=result)


async def _run(host: str, port: int, idle: int, slow: int) -> None:
    group = SlowClients(host, port, slow)
    await group.connect_all(idle)
    print("there", flush=True)
    await group.run(asyncio.create_task(asyncio.to_thread(sys.stdin.readline)))
    print(json.dumps({"idle": group.idle, "cut": group.cut}), flush=True)


def raise_file_limit() -> None:
    """Raise the limit of open files to the number of connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(FILES, hard) if hard > 0 else FILES, hard))


if __name__ == "__main__":
    raise_file_limit()
    asyncio.run(_run(sys.argv[1], *map(int, sys.argv[2:])))
