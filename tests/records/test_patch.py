"""PATCH: a JSON merge patch over the request's fields, statuses, and writes that insist on a state."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient, scope_of

JANE = {
    "email": "jane@example.com",
    "linkedin_url": "linkedin.com/in/jane-doe",
    "first_name": "Jane",
    "last_name": "Doe",
    "origin": "import",
    "contact_status": "new",
    "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "40"}, {"field_name": "Team", "field_value": "Sales"}],
}


async def created(call: ApiClient, **more: object) -> Any:
    reply = await call.post("/public/v2/contacts", {**JANE, **more})
    assert reply.status == 201
    return reply.json()


def custom(body: Any) -> dict[str, str]:
    return {custom_field["field_name"]: custom_field["field_value"] for custom_field in body["contact_custom_fields"]}


async def test_patch_contact__leaves_absent_fields_unchanged(call: ApiClient) -> None:
    before = await created(call)
    later = call.clock.move(5)

    reply = await call.patch("/public/v2/contacts/1", {"first_name": " Janet "})

    assert reply.status == 200
    assert reply.json() == {**before, "first_name": "Janet", "updated_time": later}
    assert (await call.get("/public/v2/contacts/1")).json() == reply.json()


@pytest.mark.parametrize("nothing", [None, "", "  "])
async def test_patch_contact__unsets_a_field_on_null_or_blank(call: ApiClient, nothing: object) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"})
    before = await created(call, company_id=1)
    body = dict.fromkeys(["email", "linkedin_url", "first_name", "last_name", "origin", "contact_status"], nothing)

    reply = await call.patch("/public/v2/contacts/1", {**body, "company_id": None})

    after = reply.json()
    assert reply.status == 200
    assert (after["first_name"], after["last_name"], after["origin"]) == ("", "", "")
    assert {"email", "linkedin_url", "company_id", "contact_status"}.isdisjoint(after)
    assert (after["previous_status"], after["contact_custom_fields"]) == ("new", before["contact_custom_fields"])


async def test_patch_contact__frees_an_email_and_linkedin_url_that_it_unsets(call: ApiClient) -> None:
    await created(call)

    await call.patch("/public/v2/contacts/1", {"email": None, "linkedin_url": None})

    assert (await created(call))["id"] == 2


async def test_patch_contact__matches_a_changed_email_and_linkedin_url_in_normal_form(call: ApiClient) -> None:
    await created(call)
    await call.patch("/public/v2/contacts/1", {"email": "Janet@Example.com", "linkedin_url": "https://de.linkedin.com/in/Janet/"})

    for again in ({"email": "janet@example.com"}, {"linkedin_url": "linkedin.com/in/janet"}):
        assert (await call.post("/public/v2/contacts", again)).status == 409


async def test_patch_contact__returns_409_for_an_email_of_another_record(call: ApiClient) -> None:
    await created(call)
    await call.post("/public/v2/contacts", {"email": "other@example.com"})

    reply = await call.patch("/public/v2/contacts/2", {"email": "JANE@example.com"})

    assert reply.status == 409
    assert reply.problem["existing_id"] == 1


async def test_patch_contact__merges_custom_fields_by_name(call: ApiClient) -> None:
    before = await created(call)
    changes = [{"field_name": "Seats", "field_value": "50"}, {"field_name": "New", "field_value": "x"}]

    reply = await call.patch("/public/v2/contacts/1", {"contact_custom_fields_input": changes})

    assert custom(reply.json()) == {"Seats": "50", "Team": "Sales", "New": "x"}
    assert reply.json()["contact_custom_fields"][0]["id"] == before["contact_custom_fields"][0]["id"]


async def test_patch_contact__removes_one_custom_field_on_a_null_value(call: ApiClient) -> None:
    await created(call)

    reply = await call.patch("/public/v2/contacts/1", {"contact_custom_fields_input": [{"field_name": "Seats", "field_value": None}]})

    assert custom(reply.json()) == {"Team": "Sales"}
    assert custom((await call.get("/public/v2/contacts/1")).json()) == {"Team": "Sales"}


async def test_patch_contact__removes_all_custom_fields_on_a_null_list(call: ApiClient) -> None:
    await created(call)

    reply = await call.patch("/public/v2/contacts/1", {"contact_custom_fields_input": None})

    assert custom(reply.json()) == {}


async def test_patch_contact__changes_nothing_for_an_empty_patch_or_list(call: ApiClient) -> None:
    before = await created(call)
    call.clock.move(5)

    for body in ({}, {"contact_custom_fields_input": []}, {"nonsense": 1, "id": 9}):
        assert (await call.patch("/public/v2/contacts/1", body)).json() == before


async def test_patch_contact__sets_previous_status_and_its_time_on_a_status_change(call: ApiClient) -> None:
    before = await created(call)
    later = call.clock.move(5)

    reply = await call.patch("/public/v2/contacts/1", {"contact_status": "customer"})

    changed = {"contact_status": "customer", "previous_status": "new", "status_changed_at": later, "updated_time": later}
    assert reply.json() == {**before, **changed}


async def test_patch_contact__changes_nothing_for_the_same_status(call: ApiClient) -> None:
    before = await created(call)
    call.clock.move(5)

    reply = await call.patch("/public/v2/contacts/1", {"contact_status": "new"})

    assert reply.json() == before


async def test_patch_company__changes_fields_and_requires_a_valid_domain(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com", "name": "Example", "company_status": "target"})
    later = call.clock.move(5)

    changed = await call.patch(
        "/public/v2/companies/1", {"domain": "https://new.example/", "name": None, "company_status": "won", "company_custom_fields": None}
    )
    refused = [await call.patch("/public/v2/companies/1", {"domain": bad}) for bad in (None, "", " ", "nonsense")]

    assert changed.json() == {
        "id": 1,
        "updated_time": later,
        "domain": "new.example",
        "previous_status": "target",
        "status_changed_at": later,
        "company_custom_fields": [],
        "company_status": "won",
    }
    assert [reply.status for reply in refused] == [422] * 4
    assert all(reply.problem["errors"][0]["pointer"] == "/domain" for reply in refused)


async def test_status__outside_the_set_of_the_client_is_refused_with_the_list(call: ApiClient) -> None:
    await call.settings(contact_statuses={"statuses": ["new", "talking", "customer"]}, company_statuses={"statuses": ["target"]})
    await call.post("/public/v2/contacts", {"contact_status": "new"})

    replies = [
        await call.post("/public/v2/contacts", {"contact_status": "lead"}),
        await call.patch("/public/v2/contacts/1", {"contact_status": "lead"}),
        await call.post("/public/v2/companies", {"domain": "example.com", "company_status": "lead"}),
    ]

    assert [reply.status for reply in replies] == [422] * 3
    assert [reply.problem["errors"][0] for reply in replies] == [
        {"pointer": "/contact_status", "code": "status", "detail": "'lead' is not one of this client's statuses: new, talking, customer"},
        {"pointer": "/contact_status", "code": "status", "detail": "'lead' is not one of this client's statuses: new, talking, customer"},
        {"pointer": "/company_status", "code": "status", "detail": "'lead' is not one of this client's statuses: target"},
    ]


async def test_patch_contact__refuses_a_status_transition_that_the_client_forbids(call: ApiClient) -> None:
    statuses = {"statuses": ["new", "talking", "customer"], "transitions": {"new": ["talking"], "customer": []}}
    await call.settings(contact_statuses=statuses)
    await created(call)

    refused = await call.patch("/public/v2/contacts/1", {"contact_status": "customer"})
    merged = await call.post("/public/v2/contacts?on_duplicate=update", {"email": "jane@example.com", "contact_status": "customer"})
    allowed = await call.patch("/public/v2/contacts/1", {"contact_status": "talking"})

    fault = {"pointer": "/contact_status", "code": "transition_not_allowed", "detail": "from 'new' a record may go to: talking"}
    assert (refused.status, refused.problem["errors"]) == (422, [fault])
    assert (merged.status, merged.problem["errors"]) == (422, [fault])
    assert allowed.status == 200


async def test_if_match__refuses_a_change_of_an_outdated_record(call: ApiClient) -> None:
    await created(call)
    read = (await call.get("/public/v2/contacts/1")).headers["etag"]
    await call.patch("/public/v2/contacts/1", {"origin": "x"})

    late = await call.patch("/public/v2/contacts/1", {"origin": "y"}, if_match=read)

    assert late.status == 412
    assert late.problem["code"] == "precondition_failed"
    assert (await call.get("/public/v2/contacts/1")).json()["origin"] == "x"


async def test_if_match__accepts_the_current_etag_or_a_wildcard(call: ApiClient) -> None:
    await created(call)

    for target in ("/public/v2/contacts/1", "/public/v2/contacts/1?structure=FLAT"):
        read = (await call.get(target)).headers["etag"]
        assert (await call.patch(target, {"origin": target}, if_match=f'"elsewhere", {read}')).status == 200
    assert (await call.patch("/public/v2/contacts/1", {"origin": "z"}, if_match="*")).status == 200


@pytest.mark.parametrize("states", [['"elsewhere"', ""], ["", '"elsewhere"']])
async def test_if_match__combines_several_header_lines(sqlite_call: ApiClient, states: list[str]) -> None:
    await created(sqlite_call)
    read = (await sqlite_call.get("/public/v2/contacts/1")).headers["etag"]
    scope = scope_of("PATCH", "/public/v2/contacts/1", {})
    scope["headers"] = [(b"if-match", (state or read).encode()) for state in states]

    reply = await sqlite_call.send(scope, [{"type": "http.request", "body": b'{"origin": "y"}'}])

    assert (reply.status, reply.json()["origin"]) == (200, "y")


async def test_patch_contact__names_the_field_that_another_record_has(call: ApiClient) -> None:
    await created(call)
    await call.post("/public/v2/contacts", {"first_name": "Jane"})

    replies = [await call.patch("/public/v2/contacts/2", {name: JANE[name]}) for name in ("email", "linkedin_url")]

    assert [(reply.status, reply.problem["existing_id"], reply.problem["detail"]) for reply in replies] == [
        (409, 1, f"another record has this {name}: id 1; change that one, or leave this field out") for name in ("email", "linkedin_url")
    ]


@pytest.mark.parametrize("state", ['W/"1"', '"1"', "nonsense", "", '"zz"'])
async def test_if_match__refuses_an_unknown_etag(call: ApiClient, state: str) -> None:
    await created(call)

    assert (await call.patch("/public/v2/contacts/1", {"origin": "z"}, if_match=state)).status == 412


@pytest.mark.parametrize("state", ["W/{tag}", "{bare}", "", "nonsense"])
async def test_if_match__explains_the_form_of_an_etag(call: ApiClient, state: str) -> None:
    await created(call)
    tag = (await call.get("/public/v2/contacts/1")).headers["etag"]

    reply = await call.patch("/public/v2/contacts/1", {"origin": "z"}, if_match=state.format(tag=tag, bare=tag.strip('"')))

    assert reply.status == 412
    assert "send the ETag of the response, with its quotes and without W/" in reply.problem["detail"]


async def test_patch_contact__names_every_invalid_field(sqlite_call: ApiClient) -> None:
    await created(sqlite_call)
    body = {
        "email": "nonsense",
        "first_name": 5,
        "company_id": "1",
        "contact_custom_fields_input": [{"field_name": "a", "field_value": 1}, {"field_name": " ", "field_value": None}],
    }

    reply = await sqlite_call.patch("/public/v2/contacts/1", body)

    assert reply.status == 422
    assert {fault["pointer"] for fault in reply.problem["errors"]} == {
        "/email",
        "/first_name",
        "/company_id",
        "/contact_custom_fields_input/0/field_value",
        "/contact_custom_fields_input/1/field_name",
    }
