"""Erasing a person and handing out their data, over HTTP."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.storage.database_search import find_in_database

from touchbase.adapters.interface import WebhookRequest
from touchbase.auth.authentication import ADMIN, WRITE, add_key
from touchbase.common.timestamps import DAY, from_text
from touchbase.erasure.service import Eraser
from touchbase.errors import UnrecognisedPayload
from touchbase.history.events import Event, Translation
from touchbase.inbox.worker import InboxWorker
from touchbase.retention import service as retention_service
from touchbase.sql.store import Store

SENT_AT = from_text("2026-11-19T08:00:00Z")
NAMES = ("goldfinch", "vogelsang")
EMAIL = "goldfinch@example.com"


def read(request: WebhookRequest) -> Translation:
    try:
        told = msgspec.json.decode(request.body, type=list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise UnrecognisedPayload("not ours") from error
    return Translation("instantly", [Event(**{"event": "email_sent", "occurred_us": SENT_AT, **one}) for one in told])


@pytest.fixture
def caller(store: Store, make_client: MakeClient) -> ApiClient:
    return make_client(store, read=read)


async def hook(caller: ApiClient, *people: str, **more: Any) -> int:
    body = msgspec.json.encode([{"email": person, **more} for person in people])
    assert (await caller("POST", "/public/emailcampaign-webhook/default", raw=body)).status == 200
    await work(caller)
    return (await caller.get("/admin/v1/deliveries?limit=1")).json()["data"][0]["id"]


async def work(caller: ApiClient) -> None:
    await InboxWorker(caller.parts.store, read, caller.clock).drain()


async def contact_of(caller: ApiClient, email: str) -> dict[str, Any] | None:
    found = (await caller.get(f"/public/v2/contacts?email={email}")).json()["data"]
    return found[0] if found else None


async def test_erase_contact__reports_the_removed_data_and_leaves_none(caller: ApiClient, engine_url: str) -> None:
    asked = {"email": EMAIL, "first_name": "Canary", "contact_custom_fields_input": [{"field_name": "pet", "field_value": "Vogelsang"}]}
    number = (await caller.post("/public/v2/contacts", asked)).json()["id"]
    await hook(caller, EMAIL)
    await hook(caller, EMAIL, "bob@example.com", campaign="Second")

    reply = await caller("DELETE", f"/public/v2/contacts/{number}?erase=true")

    assert reply.status == 200
    assert reply.json() == {
        "erasure_id": 1,
        "removed": {
            "contacts": 1,
            "custom_fields": 1,
            "messages": 0,
            "notes": 0,
            "tasks": 0,
            "events": 3,
            "wanted_records": 0,
            "links": 0,
            "company_claims": 0,
            "kept_answers": 0,
            "deleted_records": 0,
            "deleted_links": 0,
            "merges": 0,
            "deliveries": 2,
        },
        "inbox_searched": True,
    }
    assert (await caller.get(f"/public/v2/contacts/{number}")).status == 404
    assert await contact_of(caller, "bob@example.com") is not None
    await caller.parts.store.vacuum()
    assert await find_in_database(engine_url, *NAMES) == []


@pytest.mark.parametrize("query", ["", "?erase=false"])
async def test_person__is_erased_only_when_the_request_says_so(caller: ApiClient, query: str) -> None:
    await caller.post("/public/v2/contacts", {"email": EMAIL})

    reply = await caller("DELETE", f"/public/v2/contacts/1{query}")

    assert (reply.status, reply.json()["email"]) == (200, EMAIL)
    assert (await caller.post("/public/v2/contacts/1/restore")).status == 200


@pytest.mark.parametrize("query", ["?erase=", "?erase=yes", "?really=true"])
async def test_deletion_with_an_unclear_parameter__is_refused(caller: ApiClient, query: str) -> None:
    await caller.post("/public/v2/contacts", {"email": EMAIL})

    reply = await caller("DELETE", f"/public/v2/contacts/1{query}")

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, query.partition("=")[0])
    assert (await caller.get("/public/v2/contacts/1")).status == 200


@pytest.mark.parametrize("number", ["7", "x"])
async def test_erase_and_export__return_404_for_an_unknown_contact(caller: ApiClient, number: str) -> None:
    assert (await caller("DELETE", f"/public/v2/contacts/{number}?erase=true")).status == 404
    assert (await caller.get(f"/public/v2/contacts/{number}/export")).status == 404


async def test_erase_and_export__require_the_admin_scope(store: Store, make_client: MakeClient, caller: ApiClient) -> None:
    await caller.post("/public/v2/contacts", {"email": EMAIL})
    guarded = make_client(store, auth="api-key")
    client = (await caller.parts.store.read(_clients()))[0].number
    writer, admin = [await add_key(store, client, [scope], "test", 1) for scope in (WRITE, ADMIN)]

    refused = [
        await guarded("DELETE", "/public/v2/contacts/1?erase=true", x_api_key=writer),
        await guarded.get("/public/v2/contacts/1/export", x_api_key=writer),
    ]
    let_in = [
        await guarded.get("/public/v2/contacts/1/export", x_api_key=admin),
        await guarded("DELETE", "/public/v2/contacts/1?erase=true", x_api_key=admin),
    ]

    assert [reply.status for reply in refused] == [403, 403]
    assert [reply.status for reply in let_in] == [200, 200]


def _clients() -> Any:
    from touchbase.clients.sql.clients import list_clients

    return list_clients()


async def test_restore_erased__is_required_to_create_an_erased_person(caller: ApiClient) -> None:
    asked = {"email": EMAIL, "linkedin_url": "https://linkedin.com/in/goldfinch"}
    await caller.post("/public/v2/contacts", asked)
    bob = (await caller.post("/public/v2/contacts", {"email": "bob@example.com"})).json()["id"]
    await caller("DELETE", "/public/v2/contacts/1?erase=true")

    refused = await caller.post("/public/v2/contacts", {"email": EMAIL})
    profile = await caller.post("/public/v2/contacts", {"linkedin_url": asked["linkedin_url"]})
    changed = await caller.patch(f"/public/v2/contacts/{bob}", {"email": EMAIL})
    invalid = await caller.post("/public/v2/contacts?restore_erased=true", {"email": EMAIL, "company_id": 99})
    merged = await caller.post("/public/v2/contacts?on_duplicate=update", {"email": EMAIL, "first_name": "Canary"})
    back = await caller.post("/public/v2/contacts?restore_erased=true", {"email": EMAIL})
    caller.clock.move(2)
    await hook(caller, EMAIL)

    assert [reply.status for reply in (refused, profile, changed, merged)] == [409] * 4
    assert {reply.problem["code"] for reply in (refused, profile, changed, merged)} == {"person_erased"}
    assert "restore_erased=true" in refused.problem["detail"]
    assert invalid.status == 422
    assert back.status == 201
    assert (await contact_of(caller, EMAIL) or {})["contact_status"] == "contacted"


async def test_erased_delivery__reports_the_removal_and_refuses_a_replay(caller: ApiClient) -> None:
    delivery = await hook(caller, EMAIL)
    await caller("DELETE", "/public/v2/contacts/1?erase=true")

    shown = (await caller.get(f"/admin/v1/deliveries/{delivery}")).json()
    replayed = await caller.post(f"/admin/v1/deliveries/{delivery}/replay")
    many = await caller.post("/admin/v1/deliveries/replay", {"client": "default"})
    rehearsed = await caller.post("/admin/v1/deliveries/replay", {"client": "default", "dry_run": True})

    assert (shown["state"], shown["error"], shown["body"], shown["headers"], shown["query"]) == (
        "ignored", "about a person who was erased", None, {}, "",
    )  # fmt: skip
    assert shown["body_removed"] == {"why": "erased", "at": "2026-11-20T09:30:00Z"}
    assert (replayed.status, replayed.problem["code"]) == (409, "payload_deleted")
    assert "2026-11-20" in replayed.problem["detail"]
    assert "its events about other people are stored" in replayed.problem["detail"]
    assert (many.json()["count"], rehearsed.json()["count"]) == (0, 0)


async def test_keep_bodies_days__prunes_older_payloads(caller: ApiClient) -> None:
    await caller.settings(keep_bodies_days=30)
    delivery = await hook(caller, EMAIL)
    caller.clock.now += 31 * DAY

    keeper = retention_service.Retention(caller.parts.store, Eraser(caller.parts.store, read, caller.clock), caller.clock)
    await keeper.run_once()

    shown = (await caller.get(f"/admin/v1/deliveries/{delivery}")).json()
    replayed = await caller.post(f"/admin/v1/deliveries/{delivery}/replay")
    assert (shown["state"], shown["body"], shown["body_removed"]["why"]) == ("applied", None, "retention")
    assert shown["events"] != []
    assert "body removed by retention on 2026-12-21" in replayed.problem["detail"]


@pytest.mark.parametrize("days", [-1, 36_501, 1.5, "90"])
async def test_keep_bodies_days__refuses_invalid_values(caller: ApiClient, days: object) -> None:
    reply = await caller("PUT", "/admin/v1/clients/default", {"settings": {"keep_bodies_days": days}})

    assert reply.status == 422
    assert reply.problem["errors"][0]["pointer"] == "/settings/keep_bodies_days"


async def test_export_contact__returns_all_data_of_the_person_and_none_of_others(caller: ApiClient) -> None:
    asked = {"email": "old@example.com", "first_name": "Canary", "contact_custom_fields_input": [{"field_name": "pet", "field_value": "V"}]}
    await caller.post("/public/v2/contacts", asked)
    await caller.patch("/public/v2/contacts/1", {"email": EMAIL})
    alone = await hook(caller, EMAIL, campaign="First")
    shared = await hook(caller, EMAIL, "bob@example.com", campaign="Second")
    repeated = await hook(caller, EMAIL, "bob@example.com", campaign="Second")

    export = (await caller.get("/public/v2/contacts/1/export")).json()

    assert (export["contact"]["email"], export["contact"]["contact_custom_fields"][0]["field_value"]) == (EMAIL, "V")
    assert export["identities"] == [{"tool": "", "object_type": "email", "object_id": "old@example.com"}]
    assert [event["event"] for event in export["timeline"]] == ["contact.updated", "contact.created", "email_sent", "email_sent"]
    assert {(source["tool"], source["events"]) for source in export["sources"]} == {("api", 2), ("instantly", 2)}
    assert [(each["id"], each["shared"]) for each in export["deliveries"]] == [(alone, False), (shared, True)]
    assert EMAIL in export["deliveries"][0]["body"]["content"]
    assert export["deliveries"][1]["body"] is None
    assert "bob@" not in str(export)
    assert export["next_cursor"] is None
    assert repeated >= shared


async def test_export_contact__returns_deliveries_in_pages(caller: ApiClient) -> None:
    for number in range(5):
        await hook(caller, EMAIL, campaign=str(number))

    first = (await caller.get("/public/v2/contacts/1/export?limit=3")).json()
    second = (await caller.get(f"/public/v2/contacts/1/export?limit=3&cursor={first['next_cursor']}")).json()
    wrong = await caller.get(f"/public/v2/contacts/1/timeline?cursor={first['next_cursor']}")

    assert [len(page["deliveries"]) for page in (first, second)] == [3, 2]
    assert second["next_cursor"] is None
    assert "contact" not in second
    assert wrong.status == 422
