"""The administrator's calls about many deliveries: groups, and replays by filter."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.inbox.test_deliveries import NOW, translate, work

from touchbase.adapters.interface import WebhookRequest
from touchbase.adapters.registry import load_adapters
from touchbase.deliveries.delivery import Delivery
from touchbase.history.events import Translation
from touchbase.inbox.api import replay as events_api
from touchbase.sql.store import Store


def read(request: WebhookRequest) -> Translation:
    return translate(Delivery(0, "", 0, request.channel, "", 0, body=request.body))


@pytest.fixture
def call(store: Store, make_client: MakeClient) -> ApiClient:
    return make_client(store, read=read)


async def receive(call: ApiClient, *bodies: bytes, client: str = "abc") -> None:
    for body in bodies:
        await call("POST", f"/public/crm-webhook/{client}", raw=body)
        call.clock.move(1)


async def deliveries(call: ApiClient) -> dict[int, str]:
    result = (await call.get("/admin/v1/deliveries?limit=200")).json()["data"]
    return {delivery["id"]: delivery["state"] for delivery in result}


async def test_list_delivery_groups__groups_deliveries_without_effect_by_fingerprint(call: ApiClient) -> None:
    await receive(call, b'{"event": "odd", "b": 1}', b'{"event": "odd", "b": 2}', b"riddle")

    def puzzled(delivery: Delivery) -> Translation:
        return translate(Delivery(0, "", 0, "crm", "", 0, body=b"riddle"))

    await call.parts.store.work(call.kept[0], 10, puzzled, call.clock.now)

    reply = await call.get("/admin/v1/deliveries/groups?state=unrecognised&client=abc&channel=crm")

    group = {"client_id": "abc", "channel": "crm", "tool": None, "state": "unrecognised", "reason": "no adapter knows this"}
    assert reply.status == 200
    assert reply.json() == {
        "data": [
            {**group, "event": "odd", "keys": ["b", "event"], "count": 2, "first_received_at": NOW,
             "last_received_at": "2026-11-20T09:30:01Z", "example_id": 2},
            {**group, "event": None, "keys": [], "count": 1, "first_received_at": "2026-11-20T09:30:02Z",
             "last_received_at": "2026-11-20T09:30:02Z", "example_id": 3},
        ]
    }  # fmt: skip
    assert len((await call.get("/admin/v1/deliveries/groups?limit=1")).json()["data"]) == 1
    assert (await call.get("/admin/v1/deliveries/groups?tool=hubspot")).json() == {"data": []}


@pytest.mark.parametrize(
    ("query", "pointer"), [("client=nobody", "?client"), ("state=applied", "?state"), ("channel=fax", "?channel"), ("cursor=x", "?cursor")]
)
async def test_list_delivery_groups__refuses_an_invalid_filter_and_names_it(sqlite_call: ApiClient, query: str, pointer: str) -> None:
    reply = await sqlite_call.get(f"/admin/v1/deliveries/groups?{query}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)


async def test_replay_deliveries__returns_matching_deliveries_to_received(call: ApiClient) -> None:
    await receive(call, b"riddle", b"1", b"2")
    await receive(call, b"riddle", client="xyz")
    await work(call)
    before = len(call.kept)

    reply = await call.post("/admin/v1/deliveries/replay", {"state": "unrecognised", "client": "abc"})

    assert (reply.status, reply.json()) == (202, {"count": 1, "left": 0, "next_cursor": None, "would": None})
    assert await deliveries(call) == {1: "received", 2: "applied", 3: "ignored", 4: "unrecognised"}
    assert len(call.kept) == before + 1


async def test_replay_deliveries__filters_by_received_since(call: ApiClient) -> None:
    await receive(call, b"riddle", b"riddle 2", b"riddle 3")

    reply = await call.post("/admin/v1/deliveries/replay", {"received_since": "2026-11-20T09:30:01Z"})

    assert reply.json()["count"] == 2


async def test_replay_deliveries__dry_run_reports_the_changes_and_stores_nothing(call: ApiClient) -> None:
    await receive(call, b"riddle", b"1")

    reply = await call.post("/admin/v1/deliveries/replay", {"channel": "crm", "dry_run": True})

    would: dict[str, Any] = {"outcomes": {"unrecognised": 1, "applied": 1}, "effects": {"not_recognised": 1, "changes": 1}}
    would |= {"records_made": 1, "records_changed": 0, "fields": {}}
    shown = reply.json()
    assert [(delivery["state"], delivery["would_be"]) for delivery in shown["would"].pop("deliveries")] == [
        ("received", "unrecognised"),
        ("received", "applied"),
    ]
    assert (reply.status, shown) == (200, {"count": 2, "left": 0, "next_cursor": None, "would": would})
    assert await deliveries(call) == {1: "received", 2: "received"}
    assert (await call.get("/public/v2/contacts", x_client_id="abc")).json()["data"] == []


async def test_replay_deliveries__continues_with_a_cursor(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events_api, "PAGE", 2)
    monkeypatch.setattr(events_api, "MAX_AT_ONCE", 3)
    await receive(call, *(b"riddle %d" % number for number in range(5)))
    await receive(call, b"riddle", client="xyz")
    requested: dict[str, Any] = {"state": "received", "dry_run": True}

    reported, cursor = [], None
    while True:
        reply = (await call.post("/admin/v1/deliveries/replay", {**requested, "cursor": cursor})).json()
        reported.append((reply["count"], reply["left"]))
        cursor = reply["next_cursor"]
        if cursor is None:
            break

    assert reported == [(2, 4), (2, 2), (2, 0)]


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, {""}),
        ({"dry_run": True}, {""}),
        ({"state": "lost"}, {"/state"}),
        ({"channel": "fax", "tool": ""}, {"/channel", "/tool"}),
        ({"client": "nobody"}, {"/client"}),
        ({"state": "failed", "received_since": "yesterday", "cursor": "x"}, {"/received_since", "/cursor"}),
        ({"state": "failed", "more": 1}, {"/more"}),
        ({"state": "failed", "dry_run": "yes"}, {"/dry_run"}),
    ],
)
async def test_replay_deliveries__refuses_an_invalid_body_and_names_every_fault(
    sqlite_call: ApiClient, body: object, pointers: set[str]
) -> None:
    reply = await sqlite_call.post("/admin/v1/deliveries/replay", body)

    assert reply.status == 422
    assert {error["pointer"] for error in reply.problem["errors"]} == pointers


async def test_delivery_routes__refuse_an_unknown_tool(memory: Store, make_client: MakeClient) -> None:
    sqlite_call = make_client(memory, senders=load_adapters())

    for name, status in (("HubSpot", 422), ("hubspot", 200)):
        replies = [await sqlite_call.get(f"/admin/v1/deliveries{more}?tool={name}") for more in ("", "/groups")]
        replies.append(await sqlite_call.post("/admin/v1/deliveries/replay", {"tool": name, "dry_run": True}))
        assert [reply.status for reply in replies] == [status] * 3
        assert status == 200 or ["no tool is called 'HubSpot'" in reply.problem["detail"] for reply in replies] == [True] * 3
