"""Running the server: one process, from its listening socket to its graceful end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, cast

import uvicorn

from touchbase.server.limits import ServerLimits
from touchbase.server.protocol import Connection

SECURITY_HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""On every answer; `refusals.UNLESS_SAID` are the others, which an answer may replace."""
ONLY_HTTPS = (("strict-transport-security", "max-age=31536000"),)
"""Where callers reach us by https, browsers are told to come no other way for a year."""

BACKLOG = 2048
TCP_NOTSENT_LOWAT_BYTES = 32_768
"""Bytes of answers that the system takes from us for a caller before it has sent what it took already.

Left to itself, it takes megabytes for one who reads nothing, and we would make the answers that fill them."""
ACCEPT_SOCKETS = 8
"""How often the loop listens at each socket: in a turn it accepts one caller with each ear.

With one, the last of 64 who came at once waited 200 ms while others kept the loop busy, and most tools open a connection for every call."""
SEEN_AT_ONCE = 250
"""Connections whose deadlines are looked at in one turn of the loop: all 5,000 of a busy server took 3 ms."""
LET_GO_AT_ONCE = 5
"""Connections that are let go of in one turn of the loop: each may cost an answer and three calls of the system."""
TICKS_A_SECOND = 10
# Collections of the oldest generation took 30 ms and were the slowest requests: with these thresholds and
# everything frozen that exists after start-up, they come once in a hundred million allocations.
GC_THRESHOLDS = (50_000, 20, 100)


@dataclass(frozen=True, slots=True)
class Tick:
    """Something to be done every so many tenths of a second."""

    every: int
    do: Callable[[], None]


class Server(uvicorn.Server):
    """uvicorn's server with our ticks, sweeps and signals."""

    def __init__(self, config: uvicorn.Config, bounds: ServerLimits, shutdown_timeout: float, ticks: Sequence[Tick] = ()) -> None:
        super().__init__(config)
        self.bounds = bounds
        self.shutdown_timeout = shutdown_timeout
        self.on_started: Callable[[], None] = lambda: None
        """Called once calls are taken and signals are heard."""
        self._told_to_stop = asyncio.Event()
        shortest = min(bounds.header_timeout, bounds.keep_alive, bounds.send_timeout)
        self._unseen = deque[Connection]()
        self._ears: list[socket.socket] = []
        self.ticks = (*ticks, Tick(1 if shortest < 1 else TICKS_A_SECOND // 2, self.sweep))

    def sweep(self) -> None:
        """Let go of every caller whose deadline has passed: a few in each turn of the loop, so that others have theirs."""
        if not self._unseen:
            self._unseen.extend(cast("set[Connection]", self.server_state.connections))
            self._see_some()

    def _see_some(self) -> None:
        loop = asyncio.get_running_loop()
        now, let_go = loop.time(), 0
        for _ in range(min(SEEN_AT_ONCE, len(self._unseen))):
            connection = self._unseen.popleft()
            if connection.deadline <= now:
                connection.sweep(now)
                let_go += 1
                if let_go == LET_GO_AT_ONCE:
                    break
        if self._unseen:
            loop.call_soon(self._see_some)

    def load(self) -> tuple[int, int]:
        """Open connections, and requests in progress."""
        return len(self.server_state.connections), len(self.server_state.tasks)

    async def on_tick(self, counter: int) -> bool:
        """Called ten times a second: whether to stop."""
        stop = await super().on_tick(counter)
        if counter % TICKS_A_SECOND == 0:
            self.bounds.defaults = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        for tick in self.ticks:
            if counter % tick.every == 0:
                tick.do()
        return stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to take calls."""
        self._ears = [listener.dup() for listener in sockets or () for _ in range(ACCEPT_SOCKETS - 1)]
        await super().startup([*sockets, *self._ears] if sockets else None)
        self.on_started()

    async def main_loop(self) -> None:
        """Tick ten times a second until told to stop."""
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1 / TICKS_A_SECOND):
                    await self._told_to_stop.wait()

    def stop(self) -> None:
        """Take no more requests, finish those in progress, and return from `serve`."""
        self.should_exit = True
        self._told_to_stop.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal; a second Ctrl+C does not wait for requests in progress."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests in progress finish, then cut what is left."""
        for listener in (*self.servers, *(sockets or ()), *self._ears):
            listener.close()
        for connection in list(self.server_state.connections):
            connection.shutdown()
        loop, tasks = asyncio.get_running_loop(), self.server_state.tasks
        until = loop.time() + self.shutdown_timeout
        while (tasks or self.server_state.connections) and loop.time() < until and not self.force_exit:
            await asyncio.sleep(1 / 50)
            self.sweep()
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1)
        for connection in list(self.server_state.connections):
            connection.transport.abort()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGTERM and SIGINT; a graceful end is a success, so the signal is not raised again."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.handle_exit, number, None)
        try:
            yield
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                loop.remove_signal_handler(number)


def make_server(app: Any, bounds: ServerLimits, *, shutdown_timeout: float, ticks: Sequence[Tick] = (), https: bool = False) -> Server:
    """A server for this ASGI application; `https` says that its callers come that way, through a proxy."""
    config = uvicorn.Config(
        app,
        http=partial(Connection, bounds),  # type: ignore[arg-type]
        ws="none",
        loop="none",
        lifespan="off",
        interface="asgi3",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        headers=[*SECURITY_HEADERS, *(ONLY_HTTPS if https else ())],
        backlog=BACKLOG,
    )
    return Server(config, bounds, shutdown_timeout, ticks)


def listen(host: str, port: int) -> socket.socket:
    """A socket bound to this address; `OSError` says why not."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = found[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections have it from their listener. What is on its way is not counted, so a long way costs no speed.
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # not every system has it
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, TCP_NOTSENT_LOWAT_BYTES)
        listener.bind(address)
        # Bound and not listening is "in use" only to those who also try to listen.
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def freeze_gc() -> None:
    """Take everything that exists now out of garbage collection, and collect rarely from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
