"""What one connection may take of the server's time and memory beside others: requests sent ahead, answers not taken, deadlines in step."""

from __future__ import annotations

import asyncio
import fcntl
import socket
import struct
import termios
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.conftest import Gate, Running, Start
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from touchbase.server import server as server_server
from touchbase.server.limits import PORTION, portions
from touchbase.server.protocol import ServerConnection
from touchbase.server.server import MAX_CLOSED_PER_PASS, TCP_NOTSENT_LOWAT_BYTES

HOST = b"Host: localhost\r\n"
GET = b"GET /get HTTP/1.1\r\n" + HOST + b"\r\n"
FEW, MANY = 10, 1_000
LARGE = 100_000


def connections_of(running: Running) -> list[ServerConnection]:
    return [cast(ServerConnection, connection) for connection in running.server.server_state.connections]


async def test_pipelining__parses_a_few_requests_at_a_time_and_responds_to_all(start: Start) -> None:
    gate = Gate()
    running = await start(gate, max_requests=MANY)
    caller = await running.call()

    await caller.send(GET * MANY)
    await gate.inside.wait()
    (connection,) = connections_of(running)
    parsed = len(connection.pipeline)
    gate.opened.set()
    answers = [await caller.response() for _ in range(MANY)]

    assert parsed < FEW
    assert [status for status, _, _ in answers] == [200] * MANY
    assert len(running.ended) == MANY


async def test_pipelining__never_queues_more_than_a_few_parsed_requests(start: Start) -> None:
    most = 0

    async def looking(scope: Any, receive: Any, send: Any) -> None:
        nonlocal most
        await receive()  # after which uvicorn reads on
        await asyncio.sleep(0)
        (connection,) = connections_of(running)
        most = max(most, len(connection.pipeline))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    running = await start(looking)
    caller = await running.call()

    sending = asyncio.create_task(caller.send(GET * 10 * MANY))
    for _ in range(10 * MANY):
        await caller.response()
    await sending

    assert 0 < most < FEW


async def test_pipelining__separates_bodies_from_requests_wherever_a_portion_ends(start: Start) -> None:
    bodies = [b"", b"\r\n\r\n" * 300, b"x" * (PORTION - 1), b"\r\n\r\nGET /body HTTP/1.1\r\n\r\n", b"x" * LARGE, b"x"]
    chunked = b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n"
    full = b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: %d\r\n\r\n%b"
    caller = await (await start(max_header_bytes=2 * LARGE)).call()

    await caller.send(b"".join((chunked if body and number % 4 else full) % (len(body), body) for number, body in enumerate(bodies * 5)))
    answers = [await caller.response() for _ in bodies * 5]

    assert [body for _, _, body in answers] == bodies * 5


async def test_pipelining__closes_at_malformed_bytes_after_the_responses_due(start: Start) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(GET * MANY + b"nonsense\r\n\r\n")
    answers = (await caller.read_to_end()).count(b"HTTP/1.1 200 OK\r\n")

    assert answers == MANY


async def test_pipelining__completes_a_partial_request_whose_rest_arrives_later(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(GET * MANY + b"POST / HTTP/1.1\r\n" + HOST + b"Content-Le")
    for _ in range(MANY):
        await caller.response()
    await caller.send(b"ngth: 5\r\n\r\nhello")
    status, _, body = await caller.response()

    assert (status, body) == (200, b"hello")


async def test_pipelining__applies_the_header_timeout_to_a_partial_last_request(start: Start) -> None:
    caller = await (await start(header_timeout=0.1)).call()

    await caller.send(GET * MANY + b"GET / HT")
    for _ in range(MANY):
        await caller.response()
    status, _, _ = await caller.response()

    assert status == 408


async def test_pipelining__buffers_few_responses_for_a_connection_that_does_not_read(start: Start) -> None:
    async def large(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % LARGE)]})
        await send({"type": "http.response.body", "body": b"x" * LARGE})

    running = await start(large)
    with socket.socket() as deaf:
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
        deaf.connect(("127.0.0.1", running.port))
        deaf.sendall(GET * 90)
        while not (held := connections_of(running)) or not held[0].flow.write_paused:  # noqa: ASYNC110 - the server tells nobody
            await asyncio.sleep(0)
        number = held[0].transport.get_extra_info("socket").fileno()
        (in_the_system,) = struct.unpack("i", fcntl.ioctl(number, termios.TIOCOUTQ, bytes(4)))
        here = held[0].transport.get_write_buffer_size()

    assert in_the_system <= 4 * TCP_NOTSENT_LOWAT_BYTES
    assert here <= HIGH_WATER_LIMIT + LARGE + 1_000
    assert len(running.ended) <= 3


@pytest.mark.parametrize("checked", [server_server.MAX_CHECKED_PER_PASS, 2])
async def test_sweep__closes_expired_connections_in_bounded_passes(start: Start, monkeypatch: pytest.MonkeyPatch, checked: int) -> None:
    monkeypatch.setattr(server_server, "MAX_CHECKED_PER_PASS", checked)
    most = min(checked, MAX_CLOSED_PER_PASS)
    running = await start(max_connections=1_000)
    callers = [await running.call() for _ in range(3 * MAX_CLOSED_PER_PASS)]
    for caller in callers:
        await caller.send(b"GET /slow HT")
    while sum(item.in_headers for item in connections_of(running)) < len(callers):  # noqa: ASYNC110 - the server tells nobody
        await asyncio.sleep(0)
    for connection in connections_of(running):
        connection.deadline = 0.0

    running.server.sweep()
    gone = [sum(item.lingering for item in connections_of(running))]
    while gone[-1] < len(callers):
        await asyncio.sleep(0)
        gone.append(sum(item.lingering for item in connections_of(running)))
    answers = [await caller.response() for caller in callers]

    assert gone[0] == most
    assert all(after - before <= most for before, after in pairwise(gone))
    assert [status for status, _, _ in answers] == [408] * len(callers)


@given(st.lists(st.one_of(st.just(b"\r\n\r\n"), st.binary(max_size=2 * PORTION)), max_size=40).map(b"".join))
def test_portions__cover_all_bytes_and_only_the_last_is_short(data: bytes) -> None:
    result = list(portions(data))

    assert b"".join(portion for portion, _ in result) == data
    assert all(data[:end].endswith(portion) for portion, end in result)
    assert all(len(portion) > PORTION and portion.endswith(b"\r\n\r\n") for portion, _ in result[:-1])
