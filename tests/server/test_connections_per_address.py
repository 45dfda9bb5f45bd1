"""How many connections one address may have."""

from __future__ import annotations

import asyncio
import contextlib
import json

import pytest
from tests.server.conftest import RawConnection, Running, Start

HELLO = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def greeted(caller: RawConnection) -> int:
    await caller.send(HELLO)
    return (await caller.response())[0]


async def of_address(running: Running, count: int) -> None:
    """Wait until the server knows of so many connections."""
    async with asyncio.timeout(30):
        while running.server.limits.addresses.get("127.0.0.1", 0) != count:  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(0)


async def test_max_connections_per_address__refuses_one_more_with_503(start: Start) -> None:
    running = await start(max_connections_per_address=2)
    callers = [await running.call() for _ in range(2)]
    assert [await greeted(caller) for caller in callers] == [200, 200]

    refused = await running.call()
    async with asyncio.timeout(30):
        status, headers, body = await refused.response()

    problem = json.loads(body)
    assert (status, problem["code"], headers["retry-after"]) == (503, "too_many_connections", "1")
    assert "from your address" in problem["detail"]
    assert await greeted(callers[0]) == 200


async def test_max_connections_per_address__admits_a_new_connection_after_one_closes(start: Start) -> None:
    running = await start(max_connections_per_address=1)
    first = await running.call()
    assert await greeted(first) == 200

    first.writer.close()
    await of_address(running, 0)
    assert running.server.limits.addresses == {}

    assert await greeted(await running.call()) == 200
    assert running.server.limits.addresses == {"127.0.0.1": 1}


async def test_max_connections_per_address__far_above_it_closes_without_a_response(start: Start) -> None:
    running = await start(max_connections_per_address=1, max_connections=100)
    await running.call()
    polite = await running.call()
    await of_address(running, 2)

    cut = await running.call()

    async with asyncio.timeout(30):
        assert (await polite.response())[0] == 503
        with contextlib.suppress(ConnectionResetError):
            assert await cut.read_to_end() == b""
    await of_address(running, 2)


@pytest.mark.parametrize("most", [0, 20])
async def test_max_connections_per_address__admits_all_within_the_limit_or_at_zero(start: Start, most: int) -> None:
    running = await start(max_connections_per_address=most)

    assert [await greeted(await running.call()) for _ in range(10)] == [200] * 10
