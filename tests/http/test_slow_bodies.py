"""A body may take its time; what it may do is decided when it is whole, whatever was true when it began."""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient, Response, scope_of

from touchbase.adapters.registry import load_adapters
from touchbase.auth.authentication import ADMIN, add_key
from touchbase.routes import description
from touchbase.sql.store import Store

DOCUMENT = description("1", keys_needed=True)
NAMED = {
    "client_id": "acme", "channel": "crm", "tool": "hubspot", "id": "1", "field_id": "1", "snippet_id": "1", "view_id": "1", "link_id": "1",
    "item_id": "1", "rule_id": "1", "name": "replied",
}  # fmt: skip
Meanwhile = Callable[[], Awaitable[object]]


def with_bodies() -> dict[str, Any]:
    """Every call of the description that has a body and needs a key: a body that is taken."""
    result: dict[str, Any] = {}
    for path, item in DOCUMENT["paths"].items():
        for method, operation in item.items():
            kinds = operation.get("requestBody", {}).get("content", {}) if method != "parameters" else {}
            if kinds and operation.get("security") != []:
                name = next(iter(kinds.values()))["schema"].get("$ref", "").rpartition("/")[2]
                result[f"{method.upper()} {path}"] = BODIES.get(name)
    return result


BODIES: dict[str, Any] = {
    "": {"email": "late@example.com"},  # a file, in NDJSON
    "StartImport": {},
    "ReadAgain": {},
    "ContactRequest": {},
    "CustomFieldInput": {"field_name": "Late", "field_value": "1"},
    "CustomFieldValue": {"field_value": "1"},
    "ContactChange": {"first_name": "Jane"},
    "CompanyRequest": {"domain": "late.example"},
    "CompanyChange": {"name": "Late"},
    "MergeRequest": {"with": [2]},
    "MappingRequest": {"settings": {}},
    "DistinctPairBody": {"ids": [1, 2]},
    "NewView": {"name": "Late", "kind": "contact"},
    "NewReportLink": {"name": "Late"},
    "ViewChange": {"name": "Late"},
    "SearchBody": {"where": {"email": "late@example.com"}},
    "ContactBatch": {"commands": [{"op": "create", "body": {}}]},
    "CompanyBatch": {"commands": [{"op": "upsert", "body": {"domain": "late.example"}}]},
    "ContactMatchRequest": {"items": [{"email": "late@example.com"}]},
    "CompanyMatchRequest": {"items": [{"domain": "late.example"}]},
    "ReplayRequest": {"state": "failed"},
    "NewClient": {},
    "ClientRequest": {"settings": {}},
    "ClientChange": {"name": "late"},
    "IdRotation": {},
    "KeyRequest": {"name": "late", "scopes": ["admin"]},
    "KeyRotation": {},
    "ConnectionRequest": {"channel": "crm", "tool": "attio"},
    "ConnectionChange": {"generate_secret": True},
    "NewSuppressions": {"value": "ann@example.com"},
    "IgnoreRuleChange": {"name": "late"},
    "CustomFieldDefinition": {"name": "late"},
    "CustomFieldUpdate": {"name": "late"},
    "CustomFieldMerge": {"into": "late"},
    "ValueMerge": {"values": ["a"], "into": "late"},
    "SuppressionCheck": {"items": [{"email": "ann@example.com"}]},
    "WebhookEndpointRequest": {"url": "https://late.example/hooks"},
    "WebhookEndpointChange": {"rate_limit": 1},
    "WebhookSecretRotation": {},
    "WebhookReplay": {"failed_since": "2026-11-20T09:30:00Z"},
    "PushRetry": {},
    "BlockConversations": {"conversations": [{"client_id": "acme", "contact_id": 1}], "block": None},
    "NewMessage": {"direction": "sent", "contact_id": 1},
    "NewEmail": {"email_type": "sent", "contact_id": 1},
    "InterestedIn": {"email": "late@example.com", "subject": "Late"},
    "Interest": {},
    "WebhookPreviewRequest": {"kind": "webhook"},
    "NewStatus": {"name": "Late"},
    "StatusChange": {"name": "Late"},
    "StatusMerge": {"into": "Late"},
    "BlockContact": {},
    "AttentionChange": {"snoozed_until": None},
    "ChangeConversation": {"label": "later"},
    "NewAnswer": {"message_id": 1, "text": "Late"},
    "TeamStatuses": {"data": [{"name": "replied"}]},
    "NewDraft": {"text": "Late"},
    "NewNote": {"text": "Late"},
    "NoteChange": {"text": "Late"},
    "NewTask": {"text": "Late", "due_at": "2026-11-23T08:00:00Z"},
    "TaskChange": {"done": True},
    "NewSnippet": {"name": "late", "text": "Late"},
    "SnippetChange": {"text": "Late"},
    "ChangeConversations": {"conversations": [{"client_id": "acme", "contact_id": 1}], "change": {"label": "later"}},
    "UserPatch": {"name": "Late"},
    "PersonalKeyRequest": {"name": "Late"},
    "PasswordRequest": {"current": "a present password", "password": "another password"},
    "InvitationRequest": {"email": "late@example.com", "role": "viewer"},
}
CALLS = with_bodies()


@pytest.fixture
async def guarded(memory: Store, make_client: MakeClient) -> ApiClient:
    """The application with keys: a client `acme` with a contact, a company, and HubSpot connected without a secret."""
    opened = make_client(memory, senders=load_adapters())
    await opened.settings("acme")
    await opened.post("/public/v2/companies", {"domain": "example.com"}, x_client_id="acme")
    await opened.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id="acme")
    assert (await opened.post("/admin/v1/clients/acme/connections", {"channel": "crm", "tool": "hubspot"})).status == 201
    hook = {"url": "https://receiver.example/hooks"}
    assert (await opened.post("/public/v2/webhook-endpoints", hook, x_client_id="acme")).status == 201
    return make_client(memory, auth="api-key", senders=load_adapters())


async def key(call: ApiClient, name: str) -> dict[str, str]:
    return {"authorization": f"Bearer {await add_key(call.parts.store, None, [ADMIN], name, call.clock.now)}", "x-client-id": "acme"}


async def slowly(call: ApiClient, method: str, path: str, body: object, headers: dict[str, str], meanwhile: Meanwhile) -> Response:
    """Send the first byte of a body, then this happens and seconds go by, then comes the rest."""
    raw = json.dumps(body).encode()
    pieces = iter([raw[:1], raw[1:]])
    scope = scope_of(method, re.sub(r"\{(\w+)\}", lambda result: NAMED.get(result[1], "1"), path), headers)

    async def receive() -> dict[str, Any]:
        piece = next(pieces)
        if piece != raw[:1]:
            await meanwhile()
            call.clock.move(8)
        return {"type": "http.request", "body": piece, "more_body": piece == raw[:1]}

    return await call.with_receive(scope, receive)


def test_slow_body_cases__cover_every_operation_with_a_body() -> None:
    assert {name: body for name, body in CALLS.items() if body is None} == {}
    assert len(CALLS) >= 13


@pytest.mark.parametrize("idempotency_key", [None, "again"])
async def test_api_key__revoked_while_the_body_arrives_is_refused(
    guarded: ApiClient, idempotency_key: str | None, subtests: pytest.Subtests
) -> None:
    other_key = await key(guarded, "other")
    for name, body in CALLS.items():
        with subtests.test(name):
            method, path = name.split()
            own = await key(guarded, "own")
            key_id = own["authorization"].split("_")[2]
            sent = {**own, "idempotency-key": idempotency_key} if idempotency_key else own

            reply = await slowly(guarded, method, path.replace("{key_id}", key_id), body, sent, partial(revoke, guarded, key_id, other_key))

            is_v1 = path.startswith("/public/") and not path.startswith("/public/v2/")  # callers of RevyOps expect 403
            assert (reply.status, reply.problem["code"]) == ((403, "forbidden") if is_v1 else (401, "unauthorized"))


async def revoke(call: ApiClient, key_id: str, by: dict[str, str]) -> None:
    assert (await call("DELETE", f"/admin/v1/keys/{key_id}", **by)).status == 204


async def test_client__suspended_while_the_body_arrives_gets_403(guarded: ApiClient, subtests: pytest.Subtests) -> None:
    own = await key(guarded, "own")

    async def suspend() -> None:
        assert (await guarded.post("/admin/v1/clients/acme/suspend", **own)).status == 200

    for name, body in CALLS.items():
        if "/public/" in name:
            with subtests.test(name):
                reply = await slowly(guarded, *name.split(), body, own, suspend)

                assert (reply.status, reply.problem["code"]) == (403, "client_suspended")
                assert (await guarded.post("/admin/v1/clients/acme/resume", **own)).status == 200


async def test_webhook__is_verified_by_the_secrets_in_force_at_the_end_of_its_body(guarded: ApiClient) -> None:
    own = await key(guarded, "own")

    async def demand_a_secret() -> None:
        changed = await guarded.patch("/admin/v1/clients/acme/connections/crm/hubspot", {"generate_secret": True}, **own)
        assert changed.status == 200

    reply = await slowly(guarded, "POST", "/public/crm-webhook/{client_id}", {"a": 1}, {}, demand_a_secret)

    assert (reply.status, reply.problem["code"]) == (401, "unauthorized")
    assert (await guarded.get("/admin/v1/deliveries", **own)).json()["data"] == []
