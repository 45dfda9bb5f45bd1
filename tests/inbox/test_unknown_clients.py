"""Webhook calls for a client that is not there: the first use makes it in a fresh store, and is a mistyped id later."""

from __future__ import annotations

import logging
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.inbox.refused import RefusedWebhooks
from touchbase.sql.store import Store

ADDRESS = "/public/crm-webhook/{}"


async def creators(call: ApiClient) -> dict[str, str | None]:
    return {client["client_id"]: client["made_by"] for client in (await call.get("/admin/v1/clients")).json()["data"]}


async def test_unknown_client__in_a_new_store_is_created_by_its_first_webhook_and_logged(
    call: ApiClient, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "touchbase.clients"):
        replies = [await call("POST", ADDRESS.format("acme"), raw=b"%d" % n) for n in range(2)]

    assert [reply.status for reply in replies] == [200, 200]
    assert await creators(call) == {"acme": "call"}
    assert [
        record.message for record in caplog.records if "created by the first request" in record.message and "acme" not in record.message
    ]
    assert len(caplog.records) == 1


@pytest.mark.parametrize("way", ["post", "put"])
async def test_unknown_client__is_refused_with_404_once_a_client_was_created_explicitly(
    store: Store, make_client: MakeClient, clock: Any, way: str
) -> None:
    refused = RefusedWebhooks(clock)
    call = make_client(store, refused=refused)
    await call("POST", ADDRESS.format("early"), raw=b"1")
    if way == "post":
        await call.post("/admin/v1/clients", {"client_id": "acme"})
    else:
        await call.settings("acme")

    replies = {name: (await call("POST", ADDRESS.format(name), raw=b"2")).status for name in ("acme", "early", "acmee")}

    assert replies == {"acme": 200, "early": 200, "acmee": 404}
    assert await creators(call) == {"acme": "administrator", "early": "call"}
    await refused.flush(call.parts.store)
    assert [refusal["cause"] for refusal in (await call.get("/admin/v1/refusals")).json()["data"]] == ["unknown_client"]


async def test_unknown_client__is_created_by_a_post_of_a_record(call: ApiClient) -> None:
    await call.settings("acme")

    response = await call.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id="other")

    assert response.status == 201
    assert await creators(call) == {"acme": "administrator", "other": "call"}
