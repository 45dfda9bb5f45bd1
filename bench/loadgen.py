"""Our own load generator on httptools and uvloop: a closed loop, and an open loop at a fixed rate.

In the open loop a request is due at a fixed time whether or not the ones before are answered, and its
latency is counted from that time: a server that stalls makes everybody wait whose turn came meanwhile.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

import httptools

from bench.bodies import Shape, new_run
from bench.load import Address, Burst

TICK = 0.0004
"""A request may be due for so long before it is sent."""
PAUSE = 0.01
LAST_ANSWERS_SECONDS = 10.0


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, log: Log, when_free: Callable[[Connection], None]) -> None:
        self._log = log
        self._when_free = when_free
        self._parser = httptools.HttpResponseParser(self)
        self._transport: Any = None
        self._since = 0.0
        self.busy = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def call(self, message: bytes, since: float) -> None:
        """Send a request whose latency counts from `since`."""
        self._since, self.busy = since, True
        self._transport.write(message)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.busy = False
        self._log.note(perf_counter() - self._since, self._parser.get_status_code() // 100 == 2)
        if not self._parser.should_keep_alive():
            self._log.lost += 1
            return
        self._when_free(self)

    def connection_lost(self, error: Exception | None) -> None:
        if self.busy:
            self.busy = False
            self._log.note(perf_counter() - self._since, False)

    def close(self) -> None:
        self._transport.close()


class Log:
    """Latencies in seconds, and what went wrong."""

    def __init__(self) -> None:
        self.latencies: list[float] = []
        self.late: list[float] = []
        self.errors = 0
        self.lost = 0

    def note(self, seconds: float, good: bool) -> None:
        self.latencies.append(seconds)
        if not good:
            self.errors += 1

    def burst(self, seconds: float, wanted_rate: float | None = None) -> Burst:
        times = sorted(self.latencies)
        return Burst(
            requests=len(times),
            seconds=seconds,
            errors=self.errors,
            p50_ms=_at(times, 0.5),
            p99_ms=_at(times, 0.99),
            p999_ms=_at(times, 0.999),
            max_ms=_at(times, 1.0),
            wanted_rate=wanted_rate,
            late_p99_ms=_at(sorted(self.late), 0.99) if wanted_rate else None,
        )


def closed(address: Address, shape: Shape, connections: int, seconds: float) -> Burst:
    """Each connection sends its next request when the one before is answered."""
    return _run(_closed(address, shape, connections, seconds))


def at_rate(address: Address, shape: Shape, connections: int, seconds: float, rate: float) -> Burst:
    """Requests are due `rate` times a second, on whichever connection is free."""
    return _run(_at_rate(address, shape, connections, seconds, rate))


async def _closed(address: Address, shape: Shape, connections: int, seconds: float) -> Burst:
    log, message = Log(), _messages(address, shape)
    started = perf_counter()
    until = started + seconds

    def send(caller: Connection) -> None:
        now = perf_counter()
        if now < until:
            caller.call(message(), now)

    callers = await _connected(address, connections, log, send)
    started = perf_counter()
    until = started + seconds
    for caller in callers:
        send(caller)
    await asyncio.sleep(seconds)
    return await _burst(log, callers, started)


async def _at_rate(address: Address, shape: Shape, connections: int, seconds: float, rate: float) -> Burst:
    log, message = Log(), _messages(address, shape)
    due: deque[float] = deque()
    free: list[Connection] = []

    def send(caller: Connection) -> None:
        if due:
            caller.call(message(), due.popleft())
        else:
            free.append(caller)

    callers = await _connected(address, connections, log, send)
    free.extend(callers)
    total, sent, started = int(seconds * rate), 0, perf_counter()
    all_sent = asyncio.Event()

    def on_tick() -> None:
        nonlocal sent
        now = perf_counter()
        until = min(total, int((now - started) * rate) + 1)
        while sent < until:
            due.append(started + sent / rate)
            log.late.append(now - due[-1])
            sent += 1
        while due and free:
            free.pop().call(message(), due.popleft())
        if sent == total:
            all_sent.set()

    with _ticking(on_tick):
        await all_sent.wait()
    return await _burst(log, callers, started, due, rate)


@contextmanager
def _ticking(on_tick: Callable[[], None]) -> Iterator[None]:
    """Call `on_tick` in the event loop every `TICK` seconds; its own timers are no finer than a millisecond."""
    loop, ended = asyncio.get_running_loop(), threading.Event()

    def tick() -> None:
        while not ended.is_set():
            loop.call_soon_threadsafe(on_tick)
            time.sleep(TICK)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def _burst(log: Log, callers: list[Connection], started: float, due: deque[float] | None = None, rate: float | None = None) -> Burst:
    """The burst, once what is under way is answered; what never is counts as an error that took so long."""
    until = perf_counter() + LAST_ANSWERS_SECONDS
    while (due or any(caller.busy for caller in callers)) and perf_counter() < until:  # noqa: ASYNC110 - an event would cost a little of every answer
        await asyncio.sleep(PAUSE)
    seconds = perf_counter() - started
    for caller in callers:
        caller.close()
    for since in due or ():
        log.note(perf_counter() - since, False)
    await asyncio.sleep(0)
    return log.burst(seconds, rate)


async def _connected(address: Address, connections: int, log: Log, when_free: Callable[[Connection], None]) -> list[Connection]:
    loop = asyncio.get_running_loop()
    new_connections = [
        await loop.create_connection(lambda: Connection(log, when_free), address.host, address.port) for _ in range(connections)
    ]
    return [caller for _, caller in new_connections]


def _messages(address: Address, shape: Shape) -> Callable[[], bytes]:
    method = shape.method.encode()
    remaining = f" HTTP/1.1\r\nHost: {address.host}\r\nContent-Type: application/json\r\nContent-Length: ".encode()
    requests = shape.requests(new_run())

    def message() -> bytes:
        path, body = next(requests)
        return b"%b %b%b%d\r\n\r\n%b" % (method, path, remaining, len(body), body)

    return message


def _at(times: list[float], part: float) -> float:
    if not times:
        return 0.0
    return times[min(len(times) - 1, int(part * len(times)))] * 1000


def _run(work: Coroutine[Any, Any, Burst]) -> Burst:
    # A collection of ours would look like a slow answer of the server.
    gc.collect()
    gc.disable()
    try:
        with suppress(ImportError):
            import uvloop  # noqa: PLC0415 - not on every platform

            return uvloop.run(work)
        return asyncio.run(work)
    finally:
        gc.enable()
