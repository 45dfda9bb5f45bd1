"""Refused webhook calls are listed: who called, what it looked like and why it was refused, without the body."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.adapters.registry import load_adapters
from touchbase.app import record_foreign_webhook
from touchbase.auth.authentication import ADMIN, READ, add_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.http.dependencies import RequestLimits
from touchbase.inbox.refused import NOT_VERIFIED, UNKNOWN_CLIENT, RefusedWebhooks
from touchbase.inbox.sql.refused import list_refusals
from touchbase.rate_limit.rate_limiter import RateLimiter, Rates
from touchbase.sql.store import Store

ADAPTERS = load_adapters()
HERE = "/admin/v1/refusals"
CRM = "/public/crm-webhook/acme"
CONNECTIONS = "/admin/v1/clients/acme/connections"
HUBSPOT = [{"subscriptionType": "contact.creation", "objectId": 5, "portalId": 1, "eventId": 9}]


@pytest.fixture
async def call(store: Store, make_client: MakeClient, clock: Any) -> ApiClient:
    client = make_client(store, senders=ADAPTERS, refused=RefusedWebhooks(clock))
    await client.settings("acme")
    return client


@pytest.fixture
async def sqlite_call(memory: Store, make_client: MakeClient, clock: Any) -> ApiClient:
    client = make_client(memory, senders=ADAPTERS, refused=RefusedWebhooks(clock))
    await client.settings("acme")
    return client


async def flush(call: ApiClient) -> None:
    assert call.parts.refused is not None
    await call.parts.refused.flush(call.parts.store)


async def test_a_refused_call__is_listed_without_its_body_and_its_secrets(call: ApiClient) -> None:
    await call.post(CONNECTIONS, {"channel": "crm", "tool": "hubspot", "secrets": ["a-secret-of-ours"]})

    await call(
        "POST", f"{CRM}?token=wrong-token", HUBSPOT, user_agent="HubSpot", x_hubspot_signature="s3cret", authorization="Bearer s3cret"
    )
    await flush(call)
    listed = await call.get(HERE)

    (refused,) = listed.json()["data"]
    size = refused.pop("size")
    assert refused.pop("body_id") is not None
    assert refused == {
        "received_at": "2026-11-20T09:30:00Z", "client_id": "acme", "channel": "crm", "tool": "hubspot", "cause": "not_verified",
        "calls": 1, "headers": {
            "content-type": "application/json", "user-agent": "HubSpot", "x-hubspot-signature": "(present)", "authorization": "(present)",
        },
    }  # fmt: skip
    assert size > 50
    assert not any(word in listed.body for word in (b"s3cret", b"wrong-token", b"objectId"))


async def test_refusals__are_filtered_and_paged_newest_first(call: ApiClient) -> None:
    noted = call.parts.refused
    assert noted is not None
    acme, second = [await call.parts.store.write(ensure_client(name, 1)) for name in ("acme", "other")]
    for client, channel, tool in ((acme, "crm", "hubspot"), (acme, "email_campaign", None), (second, "crm", "odoo")):
        noted.record_refusal(client, channel, NOT_VERIFIED, tool=tool, at=call.clock())
        call.clock.move(1)
    noted.record_refusal("acmee", "crm", UNKNOWN_CLIENT, at=call.clock())
    await flush(call)

    async def listed_refusals(query: str) -> list[tuple[str, str, str | None]]:
        data = (await call.get(HERE + query)).json()["data"]
        return [(first["client_id"], first["channel"], first["tool"]) for first in data]

    first = (await call.get(f"{HERE}?limit=3")).json()
    body = (await call.get(f"{HERE}?limit=3&cursor={first['next_cursor']}")).json()

    assert [here["client_id"] for here in (*first["data"], *body["data"])] == ["acmee", "other", "acme", "acme"]
    assert (len(first["data"]), body["next_cursor"]) == (3, None)
    assert await listed_refusals("?client=acme") == [("acme", "email_campaign", None), ("acme", "crm", "hubspot")]
    assert await listed_refusals("?tool=odoo") == [("other", "crm", "odoo")]
    assert await listed_refusals("?cause=unknown_client") == [("acmee", "crm", None)]
    assert await listed_refusals("?channel=email_campaign") == [("acme", "email_campaign", None)]


@pytest.mark.parametrize("query", ["cause=x", "channel=x", "tool=no_such", "client=nobody", "cursor=x", "limit=0", "state=failed"])
async def test_refusals__name_a_parameter_that_is_wrong(sqlite_call: ApiClient, query: str) -> None:
    reply = await sqlite_call.get(f"{HERE}?{query}")

    assert [error["pointer"] for error in reply.problem["errors"]] == [f"?{query.partition('=')[0]}"]


async def test_a_key_of_one_client__sees_its_own_refusals_only(memory: Store, make_client: MakeClient, clock: Any) -> None:
    call = make_client(memory, senders=ADAPTERS, auth="api-key", refused=RefusedWebhooks(clock))
    acme, second = [await memory.write(ensure_client(name, 1)) for name in ("acme", "other")]
    own, reading = [await add_key(memory, acme.number, [scope], "", 1) for scope in (ADMIN, READ)]
    assert call.parts.refused is not None
    for client in (acme, second, "nobody"):
        call.parts.refused.record_refusal(client, "crm", NOT_VERIFIED)
    await flush(call)

    listed = await call.get(HERE, x_api_key=own)

    assert [item["client_id"] for item in listed.json()["data"]] == ["acme"]
    assert (await call.get(f"{HERE}?client=other", x_api_key=own)).status == 403
    assert [(await call.get(HERE, **keys)).status for keys in ({"x_api_key": reading}, {})] == [403, 401]


async def test_calls_refused_for_their_address_size_or_rate__are_listed(memory: Store, make_client: MakeClient, clock: Any) -> None:
    limited = {"limits": RequestLimits(webhook_body_bytes=40), "limiter": RateLimiter(Rates(webhooks=3))}
    call = make_client(memory, senders=ADAPTERS, auth="api-key", refused=RefusedWebhooks(clock), **limited)
    key = await add_key(memory, (await memory.write(ensure_client("acme", 1))).number, [ADMIN], "", 1)
    everyone = await add_key(memory, None, [ADMIN], "", 1)

    answers = [(await call.post("/public/crm-webhook/acmee", {})).status, (await call.post(CRM, {"long": "x" * 50})).status]
    while answers[-1] in (200, 413):
        answers.append((await call.post(CRM, {"n": len(answers)})).status)
    await flush(call)

    assert (answers[:3], answers[-1]) == ([404, 413, 200], 503)
    listed = [(await call.get(HERE, x_api_key=item)).json()["data"] for item in (everyone, key)]
    assert {(item["client_id"], item["cause"]) for item in listed[0]} == {
        ("acmee", "unknown_client"),
        ("acme", "too_large"),
        ("acme", "rate"),
    }
    assert {item["cause"] for item in listed[1]} == {"too_large", "rate"}


async def test_a_page_of_another_site__is_listed(memory: Store, clock: Any) -> None:
    client = await memory.write(ensure_client("acme", 1))
    refused = RefusedWebhooks(clock)

    record_foreign_webhook(refused, {"path": CRM, "headers": [(b"origin", b"https://evil.test")]})
    record_foreign_webhook(refused, {"path": "/public/v2/contacts", "headers": []})
    await refused.flush(memory)

    [listed] = await memory.read(list_refusals(10))
    assert (listed.client, listed.cause, listed.headers) == (client.number, "foreign_origin", {"origin": "https://evil.test"})
