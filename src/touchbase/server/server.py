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
from touchbase.server.protocol import ServerConnection

SECURITY_HEADERS = (
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
)
"""Headers of every response; `error_responses.DEFAULT_HEADERS` are others, which a response may replace."""
ONLY_HTTPS = (("strict-transport-security", "max-age=31536000"),)
"""With an https public URL: HSTS for a year."""

BACKLOG = 2048
TCP_NOTSENT_LOWAT_BYTES = 32_768
"""Unsent bytes of responses that the system buffers for a connection.

Its default is megabytes, so pipelined requests of a peer that reads nothing would produce responses to fill them."""
ACCEPT_SOCKETS = 8
"""Copies of each listening socket: the event loop accepts one connection per copy and iteration.

With one, the last of 64 simultaneous connections waited 200 ms under load, and most tools open a connection for every webhook."""
MAX_CHECKED_PER_PASS = 250
"""Connections whose deadlines are checked in one iteration of the event loop: all 5,000 of a busy server took 3 ms."""
MAX_CLOSED_PER_PASS = 5
"""Expired connections that are closed in one iteration of the event loop: each may cost a response and three system calls."""
TICKS_PER_SECOND = 10
# Collections of the oldest generation took 30 ms and caused the slowest requests. With these thresholds, and
# all objects of the start-up frozen, they run once in a hundred million allocations.
GC_THRESHOLDS = (50_000, 20, 100)


@dataclass(frozen=True, slots=True)
class Tick:
    """A function to run every `every` tenths of a second."""

    every: int
    run: Callable[[], None]


class Server(uvicorn.Server):
    """uvicorn's server with periodic functions, deadlines and signal handlers of Touchbase."""

    def __init__(self, config: uvicorn.Config, limits: ServerLimits, shutdown_timeout: float, ticks: Sequence[Tick] = ()) -> None:
        super().__init__(config)
        self.limits = limits
        self.shutdown_timeout = shutdown_timeout
        self.on_started: Callable[[], None] = lambda: None
        """Called once the server accepts connections and handles signals."""
        self.on_stopping: Callable[[], None] = lambda: None
        """Called before requests in progress are waited for: requests that wait should end."""
        self._stop_event = asyncio.Event()
        shortest = min(limits.header_timeout, limits.keep_alive, limits.send_timeout)
        self._unchecked = deque[ServerConnection]()
        self._accept_sockets: list[socket.socket] = []
        self.ticks = (*ticks, Tick(1 if shortest < 1 else TICKS_PER_SECOND // 2, self.sweep))

    def sweep(self) -> None:
        """Close every connection whose deadline has passed, a few in each iteration of the event loop, so that others are not delayed."""
        if not self._unchecked:
            self._unchecked.extend(cast("set[ServerConnection]", self.server_state.connections))
            self._check_some()

    def _check_some(self) -> None:
        loop = asyncio.get_running_loop()
        now, closed = loop.time(), 0
        for _ in range(min(MAX_CHECKED_PER_PASS, len(self._unchecked))):
            connection = self._unchecked.popleft()
            if connection.deadline <= now:
                connection.sweep(now)
                closed += 1
                if closed == MAX_CLOSED_PER_PASS:
                    break
        if self._unchecked:
            loop.call_soon(self._check_some)

    def load(self) -> tuple[int, int]:
        """Return the numbers of open connections and requests in progress."""
        return len(self.server_state.connections), len(self.server_state.tasks)

    async def on_tick(self, counter: int) -> bool:
        """Run the due functions; return whether to stop. Called ten times a second."""
        stop = await super().on_tick(counter)
        if counter % TICKS_PER_SECOND == 0:
            self.limits.defaults = b"".join(b"%b: %b\r\n" % header for header in self.server_state.default_headers)
        for tick in self.ticks:
            if counter % tick.every == 0:
                tick.run()
        return stop

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to accept connections."""
        self._accept_sockets = [listener.dup() for listener in sockets or () for _ in range(ACCEPT_SOCKETS - 1)]
        await super().startup([*sockets, *self._accept_sockets] if sockets else None)
        self.on_started()

    async def main_loop(self) -> None:
        """Call `on_tick` ten times a second until the server stops."""
        counter = 0
        while not await self.on_tick(counter):
            counter += 1
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1 / TICKS_PER_SECOND):
                    await self._stop_event.wait()

    def stop(self) -> None:
        """Stop accepting requests, finish requests in progress, and return from `serve`."""
        self.should_exit = True
        self._stop_event.set()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop on a signal; a second Ctrl+C does not wait for requests in progress."""
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.stop()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, let requests in progress finish, then abort the remaining connections."""
        self.on_stopping()
        for listener in (*self.servers, *(sockets or ()), *self._accept_sockets):
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
        """Stop on SIGTERM and SIGINT; after a graceful end the signal is not raised again, so the exit status is 0."""
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


def make_server(app: Any, limits: ServerLimits, *, shutdown_timeout: float, ticks: Sequence[Tick] = (), https: bool = False) -> Server:
    """Build the server for an ASGI application; `https`: HTTP clients reach it by https, through a proxy."""
    config = uvicorn.Config(
        app,
        http=partial(ServerConnection, limits),  # type: ignore[arg-type]
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
    return Server(config, limits, shutdown_timeout, ticks)


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on this address; raises `OSError`."""
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    family, kind, protocol, _, address = addresses[0]
    listener = socket.socket(family, kind, protocol)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        # Connections inherit it. Sent, unacknowledged bytes do not count, so a long round trip costs no throughput.
        if hasattr(socket, "TCP_NOTSENT_LOWAT"):  # not every system has it
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, TCP_NOTSENT_LOWAT_BYTES)
        listener.bind(address)
        # Listen now: a bound socket that does not listen would not report "address in use" to another bind.
        listener.listen(BACKLOG)
    except OSError:
        listener.close()
        raise
    listener.setblocking(False)
    return listener


def freeze_gc() -> None:
    """Exclude all existing objects from garbage collection, and collect rarely from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)
