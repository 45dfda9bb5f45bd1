"""A caller for the web application, in process: no sockets, no HTTP library between the test and ASGI."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from touchbase.common.timestamps import SECOND, from_text, to_text
from touchbase.http.app import Dependencies, build_app
from touchbase.server.request_head import path_of
from touchbase.sql.store import Store

START = from_text("2026-11-20T09:30:00Z")


class Clock:
    """A clock that moves only when a test moves it."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        return self.now

    def move(self, seconds: float) -> str:
        self.now += int(seconds * SECOND)
        return to_text(self.now)


@dataclass
class Reply:
    """An answer as it was sent."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def problem(self) -> dict[str, Any]:
        """The problem body, its request id checked and left out."""
        assert self.headers["content-type"] == "application/problem+json"
        found = self.json()
        assert found.pop("request_id") == self.headers["x-request-id"]
        return found


@dataclass
class Caller:
    """Calls one application."""

    parts: Dependencies
    clock: Clock
    kept: list[int] = field(default_factory=list)
    """Numbers of the clients for whom a delivery was kept."""

    def __post_init__(self) -> None:
        self.app = build_app(self.parts)

    async def __call__(self, method: str, target: str, body: object = None, *, raw: bytes | None = None, **headers: str) -> Reply:
        """Send one request: `body` as JSON, or `raw` as it is."""
        if body is not None:
            raw = json.dumps(body).encode()
            headers = {"content-type": "application/json", **headers}
        raw = raw or b""
        scope = scope_of(method, target, {"content-length": str(len(raw)), **headers})
        return await self.send(scope, [{"type": "http.request", "body": raw, "more_body": False}])

    async def in_pieces(self, method: str, target: str, pieces: list[bytes], **headers: str) -> Reply:
        """Send one request whose body comes in pieces, its length not announced."""
        messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        return await self.send(scope_of(method, target, headers), [*messages, {"type": "http.request"}])

    async def send(self, scope: dict[str, Any], messages: list[dict[str, Any]]) -> Reply:
        """Hand these messages to the application, then that the caller is gone."""
        coming = iter([*messages, {"type": "http.disconnect"}])

        async def receive() -> dict[str, Any]:
            return next(coming)

        return await self.with_receive(scope, receive)

    async def with_receive(self, scope: dict[str, Any], receive: Callable[[], Any]) -> Reply:
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        if not sent:
            return Reply(0, {}, b"")
        start, *rest = sent
        found = {name.decode(): value.decode("latin-1") for name, value in start["headers"]}
        return Reply(start["status"], found, b"".join(message.get("body", b"") for message in rest))

    async def get(self, target: str, **headers: str) -> Reply:
        return await self("GET", target, **headers)

    async def post(self, target: str, body: object = None, **headers: str) -> Reply:
        return await self("POST", target, body, **headers)

    async def patch(self, target: str, body: object, **headers: str) -> Reply:
        return await self("PATCH", target, body, **headers)

    async def settings(self, client_id: str = "default", **settings: object) -> None:
        """Replace a client's settings."""
        reply = await self("PUT", f"/admin/v1/clients/{client_id}", {"settings": settings})
        assert reply.status in (200, 201), reply


def scope_of(method: str, target: str, headers: dict[str, str]) -> dict[str, Any]:
    """The scope of a request as the server makes it: the path as it was sent, and undone (`server/request_head.py`)."""
    path, _, query = target.partition("?")
    return {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
        "path": path_of(path), "raw_path": path.encode(), "query_string": query.encode(), "root_path": "", "client": None, "server": None,
        "headers": [(name.replace("_", "-").lower().encode(), value.encode("latin-1")) for name, value in headers.items()],
    }  # fmt: skip


Make = Callable[..., Caller]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def caller_of(clock: Clock) -> Make:
    """Makes callers of an application with other parts."""

    def make(store: Store, **parts: Any) -> Caller:
        kept: list[int] = []
        return Caller(Dependencies(**{"store": store, "clock": clock, "version": "1", "on_stored": kept.append, **parts}), clock, kept)

    return make


@pytest.fixture
def call(store: Store, caller_of: Make) -> Caller:
    """The application in open mode on a fresh store, once for each engine."""
    return caller_of(store)


@pytest.fixture
def here(memory: Store, caller_of: Make) -> Caller:
    """The application in open mode, for what no engine can change."""
    return caller_of(memory)
