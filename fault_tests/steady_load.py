"""Clients that send at a fixed rate, one connection each; latency counts from when a request was due."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from itertools import count
from time import perf_counter

import uvloop
from bench.load import Address


@dataclass
class LoadResult:
    """Seconds of the requests answered with 201, and the count of all others."""

    seconds: list[float] = field(default_factory=list)
    failed: int = 0


def steady_load(address: Address, callers: int, seconds: float, rate: float) -> LoadResult:
    """Create `rate` contacts per second from `callers` connections."""
    return uvloop.run(_all(address, callers, seconds, callers / rate))


async def _all(address: Address, callers: int, seconds: float, pause: float) -> LoadResult:
    calls = LoadResult()
    await asyncio.gather(*(_one(address, calls, number * pause / callers, seconds, pause) for number in range(callers)))
    return calls


async def _one(address: Address, calls: LoadResult, first: float, seconds: float, pause: float) -> None:
    reader, writer = await asyncio.open_connection(address.host, address.port)
    body = b'{"first_name": "Paced"}'
    message = b"POST /public/v2/contacts HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    began = perf_counter() + first
    for number in count():
        due = began + number * pause
        if due - began > seconds:
            break
        await asyncio.sleep(max(0.0, due - perf_counter()))
        writer.write(message % (len(body), body))
        if await _status(reader) == 201:
            calls.seconds.append(perf_counter() - due)
        else:
            calls.failed += 1
    writer.close()
    await writer.wait_closed()


async def _status(reader: asyncio.StreamReader) -> int:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
    except (asyncio.IncompleteReadError, OSError):
        return 0
    return int(head.split()[1])
