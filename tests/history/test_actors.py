"""Who did something, as timelines, explanations, histories and jobs name it."""
# ruff: noqa: F401, F811 (fixtures)

from __future__ import annotations

import json
from typing import Any

from tests.auth.test_people import CONTACTS, USERS, Browser, Office, PersonalKey, grants, office, quick_passwords

from touchbase.auth.authentication import READ, WRITE
from touchbase.http import actors


def _actor(kind: str, actor_id: str | None, name: str, via: str) -> dict[str, Any]:
    return {"type": kind, "id": actor_id, "name": name, "via": via}


async def test_timeline_explanation_and_history__name_person_personal_key_and_service(office: Office) -> None:
    mira = await office.join("mira@example.com", grants=grants(ours="operator", yours="viewer"))
    personal = await PersonalKey.of(mira)
    service = await office.key_of("ours", READ, WRITE)
    key_id = (await office("GET", "/admin/v1/keys?client=ours")).json()["data"][0]["key_id"]
    named = {"x_client_id": "ours"}
    contact = (await mira("POST", CONTACTS, {"email": "jane@example.com", "first_name": "Jane"}, **named)).json()["id"]
    target = f"{CONTACTS}/{contact}"
    office.call.clock.move(1)
    await personal("PATCH", target, {"last_name": "Doe"}, **named)
    office.call.clock.move(1)
    await office.call("PATCH", target, {"origin": "fair"}, **service)

    moments = (await mira("GET", f"{target}/timeline", **named)).json()["data"]
    explained = {item["field"]: item["set_by"] for item in (await mira("GET", f"{target}/explain", **named)).json()["data"]}
    values = (await mira("GET", f"{target}/history", **named)).json()["data"]

    of_service = _actor("key", key_id, "test", "api")
    of_mira, by_key = (_actor("user", mira.user["id"], "Mir", via) for via in ("console", "api"))
    assert [moment["actor"] for moment in moments] == [of_service, by_key, of_mira]
    assert [explained[name]["actor"] for name in ("origin", "last_name", "first_name")] == [of_service, by_key, of_mira]
    assert {item["field"]: item["set_by"]["actor"] for item in values}["origin"] == of_service


async def test_change_by_an_agent_or_the_command_line__says_so_in_history_and_audit_log(office: Office) -> None:
    mira = await office.join("mira@example.com", role="admin")
    agent, named = await PersonalKey.of(mira), {"x_client_id": "ours"}
    contact = (await mira("POST", CONTACTS, {"email": "jane@example.com"}, **named)).json()["id"]
    office.call.clock.move(1)
    call = {
        "name": "change_status",
        "arguments": {"kind": "contacts", "id": contact, "status": "replied", "client_id": "ours", "dry_run": False},
    }
    reply = await agent("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    assert not reply.json()["result"].get("isError"), reply.body
    office.call.clock.move(1)
    await agent("PATCH", f"{CONTACTS}/{contact}", {"first_name": "Jane"}, x_request_id="cli:5f0c", **named)
    await agent("POST", "/admin/v1/keys", {"name": "n8n", "client_id": "ours", "scopes": [READ]}, x_request_id="cli:5f0d")

    moments = (await mira("GET", f"{CONTACTS}/{contact}/timeline", **named)).json()["data"]
    exported = (await mira("GET", "/team/v1/audit-events/export?format=ndjson&action=key.created&client_id=ours")).body

    by_cli, by_agent, by_console = (_actor("user", mira.user["id"], "Mir", via) for via in ("cli", "mcp", "console"))
    assert [moment["actor"] for moment in moments] == [by_cli, by_agent, by_console]
    assert [json.loads(line)["actor"] for line in exported.splitlines()] == [by_cli]


async def test_job_and_its_rows__are_of_whoever_started_it(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    export = await mira("POST", "/public/v2/contacts/exports", {}, x_client_id="ours")
    of_mira = _actor("user", mira.user["id"], "Mir", "console")

    assert (export.status, export.json()["actor"]) == (201, of_mira)
    assert (await office("GET", "/public/v2/jobs", x_client_id="ours")).json()["data"][0]["actor"] == of_mira


async def test_name__is_the_present_one_within_a_minute(office: Office) -> None:
    mira = await office.join("mira@example.com", role="operator")
    named = {"x_client_id": "ours"}
    contact = (await mira("POST", CONTACTS, {"email": "jane@example.com"}, **named)).json()["id"]
    target = f"{CONTACTS}/{contact}/timeline"

    async def name() -> str:
        return str((await office("GET", target, **named)).json()["data"][0]["actor"]["name"])

    assert await name() == "Mir"
    await mira("PATCH", f"{USERS}/{mira.user['id']}", {"name": "Mira Sandoval"})
    office.call.clock.move(actors.FRESH / 1_000_000)
    assert await name() == "Mira Sandoval"
