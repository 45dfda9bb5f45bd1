"""Answers in one message: on the wire they are what the same answers in two messages are."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.conftest import Start

from touchbase.common.asgi import EXTENSION
from touchbase.server.origin_guard import Cors, CorsHeaders

Headers = list[tuple[bytes, bytes]]
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
METHODS = (b"GET", b"HEAD")
PROBLEM: Headers = [(b"content-type", b"application/problem+json"), (b"retry-after", b"1")]
ANSWERS: dict[str, tuple[int, Headers, bytes]] = {
    "with a body": (200, [(b"content-type", b"application/json")], b'{"id":1}'),
    "without one": (200, [], b""),
    "a problem": (422, PROBLEM, b'{"status":422}'),
    "without content": (204, [(b"x-request-id", b"a")], b""),
    "not modified": (304, [(b"etag", b'"1"')], b""),
    "with a policy of its own": (200, [(b"content-security-policy", b"default-src 'self'")], b"<p>"),
    "that may be kept": (200, [(b"cache-control", b"max-age=60")], b"x"),
    "the last one": (200, [(b"connection", b"close")], b"x"),
}


def whole(status: int, headers: Headers, body: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": EXTENSION, "status": status, "headers": headers, "body": body})

    return app


def in_two(status: int, headers: Headers, body: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        length = [] if status in (204, 304) else [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": [*headers, *length]})
        await send({"type": "http.response.body", "body": body})

    return app


async def spoken(start: Start, app: Any, request: bytes) -> tuple[bytes, list[bytes], bytes]:
    """The status line, the header lines in order of the alphabet, and the body."""
    caller = await (await start(app)).call()
    await caller.send(request)
    head, _, body = (await caller.rest()).partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    return line, sorted(each for each in lines if not each.startswith(b"date:")), body


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_an_answer_is_the_same_in_one_message_and_in_two(start: Start, answer: tuple[int, Headers, bytes], method: bytes) -> None:
    request = GET.replace(b"GET", method)

    assert await spoken(start, whole(*answer), request) == await spoken(start, in_two(*answer), request)


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
async def test_its_length_is_what_is_sent(start: Start, answer: tuple[int, Headers, bytes]) -> None:
    _, lines, body = await spoken(start, whole(*answer), GET)

    assert body == answer[2]
    assert [each for each in lines if each.startswith(b"content-length")] == (
        [] if answer[0] in (204, 304) else [b"content-length: %d" % len(body)]
    )


async def test_the_connection_stays_open_for_the_next_request(start: Start) -> None:
    running = await start(whole(*ANSWERS["with a body"]))
    caller = await running.call()

    for _ in range(3):
        await caller.send(b"GET /next HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert (await caller.answer())[2] == b'{"id":1}'

    assert running.ended == [("/next", 200)] * 3


async def test_it_ends_the_connection_of_a_caller_that_sends_a_body_on_after_it_was_told_to_wait(start: Start) -> None:
    caller = await (await start(whole(*ANSWERS["a problem"]))).call()

    await caller.send(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n")
    status, headers, _ = await caller.answer()

    assert (status, headers["connection"]) == (422, "close")


@pytest.mark.parametrize(
    "headers",
    [
        [(b"x-given", b"a\r\nset-cookie: stolen=1")],
        [(b"x-given", b"a\nb")],
        [(b"x-given\r", b"a")],
        [(b"x-given", b"a\0b")],
        [(b"content-length", b"8")],
    ],
    ids=["line break", "line feed", "in a name", "NUL", "a length of its own"],
)
async def test_one_that_would_break_the_protocol_becomes_a_problem(start: Start, headers: Headers) -> None:
    caller = await (await start(whole(200, headers, b"hello"))).call()

    await caller.send(GET)
    status, told, body = await caller.answer()

    assert (status, told["connection"], json.loads(body)["code"]) == (500, "close", "internal_error")
    assert "set-cookie" not in told
    assert await caller.rest() == b""


async def test_nothing_is_said_after_it(start: Start) -> None:
    async def twice(scope: Any, receive: Any, send: Any) -> None:
        for _ in range(2):
            await whole(*ANSWERS["with a body"])(scope, receive, send)

    running = await start(twice)
    caller = await running.call()

    await caller.send(GET)

    assert (await caller.rest()).count(b"HTTP/1.1") == 1
    assert running.ended == [("/", 200)]


async def test_it_is_offered_only_where_nobody_has_something_to_add(start: Start) -> None:
    offered: list[bool] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        offered.append(EXTENSION in scope["extensions"])
        await in_two(200, [], b"hello")(scope, receive, send)

    origin = "https://page.example"
    asked = GET.replace(b"\r\n\r\n", b"\r\nOrigin: https://page.example\r\n\r\n")
    plain = await spoken(start, app, asked)
    caller = await (await start(Cors(app, [origin]), cors_headers=CorsHeaders([origin]))).call()
    await caller.send(asked)
    _, granted, body = await caller.answer()

    assert offered == [True, False]
    assert not [each for each in plain[1] if each.startswith(b"access-control")]
    assert (granted["access-control-allow-origin"], body) == (origin, b"hello")
