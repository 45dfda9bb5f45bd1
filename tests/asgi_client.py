"""In-process ASGI client of the web application, without sockets or an HTTP library, and its fixtures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tests.files import FILES

from touchbase.common.asgi import path_of
from touchbase.common.timestamps import SECOND, from_text, to_text
from touchbase.imports.preview import Previews
from touchbase.metrics import Counter, Labels, NoMetrics
from touchbase.sql.store import Store
from touchbase.web import Dependencies, build_app

START = from_text("2026-11-20T09:30:00Z")


class Clock:
    """A clock that only tests advance."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> str:
        """Advance the clock; return the new time as text."""
        self.now += int(seconds * SECOND)
        return to_text(self.now)


@dataclass
class Response:
    """A response as the application sent it."""

    status: int
    headers: dict[str, str]
    body: bytes
    set_cookies: list[str] = field(default_factory=list)
    """All of them: `headers` has the last one."""

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> dict[str, Any]:
        """The problem body without its request id, which is checked."""
        assert self.headers["content-type"] == "application/problem+json"
        body = self.json()
        assert body.pop("request_id") == self.headers["x-request-id"]
        return body


class CountedMetrics(NoMetrics):
    """Metrics that list what was counted."""

    def __init__(self) -> None:
        self.counted: list[tuple[object, ...]] = []

    def count(self, metric: Counter[*Labels], *labels: *Labels, amount: int = 1) -> None:
        """List the metric and its labels."""
        self.counted.append((metric, *labels))


@dataclass
class ApiClient:
    """Sends requests to one application."""

    parts: Dependencies
    clock: Clock
    kept: list[int] = field(default_factory=list)
    """Numbers of the clients whose deliveries were stored."""
    peer: tuple[str, int] | None = None
    """The address that requests come from."""

    def __post_init__(self) -> None:
        self.app = build_app(self.parts)

    async def __call__(self, method: str, target: str, body: object = None, *, raw: bytes | None = None, **headers: str) -> Response:
        """Send one request: `body` as JSON, or `raw` as it is."""
        if body is not None:
            raw = json.dumps(body).encode()
            headers = {"content-type": "application/json", **headers}
        raw = raw or b""
        scope = scope_of(method, target, {"content-length": str(len(raw)), **headers})
        return await self.send(scope, [{"type": "http.request", "body": raw, "more_body": False}])

    async def in_pieces(self, method: str, target: str, pieces: list[bytes], **headers: str) -> Response:
        """Send one request with a chunked body and no Content-Length."""
        messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        return await self.send(scope_of(method, target, headers), [*messages, {"type": "http.request"}])

    async def send(self, scope: dict[str, Any], messages: list[dict[str, Any]]) -> Response:
        """Pass these ASGI messages to the application, then a disconnect."""
        scope["client"] = scope.get("client") or self.peer
        coming = iter([*messages, {"type": "http.disconnect"}])

        async def receive() -> dict[str, Any]:
            return next(coming)

        return await self.with_receive(scope, receive)

    async def with_receive(self, scope: dict[str, Any], receive: Callable[[], Any]) -> Response:
        """Run the application with this `receive`; status 0 means that it sent nothing."""
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return Response(0, {}, b"")
        start, *remaining_sent = sent
        result = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        cookies = [value.decode("latin-1") for name, value in start["headers"] if name == b"set-cookie"]
        return Response(start["status"], result, b"".join(message.get("body", b"") for message in remaining_sent), cookies)

    async def get(self, target: str, **headers: str) -> Response:
        return await self("GET", target, **headers)

    async def post(self, target: str, body: object = None, **headers: str) -> Response:
        return await self("POST", target, body, **headers)

    async def patch(self, target: str, body: object, **headers: str) -> Response:
        return await self("PATCH", target, body, **headers)

    async def settings(self, client_id: str = "default", **settings: object) -> None:
        """Replace a client's settings."""
        reply = await self("PUT", f"/admin/v1/clients/{client_id}", {"settings": settings})
        assert reply.status in (200, 201), reply


def scope_of(method: str, target: str, headers: dict[str, str]) -> dict[str, Any]:
    """Build the ASGI scope of a request as the server does, with the raw and the decoded path (`server/request_head.py`)."""
    path, _, query = target.partition("?")
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path_of(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "client": None, "server": None,
        "headers": [(name.replace("_", "-").lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    }  # fmt: skip


class Streamed:
    """A connection that gets a response in pieces until it leaves."""

    def __init__(self, call: ApiClient, target: str, **headers: str) -> None:
        self._gone: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.task = asyncio.create_task(call.app(scope_of("GET", target, headers), self._receive, self.sent.put))

    async def _receive(self) -> dict[str, Any]:
        return await self._gone

    async def pieces(self) -> AsyncIterator[str]:
        while True:
            message = await self.sent.get()
            if message["type"] == "http.response.start":
                assert message["status"] == 200
            elif not message.get("more_body"):
                return
            else:
                yield message["body"].decode()

    async def leave(self) -> None:
        """Disconnect."""
        self._gone.set_result({"type": "http.disconnect"})
        await self.task


MakeClient = Callable[..., ApiClient]


@pytest.fixture
def clock() -> Clock:
    """A clock that only tests advance."""
    return Clock()


@pytest.fixture
def make_client(clock: Clock) -> MakeClient:
    """Build a client of an application with other dependencies."""

    def make(store: Store, **parts: Any) -> ApiClient:
        client_numbers: list[int] = []
        usual = {"store": store, "clock": clock, "version": "1", "on_stored": client_numbers.append, "previews": Previews(FILES)}
        return ApiClient(Dependencies(**{**usual, **parts}), clock, client_numbers)

    return make


@pytest.fixture
def call(store: Store, make_client: MakeClient) -> ApiClient:
    """A client of the application in open mode on a fresh store, once for each engine."""
    return make_client(store)


@pytest.fixture
def sqlite_call(memory: Store, make_client: MakeClient) -> ApiClient:
    """A client of the application in open mode on SQLite only, for behaviour that does not depend on the engine."""
    return make_client(memory)
