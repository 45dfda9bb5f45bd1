"""Buffering of bodies: a handler runs after the whole body has arrived.

A body may arrive slowly. A key, client or connection that was valid at the first byte may be revoked by the
last one, so the handler checks it after the body.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from touchbase.http.asgi_types import Message, Receive
from touchbase.http.endpoint import Call, Handler
from touchbase.http.request_body import read_body
from touchbase.http.responses import Response

Owner = Callable[[Call], Awaitable[int]]
"""Authorizes a request; returns the number of its client."""


async def of_administrator(call: Call) -> int:
    """Authorize an administrator; return the number of the client that the key is limited to, or 0."""
    return await call.administrator() or 0


async def of_client(call: Call) -> int:
    """Authorize a request for records; return the number of its client."""
    return (await call.client()).number


def buffer_body(handler: Handler, owner: Owner = of_administrator) -> Handler:
    """Run the handler after the body has arrived; `owner` authorizes the request before its body is read, the handler again after."""

    async def with_body(call: Call) -> Response:
        await read_whole_body(call, owner)
        return await handler(call)

    return with_body


async def read_whole_body(call: Call, owner: Owner) -> bytes:
    """Authorize the request and read its body; later reads get the same body again."""
    await owner(call)
    limits = call.api.dependencies.limits
    body = await read_body(call.receive, call.headers, call.body_bytes, limits)
    call.receive = _receive_buffered(body)
    return body


def _receive_buffered(body: bytes) -> Receive:
    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive
