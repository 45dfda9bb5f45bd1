# ruff: noqa: F401, F811 (fixtures)
"""Personal keys: they act as their person, with no more than the key and the person may, and end with the person."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.auth.test_people import CONTACTS, USERS, Browser, Office, grants, office, quick_passwords

from touchbase.auth.authentication import ADMIN, READ, WRITE
from touchbase.auth.users import ROLE_SCOPES
from touchbase.common.timestamps import to_text

KEYS = "/team/v1/keys"


async def key_of(browser: Any, *scopes: str, **more: Any) -> dict[str, str]:
    """Make a key in the browser; return it as a header."""
    reply = await browser("POST", KEYS, {"name": "laptop", "scopes": list(scopes) or [READ], **more})
    assert reply.status == 201, reply.body
    assert reply.json()["user_id"] == browser.user["id"]
    browser.call.clock.move(1)
    return {"authorization": f"Bearer {reply.json()['key']}"}


async def statuses(office: Office, key: dict[str, str], client_id: str) -> list[int]:
    """Statuses of a read, a write and an administrator's request about one client."""
    named = {**key, "x_client_id": client_id}
    return [
        (await office.call("GET", CONTACTS, **named)).status,
        (await office.call("POST", CONTACTS, {"first_name": "Jane"}, **named)).status,
        (await office.call("GET", f"/admin/v1/clients/{client_id}", **named)).status,
    ]


async def test_key__has_at_most_its_scopes_and_the_persons_grants(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="admin", yours="viewer"))

    reading, writing, all_of_it = await key_of(ann), await key_of(ann, READ, WRITE), await key_of(ann, ADMIN)
    of_one = await key_of(ann, READ, WRITE, client_id="ours")

    assert await statuses(office, reading, "ours") == [200, 403, 403]
    assert await statuses(office, writing, "ours") == [200, 201, 403]
    assert await statuses(office, all_of_it, "ours") == [200, 201, 200]
    assert await statuses(office, all_of_it, "yours") == [200, 403, 403]
    assert await statuses(office, of_one, "ours") == [200, 201, 403]
    assert await statuses(office, reading, "theirs") == [404, 403, 403]
    assert await statuses(office, writing, "theirs") == [404, 404, 403]
    assert await statuses(office, all_of_it, "theirs") == [404, 404, 404]
    assert await statuses(office, of_one, "yours") == [404, 404, 403]
    assert (await office.call("GET", CONTACTS, **of_one)).status == 200
    assert (await office.call("GET", CONTACTS, **all_of_it)).problem["errors"][0]["pointer"] == "X-Client-Id"


@pytest.mark.parametrize("role", ROLE_SCOPES)
async def test_key__follows_the_persons_present_rights_within_a_second(office: Office, role: str) -> None:
    ann = await office.join("ann@example.com", role="admin")
    await office.join("ben@example.com", role="admin")
    key = await key_of(ann, ADMIN)
    elsewhere = ApiClient(office.call.parts, office.call.clock)
    assert (await elsewhere("GET", "/admin/v1/status", **key)).status == 200

    await office("PATCH", f"{USERS}/{ann.user['id']}", {"role": None, "grants": grants(yours=role)})

    expected = {"viewer": [200, 403, 403], "operator": [200, 201, 403], "admin": [200, 201, 200]}[role]
    assert await statuses(office, key, "yours") == expected
    assert (await statuses(office, key, "ours"))[:2] == [404, 404]
    office.call.clock.move(1)
    assert (await elsewhere("GET", "/admin/v1/status", **key)).status == 403
    assert (await elsewhere("GET", "/admin/v1/clients/ours", **key)).status in (403, 404)


async def test_key__is_refused_while_its_person_is_suspended_and_after_its_end(office: Office) -> None:
    ann = await office.join("ann@example.com", role="operator")
    key = await key_of(ann, READ, WRITE)
    short = await key_of(ann, expires_time=to_text(office.call.clock.now + 60_000_000))
    target = f"{USERS}/{ann.user['id']}"

    async def tried(key: dict[str, str]) -> int:
        return (await office.call("GET", CONTACTS, x_client_id="ours", **key)).status

    assert [await tried(key), await tried(short)] == [200, 200]
    await office("PATCH", target, {"state": "suspended"})
    assert [await tried(key), (await office.call("GET", "/team/v1/me", **key)).status] == [401, 401]
    await office("PATCH", target, {"state": "active"})
    office.call.clock.move(61)
    assert [await tried(key), await tried(short)] == [200, 401]


async def test_key__is_listed_and_revoked_by_its_person_and_administrators(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="operator", yours="viewer"))
    ben = await office.join("ben@example.com", grants=grants(ours="admin"))
    keys = [await key_of(ann, client_id="yours"), await key_of(ann, WRITE), await key_of(ann)]

    listed = (await ann("GET", KEYS)).json()["data"]
    assert [(key["scopes"], key["client_id"], key["user_id"]) for key in listed] == [
        ([READ], None, ann.user["id"]), ([WRITE], None, ann.user["id"]), ([READ], "yours", ann.user["id"])
    ]  # fmt: skip
    assert all("key" not in key for key in listed)
    assert (await ben("GET", KEYS)).json()["data"] == []
    assert [
        (await ben("GET", f"{KEYS}?user_id={ann.user['id']}")).status,
        (await ben("DELETE", f"{KEYS}/{listed[0]['key_id']}")).status,
    ] == [403, 404]
    assert len((await office("GET", f"{KEYS}?user_id={ann.user['id']}")).json()["data"]) == 3
    assert {key["user_id"] for key in (await office("GET", "/admin/v1/keys")).json()["data"]} == {None, ann.user["id"]}
    assert (await ben("GET", "/admin/v1/keys", x_client_id="ours")).json()["data"] == []

    assert [(await by("DELETE", f"{KEYS}/{key['key_id']}")).status for by, key in zip((ann, office), listed, strict=False)] == [204, 204]
    assert [(await office.call("GET", "/team/v1/me", **key)).status for key in keys] == [200, 401, 401]
    assert [(await ann("DELETE", f"{KEYS}/{key_id}")).status for key_id in ("0" * 12, "x")] == [404, 404]
    service = next(key for key in (await office("GET", "/admin/v1/keys")).json()["data"] if key["user_id"] is None)
    assert (await office("DELETE", f"{KEYS}/{service['key_id']}")).status == 404


async def test_key__makes_none_that_may_do_more_or_lasts_longer(office: Office) -> None:
    ann = await office.join("ann@example.com", role="admin")
    end = to_text(office.call.clock.now + 60_000_000)
    key = await key_of(ann, READ, client_id="ours", expires_time=end)

    async def create_key(**body: Any) -> Any:
        reply = await office.call("POST", KEYS, {"name": "another", "expires_time": end, **body}, **key)
        return reply.json() if reply.status == 201 else [error["pointer"] for error in reply.problem["errors"]]

    assert await create_key(scopes=[WRITE]) == ["/scopes"]
    assert await create_key(scopes=[ADMIN]) == ["/scopes"]
    assert await create_key(client_id="yours") == ["/client_id"]
    assert await create_key(expires_time=None) == ["/expires_time"]
    assert (await create_key())["client_id"] == "ours"


async def test_new_key__names_its_faults(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="viewer"))
    bad: list[tuple[dict[str, Any], str]] = [
        ({"name": " "}, "/name"), ({"scopes": [WRITE]}, "/scopes"), ({"scopes": []}, "/scopes"), ({"client_id": "theirs"}, "/client_id"),
        ({"client_id": "nobody"}, "/client_id"), ({"expires_time": "2020-01-01T00:00:00Z"}, "/expires_time"),
    ]  # fmt: skip

    for body, pointer in bad:
        reply = await ann("POST", KEYS, {"name": "x", **body})
        assert (reply.status, [error["pointer"] for error in reply.problem["errors"]]) == (422, [pointer])
    by_service = await office("POST", KEYS, {"name": "x"})
    assert (by_service.status, by_service.problem["detail"][:23]) == (403, "a service's key calls, ")
    assert (await office("GET", KEYS)).status == 422


async def test_key__tells_who_calls_and_signs_nobody_in_to_the_console(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="admin", yours="viewer"))
    key = await key_of(ann, READ)
    text = key["authorization"].partition(" ")[2]

    me = (await office.call("GET", "/team/v1/me", **key)).json()
    signed_in = await Browser(office.call)("POST", "/console/session", {"key": text})
    shown = (await office.call("GET", "/console/session?client=theirs", **key)).json()

    assert (me["type"], me["user"]["id"], me["key_name"], me["scopes"]) == ("user", ann.user["id"], "laptop", [READ])
    assert [(client["client_id"], client["role"]) for client in me["clients"]] == [("ours", "viewer"), ("yours", "viewer")]
    assert (signed_in.status, shown["client"], shown["scopes"]) == (403, None, [READ])


async def test_administrator__cannot_take_over_a_persons_key(office: Office) -> None:
    ann = await office.join("ann@example.com", role="operator")
    await key_of(ann)
    key_id = (await ann("GET", KEYS)).json()["data"][0]["key_id"]

    assert (await office("POST", f"/admin/v1/keys/{key_id}/rotate", {})).status == 409
    assert (await office("DELETE", f"/admin/v1/keys/{key_id}")).status == 204


async def test_key__is_an_agents_key_with_the_rights_of_its_person(office: Office) -> None:
    ann = await office.join("ann@example.com", grants=grants(ours="viewer"))
    await office.join("ben@example.com", role="admin")
    key = await key_of(ann, READ)
    await office("POST", CONTACTS, {"email": "jane@example.com"}, x_client_id="ours")

    async def tool(name: str, **arguments: Any) -> Any:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
        return await office.call("POST", "/mcp", call, **key, accept="application/json, text/event-stream")

    result = await tool("find")
    assert (result.status, b"jane@example.com" in result.body) == (200, True), result.body
    await office("PATCH", f"{USERS}/{ann.user['id']}", {"state": "suspended"})
    assert (await tool("find")).status == 401
