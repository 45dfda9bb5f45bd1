"""`If-Match` of settings, connections, endpoints and the team's statuses: a 412 names who changed the thing since it was read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.sql.store import Store

CLIENT = "/admin/v1/clients/acme"
TOOL = f"{CLIENT}/connections/crm/hubspot"
ENDPOINTS = "/public/v2/webhook-endpoints"
FIELD = "/public/v2/custom-fields/contacts/seats"
STATUSES = "/public/v2/statuses/contacts"
STATUS = {"name": "won", "label": "Won"}
CHANGES: dict[str, tuple[str, str, dict[str, Any], dict[str, Any]]] = {
    "settings": ("PUT", CLIENT, {"settings": {"keep_bodies_days": 3}}, {"settings": {"keep_bodies_days": 4}}),
    "name": ("PATCH", CLIENT, {"name": "Acme"}, {"name": "Acme Ltd"}),
    "connection": ("PATCH", TOOL, {"settings": {"time_zone": "Asia/Kolkata"}}, {"secrets": ["another-secret-of-ours"]}),
    "endpoint": ("PATCH", f"{ENDPOINTS}/1", {"description": "theirs"}, {"description": "mine"}),
    "custom field": ("PATCH", FIELD, {"type": "number"}, {"type": "select", "options": ["1"]}),
    "statuses": ("PUT", "/team/v1/statuses", {"data": [STATUS]}, {"data": [STATUS | {"key": 1}]}),
}


@pytest.fixture
async def call(store: Store, make_client: MakeClient) -> ApiClient:
    """A client with a connection and an endpoint."""
    client = make_client(store, senders=load_adapters())
    await client.settings("acme")
    await client.settings("beside")
    secret = {"channel": "crm", "tool": "hubspot", "secrets": ["a-secret-of-ours"]}
    assert (await client.post(f"{CLIENT}/connections", secret)).status == 201
    made = await client("POST", ENDPOINTS, {"url": "https://receiver.example/hooks"}, **{"x-client-id": "acme"})
    assert made.status == 201
    assert (await client("POST", FIELD.rpartition("/")[0], {"name": "seats"}, **{"x-client-id": "acme"})).status == 201
    return client


@pytest.mark.parametrize("kind", CHANGES)
async def test_if_match__refuses_what_was_decided_on_a_former_version(call: ApiClient, kind: str) -> None:
    method, path, theirs, mine = CHANGES[kind]
    of_client = {"x-client-id": "acme"}
    read = await call.get(path, **of_client)
    since = call.clock.move(60)
    first = await call(method, path, theirs, **of_client, **{"if-match": read.headers["etag"]})
    call.clock.move(60)

    late = await call(method, path, mine, **of_client, **{"if-match": read.headers["etag"]})

    now = await call.get(path, **of_client)
    assert (first.status, first.headers["etag"]) == (200, now.headers["etag"])
    assert (late.status, late.problem["code"], late.problem["changed_at"]) == (412, "precondition_failed", since)
    assert now.json() == (first.json() if kind != "endpoint" else now.json() | {"description": "theirs"})
    again = await call(method, path, mine, **of_client, **{"if-match": now.headers["etag"]})
    anyway = await call(method, path, theirs, **of_client, **{"if-match": "*"})
    assert (again.status, anyway.status) == (200, 200)


@pytest.mark.parametrize("path", [TOOL, f"{ENDPOINTS}/1"])
async def test_if_match__removes_nothing_that_changed(call: ApiClient, path: str) -> None:
    of_client = {"x-client-id": "acme"}
    read = (await call.get(path, **of_client)).headers["etag"]
    since = call.clock.move(60)
    change = {"settings": {"time_zone": "Asia/Kolkata"}} if path == TOOL else {"description": "theirs"}
    now = (await call("PATCH", path, change, **of_client)).headers["etag"]

    late = await call("DELETE", path, **of_client, **{"if-match": read})
    after = await call.get(path, **of_client)
    removed = await call("DELETE", path, **of_client, **{"if-match": now})

    assert (late.status, late.problem["changed_at"], after.status, removed.status) == (412, since, 200, 204)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PATCH", FIELD, {"name": "chairs"}), ("POST", f"{FIELD}/merge", {"into": "chairs"}), ("DELETE", FIELD, None),
        ("POST", f"{FIELD}/merge-values", {"values": ["1"], "into": "2"}), ("PATCH", f"{STATUSES}/won", {"name": "Won"}),
        ("POST", f"{STATUSES}/won/merge", {"into": "lost"}), ("DELETE", f"{STATUSES}/won", None),
    ],
)  # fmt: skip
async def test_if_match__of_fields_and_statuses(call: ApiClient, method: str, path: str, body: Any) -> None:
    of_client = {"x-client-id": "acme"}
    for name in ("won", "lost", "else"):
        assert (await call("POST", STATUSES, {"name": name, "start_set": True}, **of_client)).status == 201
    if path == f"{FIELD}/merge":
        assert (await call("POST", FIELD.rpartition("/")[0], {"name": "chairs"}, **of_client)).status == 201

    async def version() -> str:
        listed = (await call.get(STATUSES if path.startswith(STATUSES) else FIELD.rpartition("/")[0], **of_client)).json()["data"]
        return next(f'"{shown["version"]}"' for shown in listed if shown["name"] in ("won", "seats"))

    read = await version()
    await call("POST", "/public/v2/contacts", {"email": "ann@x.example", "contact_status": "lost"}, **of_client)
    since = call.clock.move(60)
    if path.startswith(STATUSES):
        settings = (await call.get(CLIENT)).json()["settings"]
        settings["contact_statuses"]["transitions"] = {"won": ["lost"]}
        assert (await call("PUT", CLIENT, {"settings": settings})).status == 200
    else:
        assert (await call("PATCH", FIELD, {"type": "number"}, **of_client)).status == 200

    missing = await call(method, path.replace("seats", "saets").replace("won", "wno"), body, **of_client, **{"if-match": read})
    late = await call(method, path, body, **of_client, **{"if-match": read})
    now = await call(method, path, body, **of_client, **{"if-match": await version()})

    assert missing.status == 404
    assert (late.status, late.problem["code"]) == (412, "precondition_failed")
    assert now.status in (202, 204), now.body
    if path.startswith(FIELD):
        assert late.problem["changed_at"] == since


async def test_if_match__of_a_snippet_shows_the_present_one(call: ApiClient) -> None:
    read = (await call.post("/team/v1/snippets", {"name": "price", "text": "Dear"})).json()
    path, former = f"/team/v1/snippets/{read['id']}", {"if-match": f'"{read["updated_at"]}"'}
    call.clock.move(60)
    changed = await call("PATCH", path, {"text": "Hello"}, **former)

    late = [await call("PATCH", path, {"text": "Hi"}, **former), await call("DELETE", path, **former)]

    assert (changed.status, [(reply.status, reply.problem["present"]) for reply in late]) == (200, [(412, changed.json())] * 2)
    assert (await call.get("/team/v1/snippets")).json()["data"] == [changed.json()]
    removed = await call("DELETE", path, **{"if-match": f'"{changed.json()["updated_at"]}"'})
    assert removed.status == 204


async def test_if_match__creates_no_client(call: ApiClient) -> None:
    refused = await call("PUT", "/admin/v1/clients/new", {"settings": {}}, **{"if-match": '"0123456789abcdef"'})

    assert (refused.status, (await call.get("/admin/v1/clients/new")).status) == (412, 404)
