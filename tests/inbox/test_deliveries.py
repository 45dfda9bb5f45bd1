"""The administrator's inbox: which deliveries there are, what is in them, and applying one again."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient

from touchbase.common.timestamps import from_text
from touchbase.deliveries.delivery import Delivery
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Event, Translation

NOW = "2026-11-20T09:30:00Z"
WAITING = {
    "id": 1,
    "client_id": "abc",
    "channel": "crm",
    "state": "received",
    "tool": None,
    "received_at": NOW,
    "applied_at": None,
    "attempts": 0,
    "repeats": 0,
    "error": None,
    "size": 2,
    "verified": False,
    "problems": [],
}
NO_EFFECTS = {"people": [], "events": [], "more_events": False, "found_in": None}


def translate(delivery: Delivery) -> Translation:
    if delivery.body == b"riddle":
        raise UnrecognisedPayload("no adapter knows this")
    return Translation("instantly", [Event("email_sent", from_text(NOW), email="jane@example.com")])


async def work(call: ApiClient) -> None:
    for client in set(call.kept):
        await call.parts.store.work(client, 10, translate, call.clock.now)


async def test_list_deliveries__returns_a_received_delivery(call: ApiClient) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"{}")

    reply = await call.get("/admin/v1/deliveries")

    assert reply.status == 200
    assert reply.json() == {"data": [{**WAITING, **NO_EFFECTS}], "next_cursor": None, "search": None}


async def test_list_deliveries__returns_pages_with_the_newest_first(call: ApiClient) -> None:
    for number in range(5):
        await call("POST", "/public/crm-webhook/abc", raw=b"%d" % number)

    pages, cursor = [], ""
    while True:
        page = (await call.get(f"/admin/v1/deliveries?limit=2{cursor}")).json()
        pages.append([delivery["id"] for delivery in page["data"]])
        if page["next_cursor"] is None:
            break
        cursor = f"&cursor={page['next_cursor']}"

    assert pages == [[5, 4], [3, 2], [1]]


@pytest.mark.parametrize("limit", [1, 2, 3, 5])
async def test_list_deliveries__of_several_clients_is_by_time_whoever_has_them(call: ApiClient, limit: int) -> None:
    for number, client in enumerate("aabcaabbbc"):
        await call("POST", f"/public/{'crm' if number % 4 else 'emailcampaign'}-webhook/{client}", raw=b"%d" % number)

    async def walk(query: str) -> list[int]:
        pages, cursor = [], ""
        while True:
            page = (await call.get(f"/admin/v1/deliveries?limit={limit}{query}{cursor}")).json()
            pages += [delivery["id"] for delivery in page["data"]]
            assert len(page["data"]) == limit or page["next_cursor"] is None
            if page["next_cursor"] is None:
                return pages
            cursor = f"&cursor={page['next_cursor']}"

    assert await walk("") == [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]
    assert await walk("&channel=email_campaign&state=received") == [9, 5, 1]


async def test_list_deliveries__filters_by_each_parameter(call: ApiClient) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"riddle")
    await call("POST", "/public/emailcampaign-webhook/abc", raw=b"sent")
    await work(call)
    later = call.clock.move(1)
    await call("POST", "/public/crm-webhook/xyz", raw=b"new")

    async def delivery_ids(query: str) -> list[int]:
        reply = await call.get(f"/admin/v1/deliveries?{query}")
        return [delivery["id"] for delivery in reply.json()["data"]]

    assert await delivery_ids("client=abc") == [2, 1]
    assert await delivery_ids("channel=crm") == [3, 1]
    assert await delivery_ids("tool=instantly") == [2]
    assert await delivery_ids("state=received") == [3]
    assert await delivery_ids("state=unrecognised&client=abc&channel=crm") == [1]
    assert await delivery_ids("state=failed") == []
    assert await delivery_ids(f"received_since={later}") == [3]
    assert await delivery_ids(f"received_since={NOW}&client=abc") == [2, 1]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("client=nobody", "?client"),
        ("channel=fax", "?channel"),
        ("state=lost", "?state"),
        ("more=1", "?more"),
        ("cursor=x", "?cursor"),
        ("received_since=now", "?received_since"),
    ],
)
async def test_list_deliveries__refuses_an_invalid_filter_and_names_it(sqlite_call: ApiClient, query: str, pointer: str) -> None:
    reply = await sqlite_call.get(f"/admin/v1/deliveries?{query}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (b'{"a": "\xc3\xa9"}', {"encoding": "utf-8", "content": '{"a": "é"}'}),
        (b"\xff\x00", {"encoding": "base64", "content": "/wA="}),
        (b"", {"encoding": "utf-8", "content": ""}),
    ],
)
async def test_get_delivery__returns_the_raw_body_and_the_headers(call: ApiClient, raw: bytes, body: dict[str, str]) -> None:
    await call("POST", "/public/crm-webhook/abc?a=1&b", raw=raw, content_type="text/plain")

    reply = await call.get("/admin/v1/deliveries/1")

    more = {"headers": {"content-type": "text/plain"}, "query": "a=1&b", "body": body, "body_removed": None, "events": []}
    more |= {"more_events": False}
    assert reply.json() == {**WAITING, "size": len(raw), **more}


async def test_get_delivery__returns_the_events_of_an_applied_delivery(call: ApiClient) -> None:
    await call("POST", "/public/emailcampaign-webhook/abc", raw=b"sent")
    await work(call)

    body = (await call.get("/admin/v1/deliveries/1")).json()

    assert (body["state"], body["tool"], body["applied_at"]) == ("applied", "instantly", NOW)
    assert body["events"] == [
        {"event": "email_sent", "occurred_at": NOW, "campaign": None, "status": "contacted", "record": "contact", "record_id": 1},
    ]


async def test_replay_delivery__returns_an_unrecognised_delivery_to_received(call: ApiClient) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"riddle")
    await work(call)
    before = (await call.get("/admin/v1/deliveries/1")).json()

    reply = await call("POST", "/admin/v1/deliveries/1/replay")

    assert before["state"] == "unrecognised"
    assert before["error"]
    assert reply.status == 202
    assert reply.json()["state"] == "received"
    assert len(call.kept) == 2


async def test_replay_delivery__of_an_applied_delivery_changes_nothing(call: ApiClient) -> None:
    await call("POST", "/public/emailcampaign-webhook/abc", raw=b"sent")
    await work(call)
    contact = (await call.get("/public/v2/contacts/1", x_client_id="abc")).json()
    timeline = (await call.get("/public/v2/contacts/1/timeline", x_client_id="abc")).json()

    await call("POST", "/admin/v1/deliveries/1/replay")
    await work(call)

    assert (await call.get("/public/v2/contacts/1", x_client_id="abc")).json() == contact
    assert (await call.get("/public/v2/contacts/1/timeline", x_client_id="abc")).json() == timeline


@pytest.mark.parametrize(("query", "body", "status"), [("?dry_run=true", b"", 422), ("", b'{"dry_run": true}', 400)])
async def test_replay_delivery__refuses_parameters_and_fields_and_does_not_replay(
    call: ApiClient, query: str, body: bytes, status: int
) -> None:
    await call("POST", "/public/crm-webhook/abc", raw=b"riddle")
    await work(call)

    reply = await call("POST", f"/admin/v1/deliveries/1/replay{query}", raw=body)
    state = (await call.get("/admin/v1/deliveries/1")).json()["state"]
    plain = await call("POST", "/admin/v1/deliveries/1/replay", raw=b"{}")

    assert (reply.status, state, plain.status) == (status, "unrecognised", 202)


@pytest.mark.parametrize("number", ["9", "0", "x", "9" * 30])
async def test_delivery__with_an_unknown_id_returns_404(sqlite_call: ApiClient, number: str) -> None:
    replies: list[Any] = [
        await sqlite_call.get(f"/admin/v1/deliveries/{number}"),
        await sqlite_call("POST", f"/admin/v1/deliveries/{number}/replay"),
    ]

    assert [reply.status for reply in replies] == [404, 404]
