"""A page ends after `page_bytes` with a cursor: no record is lost, doubled or torn, whatever its size, on both engines."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, MakeClient
from tests.examples import examples

from touchbase.http.dependencies import RequestLimits
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.store import Store

CLIENTS = itertools.count(1)
SIZES = st.lists(st.sampled_from([0, 1, 40, 900, 5_000, 30_000]), min_size=1, max_size=9)
FRAME = 200
"""Bytes of a page around its records."""


@pytest.fixture(autouse=True)
def read_in_small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the stores look at the bytes after each two custom fields, so that a few records are several portions."""
    monkeypatch.setattr("touchbase.records.sql.statements.FIRST_CUSTOM_FIELDS", 2)


async def fill(call: ApiClient, sizes: list[int]) -> str:
    """Create contacts with custom fields of so many characters, in values of at most 10,000; return their client."""
    client = f"c{next(CLIENTS)}"
    for number, size in enumerate(sizes):
        fields = [
            {"field_name": f"f{start}", "field_value": "é" * min(10_000, size - start)} for start in range(0, size, 10_000) if size > start
        ]
        body = {"email": f"p{number}@example.com", "contact_custom_fields_input": fields}
        response = await call.post("/public/v2/contacts", body, x_client_id=client)
        assert response.status == 201, response
    return client


async def pages(call: ApiClient, client: str, path: str, cursor: str = "cursor") -> list[Any]:
    """Read all pages of a list; each has at most the bytes of the limit, or one item."""
    result, place, most = [], "", call.parts.limits.page_bytes
    while True:
        reply = await call.get(f"{path}{place}", x_client_id=client)
        assert reply.status == 200, reply
        page = reply.json()
        assert len(reply.body) <= most + FRAME or len(page["data"]) == 1
        result.append(page["data"])
        following = page["next_cursor"] if page.get("has_more", True) else None
        if following is None:
            return result
        assert page["data"]
        place = f"&{cursor}={following}"


@settings(max_examples=examples(8), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(sizes=SIZES, limit=st.integers(1, 10), page_bytes=st.sampled_from([1, 3_000, 12_000, 70_000, 8_388_608]))
async def test_pages__have_each_record_once_and_whole(
    store: Store, make_client: MakeClient, sizes: list[int], limit: int, page_bytes: int
) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=page_bytes))
    client = await fill(call, sizes)

    for path in (
        f"/public/v2/contacts?limit={limit}",
        f"/public/v2/contacts?limit={limit}&updated_since=2000-01-01T00:00:00Z",
        f"/public/v2/contacts?limit={limit}&sort=-email",
        f"/public/v2/contacts?limit={limit}&created_time[gte]=2000-01-01T00:00:00Z",
    ):
        read = [contact for page in await pages(call, client, path) for contact in page]
        order = reversed(range(len(sizes))) if "sort" in path else range(len(sizes))
        assert [contact["email"] for contact in read] == [f"p{number}@example.com" for number in order], path
        written = {
            contact["email"]: sum(len(custom_field["field_value"]) for custom_field in contact["contact_custom_fields"]) for contact in read
        }
        assert written == {f"p{number}@example.com": size for number, size in enumerate(sizes)}, path

    events = [event for page in await pages(call, client, f"/public/v2/events?limit={limit}", "after") for event in page]
    assert [event["data"]["object"]["email"] for event in events] == [f"p{number}@example.com" for number in range(len(sizes))]
    everywhere = await pages(call, client, f"/admin/v1/contacts?client={client}&limit={limit}")
    assert [contact["email"] for page in everywhere for contact in page] == [f"p{number}@example.com" for number in range(len(sizes))]


@pytest.mark.parametrize("page_bytes", [1, 25_000, 8_388_608])
async def test_export__has_each_record_once(store: Store, make_client: MakeClient, page_bytes: int) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=page_bytes))
    client = await fill(call, [10, 30_000, 0, 5_000, 30_000])

    for query in ("", "&email[is_set]=true"):
        reply = await call.get(f"/public/v2/contacts/export?format=ndjson{query}", x_client_id=client)
        assert reply.status == 200, reply
        assert [json.loads(line)["email"] for line in reply.body.splitlines()] == [f"p{number}@example.com" for number in range(5)]
        assert reply.body.decode().count("é") == 65_010


async def test_messages__end_with_a_cursor(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=40_000))
    client = await fill(call, [0])
    texts = [f"{number} " + "x" * size for number, size in enumerate([5, 30_000, 90_000, 5, 5, 39_000])]
    for number, text in enumerate(texts):
        body = {"contact_email": "p0@example.com", "direction": "sent", "channel": "email", "text": text}
        response = await call.post("/public/v2/messages", body | {"occurred_at": f"2026-11-1{number}T00:00:00Z"}, x_client_id=client)
        assert response.status == 201, response

    read = await pages(call, client, "/public/v2/messages?limit=4")
    events = await pages(call, client, "/public/v2/events?types=message.*&limit=9", "after")

    assert [message["text"] for page in read for message in page] == texts[::-1]
    assert [event["data"]["object"]["text"] for page in events for event in page] == texts


async def test_timeline_and_values__end_with_a_cursor(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=15_000))
    client = await fill(call, [5])
    number = (await call.get("/public/v2/contacts", x_client_id=client)).json()["data"][0]["id"]
    for letter in "abcd":
        fields = [{"field_name": "f0", "field_value": letter * 9_000}]
        await call.patch(f"/public/v2/contacts/{number}", {"contact_custom_fields": fields}, x_client_id=client)

    timeline = await pages(call, client, f"/public/v2/contacts/{number}/timeline?limit=9")
    values = await pages(call, client, f"/public/v2/contacts/{number}/history?limit=9&field=cf.f0")

    assert sum(map(len, timeline)) == 5
    assert [value["value"][:1] for page in values for value in page] == ["d", "c", "b", "a", "é"]
    assert len(values) > 1


async def test_numbered_page__is_refused_with_the_size_that_fits(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=25_000))
    client = await fill(call, [5_000] * 4)

    refused = await call.get("/public/v2/contacts?page=1&page_size=4", x_client_id=client)
    shown = await call.get("/public/v2/contacts?page=2&page_size=2", x_client_id=client)

    assert refused.status == 422
    assert refused.problem["errors"][0]["pointer"] == "?page_size"
    assert refused.problem["errors"][0]["detail"].endswith("begin again with pages of 2")
    assert [contact["email"] for contact in shown.json()["results"]] == ["p2@example.com", "p3@example.com"]


async def test_store__stops_reading_when_the_bytes_are_spent(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[int] = []
    spend = ByteBudget.spend

    def counted(budget: ByteBudget, rows: Any) -> int:
        read.append(sum(len(row[5] or "") for row in rows))
        return spend(budget, rows)

    call = make_client(store, limits=RequestLimits(page_bytes=20_000))
    client = await fill(call, [30_000] * 9)
    monkeypatch.setattr("touchbase.records.sql.statements.FIRST_CUSTOM_FIELDS", 1)
    monkeypatch.setattr(ByteBudget, "spend", counted)
    await call.get("/public/v2/contacts?limit=9", x_client_id=client)

    assert 20_000 <= sum(read) <= 40_000
