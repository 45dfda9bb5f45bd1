"""Bodies of requests in progress: how much memory all of them together may take."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.conftest import Gate, RawConnection, Running, Start, echo

from touchbase.server.limits import BodyMemory
from touchbase.server.proxy_headers import TrustedProxies

HOST = b"Host: localhost\r\n"


async def begin(running: Running, size: int, sent: int, more: bytes = b"") -> RawConnection:
    """A request with a body of this size, of which so much is sent."""
    caller = await running.call()
    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + more + b"Content-Length: %d\r\n\r\n" % size + b"x" * sent)
    return caller


async def counted(running: Running, bodies: int) -> None:
    async with asyncio.timeout(10):
        while running.server.limits.bodies.used != bodies:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0)


async def test_body_memory__refuses_a_new_body_with_503_while_those_in_progress_complete(start: Start) -> None:
    running = await start(bodies=BodyMemory(1000))
    first = await begin(running, 700, 600)
    await counted(running, 600)

    second = await begin(running, 400, 400)
    status, headers, body = await second.response()
    await first.send(b"x" * 100)
    done, _, echoed = await first.response()
    await counted(running, 0)
    again, _, _ = await (await begin(running, 400, 400)).response()

    assert (status, json.loads(body)["code"], headers["retry-after"]) == (503, "overloaded", "1")
    assert (done, len(echoed), again) == (200, 700, 200)


async def test_body_memory__releases_the_memory_of_a_body_that_outgrows_the_limit(start: Start) -> None:
    running = await start(bodies=BodyMemory(1000))
    caller = await begin(running, 5000, 700)
    await counted(running, 700)

    await caller.send(b"x" * 700)
    status, _, _ = await caller.response()
    await counted(running, 0)

    assert status == 503


async def test_body_memory__counts_an_unread_body_until_its_response(start: Start) -> None:
    gate = Gate()
    running = await start(gate, bodies=BodyMemory(1000))
    waiting = await begin(running, 600, 600)
    await gate.inside.wait()
    await counted(running, 600)

    refused = await begin(running, 600, 600)
    gate.opened.set()

    assert (await refused.response())[0] == 503
    assert (await waiting.response())[0] == 200
    await counted(running, 0)


async def test_body_memory__limits_the_share_of_one_address(start: Start) -> None:
    running = await start(bodies=BodyMemory(1000), proxies=TrustedProxies(["127.0.0.1"]))
    greedy = [await begin(running, 300, 250, b"X-Forwarded-For: 192.0.2.1\r\n") for _ in range(3)]
    await counted(running, 750)

    refused = await begin(running, 100, 100, b"X-Forwarded-For: 192.0.2.1\r\n")
    taken = await begin(running, 100, 100, b"X-Forwarded-For: 192.0.2.2\r\n")

    assert [(await item.response())[0] for item in (refused, taken)] == [503, 200]
    for entry in greedy:
        await entry.send(b"x" * 50)


@pytest.mark.parametrize("ends", ["abort", "eof"])
async def test_body_memory__is_released_when_the_connection_closes(start: Start, ends: str) -> None:
    gate = Gate()
    running = await start(gate, bodies=BodyMemory(1000))
    caller = await begin(running, 10, 10)
    await gate.inside.wait()
    await caller.send(b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 500\r\n\r\n" + b"x" * 300)
    await counted(running, 310)

    if ends == "abort":
        caller.writer.transport.abort()
    else:
        caller.writer.write_eof()
    gate.opened.set()
    await counted(running, 0)


async def test_body_memory__is_unlimited_when_not_configured(start: Start) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await echo(scope, receive, send)

    caller = await begin(await start(app), 100_000, 100_000)

    assert (await caller.response())[0] == 200


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 400)), max_size=40))
def test_body_memory__stays_within_capacity_and_admits_small_bodies_of_new_addresses(
    demands: list[tuple[str, int]],
) -> None:
    bodies, held = BodyMemory(1000), {"a": 0, "b": 0, "c": 0}
    for peer, size in demands:
        free = bodies.capacity - bodies.used
        taken = bodies.acquire(peer, size)
        if taken:
            held[peer] += size
        assert taken or held[peer] or size > free * 3 // 4
        assert bodies.used == sum(held.values()) <= bodies.capacity
    for peer, size in held.items():
        bodies.release(peer, size)
    assert bodies.used == 0
