"""Open mode on loopback serves this machine, not the web pages that it looks at."""

from __future__ import annotations

import pytest
from tests.api.conftest import Caller, Make

from touchbase.domain.ports import Store

CONTACTS = "/public/v2/contacts"


@pytest.fixture
def local(memory: Store, caller_of: Make) -> Caller:
    """The application as it is served on loopback without keys, behind a tunnel with a name."""
    return caller_of(memory, own_hosts=frozenset({"hooks.example.com"}))


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8000",
        "127.0.0.1",
        "127.9.9.9:1",
        "localhost:8000",
        "LOCALHOST",
        "app.localhost",
        "[::1]:8000",
        "hooks.example.com",
        "hooks.example.com:443",
    ],
)  # fmt: skip
async def test_a_call_to_this_machine_is_served(local: Caller, host: str) -> None:
    for _ in range(2):  # the second time the host is known
        assert (await local.post(CONTACTS, {}, host=host)).status == 201
        assert (await local.get("/admin/v1/clients", host=host)).status == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "localhost.evil.example:8000",
        "10.0.0.1",
        "0.0.0.0",
        "",
        "[::1",
        "[::2]",
        "é",
        "evil.example@127.0.0.1.x",
    ],
)  # fmt: skip
async def test_a_name_that_somebody_else_makes_resolve_to_us_is_refused(local: Caller, host: str) -> None:
    replies = [
        await local.post(CONTACTS, {}, host=host),
        await local.get(CONTACTS, host=host),
        await local.get("/admin/v1/clients", host=host),
        await local.post("/admin/v1/keys", {"name": "x"}, host=host),
        await local.get("/admin/v1/deliveries/1", host=host),
    ]

    assert {(reply.status, reply.problem["code"]) for reply in replies} == {(403, "foreign_caller")}
    assert "--public-url" in replies[0].problem["detail"]


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1.evil.example", "file://", ""])
async def test_a_web_page_of_another_site_is_refused(local: Caller, origin: str) -> None:
    reply = await local.post(CONTACTS, {}, host="127.0.0.1:8000", origin=origin)

    assert (reply.status, reply.problem["code"]) == (403, "foreign_caller")
    assert (await local.get(CONTACTS, host="127.0.0.1")).json()["data"] == []


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://localhost:3000", "https://hooks.example.com"])
async def test_our_own_page_is_served(local: Caller, origin: str) -> None:
    assert (await local.post(CONTACTS, {}, host="127.0.0.1:8000", origin=origin)).status == 201


async def test_a_tool_reaches_its_webhook_address_by_any_name(local: Caller) -> None:
    assert (await local("POST", "/public/crm-webhook/default", raw=b"{}", host="abc.tunnel.example")).status == 200


@pytest.mark.parametrize("parts", [{"auth": "keys", "own_hosts": frozenset()}, {"own_hosts": None}])
async def test_where_keys_are_asked_for_or_something_in_front_checks_any_name_will_do(
    memory: Store, caller_of: Make, parts: dict[str, object]
) -> None:
    reply = await caller_of(memory, **parts).get(CONTACTS, host="crm.example.com", origin="https://crm.example.com")

    assert reply.status == (401 if parts.get("auth") else 200)
