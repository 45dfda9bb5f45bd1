"""Connections: made, read, changed and removed by the administrator; secrets go in and never come out."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.auth.authentication import ADMIN, READ, add_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.connections.fetch_state import FetchResult
from touchbase.connections.models import ConnectionSettings
from touchbase.connections.sql.connections import list_connections
from touchbase.connections.sql.fetching import claim_fetch, finish_fetch
from touchbase.inbox.sql.commands import store_delivery
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
HERE = "/admin/v1/clients/acme/connections"
NOW = "2026-11-20T09:30:00Z"
USUAL = {
    "status_property": {}, "status_labels": {}, "objects": {}, "create_unknown": None, "linkedin_reply_counts": None,
        "unknown_bounces": None,
    "deals_set_status": False, "deal_labels": {}, "time_zone": None, "fields": {}, "events": {}, "api_base": None, "api_user": None,
    "location_id": None, "allow_v1_signatures": False, "written_property": None, "signature_max_age": None, "silence_alarm": True,
}  # fmt: skip
DECIDED = {**USUAL, "status_property": {"contact": "stage", "company": None}, "status_labels": {"Won": "customer", "Spam": None}}
HUBSPOT = {"channel": "crm", "tool": "hubspot"}
SECRET = "a-secret-of-ours"


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    """The application in open mode, with all adapters and the client acme."""
    client = make_client(store, senders=ADAPTERS)
    await client.settings("acme")
    return client


@pytest.fixture
async def sqlite_call(memory: Store, make_client: MakeClient) -> ApiClient:
    client = make_client(memory, senders=ADAPTERS)
    await client.settings("acme")
    return client


async def secrets(call: ApiClient) -> list[list[str]]:
    client = await call.get("/admin/v1/clients/acme")
    assert client.status == 200
    return [connection.secrets for connection in await call.parts.store.read(list_connections(1))]


def shown(**more: Any) -> dict[str, Any]:
    usual = {"secret": "not set", "secret_count": 0, "created_time": NOW, "updated_time": NOW, "settings": USUAL}
    observed = ["documentation", "captured body", "code of integrators"]
    return {**HUBSPOT, **usual, "access_token": "not set", "fetching": None, "calls": None, "seen": observed, **more}


async def test_create_connection__returns_the_connection_and_stores_its_secret(call: ApiClient) -> None:
    response = await call.post(HERE, {**HUBSPOT, "secrets": [SECRET], "settings": DECIDED})

    hubspot, listed = await call.get(f"{HERE}/crm/hubspot"), await call.get(HERE)

    assert (response.status, response.headers["location"]) == (201, f"{HERE}/crm/hubspot")
    assert response.json() == shown(secret="set", secret_count=1, settings=DECIDED)
    assert hubspot.json() == response.json()
    assert listed.json() == {"data": [response.json()], "next_cursor": None}
    assert await secrets(call) == [[SECRET]]


async def test_create_connection__applies_defaults(call: ApiClient) -> None:
    assert (await call.post(HERE, HUBSPOT)).json() == shown()


async def test_generate_secret__returns_the_new_secret_once(call: ApiClient) -> None:
    body = (await call.post(HERE, {**HUBSPOT, "generate_secret": True})).json()
    call.clock.move(1)
    again = (await call.patch(f"{HERE}/crm/hubspot", {"generate_secret": True})).json()
    read = (await call.get(f"{HERE}/crm/hubspot")).json()

    assert len(body["generated_secret"]) >= 40
    assert "generated_secret" not in read
    assert (body["secret_count"], again["secret_count"]) == (1, 2)
    assert await secrets(call) == [[again["generated_secret"], body["generated_secret"]]]


async def test_unknown_field__is_refused_without_repeating_its_value(call: ApiClient) -> None:
    response = await call.post(HERE, {**HUBSPOT, "secret": SECRET})
    await call.post(HERE, HUBSPOT)
    changed = await call.patch(f"{HERE}/crm/hubspot", {"secret": SECRET})

    for reply in (response, changed):
        assert reply.status == 422
        assert [fault["pointer"] for fault in reply.problem["errors"]] == ["/secret"]
        assert SECRET not in reply.body.decode()
    assert await secrets(call) == [[]]


async def test_generate_secret__replaces_the_oldest_of_two_secrets(sqlite_call: ApiClient) -> None:
    created = [(await sqlite_call.post(HERE, {**HUBSPOT, "generate_secret": True})).json()]
    for _ in range(2):
        created.append((await sqlite_call.patch(f"{HERE}/crm/hubspot", {"generate_secret": True})).json())

    assert await secrets(sqlite_call) == [[created[2]["generated_secret"], created[1]["generated_secret"]]]


async def test_create_connection__refuses_a_second_one_for_a_tool_and_channel(call: ApiClient) -> None:
    await call.post(HERE, HUBSPOT)

    again = await call.post(HERE, {**HUBSPOT, "secrets": [SECRET]})
    response = await call.post(HERE, {"channel": "email_campaign", "tool": "instantly"})

    assert (again.status, again.problem["code"]) == (409, "duplicate")
    assert response.status == 201
    assert await secrets(call) == [[], []]


async def test_patch_connection__replaces_given_settings_and_resets_null_to_the_default(call: ApiClient) -> None:
    await call.post(HERE, {**HUBSPOT, "secrets": [SECRET], "settings": {**DECIDED, "create_unknown": False}})
    later = call.clock.move(60)

    changed = await call.patch(f"{HERE}/crm/hubspot", {"settings": {"status_labels": {"Lost": "lost"}, "create_unknown": None}})

    settings = {**DECIDED, "status_labels": {"Lost": "lost"}}
    assert changed.status == 200
    assert changed.json() == shown(secret="set", secret_count=1, settings=settings, updated_time=later)
    assert await secrets(call) == [[SECRET]]


@pytest.mark.parametrize(
    ("change", "left"),
    [
        ({"secrets": ["another-secret", SECRET]}, ["another-secret", SECRET]),
        ({"secrets": None}, []),
        ({"secrets": []}, []),
        ({"settings": None}, [SECRET]),
        ({}, [SECRET]),
    ],
)
async def test_patch_connection__replaces_all_secrets_or_none(sqlite_call: ApiClient, change: dict[str, Any], left: list[str]) -> None:
    await sqlite_call.post(HERE, {**HUBSPOT, "secrets": [SECRET], "settings": DECIDED})

    changed = await sqlite_call.patch(f"{HERE}/crm/hubspot", change)

    assert await secrets(sqlite_call) == [left]
    assert changed.json()["settings"] == (USUAL if change.get("settings", 0) is None else DECIDED)


async def test_delete_connection__removes_the_connection(call: ApiClient) -> None:
    await call.post(HERE, HUBSPOT)

    removed = await call("DELETE", f"{HERE}/crm/hubspot")

    assert (removed.status, removed.body) == (204, b"")
    assert "content-length" not in removed.headers
    assert (await call.get(HERE)).json()["data"] == []
    assert (await call("DELETE", f"{HERE}/crm/hubspot")).status == 404


@pytest.mark.parametrize(
    "target",
    [f"{HERE}/crm/close", f"{HERE}/email_campaign/hubspot", f"{HERE}/post/hubspot", HERE.replace("acme", "nobody") + "/crm/hubspot"],
)
@pytest.mark.parametrize("method", ["GET", "PATCH", "DELETE"])
async def test_unknown_connection__gets_404(sqlite_call: ApiClient, target: str, method: str) -> None:
    await sqlite_call.post(HERE, HUBSPOT)

    reply = await sqlite_call(method, target, {} if method == "PATCH" else None)

    assert reply.status == 404


async def test_client_in_deletion__refuses_new_and_changed_connections(call: ApiClient) -> None:
    await call.post(HERE, HUBSPOT)
    await call("DELETE", "/admin/v1/clients/acme?confirm=acme")

    replies = [await call.post(HERE, {"channel": "crm", "tool": "close"}), await call.patch(f"{HERE}/crm/hubspot", {})]

    assert [(reply.status, reply.problem["code"]) for reply in replies] == [(409, "conflict")] * 2


@pytest.mark.parametrize("target", [HERE.replace("acme", "nobody"), HERE.replace("acme", "a b")])
async def test_connections__of_an_unknown_client_get_404(sqlite_call: ApiClient, target: str) -> None:
    assert (await sqlite_call.get(target)).status == 404
    assert (await sqlite_call.post(target, HUBSPOT)).status == 404


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({}, ["/channel", "/tool"]),
        ({"channel": "post", "tool": "hubspot"}, ["/channel"]),
        ({"channel": "crm", "tool": "hubspott"}, ["/tool"]),
        ({"channel": "email_campaign", "tool": "hubspot"}, ["/tool"]),
        ({**HUBSPOT, "secrets": ["short"]}, ["/secrets/0"]),
        ({**HUBSPOT, "secrets": [SECRET, SECRET]}, ["/secrets/1"]),
        ({**HUBSPOT, "secrets": [f" {SECRET}"]}, ["/secrets/0"]),
        ({**HUBSPOT, "secrets": ["x" * 8, "y" * 8, "z" * 8]}, ["/secrets"]),
        ({**HUBSPOT, "secrets": ["x" * 8, "y" * 8], "generate_secret": True}, ["/generate_secret"]),
        ({**HUBSPOT, "settings": {"status": 1}}, ["/settings/status"]),
        ({**HUBSPOT, "settings": {"create_unknown": "yes"}}, ["/settings/create_unknown"]),
        ({**HUBSPOT, "settings": {"status_labels": {"Won": 7}}}, ["/settings/status_labels/Won"]),
        ({**HUBSPOT, "settings": {"status_labels": {"A/B": " "}}}, ["/settings/status_labels/A~1B"]),
        ({**HUBSPOT, "settings": {"status_property": {"Lead": "stage"}}}, ["/settings/status_property/Lead"]),
        (
            {**HUBSPOT, "settings": {"status_property": {"2-17": "a", "2-18": "a"}, "objects": {"2-17": "contact"}}},
            ["/settings/status_property/2-18"],
        ),
        (
            {"channel": "crm", "tool": "odoo", "settings": {"status_property": {"opportunity": "stage_id"}}},
            ["/settings/status_property/opportunity"],
        ),
        ({**HUBSPOT, "settings": {"objects": {"1": "person"}}}, ["/settings/objects/1"]),
        ({**HUBSPOT, "settings": {"deals_set_status": True}}, ["/settings/deal_labels"]),
        ({**HUBSPOT, "settings": {"linkedin_reply_counts": True}}, ["/settings/linkedin_reply_counts"]),
        ({**HUBSPOT, "settings": {"fields": {"email": "a"}}}, ["/settings/fields"]),
        ({"channel": "crm", "tool": "generic", "settings": {"fields": {"mail": "a", "id": "b"}}}, ["/settings/fields/mail"]),
        ({"channel": "crm", "tool": "generic", "settings": {"fields": {"email": "a..b"}}}, ["/settings/fields/email"]),
        ({"channel": "crm", "tool": "generic", "settings": {"fields": {"email": "a[].b[].c"}}}, ["/settings/fields/email"]),
        ({"channel": "crm", "tool": "generic", "settings": {"fields": {"email": "a[].b", "id": "b[].c"}}}, ["/settings/fields/id"]),
        ({"channel": "crm", "tool": "generic", "settings": {"unknown_bounces": True}}, ["/settings/unknown_bounces"]),
        ({"channel": "crm", "tool": "generic", "settings": {"fields": {"status": "a"}}}, ["/settings/fields"]),
        (
            {"channel": "email_campaign", "tool": "instantly", "settings": {"objects": {"1": "ignore"}, "deal_labels": {"a": "b"}}},
            ["/settings/objects", "/settings/deal_labels"],
        ),
    ],
)
async def test_create_connection__reports_every_fault_of_an_invalid_body(
    sqlite_call: ApiClient, body: dict[str, Any], pointers: list[str]
) -> None:
    reply = await sqlite_call.post(HERE, body)

    assert reply.status == 422
    assert [error["pointer"] for error in reply.problem["errors"]] == pointers
    assert (await sqlite_call.get(HERE)).json()["data"] == []


async def test_status_property__refuses_an_unknown_kind_and_lists_the_known_ones(sqlite_call: ApiClient) -> None:
    odoo = {"channel": "crm", "tool": "odoo", "settings": {"status_property": {"opportunity": "stage_id"}}}

    (error,) = (await sqlite_call.post(HERE, odoo)).problem["errors"]

    assert error["detail"] == "odoo has no kind of record 'opportunity'; there are contact, company, res.partner, crm.lead"


@pytest.mark.parametrize("tool", [tool for tool in ADAPTERS.tools("crm") if ADAPTERS.kinds("crm", tool, ConnectionSettings())])
async def test_status_property__accepts_every_kind_of_each_tool(sqlite_call: ApiClient, tool: str) -> None:
    kinds = ADAPTERS.kinds("crm", tool, ConnectionSettings()) or ()

    response = await sqlite_call.post(
        HERE, {"channel": "crm", "tool": tool, "settings": {"status_property": dict.fromkeys(kinds, "stage")}}
    )

    assert response.status == 201, response.json()
    assert {"contact", "company"} <= set(kinds)


async def test_patch_connection__concurrent_changes_all_apply(call: ApiClient) -> None:
    await call.settings("acme")
    await call.post(HERE, HUBSPOT)
    target, changes = f"{HERE}/crm/hubspot", [{"generate_secret": True}, {"settings": {"create_unknown": True}}, {"generate_secret": True}]

    replies = await asyncio.gather(*(call.patch(target, change) for change in changes))

    (connection,) = await call.parts.store.read(list_connections(1))
    assert [reply.status for reply in replies] == [200, 200, 200]
    assert {reply.json().get("generated_secret") for reply in replies} - {None} == set(connection.secrets)
    assert (len(connection.secrets), connection.settings.create_unknown) == (2, True)


async def test_short_secret__is_refused_with_the_minimum_length(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.post(HERE, {**HUBSPOT, "secrets": ["short"]})
    blank = await sqlite_call.post(HERE, {**HUBSPOT, "secrets": [""]})

    reported = [(error["code"], error["detail"]) for item in (reply, blank) for error in item.problem["errors"]]
    assert reported == [("too_short", "must have at least 8 characters, and has 5"), ("required", "must not be blank")]


async def test_patch_connection__validates_settings_like_create(sqlite_call: ApiClient) -> None:
    await sqlite_call.post(HERE, {**HUBSPOT, "settings": DECIDED})

    reply = await sqlite_call.patch(f"{HERE}/crm/hubspot", {"settings": {"fields": {"email": "a"}, "objects": {"1": "x"}}})

    assert [error["pointer"] for error in reply.problem["errors"]] == ["/settings/fields", "/settings/objects/1"]
    assert (await sqlite_call.get(f"{HERE}/crm/hubspot")).json()["settings"] == DECIDED


async def test_patch_connection__refuses_two_secrets_with_generate_secret(sqlite_call: ApiClient) -> None:
    await sqlite_call.post(HERE, {**HUBSPOT, "secrets": [SECRET]})

    reply = await sqlite_call.patch(f"{HERE}/crm/hubspot", {"secrets": ["x" * 8, "y" * 8], "generate_secret": True})

    assert [error["pointer"] for error in reply.problem["errors"]] == ["/generate_secret"]
    assert (await sqlite_call.parts.store.read(list_connections(1)))[0].secrets == [SECRET]


async def test_connections__require_an_admin_key_of_their_client(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, senders=ADAPTERS, auth="api-key")
    acme, second = [await memory.write(ensure_client(name, 1)) for name in ("acme", "other")]
    own, foreign = [await add_key(memory, client.number, [ADMIN], "", 1) for client in (acme, second)]
    reading = await add_key(memory, acme.number, [READ], "", 1)

    response = await call.post(HERE, HUBSPOT, x_api_key=own)
    replies = [await call.get(target, x_api_key=key) for key in (own, foreign, reading) for target in (HERE, f"{HERE}/crm/hubspot")]

    assert response.status == 201
    assert [reply.status for reply in replies] == [200, 200, 404, 404, 403, 403]
    assert (await call.post(HERE, HUBSPOT)).status == 401


TOKEN = "a-token-that-nobody-may-see"


def fetching(**more: Any) -> dict[str, Any]:
    usual = {"state": "idle", "wanted": 0, "not_found": 0, "last_fetched_time": None, "last_error": None, "last_error_time": None}
    return usual | more


async def test_access_token__is_stored_and_never_returned(call: ApiClient) -> None:
    here = await call.post(HERE, {**HUBSPOT, "access_token": TOKEN})
    listed = await call.get(HERE)
    hubspot = await call.get(f"{HERE}/crm/hubspot")
    response = await call.patch(f"{HERE}/crm/hubspot", {"settings": {"api_base": "https://eu.example.com"}, "access_token": TOKEN})
    taken = await call.patch(f"{HERE}/crm/hubspot", {"access_token": None})

    assert here.json() == hubspot.json() == listed.json()["data"][0] == shown(access_token="set", fetching=fetching())
    assert [reply.json()["access_token"] for reply in (response, taken)] == ["set", "not set"]
    assert all(TOKEN.encode() not in reply.body for reply in (here, listed, hubspot, response, taken))


async def test_fetching_state__shows_the_last_error_until_the_connection_is_changed(call: ApiClient) -> None:
    await call.post(HERE, {**HUBSPOT, "access_token": TOKEN})
    client = (await call.parts.store.write(ensure_client("acme", 1))).number
    now = call.clock()
    await call.parts.store.write(claim_fetch(client, "hubspot", now, now + 9, 1))
    await call.parts.store.write(
        finish_fetch(client, "hubspot", now + 9, FetchResult(now, stopped=True, error="hubspot answered 401", at=now))
    )

    stopped = (await call.get(f"{HERE}/crm/hubspot")).json()["fetching"]
    again = (await call.patch(f"{HERE}/crm/hubspot", {"access_token": "another-token"})).json()["fetching"]

    assert stopped == fetching(state="stopped", last_error="hubspot answered 401", last_error_time=NOW)
    assert again == fetching()


@pytest.mark.parametrize(
    ("body", "pointers"),
    [
        ({"channel": "crm", "tool": "pipedrive", "access_token": TOKEN}, ["/access_token"]),
        ({"channel": "email_campaign", "tool": "sendgrid", "access_token": TOKEN}, ["/access_token"]),
        ({**HUBSPOT, "access_token": "two words"}, ["/access_token"]),
        ({**HUBSPOT, "access_token": "refresh:client:secret:token"}, ["/access_token"]),
        ({"channel": "crm", "tool": "zoho", "access_token": "refresh:client:token"}, ["/access_token"]),
        ({**HUBSPOT, "access_token": "line\nbreak"}, ["/access_token"]),
        ({**HUBSPOT, "access_token": ""}, ["/access_token"]),
        ({**HUBSPOT, "access_token": "x" * 4001}, ["/access_token"]),
        ({**HUBSPOT, "settings": {"api_base": "http://api.example.com"}}, ["/settings/api_base"]),
        ({**HUBSPOT, "settings": {"api_base": "api.example.com"}}, ["/settings/api_base"]),
        ({**HUBSPOT, "settings": {"api_base": "https://b\u00fccher.example"}}, ["/settings/api_base"]),
        ({**HUBSPOT, "settings": {"api_base": "https://user:pw@api.example.com"}}, ["/settings/api_base"]),
        ({**HUBSPOT, "settings": {"api_base": "https://api.example.com:x"}}, ["/settings/api_base"]),
        ({**HUBSPOT, "settings": {"api_base": "https://api..example.com"}}, ["/settings/api_base"]),
        ({**HUBSPOT, "settings": {"api_user": "a\nb"}}, ["/settings/api_user"]),
        ({"channel": "crm", "tool": "copper", "access_token": TOKEN}, ["/settings/api_user"]),
        ({"channel": "email_campaign", "tool": "sendgrid", "settings": {"api_base": "https://a.example"}}, ["/settings/api_base"]),
    ],
)
async def test_access_token__is_validated_with_its_settings(sqlite_call: ApiClient, body: dict[str, Any], pointers: list[str]) -> None:
    reply = await sqlite_call.post(HERE, body)

    assert reply.status == 422
    assert [error["pointer"] for error in reply.problem["errors"]] == pointers


async def test_api_base__may_be_http_if_listed_in_fetch_allowed(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, senders=ADAPTERS, fetch_allowed=["http://127.0.0.1:9999"])
    await call.settings("acme")

    good = await call.post(HERE, {**HUBSPOT, "settings": {"api_base": "http://127.0.0.1:9999/hubspot"}})
    bad = await call.patch(f"{HERE}/crm/hubspot", {"settings": {"api_base": "http://127.0.0.1:9998"}})

    assert (good.status, bad.status) == (201, 422)


# The stored token is for the address that it was given for.


@pytest.mark.parametrize("change", [{"api_base": "https://evil.example.com"}, {"api_base": None}, None])
@pytest.mark.parametrize("before", [None, "https://eu.example.com"])
async def test_another_api_base__needs_the_token_again(sqlite_call: ApiClient, change: dict[str, Any] | None, before: str | None) -> None:
    await sqlite_call.post(HERE, {**HUBSPOT, "access_token": TOKEN, "settings": {"api_base": before}})

    reply = await sqlite_call.patch(f"{HERE}/crm/hubspot", {"settings": change})
    again = await sqlite_call.patch(f"{HERE}/crm/hubspot", {"settings": change, "access_token": TOKEN})
    taken = await sqlite_call.patch(f"{HERE}/crm/hubspot", {"settings": {"api_base": "https://x.example.com"}, "access_token": None})

    if (change or {}).get("api_base") == before:
        assert reply.status == 200
    else:
        assert [(error["pointer"], error["code"]) for error in reply.problem["errors"]] == [("/access_token", "required")]
    assert (again.status, taken.status) == (200, 200)


@pytest.mark.parametrize(
    "base", ["https://eu.example.com\t/x", "https://eu.exam\nple.com", " https://eu.example.com", "https://eu.example.com\x7f"]
)
async def test_an_api_base__has_no_control_characters_and_no_spaces(sqlite_call: ApiClient, base: str) -> None:
    reply = await sqlite_call.post(HERE, {**HUBSPOT, "settings": {"api_base": base}})

    assert [error["pointer"] for error in reply.problem["errors"]] == ["/settings/api_base"]


# Secrets that could never fit.

PEM = "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAi2HR1srL4o18O8BRa7gVJY7G7bupbN3H9AwJrHCDiOg=\n-----END PUBLIC KEY-----"


@pytest.mark.parametrize(
    ("channel", "tool", "form"),
    [("email_campaign", "sendgrid", "PEM"), ("crm", "gohighlevel", "32 bytes"), ("crm", "close", "hex"), ("crm", "folk", "base64")],
)
async def test_a_secret_that_can_never_fit__is_refused_and_its_form_named(
    sqlite_call: ApiClient, channel: str, tool: str, form: str
) -> None:
    place = {"channel": channel, "tool": tool}

    reply = await sqlite_call.post(HERE, {**place, "secrets": ["no-such-secret!"]})
    response = await sqlite_call.post(HERE, {**place, "generate_secret": True})
    changed = await sqlite_call.patch(f"{HERE}/{channel}/{tool}", {"secrets": ["no-such-secret!"]})

    for refused in (reply, changed):
        (error,) = refused.problem["errors"]
        assert error["pointer"] == "/secrets/0"
        assert form in error["detail"]
        assert "no-such-secret" not in refused.body.decode()
    assert response.status == 201


async def test_a_pem__loses_its_final_newline_and_gohighlevel_names_its_location(sqlite_call: ApiClient) -> None:
    gohighlevel = {"channel": "crm", "tool": "gohighlevel"}

    bare = await sqlite_call.post(HERE, {**gohighlevel, "secrets": [PEM]})
    response = await sqlite_call.post(HERE, {**gohighlevel, "secrets": [PEM + "\n"], "settings": {"location_id": "l1"}})

    assert [error["pointer"] for error in bare.problem["errors"]] == ["/settings/location_id"]
    assert response.status == 201
    assert await secrets(sqlite_call) == [[PEM]]


async def test_espocrm__takes_a_secret_for_each_of_fifty_webhooks(sqlite_call: ApiClient) -> None:
    keys = [f"key-number-{number}" for number in range(51)]

    fifty = await sqlite_call.post(HERE, {"channel": "crm", "tool": "espocrm", "secrets": keys[:50]})
    more = await sqlite_call.patch(f"{HERE}/crm/espocrm", {"secrets": keys})
    response = await sqlite_call.post(HERE, {**HUBSPOT, "secrets": keys[:3]})

    assert (fifty.status, fifty.json()["secret_count"], more.status) == (201, 50, 422)
    assert [error["pointer"] for error in response.problem["errors"]] == ["/secrets"]


@pytest.mark.parametrize(
    ("place", "settings", "pointer"),
    [
        (HUBSPOT, {"location_id": "l1"}, "/settings/location_id"),
        ({"channel": "crm", "tool": "attio"}, {"allow_v1_signatures": True}, "/settings/allow_v1_signatures"),
        ({"channel": "crm", "tool": "attio"}, {"signature_max_age": 600}, "/settings/signature_max_age"),
        (HUBSPOT, {"signature_max_age": 5}, "/settings/signature_max_age"),
    ],
)
async def test_a_setting_about_signatures__is_refused_for_a_tool_that_has_none_such(
    sqlite_call: ApiClient, place: dict[str, str], settings: dict[str, Any], pointer: str
) -> None:
    reply = await sqlite_call.post(HERE, {**place, "settings": settings})

    assert [error["pointer"] for error in reply.problem["errors"]] == [pointer]


# What a secret changes for those who call already.


async def test_connecting__says_who_called_lately_and_would_be_refused_from_now(sqlite_call: ApiClient) -> None:
    store = sqlite_call.parts.store
    client = (await store.write(ensure_client("acme", 1))).number
    odd, old = sqlite_call.clock(), sqlite_call.clock() - 8 * 86_400 * SECOND
    for number, (tool, at) in enumerate([("instantly", odd), ("instantly", odd), ("heyreach", odd), (None, odd), ("instantly", old)]):
        await store.write(store_delivery(client, "email_campaign", bytes([number]) * 16, b"{}", "", b"{}", at, tool, verified=False))
    place = {"channel": "email_campaign", "tool": "instantly"}
    own = {"tool": "instantly", "calls": 2, "last_received_time": NOW, "reason": "must_prove"}
    unknown = {"tool": None, "calls": 1, "last_received_time": NOW, "reason": "not_recognised"}

    bare = await sqlite_call.post(HERE, place)
    set_one = await sqlite_call.patch(f"{HERE}/email_campaign/instantly", {"secrets": [SECRET]})
    await sqlite_call("DELETE", f"{HERE}/email_campaign/instantly")
    await sqlite_call.settings("acme", require_verification={"email_campaign": True})
    response = await sqlite_call.post(HERE, {**place, "secrets": [SECRET]})
    instantly = await sqlite_call.get(f"{HERE}/email_campaign/instantly")

    assert "would_refuse" not in bare.json()
    assert set_one.json()["would_refuse"] == [own, unknown]
    assert response.json()["would_refuse"] == [own, unknown, {**unknown, "tool": "heyreach", "reason": "verification_required"}]
    assert "would_refuse" not in instantly.json()


@pytest.mark.parametrize("method", ["POST", "PATCH"])
async def test_dry_run_of_settings__is_refused_and_not_carried_out(sqlite_call: ApiClient, method: str) -> None:
    path = HERE if method == "POST" else f"{HERE}/crm/hubspot"
    await sqlite_call("POST", HERE, HUBSPOT)
    body = {"channel": "crm", "tool": "pipedrive"} if method == "POST" else {"settings": {"create_unknown": False}}

    response = await sqlite_call(method, f"{path}?dry_run=true", body)

    assert (response.status, response.json()["errors"][0]["pointer"]) == (422, "?dry_run")
    assert (await sqlite_call.get(HERE)).json()["data"] == [shown()]
