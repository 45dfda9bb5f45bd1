"""The feed over HTTP: pages, cursors, waiting, server-sent events, limits."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from tests.asgi_client import MakeClient, Response, Streamed, scope_of
from tests.event_log.test_log import JANE
from tests.house import House

from touchbase.common.timestamps import DAY
from touchbase.event_log.feed import Feed
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.queries import trim_log
from touchbase.outgoing.api import events
from touchbase.sql.store import Store

EVENTS = "/public/v2/events"


async def read(house: House, query: str = "") -> Any:
    """A page of events."""
    reply = await house.request("GET", f"{EVENTS}?{query}")
    assert reply.status == 200, reply.body
    return reply.json()


async def patient(house: House, query: str) -> Response:
    """A request whose client stays connected."""
    first = True

    async def receive() -> dict[str, Any]:
        nonlocal first
        if first:
            first = False
            return {"type": "http.request", "body": b"", "more_body": False}
        return await asyncio.get_running_loop().create_future()

    return await house.call.with_receive(scope_of("GET", f"{EVENTS}?{query}", {"x-client-id": house.client_id}), receive)


def stream_of(house: House, query: str = "", **headers: str) -> Streamed:
    """A connection that gets server-sent events."""
    return Streamed(house.call, f"{EVENTS}?{query}", **{"x-client-id": house.client_id, "accept": "text/event-stream", **headers})


async def test_list_events__has_the_present_record_and_what_changed(house: House) -> None:
    number = await house.contact(**JANE)
    house.call.clock.move(10)
    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 5})

    page = await read(house)

    assert [item["type"] for item in page["data"]] == ["contact.created", "contact.status_changed", "contact.replied"]
    replied = page["data"][2]
    assert replied["timestamp"] == "2026-11-20T09:30:10Z"
    assert replied["data"]["object"] == await house.get(number)
    assert replied["data"]["changed"] == {"last_reply_received": [None, "2026-11-20T09:30:05Z"]}
    cause = replied["data"]["cause"]
    assert (cause["origin"], cause["tool"], len(cause["deliveries"])) == ("delivery", "camp", 1)
    assert (replied["data"]["id"], replied["data"]["client_id"], replied["data"]["record_id"]) == ("evt_3", "default", number)
    assert (page["next_cursor"], page["has_more"]) == ("evt_3", False)


async def test_list_events__goes_on_after_a_cursor(house: House) -> None:
    for n in range(5):
        await house.contact(email=f"p{n}@example.com")

    first = await read(house, "limit=2")
    second = await read(house, f"after={first['next_cursor']}&limit=10")

    assert (len(first["data"]), first["has_more"]) == (2, True)
    assert [item["data"]["id"] for item in second["data"]] == ["evt_3", "evt_4", "evt_5"]
    assert (await read(house, "after=evt_5"))["next_cursor"] == "evt_5"
    assert (await read(house, "after=latest"))["next_cursor"] == "evt_5"


async def test_list_events__of_some_types_moves_the_cursor_past_others(house: House) -> None:
    await house.contact(**JANE)
    await house.company("example.com")
    await house.company("example.net")

    page = await read(house, "types=contact.*,suppression.added")

    assert [item["type"] for item in page["data"]] == ["contact.created"]
    assert page["next_cursor"] == "evt_3"


async def test_list_events__names_what_is_wrong_with_a_request(house: House) -> None:
    for query, word in (("after=x", "next_cursor"), ("types=contact.create", "contact.created"), ("wait=31", "30"), ("limit=0", "1000")):
        reply = await house.request("GET", f"{EVENTS}?{query}")
        assert reply.status == 422
        assert word in reply.problem["detail"], query


async def test_list_events__of_another_client_are_not_shown(house: House) -> None:
    await house.contact(**JANE)
    second = await House.of(house.call, "other")
    await second.company("example.com")

    assert [item["type"] for item in (await read(second))["data"]] == ["company.created"]


async def test_list_events__of_a_record_that_is_gone_has_no_object(house: House) -> None:
    number = await house.contact(**JANE)
    await house.delete(number)

    created, deleted = (await read(house))["data"]

    assert deleted["type"] == "contact.deleted"
    assert [item["data"]["object"] for item in (created, deleted)] == [None, None]
    assert deleted["data"]["record_id"] == number


async def test_list_events__refuses_a_cursor_that_would_miss_events(house: House) -> None:
    await read(house)
    for n in range(3):
        house.call.clock.move(86_400)
        await house.contact(email=f"p{n}@example.com")
    await house.call.parts.store.write(trim_log(house.number, house.call.clock.now - DAY))

    gone = await house.request("GET", f"{EVENTS}?after=evt_0")

    assert (gone.status, gone.problem["code"], gone.problem["valid_cursor"]) == (410, "cursor_expired", "evt_1")
    assert "list the records again" in gone.problem["detail"]
    assert [item["data"]["id"] for item in (await read(house, "after=evt_1"))["data"]] == ["evt_2", "evt_3"]
    assert [item["data"]["id"] for item in (await read(house))["data"]] == ["evt_2", "evt_3"]
    ahead = await house.request("GET", f"{EVENTS}?after=evt_4")
    assert (ahead.status, ahead.problem["valid_cursor"]) == (410, "evt_3")


async def test_list_events__of_a_trimmed_log_goes_on_with_the_sequence(house: House) -> None:
    await house.contact(**JANE)
    house.call.clock.move(86_400)
    await house.call.parts.store.write(trim_log(house.number, house.call.clock.now))
    assert (await read(house))["next_cursor"] == "evt_1"

    await house.company("example.com")

    assert [item["data"]["id"] for item in (await read(house, "after=evt_1"))["data"]] == ["evt_2"]


async def test_wait__ends_with_the_next_event_of_this_process(store: Store, make_client: MakeClient) -> None:
    house = House(make_client(store, feed=Feed(store, look_seconds=3_600)))  # only a signal ends it
    await house.contact(**JANE)
    waiting = asyncio.create_task(patient(house, "after=evt_1&wait=30"))
    async with asyncio.timeout(25):  # less than it would wait
        while not LOGGED._listeners:  # noqa: ASYNC110 (the request runs now)
            await asyncio.sleep(0)
        await house.company("example.com")
        reply = await waiting
    assert [item["type"] for item in reply.json()["data"]] == ["company.created"]


async def test_wait__is_not_ended_by_other_types(house: House) -> None:
    await house.contact(**JANE)
    waiting = asyncio.create_task(patient(house, "after=evt_1&wait=30&types=company.updated"))
    number = await house.company("example.com")
    await house.request("PATCH", f"/public/v2/companies/{number}", {"name": "Example"})

    page = (await waiting).json()

    assert [(item["type"], item["data"]["id"]) for item in page["data"]] == [("company.updated", "evt_3")]


async def test_wait__ends_when_the_client_is_gone_or_the_time_over(house: House) -> None:
    await house.contact(**JANE)

    assert (await read(house, "after=evt_1&wait=30"))["data"] == []  # this client disconnects at once
    assert (await patient(house, "after=evt_1&wait=1")).json() == {"data": [], "next_cursor": "evt_1", "has_more": False}


async def test_wait__sees_events_of_other_processes(store: Store, make_client: MakeClient) -> None:
    house = House(make_client(store, feed=Feed(store, look_seconds=0.01)))
    await house.contact(**JANE)
    waiting = asyncio.create_task(patient(house, "after=evt_1&wait=30"))
    await asyncio.sleep(0.05)

    listeners, LOGGED._listeners = LOGGED._listeners, ()  # as if another process wrote
    await house.company("example.com")
    LOGGED._listeners = listeners

    assert len((await waiting).json()["data"]) == 1


async def test_readers_of_all_clients__take_what_changed_since_they_follow(store: Store, make_client: MakeClient) -> None:
    feed = Feed(store, look_seconds=3_600)
    ours, yours = (House(make_client(store), client_id=client_id) for client_id in ("ours", "yours"))
    await ours.contact(**JANE)
    first = await feed.follow_all()
    await ours.company("example.com")
    second = await feed.follow_all()
    await yours.contact(**JANE)
    await ours.company("example.org")

    async with asyncio.timeout(25):  # less than they would wait
        await asyncio.gather(feed.wait(first, 60), feed.wait(second, 60))
        taken = [sorted(feed.take(changed).values()) for changed in (first, second, first)]

    assert taken == [[(0, 1), (1, 3)], [(0, 1), (2, 3)], []]


async def test_wait__is_refused_beyond_the_limit(store: Store, make_client: MakeClient) -> None:
    feed = Feed(store, 3)
    house = House(make_client(store, feed=feed))
    await house.contact(**JANE)
    waiting = [asyncio.create_task(patient(house, "after=evt_1&wait=30")) for _ in range(3)]
    while len(feed._waiting) < 3:  # noqa: ASYNC110 (the requests run now)
        await asyncio.sleep(0)

    for headers in ({}, {"accept": "text/event-stream"}):
        reply = await house.request("GET", f"{EVENTS}?after=evt_1&wait=30", **headers)
        assert (reply.status, reply.headers["retry-after"]) == (503, "5")

    feed.stop()
    async with asyncio.timeout(25):  # less than they would wait
        assert [len((await item).json()["data"]) for item in waiting] == [0, 0, 0]


async def test_stream__sends_events_and_ends_when_the_server_stops(store: Store, make_client: MakeClient) -> None:
    feed = Feed(store)
    house = House(make_client(store, feed=feed))
    number = await house.contact(**JANE)
    stream = stream_of(house)
    pieces = stream.pieces()

    assert await anext(pieces) == "retry: 2000\n\n"
    created = await anext(pieces)
    await house.company("example.com")
    company = await anext(pieces)
    feed.stop()
    remaining_pieces = [piece async for piece in pieces]

    assert created.startswith("id: evt_1\nevent: contact.created\ndata: {")
    assert json.loads(created.partition("data: ")[2])["data"]["object"] == await house.get(number)
    assert company.startswith("id: evt_2\nevent: company.created\n")
    assert all(piece.startswith(":") for piece in remaining_pieces)


async def test_stream__reads_nothing_more_for_a_reader_that_left(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await house.contact(**JANE)
    stream = stream_of(house)
    pieces = stream.pieces()
    assert [(await anext(pieces))[:5] for _ in range(2)] == ["retry", "id: e"]
    read_pages = 0
    piece = events._piece

    async def counted(*args: Any) -> tuple[bytes, int, int]:
        nonlocal read_pages
        read_pages += 1
        return await piece(*args)

    monkeypatch.setattr(events, "_piece", counted)
    await stream.leave()

    assert read_pages == 0


async def test_stream__goes_on_after_the_last_event_id(house: House) -> None:
    await house.contact(**JANE)
    await house.company("example.com")
    stream = stream_of(house, "after=evt_0", last_event_id="evt_1")
    pieces = stream.pieces()
    await anext(pieces)

    assert (await anext(pieces)).startswith("id: evt_2\n")

    await stream.leave()


async def test_stream__refuses_an_expired_cursor_before_it_begins(house: House) -> None:
    reply = await house.request("GET", EVENTS, accept="text/event-stream", last_event_id="evt_9")

    assert (reply.status, reply.problem["code"]) == (410, "cursor_expired")


@pytest.mark.parametrize("method", ["HEAD", "GET"])
async def test_list_events__takes_no_body_for_head(house: House, method: str) -> None:
    reply = await house.request(method, f"{EVENTS}?wait=30")

    assert reply.status == 200
    assert bool(reply.body) == (method == "GET")
