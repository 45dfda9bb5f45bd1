"""The route table: what it says of a route is what the router does."""

from __future__ import annotations

import re

import pytest
from tests.asgi_client import ApiClient, MakeClient

from touchbase.auth.authentication import ADMIN, READ, WRITE, add_key
from touchbase.clients.sql.clients import ensure_client
from touchbase.routes import DESCRIBED
from touchbase.sql.store import Store

GUARDED = [route for route in DESCRIBED if route.scope]


@pytest.fixture
def guarded(memory: Store, make_client: MakeClient) -> ApiClient:
    """The application that asks for API keys."""
    return make_client(memory, auth="api-key")


async def test_every_route_with_a_scope__refuses_a_key_without_that_scope(guarded: ApiClient, subtests: pytest.Subtests) -> None:
    store, now = guarded.parts.store, guarded.clock.now
    client = await store.write(ensure_client("ours", now))
    others = {scope: [item for item in (READ, WRITE) if item != scope] for scope in (READ, WRITE, ADMIN)}  # ADMIN includes the others
    keys = {scope: await add_key(store, client.number, granted, "test", now) for scope, granted in others.items()}

    for route in GUARDED:
        with subtests.test(route.operation_id):
            target = re.sub(r"\{\w+\}", "1", route.path)
            without = await guarded(route.method, target, {})
            lacking = await guarded(route.method, target, {}, authorization=f"Bearer {keys[route.scope]}")

            is_v1 = target.startswith("/public/") and not target.startswith("/public/v2/")  # refuses as RevyOps does
            assert (without.status, without.problem["code"]) == ((403, "forbidden") if is_v1 else (401, "unauthorized"))
            assert (lacking.status, lacking.problem["code"]) == (403, "insufficient_scope")
            assert route.scope in lacking.problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "status", "detail"),
    [
        ("GET", "/admin/v1/deliveries/groups", 200, ""),
        ("POST", "/admin/v1/deliveries/groups/replay", 404, "there is no delivery with id 'groups'"),
        ("GET", "/public/v2/contacts//timeline", 404, "no such address; /docs lists all addresses"),
        ("GET", "/public/v2/contacts/1/timeline/", 404, "no such address; try it without the slash at its end"),
        ("GET", "/public/v2/contacts/1/timeline/more", 404, "no such address; /docs lists all addresses"),
    ],
)
async def test_a_literal_segment__comes_before_a_parameter(
    sqlite_call: ApiClient, method: str, path: str, status: int, detail: str
) -> None:
    reply = await sqlite_call(method, path)

    assert (reply.status, "" if status == 200 else reply.problem["detail"]) == (status, detail)


async def test_a_method_that_a_path_does_not_have__is_refused_with_those_it_has(sqlite_call: ApiClient) -> None:
    replies = [await sqlite_call("BREW", path) for path in ("/public/v2/contacts", "/public/v2/contacts/1")]

    assert [(reply.status, reply.headers["allow"]) for reply in replies] == [
        (405, "GET, HEAD, PATCH, POST, PUT"),
        (405, "DELETE, GET, HEAD, PATCH"),
    ]


async def test_head__is_answered_where_get_is(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call("HEAD", "/admin/v1/clients")

    assert reply.status == 200
