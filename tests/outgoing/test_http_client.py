"""The HTTP client of webhooks against a real receiver."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from touchbase.outgoing import Answer, WebhookClient, http_client


class Receiver:
    """Answers each request with the same bytes; counts connections."""

    def __init__(self) -> None:
        self.answer = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok"
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
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@pytest.fixture
async def receiver() -> AsyncIterator[tuple[Receiver, str]]:
    one = Receiver()
    server = await asyncio.start_server(one.handle, "127.0.0.1", 0)
    yield one, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()


async def post(client: WebhookClient, url: str) -> Answer:
    return await client.post(url, {"webhook-id": "evt_1_1", "content-type": "application/json"}, b"{}")


async def test_post__reuses_the_connection(receiver: tuple[Receiver, str]) -> None:
    one, origin = receiver
    client = WebhookClient("touchbase/test", [origin])

    answers = [await post(client, f"{origin}/hooks?a=b") for _ in range(3)]
    await client.close()

    assert [(each.status, each.body) for each in answers] == [(200, "ok")] * 3
    assert one.connections == 1
    assert one.heads[0].startswith(b"POST /hooks?a=b HTTP/1.1\r\n")
    assert b"user-agent: touchbase/test" in one.heads[0].lower()


async def test_post__follows_no_redirect_and_caps_the_body(receiver: tuple[Receiver, str]) -> None:
    one, origin = receiver
    client = WebhookClient("touchbase/test", [origin])
    one.answer = b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 5000\r\n\r\n" + b"x" * 5_000

    answer = await post(client, origin)
    await client.close()

    assert (answer.status, answer.body) == (302, "x" * 2_000)
    assert len(one.heads) == 1


async def test_post__refuses_private_addresses_unless_listed(receiver: tuple[Receiver, str]) -> None:
    one, origin = receiver
    client = WebhookClient("touchbase/test")

    plain = await post(client, origin)
    private = await post(client, origin.replace("http:", "https:"))
    await client.close()

    assert (plain.failure, "https only" in plain.error) == ("unreachable", True)
    assert (private.failure, "not a public address" in private.error) == ("unreachable", True)
    assert one.connections == 0


async def test_post__gives_up_without_a_response_in_time(receiver: tuple[Receiver, str], monkeypatch: pytest.MonkeyPatch) -> None:
    one, origin = receiver
    one.answer = b""
    monkeypatch.setattr(http_client, "SECONDS", 0.05)
    client = WebhookClient("touchbase/test", [origin])

    answer = await post(client, origin)
    await client.close()

    assert (answer.status, answer.failure) == (None, "timeout")
