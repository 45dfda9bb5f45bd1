"""Requests that two servers in a row could cut apart differently: none gets past us, each tried with raw bytes."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.server.conftest import RawConnection, Start, echo

HOST = b"Host: localhost\r\n"
SMUGGLED = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"
CHUNKED = b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked\r\n\r\n"


def code_in(body: bytes) -> str:
    return str(json.loads(body)["code"])


async def refused(caller: RawConnection, request: bytes, status: int = 400, code: str = "malformed_request") -> bool:
    """Whether this is the one answer to these bytes and the connection ends with it."""
    await caller.send(request)
    async with asyncio.timeout(30):
        result, headers, body = await caller.response()
        remaining = await caller.read_to_end()
    return (result, code_in(body), headers["connection"], remaining) == (status, code, "close", b"")


AMBIGUOUS = {
    "length and chunks": b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
    "chunks and length": b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
    "length and chunks in odd case": b"content-length: 5\r\ntRANSFER-eNCODING: CHUNKED\r\n",
    "length and chunks behind a tab": b"Content-Length: 5\r\nTransfer-Encoding:\tchunked\r\n",
    "equal lengths": b"Content-Length: 5\r\nContent-Length: 5\r\n",
    "different lengths": b"Content-Length: 0\r\nContent-Length: 44\r\n",
    "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "chunks and something else": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
}


@pytest.mark.parametrize("lengths", AMBIGUOUS.values(), ids=AMBIGUOUS)
async def test_ambiguous_length__is_refused_and_later_bytes_are_not_parsed(start: Start, lengths: bytes) -> None:
    running = await start()

    assert await refused(
        await running.call(), b"POST / HTTP/1.1\r\n" + HOST + lengths + b"\r\n0\r\n\r\n" + SMUGGLED, code="ambiguous_length"
    )
    assert running.ended == []


HEADS = {
    "length in words": b"Content-Length: five\r\n",
    "length in hexadecimal": b"Content-Length: 0x5\r\n",
    "length with a sign": b"Content-Length: +5\r\n",
    "length below nothing": b"Content-Length: -1\r\n",
    "length as a list": b"Content-Length: 5, 5\r\n",
    "length in pieces": b"Content-Length: 1 0\r\n",
    "length without a number": b"Content-Length: \r\n",
    "length beyond all numbers": b"Content-Length: 99999999999999999999999\r\n",
    "chunks of another kind": b"Transfer-Encoding: xchunked\r\n",
    "chunks packed again": b"Transfer-Encoding: gzip, chunked\r\n",
    "chunks not last": b"Transfer-Encoding: chunked, identity\r\n",
    "chunks behind a control character": b"Transfer-Encoding:\x0bchunked\r\n",
    "space before the colon": b"Transfer-Encoding : chunked\r\n",
    "space before the colon of a length": b"Content-Length : 5\r\n",
    "a folded line": b"X-Long: a\r\n b\r\n",
    "a folded length": b"Content-Length:\r\n 5\r\n",
    "a bare line feed": b"X-One: a\nContent-Length: 5\r\n",
    "a bare carriage return": b"X-One: a\rContent-Length: 5\r\n",
    "a zero byte": b"X-One: a\0b\r\n",
    "a name that is no name": b"X One: a\r\n",
    "no name": b": a\r\n",
    "no colon": b"nonsense\r\n",
}


@pytest.mark.parametrize("line", HEADS.values(), ids=HEADS)
async def test_ambiguous_header__is_refused_and_later_bytes_are_not_parsed(start: Start, line: bytes) -> None:
    running = await start()

    assert await refused(await running.call(), b"POST / HTTP/1.1\r\n" + HOST + line + b"\r\nhello" + SMUGGLED)
    assert running.ended == []


FIRST_LINES = {
    "line feeds only": b"GET / HTTP/1.1\nHost: localhost\n\n",
    "a line feed after the first line": b"GET / HTTP/1.1\n" + HOST + b"\r\n",
    "a line feed at the end": b"GET / HTTP/1.1\r\n" + HOST + b"\n",
    "white space before the first header": b"GET / HTTP/1.1\r\n " + HOST + b"\r\n",
    "a space in the address": b"GET /a b HTTP/1.1\r\n" + HOST + b"\r\n",
    "tabs for spaces": b"GET\t/\tHTTP/1.1\r\n" + HOST + b"\r\n",
    "a fragment": b"GET /a#b HTTP/1.1\r\n" + HOST + b"\r\n",
    "a star": b"OPTIONS * HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel": b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"\r\n",
    "a tunnel with a body": b"CONNECT localhost:80 HTTP/1.1\r\n" + HOST + b"Content-Length: 5\r\n\r\nhello",
    "a whole address of another host": b"GET http://example.com/a HTTP/1.1\r\n" + HOST + b"\r\n",
    "a whole address with a user": b"GET http://user@localhost/a HTTP/1.1\r\n" + HOST + b"\r\n",
    "a whole address of another protocol": b"GET ftp://localhost/a HTTP/1.1\r\n" + HOST + b"\r\n",
    "an unknown kind of address": b"GET localhost/a HTTP/1.1\r\n" + HOST + b"\r\n",
    "no host": b"GET / HTTP/1.1\r\n\r\n",
    "two hosts": b"GET / HTTP/1.1\r\n" + HOST + HOST + b"\r\n",
    "chunks in HTTP/1.0": b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two blanks before the address": b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
    "two blanks before the version": b"GET /  HTTP/1.1\r\n" + HOST + b"\r\n",
    "RTSP": b"GET / RTSP/1.0\r\n" + HOST + b"\r\n",
    "RTSP in the version of HTTP": b"DESCRIBE / RTSP/1.1\r\n" + HOST + b"\r\n",
    "ICE": b"SOURCE / ICE/1.1\r\n" + HOST + b"\r\n",
}


@pytest.mark.parametrize("request_bytes", FIRST_LINES.values(), ids=FIRST_LINES)
async def test_malformed_request_line__is_refused_and_later_bytes_are_not_parsed(start: Start, request_bytes: bytes) -> None:
    running = await start()

    assert await refused(await running.call(), request_bytes + SMUGGLED)
    assert running.ended == []


OTHER_VERSIONS = {
    "no version": b"GET /\r\n\r\n",
    "HTTP/0.9": b"GET / HTTP/0.9\r\n\r\n",
    "HTTP/1.2": b"GET / HTTP/1.2\r\n" + HOST + b"\r\n",
    "HTTP/2.0": b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
    "HTTP/3.0": b"GET / HTTP/3.0\r\n" + HOST + b"\r\n",
    "HTTP/2 without leave": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
}


@pytest.mark.parametrize("request_bytes", OTHER_VERSIONS.values(), ids=OTHER_VERSIONS)
async def test_other_http_version__gets_505(start: Start, request_bytes: bytes) -> None:
    running = await start()

    assert await refused(await running.call(), request_bytes, 505, "http_version")
    assert running.ended == []


@pytest.mark.parametrize("length", [b"Content-Length: 5 \r\n\r\nhello", b"Transfer-Encoding: chunked \r\n\r\n5\r\nhello\r\n0\r\n\r\n"])
async def test_header_value__excludes_trailing_white_space(start: Start, length: bytes) -> None:
    caller = await (await start()).call()

    await caller.send(b"POST http://localhost/ HTTP/1.1\r\nHost: localhost \t \r\n" + length)
    status, _, body = await caller.response()

    assert (status, body) == (200, b"hello")


@pytest.mark.parametrize(
    ("target", "path"), [(b"http://localhost/a?q=1", "/a"), (b"HTTPS://LocalHost/a", "/a"), (b"http://localhost", "/")]
)
async def test_absolute_target__of_the_same_host_is_served_by_its_path(start: Start, target: bytes, path: str) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(b"GET " + target + b" HTTP/1.1\r\n" + HOST + b"\r\n")
    status, _, _ = await caller.response()

    assert status == 200
    assert running.ended == [(path, 200)]


CHUNKS = {
    "a size below nothing": b"-1\r\n",
    "a size with a sign": b"+5\r\nhello\r\n0\r\n\r\n",
    "a size marked as hexadecimal": b"0x5\r\nhello\r\n0\r\n\r\n",
    "a size with an underscore": b"0_5\r\nhello\r\n0\r\n\r\n",
    "a size behind a space": b" 5\r\nhello\r\n0\r\n\r\n",
    "a size before a space": b"5 \r\nhello\r\n0\r\n\r\n",
    "a size beyond all numbers": b"fffffffffffffffff\r\n",
    "no size": b"\r\nhello\r\n0\r\n\r\n",
    "a line feed after the size": b"5\nhello\r\n0\r\n\r\n",
    "a line feed in an extension": b"5;a\nhello\r\n0\r\n\r\n",
    "a line break in a quoted extension": b'5;a="\r\n\r\n0\r\n\r\n',
    "a chunk longer than its size": b"4\r\nhello\r\n0\r\n\r\n",
    "a length behind the chunks": b"5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n",
}


@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
async def test_ambiguous_chunk__ends_the_request(start: Start, chunks: bytes) -> None:
    running = await start()

    assert await refused(await running.call(), CHUNKED + chunks + SMUGGLED)
    assert running.ended == [("/", 499)]


@pytest.mark.parametrize("filling", [b"1;" + b"x" * 990 + b"\r\na\r\n", b"1;x=" + b"y" * 9_990 + b"\r\na\r\n"])
async def test_chunk_extensions__of_excessive_size_end_the_request(start: Start, filling: bytes) -> None:
    caller = await (await start()).call()

    await caller.send(CHUNKED)
    answering = asyncio.create_task(caller.response())
    async with asyncio.timeout(30):
        while not answering.done():
            caller.writer.write(filling)
            await asyncio.sleep(0)
        status, _, body = await answering

    assert (status, code_in(body)) == (400, "malformed_request")


async def test_trailer_fields__without_end_end_the_request(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(CHUNKED + b"5\r\nhello\r\n0\r\n")
    answering = asyncio.create_task(caller.response())
    async with asyncio.timeout(30):
        while not answering.done():
            caller.writer.write(b"X-More: " + b"a" * 100 + b"\r\n")
            await asyncio.sleep(0)
        status, _, body = await answering

    assert (status, code_in(body)) == (400, "malformed_request")


async def test_chunked_body__of_one_byte_chunks_is_read_completely(start: Start) -> None:
    caller = await (await start()).call()

    await caller.send(CHUNKED)
    for _ in range(50):
        await caller.send(b"1\r\na\r\n" * 100)
        await asyncio.sleep(0)
    await caller.send(b"0\r\n\r\n")
    status, _, body = await caller.response()

    assert (status, body) == (200, b"a" * 5000)


async def test_connection_close__leaves_later_bytes_unparsed(start: Start) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(b"GET /last HTTP/1.1\r\nConnection: close\r\n" + HOST + b"\r\n" + SMUGGLED)
    status, _, _ = await caller.response()

    assert (status, await caller.read_to_end()) == (200, b"")
    assert running.ended == [("/last", 200)]


@pytest.mark.parametrize(
    "body",
    [b"Content-Length: 5\r\n\r\nhello", b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2\r\nlo\r\n0\r\n\r\n"],
    ids=["length", "chunks"],
)
async def test_upgrade_header__is_ignored_and_the_body_read(start: Start, body: bytes) -> None:
    observed: list[Any] = []

    async def spy(scope: Any, receive: Any, send: Any) -> None:
        observed.append((scope["method"], scope["path"], dict(scope["headers"]).get(b"upgrade")))
        await echo(scope, receive, send)

    running = await start(spy)
    full_response, in_pieces = await running.call(), await running.call()
    wish = b"POST /a HTTP/1.1\r\n" + HOST + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAA\r\n" + body

    await full_response.send(wish + SMUGGLED)
    first = await full_response.response()
    for number in range(len(wish)):
        await in_pieces.send(wish[number : number + 1])
        await asyncio.sleep(0)
    second = await in_pieces.response()

    assert [(first[0], first[2]), (second[0], second[2])] == [(200, b"hello")] * 2
    assert await full_response.read_to_end() == b""
    assert observed == [("POST", "/a", None)] * 2


BEFORE = {
    "a request without a body": b"GET /a HTTP/1.1\r\n" + HOST + b"\r\n",
    "blank lines": b"\r\n\r\nGET /a HTTP/1.1\r\n" + HOST + b"\r\n\r\n\r\n",
    "a body with a length": b"POST /a HTTP/1.1\r\n" + HOST + b"Content-Length: 22\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "chunks": CHUNKED.replace(b" / ", b" /a ") + b"16\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n\r\n0\r\n\r\n",
    "chunks and fields behind them": CHUNKED.replace(b" / ", b" /a ") + b"3\r\nabc\r\n0\r\nX-A: b\r\n\r\n",
}
LENIENT = (b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n", b"SOURCE / ICE/1.1\r\n" + HOST + b"\r\n")


@pytest.mark.parametrize("before", BEFORE.values(), ids=BEFORE)
@pytest.mark.parametrize("pieces", ["at once", "byte by byte"])
async def test_request_line__is_parsed_strictly_after_any_previous_request(start: Start, before: bytes, pieces: str) -> None:
    for line in LENIENT:
        running = await start()
        caller = await running.call()
        sent = before + line + SMUGGLED

        for piece in [sent] if pieces == "at once" else [sent[n : n + 1] for n in range(len(sent))]:
            if not caller.writer.is_closing():
                caller.writer.write(piece)
            await asyncio.sleep(0)
        first = await caller.response()
        remaining = await caller.read_to_end()

        assert first[0] == 200
        assert b"200 OK" not in remaining
        assert "/smuggled" not in [path for path, _ in running.ended]
        assert b"malformed_request" in remaining or pieces == "at once"  # where an answer is owed, no other takes its place


async def test_consecutive_requests__all_get_responses_for_any_split_of_the_bytes(start: Start) -> None:
    sent = b"".join(item for item in BEFORE.values()) * 2
    for size in (1, 2, 3, 5, 7, 50, len(sent)):
        caller = await (await start()).call()

        for at in range(0, len(sent), size):
            caller.writer.write(sent[at : at + size])
            await asyncio.sleep(0)

        assert [(await caller.response())[0] for _ in range(10)] == [200] * 10


@pytest.mark.parametrize("path", [b"/a%2fb", b"/a%2Fb", b"/a%2f%62"])
async def test_encoded_slash__does_not_separate_path_segments(start: Start, path: bytes) -> None:
    running = await start()
    caller = await running.call()

    await caller.send(b"GET %b HTTP/1.1\r\n" % path + HOST + b"\r\n")
    await caller.response()

    assert running.ended == [("/a%2Fb", 200)]
