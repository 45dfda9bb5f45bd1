"""How answers leave the server, and what happens when the application fails."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.server.conftest import Start

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def answering(status: int, headers: list[tuple[bytes, bytes]], *parts: bytes) -> Any:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": status, "headers": headers})
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body"})

    return app


async def test_response__without_content_length_is_chunked(start: Start) -> None:
    caller = await (await start(answering(200, [], b"hel", b"", b"lo"))).call()

    await caller.send(GET.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    head, _, body = (await caller.read_to_end()).partition(b"\r\n\r\n")

    assert b"transfer-encoding: chunked" in head
    assert body == b"3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"


async def test_head__gets_the_headers_without_a_body(start: Start) -> None:
    caller = await (await start(answering(200, [(b"content-length", b"5")], b"hello"))).call()

    await caller.send(GET.replace(b"GET", b"HEAD").replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    head, _, body = (await caller.read_to_end()).partition(b"\r\n\r\n")

    assert b"content-length: 5" in head
    assert body == b""


async def test_response__with_204_is_not_chunked(start: Start) -> None:
    caller = await (await start(answering(204, []))).call()

    await caller.send(GET)
    status, headers, _ = await caller.response()

    assert status == 204
    assert "transfer-encoding" not in headers


async def test_http_1_0_request__gets_its_response_and_the_connection_closes(start: Start) -> None:
    caller = await (await start(answering(200, [(b"content-length", b"5")], b"hello"))).call()

    await caller.send(b"GET / HTTP/1.0\r\n\r\n")
    status, headers, body = await caller.response()

    assert (status, headers["connection"], body) == (200, "close", b"hello")
    assert await caller.read_to_end() == b""


@pytest.mark.parametrize(
    "app",
    [
        answering(200, [(b"content-length", b"3")], b"hello"),
        answering(200, [(b"content-length", b"8")]),
        answering(200, [(b"x-given", b"a\r\nset-cookie: stolen=1"), (b"content-length", b"0")]),
        answering(200, [(b"x-given", b"a\nb"), (b"content-length", b"0")]),
        answering(200, [(b"x-given\r", b"a"), (b"content-length", b"0")]),
        answering(200, [(b"x-given", b"a\0b"), (b"content-length", b"0")]),
    ],
    ids=["longer than announced", "shorter than announced", "line break", "line feed", "line break in a name", "NUL"],
)
async def test_response__that_violates_http_becomes_500(start: Start, app: Any) -> None:
    running = await start(app)
    caller = await running.call()

    await caller.send(GET)
    status, headers, body = await caller.response()

    assert (status, headers["connection"], json.loads(body)["code"]) == (500, "close", "internal_error")
    assert "set-cookie" not in headers
    assert await caller.read_to_end() == b""


async def test_application_exception__becomes_500_without_its_message(start: Start) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise ValueError("secret")

    running = await start(broken)
    caller = await running.call()

    await caller.send(GET)
    status, headers, body = await caller.response()

    assert (status, headers["content-type"]) == (500, "application/problem+json")
    assert json.loads(body)["request_id"] == headers["x-request-id"]
    assert b"secret" not in body
    assert running.ended == [("/", 500)]


async def test_application__that_sends_no_response_becomes_500(start: Start) -> None:
    async def silent(scope: Any, receive: Any, send: Any) -> None:
        return

    caller = await (await start(silent)).call()

    await caller.send(GET)
    status, _, body = await caller.response()

    assert (status, json.loads(body)["code"]) == (500, "internal_error")


async def test_application_exception__in_mid_response_closes_the_connection(start: Start) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"half", "more_body": True})
        raise ValueError

    caller = await (await start(broken)).call()

    await caller.send(GET)
    response = await caller.read_to_end()

    assert response.endswith(b"4\r\nhalf\r\n")


async def test_application_exception__after_the_response_leaves_the_connection_open(start: Start) -> None:
    async def late(scope: Any, receive: Any, send: Any) -> None:
        await answering(200, [(b"content-length", b"0")])(scope, receive, send)
        raise ValueError

    running = await start(late)
    caller = await running.call()

    await caller.send(GET)
    first = await caller.response()
    await caller.send(GET)
    second = await caller.response()

    assert (first[0], second[0]) == (200, 200)
    assert running.ended == [("/", 200), ("/", 200)]
