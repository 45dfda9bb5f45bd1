"""Answers: sending one over ASGI, and what every answer carries."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.asgi import EXTENSION, HEADER, is_valid_request_id
from touchbase.common.unique_ids import UniqueIds
from touchbase.errors import TouchbaseError
from touchbase.http.asgi_types import Headers, Scope, Send
from touchbase.http.dependencies import Metrics
from touchbase.http.problems import PROBLEM_JSON, problem
from touchbase.http.rate_limit_headers import STANDING

JSON = b"application/json"
_serials = UniqueIds()


@dataclass(slots=True)
class Response:
    """A status, a body and headers besides `Content-Type`, `Content-Length` and `X-Request-Id`."""

    status: int = 200
    body: bytes = b""
    content_type: bytes = JSON
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    kept_body: bytes | None = None
    """What may be kept of a body that shows a secret."""
    record: tuple[int, int] | None = None
    """Kind and id of the record whose values are in the body."""


def request_id_of(headers: Headers) -> bytes:
    """The caller's `X-Request-Id` if it is a sane one, else one of ours."""
    given = headers.get(HEADER)
    if given is not None and is_valid_request_id(given):
        return given
    process, number = _serials.next()
    return f"{process}{number:08x}".encode()


async def send_answer(scope: Scope, send: Send, answer: Response, request_id: bytes) -> None:
    """Send an answer; to HEAD without its body."""
    content = [] if answer.status == 204 else [(b"content-type", answer.content_type)]
    headers = [*content, (b"x-request-id", request_id), *scope.get(STANDING, ()), *answer.headers]
    await send_whole(scope, send, answer.status, headers, answer.body)


async def send_empty(scope: Scope, send: Send, request_id: bytes) -> None:
    """Send 200 without a body."""
    await send_whole(scope, send, 200, [(b"x-request-id", request_id)], b"")


async def send_whole(scope: Scope, send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    """Send an answer and its length; in one message where the server takes that."""
    if EXTENSION in scope.get("extensions", ()):
        await send({"type": EXTENSION, "status": status, "headers": headers, "body": body})
        return
    if status != 204:
        headers = [*headers, (b"content-length", b"%d" % len(body))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if scope["method"] == "HEAD" else body})


async def send_problem(scope: Scope, send: Send, error: TouchbaseError, request_id: bytes, metrics: Metrics) -> None:
    """Send a problem body, and count it."""
    metrics.request_refused(error.code)
    status, body, headers = problem(error, request_id.decode("ascii"))
    await send_answer(scope, send, Response(status, body, PROBLEM_JSON, headers), request_id)
