"""Both sources: the store, and the feed of a server, over HTTP."""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import urlsplit

import msgspec
import pytest
from tests.house import House

from touchbase.clients.sql.clients import find_client
from touchbase.common.timestamps import DAY, clock
from touchbase.connections.tools import ApiRequest, ApiResponse, FetchFailed
from touchbase.event_log.sql.queries import trim_log
from touchbase.http.actors import ActorNames
from touchbase.outgoing.api.event_objects import envelopes
from touchbase.relay.models import EventLogSource, RelayStopped, SourceFailed
from touchbase.relay.sources import ServerSource, StoreSource

BASE = "https://touchbase.example"


class Server:
    """The HTTP client of a server whose requests go to a test's client, or get the answer that a test sets."""

    def __init__(self, house: House) -> None:
        self.house = house
        self.answer: ApiResponse | FetchFailed | None = None
        self.paths: list[str] = []

    async def send(self, base: str, request: ApiRequest) -> ApiResponse:
        assert base == BASE
        self.paths.append(request.path)
        if isinstance(self.answer, FetchFailed):
            raise self.answer
        if self.answer is not None:
            return self.answer
        reply = await self.house.request(request.method, request.path)
        return ApiResponse(reply.status, reply.headers, reply.body)

    async def close(self) -> None:
        pass


@pytest.fixture
def server(house: House) -> Server:
    return Server(house)


@pytest.fixture
async def stored(house: House) -> StoreSource:
    await house.call.settings(house.client_id)  # so that the client exists
    store = house.call.parts.store
    client = await store.read(find_client(house.client_id))
    assert client is not None
    return StoreSource(store, client, partial(envelopes, actors=ActorNames(store, clock)))


@pytest.fixture(params=["store", "server"])
async def source(request: pytest.FixtureRequest, house: House, server: Server, stored: StoreSource) -> EventLogSource:
    return stored if request.param == "store" else ServerSource(server, BASE, "", house.call.clock)


async def test_read__returns_the_envelopes_of_the_feed(house: House, source: EventLogSource) -> None:
    await house.contact(email="ada@example.com")
    await house.contact(email="bob@example.com")

    batch = await source.read(None, 0)
    remaining = await source.read("evt_1", 0)

    feed = (await house.request("GET", "/public/v2/events")).json()
    assert msgspec.json.decode(msgspec.json.encode(batch.events)) == feed["data"]
    assert (batch.cursor, batch.has_more) == ("evt_2", False)
    assert [event["data"]["id"] for event in remaining.events] == ["evt_2"]


async def test_read__waits_for_the_next_event(house: House, stored: StoreSource, server: Server) -> None:
    start = await stored.read("latest", 0)
    await ServerSource(server, BASE, "", house.call.clock).read(start.cursor, 20)

    waiting = asyncio.ensure_future(stored.read(start.cursor, 20))
    await house.contact(email="ada@example.com")

    assert [event["type"] for event in (await waiting).events] == ["contact.created"]
    assert server.paths == ["/public/v2/events?limit=200&wait=20&after=evt_0"]


async def test_trimmed_log__stops_the_relay_and_names_where_to_go_on(house: House, source: EventLogSource) -> None:
    for name in ("ada", "bob", "cy"):
        await house.contact(email=f"{name}@example.com")
    await house.call.parts.store.write(trim_log(house.number, house.call.clock() + DAY))

    with pytest.raises(RelayStopped, match=r"misses events: .* run once with --ignore-checkpoint --after evt_3"):
        await source.read("evt_1", 0)


async def test_server__that_refuses_or_fails_is_told_apart(server: Server) -> None:
    source = ServerSource(server, BASE, "k", server.house.call.clock, "contact.*")
    server.answer = ApiResponse(401, {}, b'{"detail": "this key is unknown"}')
    with pytest.raises(RelayStopped, match="answered 401: this key is unknown"):
        await source.read("evt_3", 0)
    server.answer = ApiResponse(200, {}, b"<html>")
    with pytest.raises(RelayStopped, match="is --url the address before /public"):
        await source.read(None, 0)
    server.answer = ApiResponse(429, {"retry-after": "7"}, b"")

    with pytest.raises(SourceFailed, match="answered 429") as failed:
        await source.read(None, 0)

    assert failed.value.retry_after == 7
    assert "after=evt_3&types=contact.%2A" in server.paths[0]


async def test_large_page__is_asked_in_smaller_ones(server: Server) -> None:
    source = ServerSource(server, BASE, "", server.house.call.clock)
    server.answer = FetchFailed("the response is longer than 8388608 bytes")

    for _ in range(2):
        with pytest.raises(SourceFailed):
            await source.read(None, 0)
    server.answer = None
    await source.read(None, 0)

    assert [urlsplit(first).query.partition("&")[0] for first in server.paths] == ["limit=200", "limit=50", "limit=12"]
