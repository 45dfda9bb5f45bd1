"""No route reads a body before it knows the key, its scope and the client."""

from __future__ import annotations

import re
from typing import Any

from tests.asgi_client import ApiClient, MakeClient, scope_of

from touchbase.auth.authentication import READ, SCOPES
from touchbase.auth.service import add_key
from touchbase.routes import ROUTES
from touchbase.sql.store import Store

# Webhooks are for senders without a key of ours. Signing in has its key in the body, and a limit of its own (test_sessions.py).
GUARDED = [route for route in ROUTES if route.scope or route.path == "/mcp"]
WITH_BODY = [route for route in GUARDED if route.method in ("POST", "PUT", "PATCH", "DELETE")]


async def sent_without_body(call: ApiClient, route: Any, **headers: str) -> int:
    """Send a request whose body may not be read; return the status."""

    async def receive() -> None:
        raise AssertionError(f"{route.method} {route.path} reads the body")

    path = re.sub(r"\{\w+\}", "1", route.path)
    value = {"content-type": "application/json", "content-length": "1000", "idempotency-key": "k1", **headers}
    return (await call.with_receive(scope_of(route.method, path, value), receive)).status


async def test_route__refuses_a_request_without_a_key_before_its_body(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, auth="api-key")

    statuses = {f"{route.method} {route.path}": await sent_without_body(call, route) for route in WITH_BODY}

    assert len(statuses) > 50
    # The v1 paths of RevyOps refuse it as that does.
    expected = {name: 403 if " /public/" in name and " /public/v2/" not in name else 401 for name in statuses}
    assert statuses == expected


async def test_route__refuses_a_key_without_its_scope_before_its_body(memory: Store, make_client: MakeClient) -> None:
    call = make_client(memory, auth="api-key")
    text = await add_key(memory, None, (READ,), "reads", call.clock.now)
    beyond = [route for route in WITH_BODY if route.scope in SCOPES and route.scope != READ]

    key = {"authorization": f"Bearer {text}", "x-client-id": "acme"}
    statuses = {f"{route.method} {route.path}": await sent_without_body(call, route, **key) for route in beyond}

    assert len(statuses) > 40
    assert set(statuses.values()) == {403}, {name: status for name, status in statuses.items() if status != 403}
