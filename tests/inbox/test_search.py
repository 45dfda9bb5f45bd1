"""Search of the inbox over HTTP: by person, text, event and time, within a budget."""

from __future__ import annotations

import gzip
from typing import Any
from urllib.parse import urlencode

import msgspec
import pytest
from tests.asgi_client import ApiClient
from tests.house import NOON, House, read

from touchbase.adapters.interface import WebhookRequest
from touchbase.common.timestamps import SECOND, to_text
from touchbase.deliveries.sql.body_retention import prune_bodies
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Translation
from touchbase.inbox import search as service
from touchbase.inbox.sql import search as sql
from touchbase.inbox.worker import InboxWorker

JANE = "jane@example.com"
REPLY = {"event": "email_replied", "email": JANE, "at": 1}
SENT = {"event": "email_sent", "email": JANE, "at": 0}


async def raw(house: House, body: bytes, **headers: str) -> None:
    """Receive a webhook that no adapter understands."""
    reply = await house.call("POST", f"/public/emailcampaign-webhook/{house.client_id}", raw=body, **headers)
    assert reply.status == 200, reply.body
    await InboxWorker(house.call.parts.store, understand, house.call.clock).drain()


def understand(request: WebhookRequest) -> Translation:
    try:
        return read(request)
    except (msgspec.DecodeError, KeyError):
        raise UnrecognisedPayload("no adapter knows this") from None


async def page_of(house: House, **requested: Any) -> Any:
    reply = await house.call.get(f"/admin/v1/deliveries?{urlencode({'client': house.client_id, **requested})}")
    assert reply.status == 200, reply.body
    return reply.json()


async def delivery_ids(house: House, **requested: Any) -> list[int]:
    return [item["id"] for item in (await page_of(house, **requested))["data"]]


async def all_pages(house: House, **requested: Any) -> list[list[int]]:
    pages, cursor = [], ""
    while True:
        page = await page_of(house, **requested, cursor=cursor)
        pages.append([item["id"] for item in page["data"]])
        assert page["search"]["complete"] == (page["next_cursor"] is None)
        if page["next_cursor"] is None:
            return pages
        assert len(pages) < 30, "a cursor makes progress"
        cursor = page["next_cursor"]


@pytest.fixture
async def inbox(house: House) -> House:
    """1: a mail to Jane, 2: to Tom, 3: Jane's reply, 4: not understood but about Jane, 5: parked, 6: about nobody, 7: not applied yet."""
    await house.call.settings(house.client_id)
    await house.hook("camp", SENT)
    await house.hook("camp", {**SENT, "email": "tom@example.com"})
    house.call.clock.move(60)
    await house.hook("camp", REPLY)
    await raw(house, b'{"from": "Jane <JANE@example.com>", "text": "Call me, caf\\u00e9 at nine"}')
    await house.hook("crm", {"event": "contact.status_changed", "object_type": "person", "object_id": "7", "status": "won", "at": 2})
    await raw(house, b"mary-jane@example.com")
    await house.hook("camp", {**REPLY, "at": 3}, apply=False)
    return house


async def test_search_by_email__finds_the_history_and_the_bodies_that_made_no_event(inbox: House) -> None:
    page = await page_of(inbox, email="Jane@Example.com")

    rows = {item["id"]: item for item in page["data"]}
    assert list(rows) == [7, 4, 3, 1]
    assert [rows[row]["state"] for row in rows] == ["received", "unrecognised", "applied", "applied"]
    assert [rows[row]["found_in"] for row in rows] == ["body", "body", "history", "history"]
    assert rows[3]["events"] == ["email_replied"]
    assert [(person["email"], person["linkedin_url"]) for person in rows[3]["people"]] == [(JANE, None)]
    assert (rows[4]["people"], rows[4]["events"]) == ([], [])
    assert page["search"] == {"complete": True, "back_to": to_text(NOON), "not_searchable": []}


async def test_search_by_email__finds_a_delivery_that_is_applied_while_bodies_are_searched(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    await house.call.settings(house.client_id)
    await house.hook("camp", REPLY, apply=False)
    sandbox = house.call.parts.sandbox
    search_bodies = sandbox.call

    async def apply_first(task: Any, *args: Any) -> Any:
        await InboxWorker(house.call.parts.store, read, house.call.clock).drain()
        return await search_bodies(task, *args)

    monkeypatch.setattr(sandbox, "call", apply_first)
    (row,) = (await page_of(house, email=JANE))["data"]

    assert (row["state"], row["found_in"]) == ("applied", "history")


async def test_search_by_contact_id__finds_the_same_as_by_each_of_its_addresses(inbox: House) -> None:
    (jane,) = await inbox.listed(query=f"email={JANE}")
    await inbox.request("PATCH", f"/public/v2/contacts/{jane['id']}", {"linkedin_url": "https://linkedin.com/in/jane"})

    by_id = await delivery_ids(inbox, contact_id=jane["id"])

    assert by_id == [7, 4, 3, 1]
    assert await delivery_ids(inbox, linkedin_url="linkedin.com/in/jane/") == by_id
    assert (await page_of(inbox, contact_id=jane["id"]))["data"][2]["people"][0]["linkedin_url"] is not None


async def test_search_by_former_address_and_of_a_deleted_contact__finds_its_deliveries(inbox: House) -> None:
    (jane,) = await inbox.listed(query=f"email={JANE}")
    await inbox.request("PATCH", f"/public/v2/contacts/{jane['id']}", {"email": "jane@new.example"})
    assert {3, 1} <= set(await delivery_ids(inbox, email="jane@new.example"))

    await inbox.delete(jane["id"])

    page = await page_of(inbox, email="jane@new.example")
    assert {3, 1} <= {item["id"] for item in page["data"]}
    assert page["data"][-1]["people"] == [{"contact_id": jane["id"], "email": None, "linkedin_url": None}]


async def test_search_by_text__reads_escapes_base64_and_compressed_bodies_in_any_case(inbox: House) -> None:
    await raw(inbox, gzip.compress(b'{"q": "CALL me back"}'), content_encoding="gzip")
    await raw(inbox, b'{"data": "Y2FsbCBtZSBvbiBNb25kYXkgcGxlYXNl"}')

    assert await delivery_ids(inbox, text="call me") == [9, 8, 4]
    assert await delivery_ids(inbox, text="CAFÉ at") == [4]
    assert await delivery_ids(inbox, text="nowhere to be found") == []
    assert await delivery_ids(inbox, text="call me", email=JANE) == [4]
    assert await delivery_ids(inbox, text="call me", state="unrecognised", received_until=to_text(NOON)) == []


async def test_search_by_event__combines_with_all_other_filters(inbox: House) -> None:
    assert await delivery_ids(inbox, event="email_sent") == [2, 1]
    assert await delivery_ids(inbox, event="email_sent", email=JANE) == [1]
    assert await delivery_ids(inbox, event="email_replied", tool="camp") == [3]
    assert await delivery_ids(inbox, event="email_replied", channel="crm") == []
    assert await delivery_ids(inbox, event="contact.status_changed", state="parked") == [5]
    later = to_text(NOON + SECOND)
    assert await delivery_ids(inbox, event="email_sent", received_since=later) == []
    assert await delivery_ids(inbox, email=JANE, received_until=later) == [1]
    assert await delivery_ids(inbox, received_until=later) == [2, 1]
    assert await delivery_ids(inbox, email=JANE, state="received") == [7]


async def test_search__names_bodies_that_cannot_be_searched(inbox: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await raw(inbox, b"no gzip", content_encoding="gzip")
    await raw(inbox, b"x" * 201)
    monkeypatch.setattr(service, "LARGEST_SEARCHED", 200)
    now = inbox.call.clock.now + 10
    await inbox.call.parts.store.write(prune_bodies(inbox.number, now, 2, now))

    page = await page_of(inbox, text=JANE)

    assert page["search"]["not_searchable"] == [
        {"cause": "retention", "count": 2, "example_id": 2},
        {"cause": "unreadable", "count": 2, "example_id": 9},
    ]
    assert 1 in await delivery_ids(inbox, email=JANE), "the history knows it without its body"


@pytest.mark.parametrize("query", [{"email": JANE}, {"text": "jane"}, {"event": "email_replied"}, {"email": JANE, "text": "jane"}], ids=str)
@pytest.mark.parametrize(("seconds", "examined"), [(1e9, 100), (1e9, 2), (-1.0, 100)], ids=["all_in_one", "few", "out_of_time"])
async def test_pages_of_a_search__have_each_delivery_once(
    inbox: House, monkeypatch: pytest.MonkeyPatch, query: dict[str, str], seconds: float, examined: int
) -> None:
    await inbox.hook("camp", {**REPLY, "at": 5})  # applies the seventh too: the history has newer and older ones than the fourth
    full = await delivery_ids(inbox, **query)
    monkeypatch.setattr(sql, "STEP_BYTES", 30)
    monkeypatch.setattr(service, "STEP", 2)
    monkeypatch.setattr(service, "MOST_EXAMINED", examined)
    monkeypatch.setattr(service, "MOST_SECONDS", seconds)

    for limit in (1, 2, 50):
        pages = await all_pages(inbox, **query, limit=limit)

        assert sorted(item for page in pages for item in page) == sorted(full)
        assert all(page == sorted(page, reverse=True) and len(page) <= limit for page in pages)


async def test_search_for_an_erased_person__finds_nothing(inbox: House) -> None:
    (jane,) = await inbox.listed(query=f"email={JANE}")
    reply = await inbox.request("DELETE", f"/public/v2/contacts/{jane['id']}?erase=true")
    assert reply.status == 200, reply.body
    await inbox.hook("camp", REPLY, apply=False)  # received after the erasure, and not applied yet

    for requested in ({"email": JANE}, {"contact_id": jane["id"]}, {"text": JANE}, {"text": f"from {JANE}"}):
        assert await delivery_ids(inbox, **requested) == []
    assert await delivery_ids(inbox, email="tom@example.com") == [2]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ("email=nobody", "?email"),
        ("linkedin_url=https://www.linkedin.com/", "?linkedin_url"),
        ("contact_id=0", "?contact_id"),
        ("email=a@b.example&contact_id=1", "?contact_id"),
        (f"text={'x' * 201}", "?text"),
        ("event=replied", "?event"),
        ("event=email_replied&cursor=x", "?cursor"),
        ("received_until=soon", "?received_until"),
    ],
)
async def test_search__refuses_an_invalid_filter_and_names_it(sqlite_call: ApiClient, query: str, pointer: str) -> None:
    await sqlite_call.settings("abc")

    reply = await sqlite_call.get(f"/admin/v1/deliveries?{query}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)


async def test_search_without_a_client__needs_a_store_with_one_client(house: House) -> None:
    await house.hook("camp", REPLY)
    alone = await house.call.get(f"/admin/v1/deliveries?email={JANE}")
    await house.call.settings("second")

    refused = await house.call.get(f"/admin/v1/deliveries?email={JANE}")

    assert [delivery["id"] for delivery in alone.json()["data"]] == [1]
    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "?client")


async def test_list__shows_at_most_a_hundred_events_of_a_delivery(house: House) -> None:
    await house.hook("camp", *({**SENT, "email": f"p{number}@example.com"} for number in range(101)))
    await house.hook("camp", *({**SENT, "email": f"p{number}@example.com", "at": 9} for number in range(100)))

    rows = (await page_of(house))["data"]

    assert [(row["events"], len(row["people"]), row["more_events"]) for row in rows] == [
        (["email_sent"], 100, False),
        (["email_sent"], 100, True),
    ]


async def test_search__does_not_show_other_clients_deliveries(inbox: House) -> None:
    second = await House.of(inbox.call, "another")
    await second.hook("camp", REPLY)
    await raw(second, msgspec.json.encode({"of": JANE}))

    ours, theirs = await delivery_ids(inbox, email=JANE), await delivery_ids(second, email=JANE)

    assert ours == [7, 4, 3, 1]
    assert len(theirs) == 2
    (jane,) = await inbox.listed(query=f"email={JANE}")
    assert await delivery_ids(second, contact_id=jane["id"]) == []
