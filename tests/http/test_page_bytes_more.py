"""Pages of an administrator end after `page_bytes` too, and so does what has no pages: no row is lost or doubled, on both engines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response
from tests.house import House, read

from touchbase.common.timestamps import to_text
from touchbase.http.dependencies import RequestLimits
from touchbase.inbox.api import deliveries as shown_deliveries
from touchbase.inbox.refused import UNKNOWN_CLIENT, RefusedWebhooks
from touchbase.inbox.service import get_delivery
from touchbase.jobs.models import CANCELLED, Job
from touchbase.jobs.sql import create_job
from touchbase.records import timelines
from touchbase.sql.store import Store

JANE = "jane@example.com"
NARROW = RequestLimits(page_bytes=1_500)


async def all_pages(call: ApiClient, path: str, *lists: str, **headers: str) -> list[dict[str, Any]]:
    """Read all pages; each has at most the bytes of the limit and a frame, or one item of its lists."""
    pages: list[dict[str, Any]] = []
    cursor: str | None = ""
    while cursor is not None:
        reply = await call.get(f"{path}&cursor={cursor}", **headers)
        assert reply.status == 200, reply
        pages.append(reply.json())
        items = sum(len(pages[-1].get(name, ())) for name in lists)
        assert len(reply.body) <= call.parts.limits.page_bytes + 1_200 or items <= 2, reply
        cursor = pages[-1]["next_cursor"]
        assert len(pages) < 60, "a cursor makes progress"
    return pages


def joined(pages: list[dict[str, Any]], name: str) -> list[Any]:
    return [item for page in pages for item in page.get(name, ())]


@pytest.fixture
async def narrow(store: Store, make_client: MakeClient) -> House:
    """A client with nine webhooks about Jane, three of which made events about two other people too."""
    house = House(make_client(store, read=read, limits=NARROW))
    for number in range(9):
        others = [{"event": "email_sent", "email": f"{name}{number}@example.com", "at": number} for name in ("ann", "tom")]
        campaign = {"event": "email_sent", "email": JANE, "at": number, "campaign": "c" * 200}
        await house.hook("camp", campaign, *(others if number % 3 == 0 else ()))
        house.call.clock.move(1)
    return house


@pytest.mark.parametrize("query", ["client=default", f"client=default&email={JANE}", "client=default&event=email_sent", "state=applied"])
async def test_deliveries__end_with_a_cursor(narrow: House, query: str) -> None:
    pages = await all_pages(narrow.call, f"/admin/v1/deliveries?limit=5&{query}", "data")

    assert [row["id"] for row in joined(pages, "data")] == list(range(9, 0, -1))
    assert len(pages) > 2


async def test_refusals__end_with_a_cursor(store: Store, make_client: MakeClient, clock: Any) -> None:
    call, refused = make_client(store, limits=NARROW), RefusedWebhooks(clock)
    for number in range(9):
        refused.record_refusal(f"nobody-{number}", "crm", UNKNOWN_CLIENT, headers=[(b"user-agent", b"u" * 190)])
        clock.move(1)
    await refused.flush(store)

    pages = await all_pages(call, "/admin/v1/refusals?limit=8", "data")

    assert [row["client_id"] for row in joined(pages, "data")] == [f"nobody-{number}" for number in range(8, -1, -1)]
    assert len(pages) > 2


async def test_custom_fields__end_with_a_cursor(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=NARROW)
    await call.settings("acme", contact_fields={"B defined": {"type": "select", "options": ["o" * 900]}, "z defined": {"type": "number"}})
    names = ["a", "A", "é", "Z", "B", "b" * 200, "B defined", "\U0001f600"]
    fields = [{"field_name": name, "field_value": "o" * 900} for name in names]
    await call.post("/public/v2/contacts", {"email": JANE, "contact_custom_fields_input": fields}, x_client_id="acme")

    pages = await all_pages(call, "/public/v2/custom-fields/contacts?limit=5", "data", x_client_id="acme")

    assert [field["name"] for field in joined(pages, "data")] == sorted([*names, "z defined"])
    assert [field["records"] for field in joined(pages, "data")] == [int(name != "z defined") for name in sorted([*names, "z defined"])]


async def test_deleted_records__end_with_a_cursor(store: Store, make_client: MakeClient) -> None:
    house = House(make_client(store, limits=NARROW))
    fields = [{"field_name": "notes", "field_value": "x" * 700}]
    numbers = [await house.contact(email=f"p{number}@example.com", contact_custom_fields_input=fields) for number in range(6)]
    for number in numbers:
        await house.delete(number)

    pages = await all_pages(house.call, "/public/v2/contacts/deleted?limit=5", "data")

    assert [first["id"] for first in joined(pages, "data")] == numbers[::-1]
    assert len(pages) > 3


async def test_jobs_with_wide_settings__end_with_a_cursor(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=NARROW)
    assert (await call.post("/public/v2/contacts", {"email": JANE})).status == 201
    job = Job(1, 0, "contacts.import", CANCELLED, 1, 1, {"mapping": "m" * 700}, progress={"preview": {"rows": "r" * 700}})
    numbers = [(await store.write(create_job(replace(job)))).id for _ in range(6)]

    pages = await all_pages(call, "/public/v2/jobs?limit=5", "data")

    assert [first["id"] for first in joined(pages, "data")] == numbers[::-1]
    assert len(pages) > 3


@pytest.mark.parametrize("page_bytes", [1, 1_500, 5_000])
async def test_export_of_a_person__has_each_item_once_in_the_same_order(
    narrow: House, store: Store, make_client: MakeClient, page_bytes: int
) -> None:
    for number in range(5):
        body = {"contact_email": JANE, "direction": "sent", "channel": "email", "text": f"{number}" + "x" * 600}
        response = await narrow.request("POST", "/public/v2/messages", body | {"occurred_at": f"2026-11-1{number % 3}T00:00:00Z"})
        assert response.status == 201, response
    [jane] = await narrow.listed(query=f"email={JANE}")
    path = f"/public/v2/contacts/{jane['id']}/export?limit=200"
    parts = narrow.call.parts
    wide = (await make_client(store, read=read, limits=RequestLimits(), clock=parts.clock).get(path)).json()
    call = make_client(store, read=read, limits=replace(NARROW, page_bytes=page_bytes), clock=parts.clock)

    pages = await all_pages(call, path, "timeline", "messages", "deliveries")

    assert {name: joined(pages, name) for name in ("timeline", "messages", "deliveries")} == {
        name: wide[name] for name in ("timeline", "messages", "deliveries")
    }
    assert [len(wide[name]) for name in ("timeline", "messages", "deliveries")] == [14, 5, 9]
    assert (wide["next_cursor"], [source["events"] for source in wide["sources"]]) == (None, [5, 9])
    assert [name for name in ("contact", "identities", "sources", "suppressions") if any(name in page for page in pages[1:])] == []
    assert pages[0]["sources"] == wide["sources"]


async def test_explain__leaves_out_other_events_and_is_then_refused(store: Store, make_client: MakeClient) -> None:
    call = make_client(store, limits=RequestLimits(page_bytes=12_000))
    for value in ("a", "b", "c"):
        fields = [{"field_name": f"f{number}", "field_value": value * 600} for number in range(6)]
        body = {"email": JANE, "contact_custom_fields_input": fields}
        number = (await call.post("/public/v2/contacts?on_duplicate=update", body)).json()["id"]
    path = f"/public/v2/contacts/{number}/explain"

    def values(reply: Response) -> dict[str, tuple[str, int, int]]:
        return {
            item["field"]: (item["value"][:1], len(item["others"]), item["others_total"]) for item in reply.json()["data"] if item["value"]
        }

    full_response, record = await call.get(path), await call.get(f"{path}?field=cf.f3")
    tight = make_client(store, limits=RequestLimits(page_bytes=3_000), clock=call.clock)
    refused, still_one = await tight.get(path), await tight.get(f"{path}?field=cf.f3")

    assert len(full_response.body) <= 12_000
    assert values(full_response)["cf.f5"] == ("c", 0, 2)
    assert values(record) == values(still_one) == {"cf.f3": ("c", 2, 2)}
    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "?field")


async def test_explain__quotes_the_beginning_of_a_long_value(store: Store, make_client: MakeClient) -> None:
    call = make_client(store)
    body = {"email": JANE, "contact_custom_fields_input": [{"field_name": "f", "field_value": "v" * 900}]}
    for _ in range(2):
        number = (await call.post("/public/v2/contacts?on_duplicate=update", body)).json()["id"]
    await call.patch(f"/public/v2/contacts/{number}", {"contact_custom_fields": body["contact_custom_fields_input"]})

    [explained] = (await call.get(f"/public/v2/contacts/{number}/explain?field=cf.f")).json()["data"]

    assert all(len(second["reason"]) < 120 for second in explained["others"])


async def test_history__is_read_up_to_its_bytes_and_says_since_when(
    store: Store, make_client: MakeClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(timelines, "HISTORY_BYTES", 20_000)
    monkeypatch.setattr("touchbase.history.sql.FIRST_EVENTS", 1)
    call = make_client(store)
    number = (await call.post("/public/v2/contacts", {"email": JANE})).json()["id"]
    for letter in "abcdef":
        call.clock.move(60)
        await call.patch(f"/public/v2/contacts/{number}", {"contact_custom_fields": [{"field_name": "f", "field_value": letter * 9_000}]})

    pages = await all_pages(call, f"/public/v2/contacts/{number}/timeline?limit=2", "data")
    explained = (await call.get(f"/public/v2/contacts/{number}/explain?field=cf.f")).json()

    changed = [change["value"][:1] for event in joined(pages, "data") for change in event["changed"] if change["field"] == "f"]
    assert changed == ["f", "e", "d", "c", "b", "a"]
    assert len(joined(pages, "data")) == 7
    assert explained["data"][0]["others_total"] < 5
    assert to_text(call.clock.now - 5 * 60_000_000) <= explained["computed_since"]


async def test_delivery__is_shown_with_its_first_events(narrow: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.inbox.service.MOST_EVENTS", 2)
    monkeypatch.setattr(shown_deliveries, "MOST_EVENTS", 2)

    shown = [(await narrow.call.get(f"/admin/v1/deliveries/{number}")).json() for number in (1, 2)]
    _, events = await get_delivery(narrow.call.parts.store, 1, None)

    assert [(len(item["events"]), item["more_events"]) for item in shown] == [(2, True), (1, False)]
    assert [event.detail for event in events] == [{}, {}, {}]
