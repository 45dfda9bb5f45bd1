"""Responses that their receivers do not read: how much memory all of them together may take."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.server.conftest import RawConnection, Running, Start

from touchbase.http.responses import Response, send_response
from touchbase.server.limits import BodyMemory

SIZE = 16 * 1024 * 1024
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def long_response(scope: Any, receive: Any, send: Any) -> None:
    """Respond with more than the system's buffers take: at once, or for the path /parts in parts of a stream."""
    parts = 2 if scope["path"] == "/parts" else 1
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % (SIZE * parts))]})
    for number in range(parts):
        await send({"type": "http.response.body", "body": b"x" * SIZE, "more_body": number + 1 < parts})


async def ask(running: Running, request: bytes = GET) -> RawConnection:
    caller = await running.call()
    await caller.send(request)
    return caller


async def unread(running: Running, size: int) -> None:
    async with asyncio.timeout(10):
        while running.server.limits.unread.used != size:  # noqa: ASYNC110 - the server does not notify of it
            await asyncio.sleep(0)


async def test_unread_responses__beyond_the_memory_are_replaced_by_a_503(start: Start) -> None:
    running = await start(long_response, unread=BodyMemory(SIZE * 3 // 2))
    first = await ask(running)
    await unread(running, SIZE)

    status, _, body = await (await ask(running)).response()
    read = await first.response()
    await unread(running, 0)
    again = await (await ask(running)).response()

    assert (status, json.loads(body)["code"]) == (503, "overloaded")
    assert (read[0], len(read[2]), again[0], len(again[2])) == (200, SIZE, 200, SIZE)
    await unread(running, 0)


async def test_unread_response__counts_until_its_connection_is_lost(start: Start) -> None:
    running = await start(long_response, unread=BodyMemory(SIZE * 3 // 2))
    first = await ask(running)
    await unread(running, SIZE)

    first.writer.transport.abort()

    await unread(running, 0)


@pytest.mark.parametrize("capacity", [0, SIZE * 3 // 2])
async def test_response_that_is_read__may_be_longer_than_the_memory(start: Start, capacity: int) -> None:
    running = await start(long_response, unread=BodyMemory(capacity))

    status, _, body = await (await ask(running, GET.replace(b"/ ", b"/parts ", 1))).response()

    assert (status, len(body)) == (200, 2 * SIZE)
    await unread(running, 0)


async def test_long_response__counts_while_an_earlier_one_is_unread(start: Start) -> None:
    running = await start(long_response, unread=BodyMemory(4 * SIZE))
    first = await ask(running, GET * 2)
    await unread(running, 2 * SIZE)

    read = [await first.response(), await first.response()]

    assert [(status, len(body)) for status, _, body in read] == [(200, SIZE)] * 2
    await unread(running, 0)


async def test_stream__ends_once_its_peer_is_gone(start: Start) -> None:
    ended = asyncio.Event()

    async def pieces() -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * SIZE
        finally:
            ended.set()

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        await send_response(scope, send, Response(stream=pieces()), b"id")

    running = await start(endless, unread=BodyMemory(4 * SIZE))
    first = await ask(running)
    await unread(running, SIZE)

    first.writer.transport.abort()

    async with asyncio.timeout(10):
        await ended.wait()
    await unread(running, 0)


async def test_stream__beyond_the_memory_ends(start: Start) -> None:
    running = await start(long_response, unread=BodyMemory(SIZE * 3 // 2))
    await ask(running)
    await unread(running, SIZE)

    closed = await ask(running, GET.replace(b"/ ", b"/parts ", 1))

    assert (await closed.response())[0] == 503
    assert await closed.read_to_end() == b""
