"""Peers that are of no use to anybody: idle, slow with their headers or bodies, or deaf to their answers. They come again when cut."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from bench.load import Address

DRIP_SECONDS = 0.2
CONNECTED_AT_ONCE = 100
SMALL = 4_096
"""Bytes that a deaf peer's system takes for it."""
LISTENS_SECONDS = 4.0
"""After so long a deaf peer listens: that it was cut stands behind all that it has not read."""
END_SECONDS = 30

CREATE = b"POST /public/v2/contacts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
LIVE = b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Kind:
    """What a slow peer sends at once, and then now and then."""

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
    """One connection of a slow peer."""

    def __init__(self, strangers: Strangers, name: str) -> None:
        self._strangers, self.name, self.kind = strangers, name, KINDS[name]
        self.since = perf_counter()
        self.transport: Any = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        if not self.kind.reads:
            transport.pause_reading()
        transport.write(self.kind.first)
        self._strangers.open.add(self)

    def drip(self) -> None:
        if self.kind.drip:
            self.transport.write(self.kind.drip)
        if not self.kind.reads and perf_counter() - self.since > LISTENS_SECONDS:
            self.transport.resume_reading()

    def connection_lost(self, error: Exception | None) -> None:
        self._strangers.gone(self)


class Strangers:
    """All of them, on a thread of their own, until the end of the `with`."""

    def __init__(self, address: Address, idle: int, slow: int) -> None:
        self._address, self._wanted, self._slow = address, idle, slow
        self.idle = 0
        """Connections that did nothing and were let be; counted at the end."""
        self.cut: Counter[str] = Counter()
        self.open: set[_Peer] = set()
        self._first: Counter[str] = Counter()
        self._all_there, self._told_to_end = threading.Event(), threading.Event()
        self._wrong: BaseException | None = None
        self._left: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._live)

    def __enter__(self) -> Strangers:
        self._thread.start()
        self._all_there.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._told_to_end.set()
        self._thread.join(END_SECONDS)
        if self._wrong is not None:
            raise self._wrong

    def wait_until_cut(self, seconds: float) -> None:
        """Wait until as many of each kind were cut as there are at a time, or for so long."""
        until = perf_counter() + seconds
        while perf_counter() < until and not self._told_to_end.wait(DRIP_SECONDS) and self.lasting():
            pass

    def lasting(self) -> Counter[str]:
        """How many of each kind were never cut."""
        return Counter({name: self._slow - self.cut[name] for name in KINDS if self.cut[name] < self._slow})

    def gone(self, peer: _Peer) -> None:
        """A peer was cut: it comes again."""
        self.open.discard(peer)
        if not self._told_to_end.is_set():
            self.cut[peer.name] += 1
            asyncio.get_running_loop().create_task(self._come(peer.name))

    def _live(self) -> None:
        try:
            asyncio.run(self._work())
        except BaseException as error:
            self._wrong = error
        finally:
            self._all_there.set()

    async def _work(self) -> None:
        idle = [one for first in range(0, self._wanted, CONNECTED_AT_ONCE) for one in await self._idle(first)]
        await asyncio.gather(*(self._come(name) for name in KINDS for _ in range(self._slow)))
        self._all_there.set()
        while not self._told_to_end.is_set():
            await asyncio.sleep(DRIP_SECONDS)
            for peer in list(self.open):
                peer.drip()
        self.idle = sum(1 for reader, _ in idle if not reader.at_eof())
        for writer in [writer for _, writer in idle]:
            writer.close()
        for peer in list(self.open):
            peer.transport.abort()
        await asyncio.sleep(0)

    async def _idle(self, first: int) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        return await asyncio.gather(*(self._one_idle() for _ in range(first, min(first + CONNECTED_AT_ONCE, self._wanted))))

    async def _one_idle(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """One call, and then nothing."""
        reader, writer = await asyncio.open_connection(self._address.host, self._address.port)
        writer.write(LIVE)
        await reader.readuntil(b"}")
        return reader, writer

    async def _come(self, name: str) -> None:
        with suppress(OSError):
            found = socket.socket()
            found.setblocking(False)
            if not KINDS[name].reads:
                found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL)
            loop = asyncio.get_running_loop()
            await loop.sock_connect(found, (self._address.host, self._address.port))
            await loop.create_connection(lambda: _Peer(self, name), sock=found)
