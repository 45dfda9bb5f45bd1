"""Responses: sending one over ASGI, with the headers of every response."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from touchbase.common.asgi import HEADER, Headers, Scope, Send, is_valid_request_id
from touchbase.common.unique_ids import UniqueIds
from touchbase.errors import TouchbaseError
from touchbase.http.headers import RATE_LIMIT_HEADERS
from touchbase.http.problems import PROBLEM_JSON, problem
from touchbase.metrics import HTTP_PROBLEMS, Metrics

JSON = b"application/json"
WITHOUT_BODY = (204, 304)
_serials = UniqueIds()


@dataclass(slots=True)
class Response:
    """A status, a body and headers in addition to `Content-Type`, `Content-Length` and `X-Request-Id`."""

    status: int = 200
    body: bytes = b""
    content_type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    stored_body: bytes | None = None
    """The body to store for an idempotency key, if `body` contains a secret."""
    record: tuple[int, int] | None = None
    """Kind and id of the record in the body."""
    stream: AsyncIterator[bytes] | None = None
    """The body in pieces, in place of `body`, of unknown length; an error while it is sent ends the connection."""


def request_id_of(headers: Headers) -> bytes:
    """Return the HTTP client's `X-Request-Id` if it is valid, else a new one."""
    request_id = headers.get(HEADER)
    if request_id is not None and is_valid_request_id(request_id):
        return request_id
    process, number = _serials.next()
    return f"{process}{number:08x}".encode()


async def send_response(scope: Scope, send: Send, response: Response, request_id: bytes) -> None:
    """Send a response; to HEAD without its body."""
    content = [] if response.status in WITHOUT_BODY else [(b"content-type", response.content_type)]
    headers = [*content, (b"x-request-id", request_id), *scope.get(RATE_LIMIT_HEADERS, ()), *response.headers]
    if response.stream is not None:
        await _send_stream(scope, send, response.status, headers, response.stream)
        return
    await send_complete(scope, send, response.status, headers, response.body)


async def _send_stream(scope: Scope, send: Send, status: int, headers: list[tuple[bytes, bytes]], pieces: AsyncIterator[bytes]) -> None:
    """Send a response piece by piece; the next piece is made when the one before has left."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if scope["method"] != "HEAD":
        try:
            async with contextlib.aclosing(pieces) as body:  # type: ignore[type-var]
                async for piece in body:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
        except ConnectionAbortedError:
            return
    await send({"type": "http.response.body", "body": b""})


async def send_empty(scope: Scope, send: Send, request_id: bytes) -> None:
    """Send 200 without a body."""
    await send_complete(scope, send, 200, [(b"x-request-id", request_id)], b"")


async def send_complete(scope: Scope, send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send a whole response with its length."""
    if status not in WITHOUT_BODY:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def send_problem(scope: Scope, send: Send, error: TouchbaseError, request_id: bytes, metrics: Metrics) -> None:
    """Send a problem response, and count it."""
    metrics.count(HTTP_PROBLEMS, error.code)
    status, body, headers = problem(error, request_id.decode("ascii"))
    await send_response(scope, send, Response(status, body, PROBLEM_JSON, headers), request_id)
