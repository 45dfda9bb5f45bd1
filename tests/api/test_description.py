"""The description of the interface: what it says of every call is true, and the page that shows it needs nobody else."""

from __future__ import annotations

import re
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.config import SchemathesisConfig
from tests.api.conftest import Caller

from touchbase.api.app import Parts, build_app
from touchbase.api.docs import FILES
from touchbase.api.openapi import description
from touchbase.domain.times import from_text
from touchbase.storage import open_store


class Opening:
    """The application on a store that it opens when it is started, in the loop that starts it."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return
        await receive()
        store = await open_store("sqlite://")
        self._app = build_app(Parts(store, lambda: from_text("2026-11-20T09:30:00Z"), version="1"))
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await store.close()
        await send({"type": "lifespan.shutdown.complete"})


OPENING = Opening()
# What no schema can say (a syntax, a record that is there already) is 4xx too; and what is too long is 413 before it is wrong.
CHECKS = {
    "positive_data_acceptance": {"expected-statuses": ["2xx", "404", "409", "412", "422"]},
    "negative_data_rejection": {"expected-statuses": ["400", "404", "413", "415", "422"]},
}
SCHEMA = schemathesis.openapi.from_dict(description("1", keys_needed=False), config=SchemathesisConfig.from_dict({"checks": CHECKS}))


@SCHEMA.parametrize()
@settings(max_examples=15, deadline=None, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
def test_every_call_answers_as_described(case: Any) -> None:
    case.call_and_validate(app=OPENING)


async def test_the_description_is_answered_as_it_is_made(here: Caller) -> None:
    reply = await here.get("/openapi.json")

    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == description("1", keys_needed=False)


async def test_every_address_of_the_description_is_there(here: Caller) -> None:
    paths = (await here.get("/openapi.json")).json()["paths"]

    for path, item in paths.items():
        methods = {name.upper() for name in item if name != "parameters"}
        reply = await here("BREW", re.sub(r"\{\w+\}", "1", path))
        assert methods == set(reply.headers["allow"].split(", ")) - {"HEAD"}


async def test_every_example_is_true(here: Caller) -> None:
    schemas = (await here.get("/openapi.json")).json()["components"]["schemas"]

    def example(name: str) -> Any:
        return schemas[name]["examples"][0]

    company = await here.post("/public/v2/companies", example("CompanyRequest"))
    contact = await here.post("/public/v2/contacts", example("ContactRequest"))
    replies = [
        company,
        contact,
        await here.patch("/public/v2/companies/1", example("CompanyChange")),
        await here.patch("/public/v2/contacts/1", example("ContactChange")),
        await here("PUT", "/admin/v1/clients/default", example("ClientRequest")),
    ]

    assert [reply.status for reply in replies] == [201, 201, 200, 200, 200]
    assert set(company.json()) <= set(example("CompanyResponse"))
    assert set(contact.json()) <= set(example("ContactResponse"))
    refused = (await here.post("/public/v2/contacts", {"email": "jane"})).json()
    assert {**example("Problem"), "request_id": refused["request_id"]} == refused


async def test_the_page_and_all_that_it_needs_come_from_here(here: Caller) -> None:
    page = await here.get("/docs")

    wanted = re.findall(r'(?:src|href)="([^"]+)"', page.body.decode())
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    for address in wanted:
        if address != "data:,":
            assert (await here.get(f"/{address}")).status == 200, address


async def test_the_page_needs_no_looser_policy_than_itself(here: Caller) -> None:
    page = await here.get("/docs")

    assert "unsafe" not in page.headers["content-security-policy"]
    assert page.headers["content-security-policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    # Whatever is inline would not run under this policy.
    assert re.findall(r"<script(?![^>]*src=)|<style|\son\w+=|\sstyle=", page.body.decode()) == []


@pytest.mark.parametrize("name", FILES)
async def test_the_pages_files_say_what_they_are(here: Caller, name: str) -> None:
    reply = await here.get(f"/docs/{name}")

    assert reply.status == 200
    assert reply.headers["content-type"].endswith("; charset=utf-8")
    assert len(reply.body) > 100
