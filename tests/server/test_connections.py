"""What a connection may do to the server, tried with raw bytes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from typing import Any

import pytest
from tests.server.conftest import Gate, Start, echo

from touchbase.server.proxy_headers import TrustedProxies
from touchbase.server.server import ACCEPT_SOCKETS

HOST = b"Host: localhost\r\n"


def code_in(body: bytes) -> str:
    return str(json.loads(body)["code"])


async def test_connection__stays_open_after_a_response(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(b"POST /a?q=1 HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello")
    first = await caller.response()
    await caller.send(b"GET /b HTTP/1.1\r\n" + HOST + b"\r\n")
    second = await caller.response()

    assert (first[0], first[2]) == (200, b"hello")
    assert (second[0], second[2]) == (200, b"")


async def test_response__has_the_security_headers_and_the_date(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    _, headers, _ = await caller.response()

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["date"].endswith("GMT")
    assert "server" not in headers


async def test_chunked_body__is_read_without_a_content_length(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n")
    status, _, body = await caller.response()

    assert (status, body) == (200, b"hello")


@pytest.mark.parametrize(
    "lengths",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    ],
)
async def test_two_body_lengths__are_refused_and_close_the_connection(start: Start, lengths: bytes) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + lengths + b"\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n")
    status, headers, body = await caller.response()

    assert status == 400
    assert headers["content-type"] == "application/problem+json"
    assert headers["connection"] == "close"
    assert code_in(body) == "ambiguous_length"
    assert await caller.read_to_end() == b""
    assert running.ended == []


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 5, 5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +5\r\n\r\nhello",
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: -1\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: identity\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
        b"GET / HTTP/1.1\r\nHost : localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n folded\r\n\r\n",
        b"GET \xff HTTP/1.1\r\n" + HOST + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    ],
)
async def test_malformed_request__gets_400_with_a_problem_body(start: Start, request_bytes: bytes) -> None:
    caller = await (await start()).call()

    await caller.send(request_bytes)
    status, headers, body = await caller.response()

    assert status == 400
    assert headers["content-type"] == "application/problem+json"
    assert json.loads(body)["request_id"] == headers["x-request-id"]
    assert await caller.read_to_end() == b""


async def test_max_headers__refuses_more_with_431(start: Start) -> None:
    caller = await (await start(max_headers=5)).call()

    await caller.send(b"GET / HTTP/1.1\r\n" + HOST + b"".join(b"X-%d: 1\r\n" % number for number in range(5)) + b"\r\n")
    status, _, body = await caller.response()

    assert (status, code_in(body)) == (431, "too_many_headers")


@pytest.mark.parametrize("where", [b"GET /" + b"a" * 3000 + b" HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nX: " + b"a" * 3000 + b"\r\n"])
async def test_max_header_bytes__refuses_longer_headers_with_431(start: Start, where: bytes) -> None:
    caller = await (await start()).call()

    await caller.send(where + HOST + b"\r\n")
    status, _, body = await caller.response()

    assert (status, code_in(body)) == (431, "headers_too_large")


async def test_max_header_bytes__refuses_endless_headers_while_they_arrive(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(b"GET / HTTP/1.1\r\n" + HOST)
    answering = asyncio.create_task(caller.response())
    while not answering.done():
        await caller.send(b"X-More: " + b"a" * 100 + b"\r\n")
        await asyncio.sleep(0)
    status, _, body = await answering

    assert (status, code_in(body)) == (431, "headers_too_large")


async def test_max_header_bytes__excludes_the_bodies_of_pipelined_requests(start: Start) -> None:
    running = await start()
    caller = await running.call()
    first = b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 900\r\n\r\n" + b"x" * 900

    await caller.send(first * 5 + b"GET /last HT")
    await caller.send(b"TP/1.1\r\n" + HOST + b"\r\n")
    answers = [await caller.response() for _ in range(6)]

    assert [(status, len(body)) for status, _, body in answers] == [(200, 900)] * 5 + [(200, 0)]


async def test_header_timeout__ends_slow_headers_with_408(start: Start) -> None:
    caller = await (await start(header_timeout=0.1)).call()

    await caller.send(b"GET / HTTP/1.1\r\nHo")
    status, headers, body = await caller.response()

    assert (status, code_in(body)) == (408, "headers_too_slow")
    assert headers["connection"] == "close"
    assert await caller.read_to_end() == b""


async def test_header_timeout__closes_a_silent_connection(start: Start) -> None:
    caller = await (await start(header_timeout=0.1)).call()

    assert await caller.read_to_end() == b""


async def test_header_timeout__is_not_extended_by_empty_lines(start: Start) -> None:
    caller = await (await start(header_timeout=0.1)).call()

    for _ in range(3):
        await caller.send(b"\r\n")
        await asyncio.sleep(0)

    assert await caller.read_to_end() == b""


async def test_keep_alive__closes_a_connection_idle_after_its_response(start: Start) -> None:
    caller = await (await start(keep_alive=0.1)).call()

    await caller.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    status, _, _ = await caller.response()

    assert status == 200
    assert await caller.read_to_end() == b""


async def test_slow_response__is_not_ended_by_the_header_or_keep_alive_timeout(start: Start) -> None:
    gate = Gate()
    running = await start(gate, header_timeout=0.1, keep_alive=0.1)
    caller, silent = await running.call(), await running.call()

    await caller.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    await silent.read_to_end()  # the other caller's deadline has passed, and so would have this one's
    gate.opened.set()
    status, _, _ = await caller.response()

    assert status == 200


async def test_max_requests__refuses_more_with_503_and_serves_a_later_request(start: Start) -> None:
    gate = Gate()
    running = await start(gate, max_requests=1)
    first, second = await running.call(), await running.call()
    await first.send(b"GET /first HTTP/1.1\r\n" + HOST + b"\r\n")
    await gate.inside.wait()

    await second.send(b"POST /second HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello")
    status, headers, body = await second.response()
    gate.opened.set()
    await first.response()
    await second.send(b"POST /third HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello")
    later = await second.response()

    assert (status, headers["retry-after"], code_in(body)) == (503, "1", "overloaded")
    assert (later[0], later[2]) == (200, b"hello")


async def test_max_connections__refuses_one_more_with_503_and_closes_it(start: Start) -> None:
    running = await start(max_connections=1)
    first = await running.call()
    await first.send(b"GET / HTTP/1.1\r\n")

    second = await running.call()
    status, headers, body = await second.response()

    assert (status, headers["retry-after"], code_in(body)) == (503, "1", "overloaded")
    assert await second.read_to_end() == b""


async def test_pipelined_requests__get_responses_in_order_before_a_malformed_one(start: Start) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(b"GET /a HTTP/1.1\r\n" + HOST + b"\r\nGET /b HTTP/1.1\r\n" + HOST + b"\r\nnonsense\r\n\r\n")
    answers = [await caller.response(), await caller.response()]

    assert [status for status, _, _ in answers] == [200, 200]
    assert await caller.read_to_end() == b""
    assert running.ended == [("/a", 200), ("/b", 200)]


async def test_malformed_chunk__ends_the_request_with_400(start: Start) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\nnonsense\r\n")
    status, _, body = await caller.response()

    assert (status, code_in(body)) == (400, "malformed_request")
    assert await caller.read_to_end() == b""
    assert running.ended == [("/a", 499)]


CHUNKED = b"POST /a HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "body", [b"1\r\na\r\n" * 40, b"".join(b"1\r\n%c\r\n" % n for n in range(65, 105)), b"%x\r\n%b\r\n" % (80, b"\r\n\r\n" * 20)]
)
async def test_body__of_very_many_short_chunks_or_blank_lines_is_refused(
    start: Start, monkeypatch: pytest.MonkeyPatch, body: bytes
) -> None:
    monkeypatch.setattr("touchbase.server.request_head.MAX_CHUNKS", 10)
    caller = await (await start()).call()

    await caller.send(CHUNKED + body)
    status, _, response = await caller.response()

    assert (status, code_in(response)) == (400, "malformed_request")
    assert b"send larger chunks" in response
    assert await caller.read_to_end() == b""


async def test_body__of_larger_chunks_may_have_any_number(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.server.request_head.MAX_CHUNKS", 10)
    caller = await (await start()).call()

    for _ in range(2):  # the second request has its own chunks
        await caller.send(CHUNKED + b"80\r\n%b\r\n" % (b"ab" * 64) * 200 + b"0\r\n\r\n")
        status, _, body = await caller.response()

        assert (status, body) == (200, b"ab" * 12_800)


async def test_trailer_fields__do_not_become_headers(start: Start) -> None:
    observed: list[Any] = []

    async def spy(scope: Any, receive: Any, send: Any) -> None:
        await echo(scope, receive, send)
        observed.extend(scope["headers"])

    caller = await (await start(spy)).call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n0\r\nX-Client-Id: other\r\n\r\n")
    await caller.response()

    assert observed == [(b"host", b"localhost"), (b"transfer-encoding", b"chunked")]


async def test_early_response__leaves_the_connection_usable_after_the_rest_of_the_body(start: Start) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    caller = await (await start(hasty)).call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 10\r\n\r\nhello")
    first = await caller.response()
    await caller.send(b"worldPOST / HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n")
    second = await caller.response()

    assert (first[0], second[0]) == (413, 413)


async def test_early_response__with_close_reaches_a_sender_that_is_still_sending(start: Start) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0"), (b"connection", b"close")]})
        await send({"type": "http.response.body"})

    caller = await (await start(hasty)).call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 3000000\r\n\r\n" + b"x" * 2_000_000)
    status, headers, _ = await caller.response()

    assert (status, headers["connection"]) == (413, "close")
    assert await caller.read_to_end() == b""


async def test_expect_100_continue__gets_100_before_the_body(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    leave = await caller.reader.readuntil(b"\r\n\r\n")
    await caller.send(b"hello")
    status, _, body = await caller.response()

    assert leave == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert (status, body) == (200, b"hello")


async def test_expect_100_continue__an_early_final_response_closes_the_connection(start: Start) -> None:
    async def hasty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 413, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    caller = await (await start(hasty)).call()

    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Expect: 100-continue\r\nContent-Length: 5\r\n\r\n")
    status, headers, _ = await caller.response()

    assert (status, headers["connection"]) == (413, "close")
    assert await caller.read_to_end() == b""


async def test_upgrade_header__is_ignored_and_the_request_served(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(b"GET / HTTP/1.1\r\n" + HOST + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
    status, _, _ = await caller.response()

    assert status == 200
    assert await caller.read_to_end() == b""


async def test_send_timeout__closes_a_connection_that_does_not_read_its_response(start: Start) -> None:
    async def large(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(1000):
            await send({"type": "http.response.body", "body": b"x" * 1_000_000, "more_body": True})

    running = await start(large, send_timeout=0.1)
    caller = await running.call()
    await caller.send(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")

    await running.noted.wait()

    assert running.ended == [("/large", 499)]


async def test_accept__admits_many_waiting_connections_per_loop_iteration(start: Start) -> None:
    running = await start(max_connections=50)
    loop = asyncio.get_running_loop()
    with contextlib.ExitStack() as ending:
        for _ in range(40):
            # The system lets it in before the loop has had a turn.
            ending.enter_context(socket.create_connection(("127.0.0.1", running.port)))
        turns = 0
        async with asyncio.timeout(20):
            while len(running.server.server_state.connections) < 40:
                turned = loop.create_future()
                loop.call_later(0, turned.set_result, None)
                await turned
                turns += 1

    assert turns <= 40 // ACCEPT_SOCKETS * 2


async def answered(caller: Any) -> int:
    """The status of a request on this connection, which stays open."""
    await caller.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    status, _, _ = await caller.response()
    return int(status)


async def test_max_connections__closes_the_longest_idle_connection_first(start: Start) -> None:
    running = await start(max_connections=3)
    first, second, third = [await running.call() for _ in range(3)]
    assert [await answered(item) for item in (first, second, third, first)] == [200] * 4

    fourth, fifth = await running.call(), await running.call()

    assert [await answered(item) for item in (fourth, fifth)] == [200, 200]
    assert [await item.read_to_end() for item in (second, third)] == [b"", b""]
    assert await answered(first) == 200


async def test_max_connections__never_closes_a_connection_with_a_request_in_progress(start: Start) -> None:
    gate = Gate()
    running = await start(gate, max_connections=2)
    busy, begun = await running.call(), await running.call()
    await begun.send(b"GET / HTTP/1.1\r\n")
    await busy.send(b"GET / HTTP/1.1\r\n" + HOST + b"\r\n")
    await gate.inside.wait()

    refused = await running.call()
    status, _, body = await refused.response()
    gate.opened.set()
    await begun.send(HOST + b"\r\n")

    assert (status, code_in(body)) == (503, "overloaded")
    assert [(await item.response())[0] for item in (busy, begun)] == [200, 200]


async def test_max_connections__counts_a_connection_with_a_partial_request_as_busy(start: Start) -> None:
    running = await start(max_connections=1)
    first = await running.call()
    assert await answered(first) == 200
    await first.send(b"GET / HTTP/1.1\r\n")
    while running.server.limits.idle:  # noqa: ASYNC110
        await asyncio.sleep(0)

    status, _, _ = await (await running.call()).response()
    await first.send(HOST + b"\r\n")

    assert (status, (await first.response())[0]) == (503, 200)


async def test_max_connections__never_closes_an_idle_connection_of_a_proxy(start: Start) -> None:
    running = await start(max_connections=1, proxies=TrustedProxies(["127.0.0.1"]))
    first = await running.call()
    assert await answered(first) == 200

    status, _, _ = await (await running.call()).response()

    assert (status, await answered(first)) == (503, 200)
