"""The HTTP client of webhooks against a real receiver."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.enrichment.test_http_client import certificate

from touchbase.enrichment import http_pool
from touchbase.enrichment.http_connection import HEAD_BYTES, PARSED_BYTES, PIECE_BYTES, ConnectionLost, OutgoingConnection
from touchbase.enrichment.http_pool import certificates
from touchbase.outgoing import http_client
from touchbase.outgoing.http_client import ReceiverAnswer, WebhookClient


class Receiver:
    """Answers each request with the same bytes; counts connections."""

    def __init__(self) -> None:
        self.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
        self.ends = False
        """Whether it closes each connection after its answer."""
        self.connections = 0
        self.heads: list[bytes] = []

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.heads.append(head)
                length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
                await reader.readexactly(length)
                if not self.answer:
                    await reader.read()
                writer.write(self.answer)
                await writer.drain()
                if self.ends:
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def receiver() -> AsyncIterator[tuple[Receiver, str]]:
    first_receiver = Receiver()
    server = await asyncio.start_server(first_receiver.handle, "127.0.0.1", 0)
    yield first_receiver, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def post(client: WebhookClient, url: str) -> ReceiverAnswer:
    return await client.post(url, {"webhook-id": "evt_1_1", "content-type": "application/json"}, b"{}")


async def test_post__reuses_the_connection(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    client = WebhookClient("touchbase/test", [origin])

    answers = [await post(client, f"{origin}/hooks?a=b") for _ in range(3)]
    await client.close()

    assert [(answer.status, answer.body) for answer in answers] == [(200, "ok")] * 3
    assert first_receiver.connections == 1
    assert first_receiver.heads[0].startswith(b"POST /hooks?a=b HTTP/1.1\r\n")
    assert b"user-agent: touchbase/test" in first_receiver.heads[0].lower()


async def test_post__follows_no_redirect_and_caps_the_body(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    client = WebhookClient("touchbase/test", [origin])
    first_receiver.answer = b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 5000\r\n\r\n" + b"x" * 5_000

    answer = await post(client, origin)
    await client.close()

    assert (answer.status, answer.body) == (302, "x" * 2_000)
    assert len(first_receiver.heads) == 1


async def test_post__refuses_private_addresses_unless_listed(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    client = WebhookClient("touchbase/test")

    plain = await post(client, origin)
    private = await post(client, origin.replace("http:", "https:"))
    await client.close()

    assert (plain.failure, "https only" in plain.error) == ("unreachable", True)
    assert (private.failure, "not a public address" in private.error) == ("unreachable", True)
    assert first_receiver.connections == 0


async def test_post__gives_up_without_a_response_in_time(receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch) -> None:
    first_receiver, origin = receiver
    first_receiver.answer = b""
    monkeypatch.setattr(http_client, "SECONDS", 0.05)
    client = WebhookClient("touchbase/test", [origin])

    answer = await post(client, origin)
    await client.close()

    assert (answer.status, answer.failure) == (None, "timeout")


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", (200, "ok")),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok", (202, "ok")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, "")),
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", (200, "until the end")),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", (101, "")),
    ],
)
async def test_post__reads_each_kind_of_response(receiver: tuple[Receiver, str], answer: bytes, expected: tuple[int, str]) -> None:
    first_receiver, origin = receiver
    first_receiver.answer, first_receiver.ends = answer, True
    client = WebhookClient("touchbase/test", [origin])

    answers = [await post(client, origin) for _ in range(2)]
    await client.close()

    assert [(item.status, item.body) for item in answers] == [expected] * 2


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\ncut", "closed the connection"),
        (b"220 smtp.example.com ESMTP\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\n" + b"x-filler: 1234567890\r\n" * 4_000, "head of the response is longer"),
    ],
)
async def test_post__says_what_is_wrong_with_a_response(receiver: tuple[Receiver, str], answer: bytes, says: str) -> None:
    first_receiver, origin = receiver
    first_receiver.answer, first_receiver.ends = answer, True
    client = WebhookClient("touchbase/test", [origin])

    response = await post(client, origin)
    await client.close()

    assert (response.status, response.failure, says in response.error) == (None, "unreachable", True), response.error
    assert first_receiver.connections == 1, "a request whose response has begun is not repeated"


async def test_post__reads_the_beginning_of_a_long_body_and_leaves_the_connection(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    first_receiver.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 900000\r\n\r\n" + b"x" * 100_000
    client = WebhookClient("touchbase/test", [origin])

    answers = [await post(client, origin) for _ in range(2)]
    await client.close()

    assert [(answer.status, answer.body) for answer in answers] == [(200, "x" * 2_000)] * 2
    assert first_receiver.connections == 2


async def test_connection_that_the_receiver_closed__is_replaced(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    first_receiver.ends = True
    client = WebhookClient("touchbase/test", [origin])

    answers = [await post(client, origin) for _ in range(3)]
    await client.close()

    assert [answer.status for answer in answers] == [200] * 3
    assert first_receiver.connections == 3


async def test_many_requests__share_64_connections(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    client = WebhookClient("touchbase/test", [origin])

    answers = await asyncio.gather(*(post(client, origin) for _ in range(200)))
    await client.close()

    assert [answer.status for answer in answers] == [200] * 200
    assert 1 < first_receiver.connections <= http_pool.CONNECTIONS


async def test_connections_that_waited_for_long__are_closed(receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch) -> None:
    first_receiver, origin = receiver
    client = WebhookClient("touchbase/test", [origin])
    await post(client, origin)

    client._pool._close_old()
    await post(client, origin)
    connections = first_receiver.connections
    monkeypatch.setattr(http_pool, "KEEPALIVE", 0.0)
    client._pool._close_old()
    await post(client, origin)
    await client.close()

    assert (connections, first_receiver.connections) == (1, 2)


@pytest.mark.parametrize(("name", "trusted"), [("127.0.0.1", True), ("other.example.com", True), ("127.0.0.1", False)])
async def test_post__verifies_the_certificate_and_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, trusted: bool
) -> None:
    file, context = certificate(tmp_path, name)
    if trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(file))
    certificates.cache_clear()  # read once per process
    first_receiver = Receiver()
    server = await asyncio.start_server(first_receiver.handle, "127.0.0.1", 0, ssl=context)
    origin = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    client = WebhookClient("touchbase/test", [origin])
    try:
        answer = await post(client, origin)
    finally:
        certificates.cache_clear()
        await client.close()
        server.close()

    if trusted and name == "127.0.0.1":
        assert (answer.status, answer.body) == (200, "ok")
    else:
        assert (answer.failure, "certificate verify failed" in answer.error) == ("unreachable", True)
        assert first_receiver.heads == []


async def test_path_and_headers__cannot_add_lines_to_the_request(receiver: tuple[Receiver, str]) -> None:
    first_receiver, origin = receiver
    client = WebhookClient("touchbase/test", [origin])

    answer = await client.post(f"{origin}/a b/é?q=\u00a0 1", {"x-note": "one\r\nx-more: two"}, b"")
    await client.close()

    assert answer.status == 200
    assert first_receiver.heads[0].startswith(b"POST /a%20b/%C3%A9?q=%C2%A0%201 HTTP/1.1\r\n")
    assert b"\r\nx-note: one  x-more: two\r\n" in first_receiver.heads[0]


class Sink(asyncio.Transport):
    """A transport that nobody reads."""

    is_closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Take no notice."""

    def is_closing(self) -> bool:
        return self.is_closed

    def abort(self) -> None:
        self.is_closed = True


RESPONSES = st.sampled_from(
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\nRetry-After: 3\r\n\r\nhello world", 200, b"hello world"),
        (b"HTTP/1.1 503 No\r\nTransfer-Encoding: chunked\r\n\r\n5;a=b\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", 503, b"hello world"),
        (b"HTTP/1.1 102 Wait\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 None\r\nX-A: b\r\n\r\n", 204, b""),
    ]
)


@given(responses=st.lists(RESPONSES, min_size=1, max_size=4), data=st.data())
async def test_any_pieces_of_responses__give_the_same_responses(responses: list[tuple[bytes, int, bytes]], data: st.DataObject) -> None:
    connection = OutgoingConnection()
    connection.connection_made(Sink())
    for raw, status, body in responses:
        task = asyncio.ensure_future(connection.request(b"", 1_000))
        await asyncio.sleep(0)
        cuts = sorted(data.draw(st.sets(st.integers(1, len(raw) - 1), max_size=8)))
        for first, last in pairwise([0, *cuts, len(raw)]):
            connection.data_received(raw[first:last])
        result = await task

        assert (result.status, result.body) == (status, body)
        assert connection.is_usable


async def test_bytes_that_nobody_asked_for__end_the_connection() -> None:
    for is_asked in (True, False):
        connection, sink = OutgoingConnection(), Sink()
        connection.connection_made(sink)
        ensure_future = asyncio.ensure_future(connection.request(b"", 1_000)) if is_asked else None
        await asyncio.sleep(0)
        connection.data_received(b"HTTP/1.1 204 None\r\n\r\n" + b"HTTP/1.1 200 OK\r\nx-other: 1\r\n" * is_asked)

        if ensure_future is not None:
            result = await ensure_future
            assert (result.status, result.headers) == (204, {})
        assert not connection.is_usable


@pytest.mark.parametrize(("most", "size"), [(1_000, 16), (10 * PIECE_BYTES, 100), (10_000, 10_000)])
async def test_endless_response__is_cut_after_its_bytes_or_pieces(most: int, size: int) -> None:
    connection = OutgoingConnection()
    connection.connection_made(Sink())
    task = asyncio.ensure_future(connection.request(b"", most))
    await asyncio.sleep(0)
    chunk = b"%x\r\n%b\r\n" % (size, b"a" * size)
    connection.data_received(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunk)
    is_early = task.done()
    connection.data_received(chunk * 100_000)

    result = await task
    assert not is_early
    assert (result.status, result.is_cut, connection.is_usable) == (200, True, False)
    assert len(result.body) <= HEAD_BYTES + most + PARSED_BYTES


@pytest.mark.parametrize("ends_early", [True, False])
async def test_closed_connection__holds_no_body_until_the_garbage_collector_runs(ends_early: bool) -> None:
    most = 1_000_000
    length = 2 * most if ends_early else most
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(20):
            connection = OutgoingConnection()
            connection.connection_made(Sink())
            task = asyncio.ensure_future(connection.request(b"", most if ends_early else 2 * most))
            await asyncio.sleep(0)
            connection.data_received(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % length + bytes(length))
            assert len((await task).body) >= most - PARSED_BYTES
            connection.connection_lost(None)
            del task
        assert tracemalloc.get_traced_memory()[0] < 5 * most
    finally:
        tracemalloc.stop()
        gc.enable()


async def test_endless_responses_before_the_last_one__fail() -> None:
    connection = OutgoingConnection()
    connection.connection_made(Sink())
    task = asyncio.ensure_future(connection.request(b"", 10**9))
    await asyncio.sleep(0)
    connection.data_received(b"HTTP/1.1 102 Processing\r\n\r\n" * 1_000)

    with pytest.raises(ConnectionLost, match="the head of the response is longer than 16384 bytes"):
        await task
    assert not connection.is_usable
