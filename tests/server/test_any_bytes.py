"""Whatever bytes arrive, in whatever pieces."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import uvloop
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.examples import examples
from tests.server.conftest import RawConnection, echo

from touchbase.server.limits import ServerLimits
from touchbase.server.server import listen, make_server

REQUESTS = (
    b"POST /a HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\nhello"
    b"POST /b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"
    b"GET /c HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
)
PARTS = (
    b"GET / HTTP/1.1\r\n",
    b"Host: x\r\n",
    b"Content-Length: 3\r\n",
    b"Transfer-Encoding: chunked\r\n",
    b"\r\n",
    b"3\r\nabc\r\n",
    b"0\r\n\r\n",
)


async def served(*connections: list[bytes]) -> list[bytes]:
    """What a server answers to each of these connections, one after the other, each sent in pieces."""
    limits = ServerLimits(5, 0.1, 5, 20, 2000, 10, 10, lambda cycle: None)
    server, listener = make_server(echo, limits, shutdown_timeout=5), listen("127.0.0.1", 0)
    port, serving = listener.getsockname()[1], asyncio.create_task(server.serve([listener]))
    answers = []
    for pieces in connections:
        caller = RawConnection(*await asyncio.open_connection("127.0.0.1", port))
        answering = asyncio.create_task(caller.read_to_end())
        for piece in pieces:
            await caller.send(piece)
            await asyncio.sleep(0)
        caller.writer.write_eof()
        answers.append(await answering)
        caller.writer.close()
        await caller.writer.wait_closed()
    server.stop()
    await serving
    return answers


@settings(max_examples=examples(25), deadline=None)
@given(st.sets(st.integers(1, len(REQUESTS) - 1), max_size=20))
def test_request_parser__gives_equal_responses_wherever_the_bytes_are_split(cuts: set[int]) -> None:
    places = [0, *sorted(cuts), len(REQUESTS)]

    (response,) = uvloop.run(served([REQUESTS[start:end] for start, end in pairwise(places)]))

    bodies = [part.partition(b"\r\n\r\n")[2] for part in response.split(b"HTTP/1.1 200 OK\r\n")]
    assert bodies == [b"", b"hello", b"hello", b""]


@settings(max_examples=examples(40), deadline=None)
@given(st.lists(st.one_of(st.binary(max_size=40), st.sampled_from(PARTS)), max_size=12))
def test_request_parser__after_any_bytes_the_server_serves_the_next_connection(pieces: list[bytes]) -> None:
    response, next_answer = uvloop.run(served(pieces, [REQUESTS]))

    assert response == b"" or response.startswith(b"HTTP/1.1 ")
    assert next_answer.count(b"HTTP/1.1 200 OK\r\n") == 3
