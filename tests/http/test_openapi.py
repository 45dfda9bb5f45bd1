"""The description of the interface: its examples are true, and the page that shows it needs no other host."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
from tests.asgi_client import ApiClient

from touchbase.adapters.registry import load_adapters
from touchbase.http.docs_page import FILES
from touchbase.routes import description

ADAPTERS = load_adapters()


async def test_get_openapi__returns_the_generated_description(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.get("/openapi.json")

    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == description("1", keys_needed=False)


async def test_openapi__lists_exactly_the_methods_of_each_path(sqlite_call: ApiClient) -> None:
    paths = (await sqlite_call.get("/openapi.json")).json()["paths"]

    for path, item in paths.items():
        methods = {name.upper() for name in item if name != "parameters"}
        reply = await sqlite_call("BREW", re.sub(r"\{\w+\}", "1", path))
        assert methods == set(reply.headers["allow"].split(", ")) - {"HEAD"}


async def test_openapi__examples_are_accepted_and_match_responses(sqlite_call: ApiClient) -> None:
    connecting = ApiClient(replace(sqlite_call.parts, senders=ADAPTERS, read=ADAPTERS.translate), sqlite_call.clock)
    schemas = (await sqlite_call.get("/openapi.json")).json()["components"]["schemas"]

    def example(name: str) -> Any:
        return schemas[name]["examples"][0]

    company = await sqlite_call.post("/public/v2/companies", example("CompanyRequest"))
    contact = await sqlite_call.post("/public/v2/contacts", example("ContactRequest"))
    path = "/admin/v1/clients/default/connections"
    replies = [
        company,
        contact,
        await connecting.post(path, example("ConnectionRequest")),
        await connecting.patch(f"{path}/crm/hubspot", example("ConnectionChange")),
        await sqlite_call.post("/admin/v1/clients", example("NewClient")),
        await sqlite_call.post("/admin/v1/keys", example("KeyRequest")),
        await connecting.post("/admin/v1/deliveries/replay", example("ReplayRequest")),
        await sqlite_call.patch("/public/v2/companies/1", example("CompanyChange")),
        await sqlite_call.patch("/public/v2/contacts/1", example("ContactChange")),
        await sqlite_call("PUT", "/admin/v1/clients/default", example("ClientRequest")),
    ]

    assert [reply.status for reply in replies] == [201, 201, 201, 200, 201, 201, 200, 200, 200, 200]
    for created, kind in ((company, "CompanyResponse"), (contact, "ContactResponse")):
        assert set(created.json()) <= set(example(kind))
        assert {name: type(value) for name, value in created.json().items() if value is not None}.items() <= {
            name: type(value) for name, value in example(kind).items()
        }.items()


async def test_openapi__problem_examples_match_the_error_responses(sqlite_call: ApiClient) -> None:
    responses = description("1", keys_needed=True)["components"]["responses"]
    shown = {
        name.removeprefix("Problem"): response["content"]["application/problem+json"]["example"] for name, response in responses.items()
    }
    jane, contacts = {"email": "jane@example.com"}, "/public/v2/contacts"
    await sqlite_call.post(contacts, jane)

    refused = [
        await sqlite_call("POST", contacts, raw=b'{"email":}', content_type="application/json"),
        await sqlite_call.get(f"{contacts}/1042"),
        await sqlite_call.post(contacts, jane),
        await sqlite_call.patch(f"{contacts}/1", jane, if_match='"1"'),
        await sqlite_call("POST", contacts, raw=b'"' + b"x" * 1_048_576 + b'"', content_type="application/json"),
        await sqlite_call("POST", contacts, raw=b"{}", content_type="text/plain"),
        await sqlite_call.post(contacts, {"email": "jane"}),
    ]

    answered = {str(reply.status): {**reply.json(), "request_id": shown["400"]["request_id"]} for reply in refused}
    assert answered == {status: shown[status] for status in answered}
    assert len(answered) == len(refused)
    assert {status: str(example["status"]) for status, example in shown.items()} == {status: status for status in shown}


async def test_get_docs__loads_all_its_files_from_this_server(sqlite_call: ApiClient) -> None:
    page = await sqlite_call.get("/docs")

    wanted = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for address in wanted:
        if address != "data:,":
            assert (await sqlite_call.get(f"/{address}")).status == 200, address


async def test_get_docs__runs_under_a_content_security_policy_without_unsafe(sqlite_call: ApiClient) -> None:
    page = await sqlite_call.get("/docs")

    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    # Whatever is inline would not run under this policy.
    assert re.findall(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page.body.decode()) == []


@pytest.mark.parametrize("name", FILES)
async def test_get_docs_file__has_a_content_type_with_a_charset(sqlite_call: ApiClient, name: str) -> None:
    reply = await sqlite_call.get(f"/docs/{name}")

    assert reply.status == 200
    assert reply.headers["content-type"].endswith("; charset=utf-8")
    assert len(reply.body) > 100
