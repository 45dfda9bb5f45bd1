"""Interface 4.2, 2.3 and 2.4: creating a company, and reading it again."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient

NOW = "2026-11-20T09:30:00Z"
EMPTY = {
    "id": 1,
    "updated_time": NOW,
    "domain": "example.com",
    "previous_status": None,
    "status_changed_at": None,
    "company_custom_fields": [],
}


async def test_post_company__returns_every_field(call: ApiClient) -> None:
    body = {
        "domain": "example.com",
        "name": "Example Ltd",
        "company_status": "target",
        "company_custom_fields": [{"field_name": "Seats", "field_value": "40"}],
    }

    reply = await call.post("/public/v2/companies", body)

    assert reply.status == 201
    assert reply.headers["location"] == "/public/v2/companies/1"
    fields = [{"id": 1, "updated_time": NOW, "field_name": "Seats", "field_value": "40"}]
    assert reply.json() == {**EMPTY, "name": "Example Ltd", "company_status": "target", "company_custom_fields": fields}
    assert (await call.get("/public/v2/companies/1")).json() == reply.json()


async def test_post_company__requires_only_the_domain(call: ApiClient) -> None:
    reply = await call.post("/public/v2/companies", {"domain": "https://www.Example.com:8443/about?x=1"})

    assert reply.status == 201
    assert reply.json() == EMPTY


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        ({}, "is required"),
        ({"domain": None}, "must be a text, not null"),
        ({"domain": ""}, "must not be blank"),
        ({"domain": "  "}, "must not be blank: a company is identified by its domain, such as example.com"),
        ({"domain": 5}, "must be a text, not an integer"),
        ({"domain": "acme"}, "is not a domain name: 'acme' should look like example.com"),
        ({"domain": "192.0.2.1"}, "is not a domain name: '192.0.2.1' should look like example.com"),
        ({"domain": "a" * 2001}, "must have at most 2000 characters, and has 2001"),
    ],
)
async def test_post_company__refuses_a_missing_or_invalid_domain(sqlite_call: ApiClient, body: dict[str, object], detail: str) -> None:
    reply = await sqlite_call.post("/public/v2/companies", body)

    assert reply.status == 422
    assert [(fault["pointer"], fault["detail"]) for fault in reply.problem["errors"]] == [("/domain", detail)]


@pytest.mark.parametrize("member", ["company_custom_fields", "company_custom_fields_input"])
async def test_post_company__names_the_custom_fields_as_the_request_does(sqlite_call: ApiClient, member: str) -> None:
    body = {"domain": "example.com", member: [{"field_name": " ", "field_value": "40"}]}

    reply = await sqlite_call.post("/public/v2/companies", body)

    assert [fault["pointer"] for fault in reply.problem["errors"]] == [f"/{member}/0/field_name"]


async def test_get_company__returns_404_for_an_unknown_id(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"}, x_client_id="theirs")

    assert (await call.get("/public/v2/companies/1")).status == 404
    assert (await call.get("/public/v2/companies/one")).status == 404
