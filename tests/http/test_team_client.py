"""`X-Client-Id` at lists of the team: it means the same as `?client=`."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient


@pytest.fixture
async def two(sqlite_call: ApiClient) -> ApiClient:
    for client in ("acme", "other"):
        await sqlite_call("POST", "/public/v2/contacts", {"email": "ann@example.com"}, **{"x-client-id": client})
    return sqlite_call


async def clients_of(call: ApiClient, query: str = "", **headers: str) -> list[str]:
    reply = await call.get(f"/team/v1/events{query}", **headers)
    assert reply.status == 200, reply
    return sorted(event["data"]["client_id"] for event in reply.json()["data"])


async def test_the_header__says_the_client_of_a_list_as_the_parameter_does(two: ApiClient) -> None:
    assert await clients_of(two) == ["acme", "other"]
    assert await clients_of(two, **{"x-client-id": "acme"}) == ["acme"]
    assert await clients_of(two, "?client=acme") == await clients_of(two, "?client=acme", **{"x-client-id": "acme"}) == ["acme"]


async def test_a_header__that_differs_from_the_parameter_is_refused(two: ApiClient) -> None:
    reply = await two.get("/team/v1/events?client=acme", **{"x-client-id": "other"})
    unknown = await two.get("/team/v1/events", **{"x-client-id": "nobody"})

    assert (reply.status, reply.json()["errors"][0]["pointer"]) == (422, "?client")
    assert "another client than the header X-Client-Id" in reply.json()["errors"][0]["detail"]
    assert (unknown.status, unknown.json()["code"]) == (404, "not_found")
