"""Clients and their settings."""

from __future__ import annotations

from typing import Any
from unittest.mock import ANY

import pytest
from tests.asgi_client import ApiClient

from touchbase.clients.models import KEEP_BODIES_DAYS, ClientSettings
from touchbase.clients.sql.clients import set_client_settings
from touchbase.sql.statement import Execute

NOW = "2026-11-20T09:30:00Z"
NEW = {"handle": ANY, "name": "", "state": "active", "created_time": NOW, "deletion": None, "made_by": "administrator", "stored_bytes": 0}
OPEN = {
    "on_duplicate": "error",
    "contact_statuses": None,
    "company_statuses": None,
    "contact_fields": {},
    "company_fields": {},
    "create_unknown": True,
    "linkedin_reply_counts": True,
    "limits": None,
    "keep_bodies_days": KEEP_BODIES_DAYS,
    "keep_deleted_days": 30,
    "erase_on_crm_request": False,
    "max_stored_bytes": None,
    "link_companies_by_email": "off",
    "require_verification": {"email_campaign": False, "crm": False},
    "suppress_on": {"unsubscribed": True, "complained": True, "hard_bounced": True},
    "store_message_bodies": True,
    "operators_export": True,
}
DECIDED = {
    "on_duplicate": "update",
    "contact_statuses": {"statuses": ["new", "customer"], "transitions": {"customer": [], "new": ["customer"]}, "opt_outs": []},
    "company_statuses": {"statuses": ["target"], "transitions": {}, "opt_outs": []},
    "contact_fields": {"Tier": {"type": "select", "options": ["gold", "silver"]}, "a/b": {"type": "text", "options": []}},
    "company_fields": {"Seats": {"type": "number", "options": []}},
    "create_unknown": False,
    "linkedin_reply_counts": False,
    "limits": {"requests": 100, "rows": None, "bytes": 0, "webhooks": None, "webhook_bytes": 1000},
    "keep_bodies_days": None,
    "keep_deleted_days": 7,
    "erase_on_crm_request": True,
    "max_stored_bytes": 1_000_000_000,
    "link_companies_by_email": "create",
    "require_verification": {"email_campaign": True, "crm": False},
    "suppress_on": {"unsubscribed": False, "complained": True, "hard_bounced": False},
    "store_message_bodies": False,
    "operators_export": False,
}


async def test_client__is_created_on_first_use_with_default_settings(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id="ours")

    reply = await call.get("/admin/v1/clients/ours")

    assert reply.status == 200
    assert reply.json() == {"client_id": "ours", **NEW, "made_by": "call", "settings": OPEN, "former_ids": []}


async def test_put_client__returns_the_given_settings(call: ApiClient) -> None:
    put = await call("PUT", "/admin/v1/clients/ours", {"settings": DECIDED})
    again = await call("PUT", "/admin/v1/clients/ours", put.json())
    read = await call.get("/admin/v1/clients/ours")

    assert (put.status, again.status) == (201, 200)
    assert put.json() == {"client_id": "ours", **NEW, "settings": DECIDED, "former_ids": []}
    assert again.json() == read.json() == put.json()


async def test_put_client__resets_omitted_settings_to_the_default(call: ApiClient) -> None:
    await call("PUT", "/admin/v1/clients/ours", {"settings": DECIDED})

    reply = await call("PUT", "/admin/v1/clients/ours", {"settings": {"create_unknown": False}})

    assert reply.json()["settings"] == {**OPEN, "create_unknown": False}


async def test_put_client__applies_from_the_next_request(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"contact_status": "lead"})

    await call.settings(contact_statuses={"statuses": ["new"]})

    assert (await call.post("/public/v2/contacts", {"contact_status": "lead"})).status == 422


async def test_put_client__applies_in_other_processes_within_seconds(call: ApiClient) -> None:
    second = type(call)(call.parts, call.clock)
    await call.post("/public/v2/contacts", {"contact_status": "lead"})
    await second.settings(contact_statuses={"statuses": ["new"]})

    call.clock.move(2)

    assert (await call.post("/public/v2/contacts", {"contact_status": "lead"})).status == 422


async def test_list_clients__returns_pages_in_order_of_id(call: ApiClient) -> None:
    for name in "cab":
        await call.settings(name)

    first = (await call.get("/admin/v1/clients?limit=2")).json()
    second = (await call.get(f"/admin/v1/clients?limit=2&cursor={first['next_cursor']}")).json()

    assert [client["client_id"] for client in first["data"]] == ["a", "b"]
    assert second == {"data": [{"client_id": "c", **NEW, "settings": OPEN}], "next_cursor": None}


@pytest.mark.parametrize("name", ["nobody", "a b", "x" * 101])
async def test_get_client__returns_404_for_an_unknown_id(sqlite_call: ApiClient, name: str) -> None:
    assert (await sqlite_call.get(f"/admin/v1/clients/{name}")).status == 404


async def test_put_client__refuses_an_invalid_id_with_404(sqlite_call: ApiClient) -> None:
    refused = await sqlite_call("PUT", "/admin/v1/clients/a b", {"settings": {}})

    assert refused.status == 404
    assert refused.problem["detail"] == "there can be no client 'a b': an id is 1 to 100 letters, digits and . _ ~ -"


@pytest.mark.parametrize(
    ("settings", "pointer"),
    [
        ({"on_duplicate": "merge"}, "/settings/on_duplicate"),
        ({"on_duplicate": None}, "/settings/on_duplicate"),
        ({"on_dupliacte": "error"}, "/settings/on_dupliacte"),
        ({"create_unknown": "no"}, "/settings/create_unknown"),
        ({"contact_statuses": {}}, "/settings/contact_statuses/statuses"),
        ({"contact_statuses": {"statuses": []}}, "/settings/contact_statuses/statuses"),
        ({"contact_statuses": {"statuses": ["a", "a"]}}, "/settings/contact_statuses/statuses/1"),
        ({"contact_statuses": {"statuses": ["a", " "]}}, "/settings/contact_statuses/statuses/1"),
        ({"contact_statuses": {"statuses": ["a", ""]}}, "/settings/contact_statuses/statuses/1"),
        ({"contact_statuses": {"statuses": ["a\x00"]}}, "/settings/contact_statuses/statuses/0"),
        ({"contact_statuses": {"statuses": ["a"], "transitions": {"a": ["b"]}}}, "/settings/contact_statuses/transitions"),
        ({"company_statuses": {"statuses": ["a"], "transitions": {"b": []}}}, "/settings/company_statuses/transitions"),
        ({"company_statuses": {"statuses": ["a"], "transitions": []}}, "/settings/company_statuses/transitions"),
        ({"contact_fields": {"x": {"type": "colour"}}}, "/settings/contact_fields/x/type"),
        ({"contact_fields": {"x": {}}}, "/settings/contact_fields/x/type"),
        ({"contact_fields": {"x": {"type": "select"}}}, "/settings/contact_fields/x/options"),
        ({"contact_fields": {"x": {"type": "select", "options": ["gold", " gold"]}}}, "/settings/contact_fields/x/options/1"),
        ({"contact_fields": {"x": {"type": "select", "options": ["gold", "gold"]}}}, "/settings/contact_fields/x/options/1"),
        ({"company_fields": {"a~b": {"type": "select", "options": [" "]}}}, "/settings/company_fields/a~0b/options/0"),
        ({"contact_fields": {"a/b": {"type": "text", "options": ["a"]}}}, "/settings/contact_fields/a~1b/options"),
        ({"company_fields": {" ": {"type": "text"}}}, "/settings/company_fields"),
        ({"company_fields": {"": {"type": "text"}}}, "/settings/company_fields/"),
        ({"company_fields": {f"f{n}": {"type": "text"} for n in range(501)}}, "/settings/company_fields"),
        ([], "/settings"),
    ],
)
async def test_put_client__refuses_invalid_settings_and_names_the_field(sqlite_call: ApiClient, settings: Any, pointer: str) -> None:
    reply = await sqlite_call("PUT", "/admin/v1/clients/ours", {"settings": settings})

    assert reply.status == 422
    assert pointer in [fault["pointer"] for fault in reply.problem["errors"]]
    assert (await sqlite_call.get("/admin/v1/clients/ours")).status == 404


async def test_statuses__refuses_an_empty_list(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call("PUT", "/admin/v1/clients/ours", {"settings": {"contact_statuses": {"statuses": []}}})

    assert reply.problem["detail"] == "/settings/contact_statuses/statuses must not be empty"


async def test_put_client__requires_settings(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call("PUT", "/admin/v1/clients/ours", {})

    assert reply.problem["errors"] == [{"pointer": "/settings", "code": "required", "detail": "is required"}]


async def test_transitions__over_the_limit_are_one_fault(sqlite_call: ApiClient) -> None:
    statuses = {"statuses": ["a"], "transitions": {str(number): [] for number in range(201)}}

    reply = await sqlite_call("PUT", "/admin/v1/clients/ours", {"settings": {"contact_statuses": statuses}})

    fault = {
        "pointer": "/settings/contact_statuses/transitions",
        "code": "too_long",
        "detail": "must have at most 200 entries, and has 201",
    }
    assert (reply.status, reply.problem["errors"]) == (422, [fault])


async def test_unknown_setting__is_refused_with_the_list_of_settings(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call("PUT", "/admin/v1/clients/acme", {"settings": {"on_duplicat": "return"}})

    assert [fault["pointer"] for fault in reply.problem["errors"]] == ["/settings/on_duplicat"]
    assert reply.problem["errors"][0]["detail"].startswith("is no field of this object; its fields are on_duplicate, ")


async def test_unknown_fields__are_reported_up_to_a_limit(call: ApiClient) -> None:
    reply = await call.post("/admin/v1/clients", {f"k{n}": 1 for n in range(5_000)})

    assert [error["pointer"] for error in reply.problem["errors"]] == [f"/k{n}" for n in range(50)]


def test_id_that_changes_before_the_lock__leads_to_the_same_client() -> None:
    def row(client_id: str) -> tuple[Any, ...]:
        return (7, client_id, 1, "{}", "", "active", 1, 0, 0, "administrator", "abcdefgh", False, 0)

    plan = set_client_settings.plan("first", ClientSettings(keep_deleted_days=3), keep_limits=False)
    next(plan)
    plan.send([row("first")])
    stored = plan.send([row("second")])
    read = plan.send([])

    assert isinstance(stored, Execute)
    assert isinstance(read, Execute)
    assert [step.rows[0][0] for step in (stored, read)] == ["second", "second"]
    with pytest.raises(StopIteration) as end:
        plan.send([row("second")])
    assert end.value.value.client_id == "second"
