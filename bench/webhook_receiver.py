"""A fast receiver of webhooks: `python -m bench.webhook_receiver`. It notes when each came, and answers 204.

`GET /arrivals` gives [address of the contact, client, seconds of the system's monotonic clock] of each since the last time, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from bench.server_process import ROOT

EMAIL = re.compile(rb'"email":"([^"]+)"')
PATH = re.compile(rb"POST /([^ ]+)")
LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
OK = b"HTTP/1.1 204 No Content\r\n\r\n"

Arrival = tuple[str, str, float]
"""The address of the contact, the path of the endpoint, and when."""
ARRIVALS: list[Arrival] = []


class Connection(asyncio.Protocol):
    """One connection; requests may come in pieces."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport: asyncio.Transport = transport  # type: ignore[assignment]
        self.data = b""

    def data_received(self, data: bytes) -> None:
        self.data += data
        while (end := self.data.find(b"\r\n\r\n")) >= 0:
            head = self.data[:end]
            if head.startswith(b"GET"):
                self._show()
                return
            length = LENGTH.search(head)
            size = end + 4 + int(length[1] if length else 0)
            if len(self.data) < size:
                return
            email, path = EMAIL.search(self.data, end), PATH.match(head)
            ARRIVALS.append((email[1].decode() if email else "", path[1].decode() if path else "", time.monotonic()))
            self.data = self.data[size:]
            self.transport.write(OK)

    def _show(self) -> None:
        body = json.dumps(ARRIVALS).encode()
        ARRIVALS.clear()
        self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
        self.transport.close()


async def main() -> None:
    """Serve until killed; the first line says the port."""
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=1_000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass(frozen=True, slots=True)
class Receiver:
    """A running receiver."""

    origin: str
    pid: int

    def arrivals(self) -> list[Arrival]:
        """What came since the last time."""
        with urllib.request.urlopen(f"{self.origin}/arrivals", timeout=60) as answer:
            return [(email, path, at) for email, path, at in json.load(answer)]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """A receiver in a process of its own."""
    process = subprocess.Popen([sys.executable, "-m", "bench.webhook_receiver"], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    try:
        yield Receiver(f"http://127.0.0.1:{int(process.stdout.readline())}", process.pid)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


if __name__ == "__main__":
    asyncio.run(main())
