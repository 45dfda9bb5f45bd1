"""Requests to the application in this process, each at a time of its own."""

from __future__ import annotations

import json
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.http.asgi_types import App
from touchbase.http.inner_request import send_inner

_OWN: ContextVar[Micros | None] = ContextVar("time of a request", default=None)


class DemoFailed(TouchbaseError):
    """The demo could not be made."""


class DemoClock:
    """The time of a request, if the task has one, else that up to which all has happened."""

    def __init__(self, now: Micros) -> None:
        self.now = now

    def __call__(self) -> Micros:
        """Return the time."""
        return _OWN.get() or self.now


@dataclass(frozen=True, slots=True)
class Answer:
    """A response."""

    status: int
    body: bytes

    def json(self) -> Any:
        """Return the body's value."""
        return json.loads(self.body) if self.body else None


class FrontDoor:
    """Sends requests to an ASGI application."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def send(
        self, method: str, target: str, body: bytes = b"", at: Micros | None = None, media: str = "application/json", client_id: str = ""
    ) -> Answer:
        """Send a request; `at`: the time at which it happens."""
        path, _, query = target.partition("?")
        headers = [(b"content-type", media.encode()), (b"user-agent", b"touchbase-demo")]
        if client_id:
            headers.append((b"x-client-id", client_id.encode()))
        token = _OWN.set(at)
        try:
            return Answer(*await send_inner(self._app, method, path, query.encode(), headers, body))
        finally:
            _OWN.reset(token)

    async def ask(self, method: str, path: str, value: Any = None, at: Micros | None = None, client_id: str = "") -> Any:
        """Send a request with a JSON body; return the value of the response. Raises `DemoFailed` for an error."""
        answer = await self.send(method, path, b"" if value is None else json.dumps(value).encode(), at, client_id=client_id)
        if answer.status >= 400:
            raise DemoFailed(f"{method} {path} answered {answer.status}: {answer.body.decode()[:500]}")
        return answer.json()
