"""A server in the event loop of the test, and raw connections to it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

from touchbase.server.health import Operations
from touchbase.server.limits import ServerLimits
from touchbase.server.request_cycle import Cycle
from touchbase.server.server import Server, listen, make_server


def pytest_asyncio_loop_factories(config: pytest.Config, item: pytest.Item) -> dict[str, Callable[[], Any]]:
    """The loop that the server runs on in production."""
    return {"uvloop": uvloop.new_event_loop}


@dataclass
class RawConnection:
    """One connection to the server."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Read the next response: status, headers, body."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
        line, *lines = head.strip().split("\r\n")
        headers = dict(item.split(": ", 1) for item in lines)
        length = int(headers.get("content-length", 0))
        return int(line.split()[1]), headers, await self.reader.readexactly(length)

    async def read_to_end(self) -> bytes:
        """Read until the server closes the connection."""
        return await self.reader.read()


@dataclass
class Running:
    """A running server, and the path and status of each finished request."""

    server: Server
    port: int
    task: asyncio.Task[None]
    ended: list[tuple[str, int]]
    noted: asyncio.Event
    """Set once a request has ended."""
    callers: list[RawConnection] = field(default_factory=list)

    async def call(self) -> RawConnection:
        """Open a connection."""
        caller = RawConnection(*await asyncio.open_connection("127.0.0.1", self.port))
        self.callers.append(caller)
        return caller

    async def stop(self) -> None:
        """Stop the server as a signal does, and wait until it has ended."""
        self.server.stop()
        await self.task


def dispatched(operations: Operations, app: Any = None) -> Any:
    """An application that serves the paths of operations, and other paths with `app`, as `touchbase.web` does."""

    async def dispatch(scope: Any, receive: Any, send: Any) -> None:
        await operations.by_path.get(scope.get("path"), app or echo)(scope, receive, send)

    return dispatch


async def echo(scope: Any, receive: Any, send: Any) -> None:
    """Respond with the body of the request."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body += message["body"]
        if not message["more_body"]:
            break
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Gate:
    """An application that responds once `opened` is set."""

    def __init__(self) -> None:
        self.inside = asyncio.Event()
        self.opened = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.inside.set()
        await self.opened.wait()
        await echo(scope, receive, send)


Start = Callable[..., Awaitable[Running]]


@pytest.fixture
async def start() -> AsyncIterator[Start]:
    """Start a server for an application, with these limits changed."""
    started: list[Running] = []

    async def run(app: Any = echo, shutdown_timeout: float = 5, **changed: Any) -> Running:
        ended: list[tuple[str, int]] = []
        noted = asyncio.Event()

        def observe(cycle: Cycle) -> None:
            ended.append((cycle.scope["path"], cycle.status))
            noted.set()

        values: dict[str, Any] = {
            "header_timeout": 5, "keep_alive": 5, "send_timeout": 5, "max_headers": 20, "max_header_bytes": 2000,
            "max_requests": 10, "max_connections": 10, "observe": observe,
        }  # fmt: skip
        server = make_server(app, ServerLimits(**values | changed), shutdown_timeout=shutdown_timeout)
        listener = listen("127.0.0.1", 0)
        port = listener.getsockname()[1]
        running = Running(server, port, asyncio.create_task(server.serve([listener])), ended, noted)
        started.append(running)
        return running

    yield run
    for running in started:
        for caller in running.callers:
            caller.writer.close()
            with contextlib.suppress(ConnectionError):
                await caller.writer.wait_closed()
        await running.stop()
