"""Events and messages of several clients in one list: newest first, page by page, none twice and none lost."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest
from tests.asgi_client import MakeClient
from tests.house import House

from touchbase.common.timestamps import SECOND
from touchbase.errors import Invalid
from touchbase.event_log.sql import queries
from touchbase.event_log.sql.queries import list_newest_places
from touchbase.http.dependencies import RequestLimits
from touchbase.messages.sql import plans
from touchbase.messages.sql.plans import list_all_messages
from touchbase.sql.store import Store

EVENTS, MESSAGES = "/team/v1/events", "/team/v1/messages"


@pytest.fixture
async def houses(house: House) -> list[House]:
    return [await House.of(house.call, "default"), await House.of(house.call, "beside"), await House.of(house.call, "idle")]


async def pages(house: House, path: str, **query: object) -> list[list[dict[str, Any]]]:
    """Return all pages of a list."""
    read: list[list[dict[str, Any]]] = []
    cursor = ""
    while len(read) < 100:
        target = "&".join([f"{path}?cursor={cursor}", *(f"{name}={quote(str(value))}" for name, value in query.items())])
        reply = await house.call.get(target)
        assert reply.status == 200, reply.body
        read.append(reply.json()["data"])
        cursor = reply.json()["next_cursor"]
        if cursor is None:
            return read
    raise AssertionError(f"{path} has no last page")


async def test_events__of_all_clients_are_newest_first(houses: list[House]) -> None:
    for n in range(6):
        houses[0].call.clock.now += SECOND
        await houses[n % 2].contact(email=f"ann{n}@x.example")

    listed = await pages(houses[0], EVENTS, limit=4)
    of_one = await pages(houses[0], EVENTS, client="beside", types="contact.*")
    none = await pages(houses[0], EVENTS, types="note.created")

    events = [(event["data"]["client_id"], event["data"]["object"]["email"]) for page in listed for event in page]
    assert [len(page) for page in listed] == [4, 2]
    assert events == [(("default", "beside")[n % 2], f"ann{n}@x.example") for n in reversed(range(6))]
    assert [event["id"] for event in of_one[0]] == ["evt_3", "evt_2", "evt_1"]
    assert none == [[]]


@pytest.mark.parametrize("limit", [1, 2, 3, 50])
async def test_events__whose_times_are_not_in_order_are_all_listed_in_the_order_of_each_log(houses: list[House], limit: int) -> None:
    now = houses[0].call.clock.now
    times = {houses[0].number: [10, 30, 20, 20, 40], houses[1].number: [20, 20, 35, 5]}
    for house in houses[:2]:
        for second in times[house.number]:
            houses[0].call.clock.now = now + second * SECOND
            await house.contact(origin="test")

    queries: list[dict[str, object]] = [{}, {"types": "contact.created"}]
    for query in queries:
        listed = [event for page in await pages(houses[0], EVENTS, limit=limit, **query) for event in page]
        for house in houses[:2]:
            ids = [event["id"] for event in listed if event["data"]["client_id"] == house.client_id]
            assert ids == [f"evt_{n}" for n in reversed(range(1, len(times[house.number]) + 1))]


async def test_page_that_ends_for_its_bytes__goes_on(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=2_000))
    houses = [await House.of(call, "default"), await House.of(call, "beside")]
    for n in range(4):
        await houses[n % 2].contact(email=f"ann{n}@x.example", first_name="A" * 200)
        await houses[0].call.post("/public/v2/messages", {"direction": "sent", "contact_email": "ann0@x.example", "text": f"{n}" * 1_500})

    events, messages = await pages(houses[0], EVENTS), await pages(houses[0], MESSAGES)

    assert len(events) > 2
    assert len({(event["data"]["client_id"], event["id"]) for page in events for event in page}) == 8
    assert [[message["text"][0] for message in page] for page in messages] == [["3"], ["2"], ["1"], ["0"]]


async def test_messages__of_all_clients_are_newest_first(houses: list[House]) -> None:
    for n in range(6):
        await houses[n % 2].contact(email=f"ann{n}@x.example")
        body = {"direction": ("sent", "received")[n // 3], "contact_email": f"ann{n}@x.example", "text": str(n),
                "occurred_at": f"2026-11-20T09:0{n - n % 2}:00Z"}  # fmt: skip
        assert (await houses[n % 2].request("POST", "/public/v2/messages", body)).status == 201

    listed = await pages(houses[0], MESSAGES, limit=1)
    received = await pages(houses[0], MESSAGES, direction="received")
    of_one = await pages(houses[0], MESSAGES, client="beside")

    assert [(message["text"], message["client_id"]) for page in listed for message in page] == [
        ("5", "beside"), ("4", "default"), ("3", "beside"), ("2", "default"), ("1", "beside"), ("0", "default"),
    ]  # fmt: skip
    assert [message["text"] for message in received[0]] == ["5", "4", "3"]
    assert [message["text"] for message in of_one[0]] == ["5", "3", "1"]


async def test_lists__of_more_clients_than_are_looked_through_ask_for_one(houses: list[House], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_CLIENTS", 1)
    monkeypatch.setattr(plans, "MOST_CLIENTS", 1)
    store = houses[0].call.parts.store
    for house in houses[:2]:
        await house.contact(email="ann@x.example")
        await house.request("POST", "/public/v2/messages", {"direction": "sent", "contact_email": "ann@x.example", "text": "Hello"})

    for query in (list_newest_places(None, 50), list_all_messages(None, 50, None, {}, 10_000)):
        with pytest.raises(Invalid) as refused:
            await store.read(query)
        assert "name one with ?client=" in refused.value.faults[0].detail
    assert len(await store.read(list_newest_places([houses[0].number], 50))) == 2


async def test_lists__of_an_unknown_client_are_not_found(house: House) -> None:
    for path in (EVENTS, MESSAGES):
        assert (await house.call.get(f"{path}?client=nobody")).status == 404
        assert (await house.call.get(f"{path}?cursor=x")).status == 422
