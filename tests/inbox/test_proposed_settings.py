"""A dry run of stored deliveries under settings of a connection that are not stored yet."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.connections.sql.connections import list_connections
from touchbase.consistency.service import Verified, verify
from touchbase.inbox.worker import translator
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
REPLAY = "/admin/v1/deliveries/replay"
SETTINGS = {"fields": {"event": "kind", "email": "prospect.mail", "status": "outcome"}}
PROPOSED = {"channel": "email_campaign", "tool": "generic", "settings": SETTINGS}
ASKED = {"client": "abc", "state": "unrecognised", "dry_run": True}


@pytest.fixture
def call(store: Store, make_client: MakeClient) -> ApiClient:
    return make_client(store, read=ADAPTERS.translate, senders=ADAPTERS)


async def receive(call: ApiClient) -> None:
    for number, outcome in enumerate(("talked", "voicemail")):
        body = {"kind": "call.finished", "prospect": {"mail": f"p{number}@people.example"}, "outcome": outcome}
        await call("POST", "/public/emailcampaign-webhook/abc", raw=json.dumps(body).encode())
    await work(call)


async def work(call: ApiClient) -> None:
    """Apply what waits, with the connections that are stored."""
    connections = await call.parts.store.read(list_connections(call.kept[0]))
    await call.parts.store.work(call.kept[0], 10, translator(ADAPTERS.translate, connections), call.clock.now)


async def test_dry_run__tells_what_proposed_settings_would_recognise_and_stores_nothing(call: ApiClient) -> None:
    await receive(call)
    before = await call.post(REPLAY, ASKED)
    reply = await call.post(REPLAY, {**ASKED, "connection": PROPOSED})

    assert before.json()["would"]["outcomes"] == {"unrecognised": 2}
    assert reply.status == 200
    assert (reply.json()["count"], reply.json()["would"]["outcomes"]) == (2, {"applied": 2})
    assert reply.json()["would"]["records_made"] == 2
    assert (await call.get("/admin/v1/clients/abc/connections")).json()["data"] == []
    assert (await call.get("/public/v2/contacts", x_client_id="abc")).json()["data"] == []


async def test_replay__does_under_stored_settings_what_the_dry_run_said(call: ApiClient) -> None:
    await receive(call)
    await call.post("/admin/v1/clients/abc/connections", PROPOSED)
    assert (await call.post(REPLAY, {"client": "abc", "state": "unrecognised"})).status == 202
    await work(call)

    contacts = (await call.get("/public/v2/contacts", x_client_id="abc")).json()["data"]
    assert sorted(contact["contact_status"] for contact in contacts) == ["talked", "voicemail"]


async def test_dry_run__like_one_delivery_tries_only_those_of_its_group(call: ApiClient) -> None:
    await receive(call)
    for number in range(3):
        body = {"other": "thing", "prospect": {"mail": f"q{number}@people.example"}}
        await call("POST", "/public/emailcampaign-webhook/abc", raw=json.dumps(body).encode())
    await work(call)
    groups = (await call.get("/admin/v1/deliveries/groups?client=abc")).json()["data"]
    for group, count in ((groups[0], 3), (groups[1], 2)):
        reply = await call.post(REPLAY, {**ASKED, "like": group["example_id"], "connection": PROPOSED})

        assert (group["count"], reply.json()["count"], reply.json()["left"]) == (count, count, 0)
    assert (await call.post(REPLAY, {**ASKED, "state": "applied", "like": 1})).json()["count"] == 0
    assert (await call.post(REPLAY, ASKED)).json()["count"] == 5
    missing = await call.post(REPLAY, {**ASKED, "like": 99})
    await call.post("/public/v2/contacts", {"email": "a@x.example"}, x_client_id="other")
    of_another = await call.post(REPLAY, {**ASKED, "client": "other", "like": 1})
    assert (missing.status, of_another.status) == (404, 404)


FAULTS: dict[str, dict[str, Any]] = {
    "/connection": {"dry_run": False},
    "/client": {"client": None},
    "/like": {"dry_run": False, "connection": None, "like": 1},
    "/connection/settings/fields": {"connection": {**PROPOSED, "tool": "instantly"}},
    "/connection/settings/fields/domain": {"connection": {**PROPOSED, "settings": {"fields": {"domain": "a"}}}},
    "/connection/settings/events/a": {"connection": {**PROPOSED, "settings": {"events": {"a": "b"}}}},
    "/connection/settings/events/b": {"connection": {"channel": "crm", "tool": "generic", "settings": {"events": {"b": "other"}}}},
    "/connection/settings/fields/custom.": {"connection": {**PROPOSED, "settings": {"fields": {"email": "a", "custom.": "b"}}}},
    "/connection/settings/fields/custom.email": {"connection": {**PROPOSED, "settings": {"fields": {"custom.email": "b"}}}},
    "/connection/tool": {"connection": {"channel": "crm", "tool": "nothing", "settings": {}}},
}


async def test_proposed_settings__are_refused_with_the_place_of_the_fault(call: ApiClient, subtests: pytest.Subtests) -> None:
    await receive(call)
    for pointer, more in FAULTS.items():
        with subtests.test(pointer=pointer):
            reply = await call.post(REPLAY, {**ASKED, "connection": PROPOSED, **more})
            assert reply.status == 422
            assert pointer in [error["pointer"] for error in reply.problem["errors"]]


async def test_crm_events_without_fields__are_refused_with_what_is_missing(call: ApiClient) -> None:
    await receive(call)
    proposed = {"channel": "crm", "tool": "generic", "settings": {"events": {"a": "contact.deleted"}}}

    reply = await call.post(REPLAY, {**ASKED, "connection": proposed})

    assert [error["pointer"] for error in reply.problem["errors"]] == ["/connection/settings/fields"]


async def test_dry_run__says_of_each_delivery_what_it_would_change(call: ApiClient) -> None:
    await receive(call)
    await call.post("/public/v2/contacts", {"email": "p1@people.example", "first_name": "Paula"}, x_client_id="abc")
    fields = {**SETTINGS["fields"], "custom.Result": "outcome"}

    reply = await call.post(REPLAY, {**ASKED, "connection": {**PROPOSED, "settings": {"fields": fields}}})

    first, second = reply.json()["would"]["deliveries"]
    assert (first["state"], first["would_be"], first["events"], first["error"]) == ("unrecognised", "applied", 1, None)
    [created] = first["records"]
    assert (created["record"], created["id"]) == ("contact", None)
    assert created["changed"]["email"] == [None, "p0@people.example"]
    assert created["changed"]["custom field Result"] == [None, "talked"]
    [expected] = second["records"]
    assert expected["id"] is not None
    assert expected["changed"]["contact_status"][1] == "voicemail"
    assert "email" not in expected["changed"]


async def test_dry_run__names_the_effect_of_each_delivery(call: ApiClient, subtests: pytest.Subtests) -> None:
    await receive(call)
    for number, outcome in enumerate(("talked", "voicemail")):
        contact = {"email": f"p{number}@people.example", "contact_status": outcome}
        await call.post("/public/v2/contacts", contact, x_client_id="abc")

    async def effects(settings: dict[str, Any]) -> Any:
        reply = await call.post(REPLAY, {**ASKED, "connection": {**PROPOSED, "settings": settings}})
        would = reply.json()["would"]
        assert {delivery["effect"] for delivery in would["deliveries"]} == would["effects"].keys()
        return would["effects"]

    paths, name = SETTINGS["fields"], "call.finished"
    for expected, settings in {
        "already_known": {"fields": paths},
        "changes": {"fields": {**paths, "first_name": "outcome"}},
        "timeline_only": {"fields": {"email": paths["email"], "event": "kind"}, "events": {name: "email_opened"}},
        "no_effect": {"fields": {**paths, "event": "kind"}, "events": {name: "other"}},
        "not_recognised": {"fields": {"email": paths["email"]}},
    }.items():
        with subtests.test(expected):
            assert await effects(settings) == {expected: 2}


async def test_custom_fields_of_a_campaign_tool__are_those_of_the_replay(call: ApiClient) -> None:
    await receive(call)
    await call.post(
        "/admin/v1/clients/abc/connections", {**PROPOSED, "settings": {"fields": {**SETTINGS["fields"], "custom.Result": "outcome"}}}
    )
    await call.post(REPLAY, {"client": "abc", "state": "unrecognised"})
    await work(call)

    shown = (await call.get("/public/v2/contacts?structure=FLAT", x_client_id="abc")).json()["data"]
    assert sorted(contact["contact_custom_fields"]["Result"] for contact in shown) == ["talked", "voicemail"]
    assert [fault async for fault in verify(call.parts.store, call.kept[0], Verified())] == []
