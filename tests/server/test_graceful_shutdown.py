"""The graceful end: requests in progress are answered, no others are taken."""

from __future__ import annotations

import json

import pytest
from tests.server.conftest import Gate, Start

GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


async def test_shutdown__completes_the_request_in_progress_and_accepts_no_other(start: Start) -> None:
    gate = Gate()
    running = await start(gate)
    busy, idle = await running.call(), await running.call()
    await busy.send(GET)
    await gate.inside.wait()

    running.server.stop()
    closed = await idle.read_to_end()
    with pytest.raises(ConnectionRefusedError):
        await running.call()
    gate.opened.set()
    status, headers, _ = await busy.response()
    await running.task

    assert closed == b""
    assert (status, headers["connection"]) == (200, "close")
    assert await busy.read_to_end() == b""


async def test_shutdown__ends_a_request_with_503_after_the_timeout(start: Start) -> None:
    gate = Gate()
    running = await start(gate, shutdown_timeout=0.1)
    caller = await running.call()
    await caller.send(GET)
    await gate.inside.wait()

    await running.stop()
    status, headers, body = await caller.response()

    assert (status, headers["retry-after"], json.loads(body)["code"]) == (503, "1", "shutting_down")


async def test_shutdown__does_not_wait_for_incomplete_headers(start: Start) -> None:
    running = await start(shutdown_timeout=5)
    caller = await running.call()
    await caller.send(GET)
    await caller.response()
    await caller.send(b"GET / HTTP/1.1\r\nHo")

    await running.stop()

    assert await caller.read_to_end() == b""
