"""Whole bodies: a handler runs once the body is there, so that who calls, and what is found, are as they are then.

A body may take its time. What was true when its first byte came (a key, a client, a connection) may have ended
by the last one, and must not open anything any more.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from touchbase.auth.authentication import WRITE
from touchbase.http.asgi_types import Message, Receive
from touchbase.http.endpoint import Call, Handler
from touchbase.http.request_body import read_body
from touchbase.http.responses import Response

Owner = Callable[[Call], Awaitable[int]]
"""Lets in who may call at all; the number of the client that the call is for."""


async def of_administrator(call: Call) -> int:
    """Lets administrators in; the number of the client that this one is limited to, or 0."""
    return await call.administrator() or 0


async def of_client(call: Call) -> int:
    """Lets in who may write records; the number of the client that the call is for."""
    return (await call.client(WRITE)).number


def whole(handler: Handler, owner: Owner = of_administrator) -> Handler:
    """The handler, which lets in by itself, run once the body is whole. Nobody's body is read whom `owner` does not let in."""

    async def with_body(call: Call) -> Response:
        await whole_body(call, owner)
        return await handler(call)

    return with_body


async def whole_body(call: Call, owner: Owner) -> bytes:
    """The body, from a caller who may call at all; whoever reads it after this finds it as if nobody had."""
    await owner(call)
    limits = call.api.parts.limits
    body = await read_body(call.receive, call.headers, limits.api_body_bytes, limits)
    call.receive = _again(body)
    return body


def _again(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
