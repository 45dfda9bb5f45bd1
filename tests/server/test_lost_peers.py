"""Callers that take nothing, say nothing more, or go away, with more than one request on their connection."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import weakref
from typing import Any

import pytest
from tests.server.conftest import Gate, RawConnection, Running, Start, echo

HOST = b"Host: localhost\r\n\r\n"
GET = b"GET /get HTTP/1.1\r\n" + HOST
LONG = 300
"""Seconds of a deadline that must not be the one that counts; the test would be over long before."""


async def large(scope: Any, receive: Any, send: Any) -> None:
    """Answers in one part, as all of Touchbase does, with more than any buffer takes."""
    body = b"x" * 20_000_000
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Listening(Gate):
    """An application that has heard its caller out, so that the server reads on, and answers once it may."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await receive()
        self.inside.set()
        await self.opened.wait()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})


async def all_gone(running: Running) -> None:
    """Wait until the server has no connection any more."""
    async with asyncio.timeout(20):
        while running.server.server_state.connections:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0)


@pytest.mark.parametrize("requests", [GET, GET * 2, GET + b"GET /ha"], ids=["one", "two", "one and a half"])
async def test_send_timeout__closes_a_connection_that_reads_nothing_of_a_one_part_response(start: Start, requests: bytes) -> None:
    running = await start(large, send_timeout=0.1, keep_alive=LONG, header_timeout=LONG)
    caller = await running.call()

    await caller.send(requests)
    await running.noted.wait()

    await all_gone(running)


async def test_send_timeout__closes_a_connection_that_sends_more_requests_without_reading(start: Start) -> None:
    running = await start(large, send_timeout=0.1, keep_alive=LONG, header_timeout=LONG)
    caller = await running.call()

    await caller.send(GET)
    await running.noted.wait()
    await caller.send(GET)

    await all_gone(running)


async def test_connection_reset__with_pipelined_requests_is_logged_as_499_without_an_error(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    gate = Listening()
    running = await start(gate)
    with socket.create_connection(("127.0.0.1", running.port)) as raw:
        raw.sendall(GET * 3)
        await gate.inside.wait()
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # closing resets the connection

    await all_gone(running)
    gate.opened.set()
    await running.noted.wait()

    assert running.ended == [("/get", 499)]
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


UNFINISHED = b"POST /post HTTP/1.1\r\nContent-Length: 10\r\n" + HOST + b"abc"


async def half_closed(running: Running, requests: bytes) -> RawConnection:
    """A caller that has sent this and will send no more."""
    caller = await running.call()
    await caller.send(requests)
    caller.writer.write_eof()
    return caller


@pytest.mark.parametrize(
    ("requests", "answers"),
    [(GET * 2, 2), (GET * 102, 102), (GET + UNFINISHED, 1), (GET * 2 + UNFINISHED, 2), (GET + b"GET /ha", 1)],
    ids=["two", "more than are read at once", "and half a body", "two and half a body", "and half a head"],
)
async def test_half_closed_connection__gets_the_responses_to_its_complete_requests(start: Start, requests: bytes, answers: int) -> None:
    gate = Gate()
    running = await start(gate)
    caller = await half_closed(running, requests)
    await gate.inside.wait()
    gate.opened.set()

    received = await caller.read_to_end()

    assert received.count(b"HTTP/1.1 200") == answers
    # Whether the rest was begun before its end came to light is a matter of luck; nobody is owed an answer to it.
    assert running.ended[:answers] == [("/get", 200)] * answers
    assert running.ended[answers:] in ([], [("/post", 499)])


async def test_half_closed_connection__drops_an_incomplete_request(start: Start) -> None:
    running = await start(echo)
    caller = await half_closed(running, UNFINISHED)

    assert await caller.read_to_end() == b""
    assert running.ended == [("/post", 499)]


@pytest.mark.parametrize("requests", [b"", GET, GET + b"GET /ha", UNFINISHED], ids=["nothing", "one", "one and a half", "half a body"])
async def test_closed_connection__is_freed_without_garbage_collection(start: Start, requests: bytes) -> None:
    running = await start()
    caller = await running.call()
    await caller.send(requests)
    if requests.startswith(GET):
        await caller.response()
    while not running.server.server_state.connections:  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0)
    ref = weakref.ref(next(iter(running.server.server_state.connections)))

    gc.disable()
    try:
        caller.writer.transport.abort()
        await all_gone(running)
        async with asyncio.timeout(20):
            while ref() is not None:  # noqa: ASYNC110 - the loop lets go of it in a turn of its own
                await asyncio.sleep(0)
    finally:
        gc.enable()
