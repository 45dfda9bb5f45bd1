"""Behind a proxy that serves us under a path of its own, what we name is named as callers reach it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.asgi_client import ApiClient

from touchbase.adapters.registry import load_adapters
from touchbase.sql.store import Store

MakeClient = Callable[..., ApiClient]
PUBLIC = "https://example.com/touchbase"
MADE: list[tuple[str, dict[str, Any]]] = [
    ("/public/v2/contacts", {"email": "ada@example.com"}),
    ("/public/v2/companies", {"name": "Quill", "domain": "quill.example"}),
    ("/admin/v1/clients", {"client_id": "acme"}),
    ("/admin/v1/clients/acme/connections", {"channel": "crm", "tool": "hubspot"}),
    ("/admin/v1/keys", {"name": "sync", "scopes": ["records:read"]}),
]


@pytest.mark.parametrize("key", [None, "a-key-of-ours"])
@pytest.mark.parametrize(("prefix", "public_url"), [("/touchbase", PUBLIC), ("", "https://example.com"), ("", "")])
async def test_location_header__has_the_path_prefix_of_the_public_url(
    memory: Store, make_client: MakeClient, prefix: str, public_url: str, key: str | None
) -> None:
    call = make_client(memory, senders=load_adapters(), public_url=public_url)

    for path, body in MADE:
        response = await call.post(path, body, **({"idempotency_key": key + path} if key else {}))
        place = response.headers["location"]

        assert (response.status, place.startswith(f"{prefix}{path}/")) == (201, True), place
        assert (await call.get(place.removeprefix(prefix))).status == 200


async def test_openapi_servers__names_the_public_url(memory: Store, make_client: MakeClient) -> None:
    outside = await make_client(memory, public_url=PUBLIC).get("/openapi.json")
    inside = await make_client(memory).get("/openapi.json")

    assert [server["url"] for server in outside.json()["servers"]] == [PUBLIC]
    assert [server["url"] for server in inside.json()["servers"]] == ["/"]
