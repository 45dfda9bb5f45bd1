"""Interface 2.5: custom fields, NESTED and FLAT."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient

NOW = "2026-11-20T09:30:00Z"


def fields(**named: str) -> list[dict[str, str]]:
    return [{"field_name": name, "field_value": value} for name, value in named.items()]


async def test_structure_flat__returns_custom_fields_by_name_on_every_route(call: ApiClient) -> None:
    body = {"contact_custom_fields_input": fields(Seats="40", Team="")}
    wanted = {"Seats": "40", "Team": ""}

    created = await call.post("/public/v2/contacts?structure=FLAT", body)
    read = await call.get("/public/v2/contacts/1?structure=FLAT")
    listed = await call.get("/public/v2/contacts?structure=FLAT")
    changed = await call.patch("/public/v2/contacts/1?structure=FLAT", {})

    assert created.json()["contact_custom_fields"] == wanted
    assert read.json()["contact_custom_fields"] == wanted
    assert listed.json()["data"][0]["contact_custom_fields"] == wanted
    assert changed.json()["contact_custom_fields"] == wanted


async def test_structure_flat__returns_an_empty_object_without_custom_fields(call: ApiClient) -> None:
    reply = await call.post("/public/v2/companies?structure=FLAT", {"domain": "example.com"})

    assert reply.json()["company_custom_fields"] == {}


async def test_structure_nested__is_the_default(call: ApiClient) -> None:
    body = {"domain": "example.com", "company_custom_fields": fields(Seats="40")}

    response = await call.post("/public/v2/companies?structure=NESTED", body)
    read = await call.get("/public/v2/companies/1")

    assert response.json()["company_custom_fields"] == [{"id": 1, "updated_time": NOW, "field_name": "Seats", "field_value": "40"}]
    assert read.json() == response.json()


@pytest.mark.parametrize("query", ["structure=flat", "structure=", "structure=FLAT&structure=FLAT", "structure=%00", "structure=%ff"])
async def test_structure__refuses_another_value(sqlite_call: ApiClient, query: str) -> None:
    for reply in (await sqlite_call.post(f"/public/v2/contacts?{query}", {}), await sqlite_call.get(f"/public/v2/contacts?{query}")):
        assert reply.status == 422
        assert reply.problem["errors"][0]["pointer"].startswith("?")


async def test_post_contact__refuses_a_repeated_custom_field(sqlite_call: ApiClient) -> None:
    body = {"contact_custom_fields_input": [*fields(Seats="40"), {"field_name": " Seats ", "field_value": "41"}]}

    reply = await sqlite_call.post("/public/v2/contacts", body)

    assert reply.status == 422
    assert reply.problem["errors"] == [
        {
            "pointer": "/contact_custom_fields_input/1/field_name",
            "code": "repeated",
            "detail": "'Seats' is given twice; send each custom field once",
        }
    ]


async def test_post_contact__refuses_more_custom_fields_than_the_limit(sqlite_call: ApiClient) -> None:
    body = {"contact_custom_fields_input": [{"field_name": f"f{n}", "field_value": "x"} for n in range(501)]}

    reply = await sqlite_call.post("/public/v2/contacts", body)

    assert reply.status == 422
    assert reply.problem["detail"] == "/contact_custom_fields_input must have at most 500 items, and has 501"


async def test_post_contact__accepts_as_many_custom_fields_as_the_limit(sqlite_call: ApiClient) -> None:
    body = {"contact_custom_fields_input": [{"field_name": f"f{n}", "field_value": "x" * 50} for n in range(500)]}

    reply = await sqlite_call.post("/public/v2/contacts?structure=FLAT", body)

    assert reply.status == 201
    assert len(reply.json()["contact_custom_fields"]) == 500


async def test_declared_fields__are_checked_and_typed_in_flat(call: ApiClient) -> None:
    await call.settings(
        contact_fields={
            "seats": {"type": "number"},
            "rate": {"type": "number"},
            "vip": {"type": "boolean"},
            "since": {"type": "date"},
            "tier": {"type": "select", "options": ["gold", "silver"]},
            "note": {"type": "text"},
            "left": {"type": "number"},
        }
    )
    body = fields(seats="40", rate="-2.50", vip="TRUE", since="2026-11-20", tier="gold", note="12", left="", free="12")

    flat = await call.post("/public/v2/contacts?structure=FLAT", {"contact_custom_fields_input": body})
    nested = await call.get("/public/v2/contacts/1")

    wanted = {"seats": 40, "rate": -2.5, "vip": True, "since": "2026-11-20", "tier": "gold", "note": "12", "left": None, "free": "12"}
    assert flat.json()["contact_custom_fields"] == wanted
    assert {custom_field["field_name"]: custom_field["field_value"] for custom_field in nested.json()["contact_custom_fields"]} == {
        field["field_name"]: field["field_value"] for field in body
    }


async def test_declared_fields__refuse_values_of_another_type(call: ApiClient) -> None:
    await call.settings(
        company_fields={
            "seats": {"type": "number"},
            "vip": {"type": "boolean"},
            "since": {"type": "date"},
            "tier": {"type": "select", "options": ["gold", "silver"]},
        }
    )
    body = {"domain": "example.com", "company_custom_fields": fields(seats="many", vip="yes", since="20.11.2026", tier="bronze")}

    reply = await call.post("/public/v2/companies", body)

    assert reply.status == 422
    assert [(fault["pointer"], fault["code"], fault["detail"]) for fault in reply.problem["errors"]] == [
        ("/company_custom_fields/0/field_value", "number", "'many' is not a number, such as 12 or -3.5"),
        ("/company_custom_fields/1/field_value", "boolean", "'yes' is not true or false"),
        ("/company_custom_fields/2/field_value", "date", "'20.11.2026' is not a date, such as 2026-11-20"),
        ("/company_custom_fields/3/field_value", "select", "'bronze' is not one of gold, silver"),
    ]


async def test_structure_flat__returns_a_value_older_than_its_declaration_as_text(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"contact_custom_fields_input": fields(seats="many")})
    await call.settings(contact_fields={"seats": {"type": "number"}})

    reply = await call.get("/public/v2/contacts/1?structure=FLAT")

    assert reply.json()["contact_custom_fields"] == {"seats": "many"}


async def test_etag__of_flat_differs_after_a_type_declaration(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"contact_custom_fields_input": [{"field_name": "seats", "field_value": "12"}]})
    flat, nested = "/public/v2/contacts/1?structure=FLAT", "/public/v2/contacts/1"
    before = [(await call.get(path)).headers["etag"] for path in (flat, nested)]

    await call.settings(contact_fields={"seats": {"type": "number"}})

    after = [(await call.get(path)) for path in (flat, nested)]
    assert after[0].json()["contact_custom_fields"] == {"seats": 12}
    assert after[0].headers["etag"] != before[0]
    assert after[1].headers["etag"] == before[1]
    changed = await call.patch(nested, {"first_name": "Ann"}, if_match=after[0].headers["etag"])
    assert changed.status == 200


SEATS = [{"field_name": "Seats", "field_value": "40"}]


def values_of(body: dict[str, Any]) -> dict[str, str]:
    return {custom_field["field_name"]: custom_field["field_value"] for custom_field in body["contact_custom_fields"]}


@pytest.mark.parametrize("names", [["contact_custom_fields"], ["contact_custom_fields", "contact_custom_fields_input"]])
async def test_contact_custom_fields__are_accepted_under_both_names(call: ApiClient, names: list[str]) -> None:
    response = await call.post("/public/v2/contacts", {"email": "a@example.com", **dict.fromkeys(names, SEATS)})
    change = [{"field_name": "Seats", "field_value": "50"}, {"field_name": "Team", "field_value": "Sales"}]
    changed = await call.patch("/public/v2/contacts/1", dict.fromkeys(names, change))
    merged = await call.post(
        "/public/v2/contacts?on_duplicate=update",
        {"email": "a@example.com", **{name: [{"field_name": "Seats", "field_value": "60"}] for name in names}},
    )
    cleared = await call.patch("/public/v2/contacts/1", dict.fromkeys(names))

    assert (response.status, values_of(response.json())) == (201, {"Seats": "40"})
    assert values_of(changed.json()) == {"Seats": "50", "Team": "Sales"}
    assert values_of(merged.json()) == {"Seats": "60", "Team": "Sales"}
    assert values_of(cleared.json()) == {}


@pytest.mark.parametrize("second", [[], [{"field_name": "Seats", "field_value": "41"}]])
async def test_contact_custom_fields__refuse_different_values_under_both_names(call: ApiClient, second: list[Any]) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"})
    body = {"contact_custom_fields": SEATS, "contact_custom_fields_input": second}

    for reply in (await call.post("/public/v2/contacts", body), await call.patch("/public/v2/contacts/1", body)):
        assert reply.status == 422
        assert [error["pointer"] for error in reply.problem["errors"]] == ["/contact_custom_fields_input", "/contact_custom_fields"]
        assert "send one of the two" in reply.problem["errors"][0]["detail"]


async def test_contact_custom_fields__report_errors_under_the_name_that_was_sent(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"})
    body = {"contact_custom_fields": [{"field_name": " ", "field_value": "x"}]}

    for reply in (await call.post("/public/v2/contacts", body), await call.patch("/public/v2/contacts/1", body)):
        assert [error["pointer"] for error in reply.problem["errors"]] == ["/contact_custom_fields/0/field_name"]
