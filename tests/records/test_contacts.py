"""Interface 4.1, 2.1 and 2.2: creating a contact, and reading it again."""

from __future__ import annotations

import pytest
from tests.asgi_client import ApiClient

NOW = "2026-11-20T09:30:00Z"
EMPTY = {
    "id": 1,
    "updated_time": NOW,
    "first_name": "",
    "last_name": "",
    "origin": "",
    "first_campaign_email_sent": None,
    "last_campaign_email_sent": None,
    "last_reply_received": None,
    "previous_status": None,
    "status_changed_at": None,
    "contact_custom_fields": [],
}
FULL = {
    "email": "Jane.Doe@Example.com",
    "linkedin_url": "https://www.linkedin.com/in/jane-doe/",
    "first_name": "Jane",
    "last_name": "Doe",
    "company_id": 1,
    "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "40"}, {"field_name": "Team", "field_value": "Sales"}],
    "origin": "import",
    "contact_status": "new",
}


async def test_post_contact__returns_every_field_as_given(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"})

    reply = await call.post("/public/v2/contacts", FULL)

    assert reply.status == 201
    assert reply.headers["location"] == "/public/v2/contacts/1"
    assert reply.headers["content-type"] == "application/json"
    assert reply.json() == {
        **EMPTY,
        "first_name": "Jane",
        "last_name": "Doe",
        "origin": "import",
        "email": "Jane.Doe@Example.com",
        "linkedin_url": "https://www.linkedin.com/in/jane-doe/",
        "company_id": 1,
        "contact_status": "new",
        "contact_custom_fields": [
            {"id": 1, "updated_time": NOW, "field_name": "Seats", "field_value": "40"},
            {"id": 2, "updated_time": NOW, "field_name": "Team", "field_value": "Sales"},
        ],
    }


async def test_post_contact__with_one_field_returns_it_and_the_required_ones(call: ApiClient) -> None:
    reply = await call.post("/public/v2/contacts", {"first_name": "Jane"})

    assert reply.status == 201
    assert reply.json() == EMPTY | {"first_name": "Jane"}


@pytest.mark.parametrize(
    "body",
    [{}, {"email": None}, {"email": " ", "first_name": ""}, {"properties": {"email": "jane@example.com"}}, {"contact_custom_fields": []}],
)
async def test_post_contact__refuses_a_body_without_a_person_and_says_what_to_send(sqlite_call: ApiClient, body: dict[str, object]) -> None:
    for path in ("/public/v2/contacts", "/public/contacts"):
        reply = await sqlite_call.post(path, body)

        (fault,) = reply.problem["errors"]
        assert (reply.status, fault["pointer"], fault["code"]) == (422, "", "required")
        assert "send at least one of email, linkedin_url" in fault["detail"]
        assert "`properties`" in fault["detail"]
    assert (await sqlite_call.get("/public/v2/contacts")).json()["data"] == []


async def test_post_contact__accepts_null_where_the_interface_allows_it(call: ApiClient) -> None:
    reply = await call.post("/public/v2/contacts", {"first_name": "Jane", "email": None, "linkedin_url": None, "company_id": None})

    assert reply.status == 201
    assert reply.json() == EMPTY | {"first_name": "Jane"}


async def test_post_contact__refuses_null_elsewhere_and_names_each_field(call: ApiClient) -> None:
    body = dict.fromkeys(["first_name", "last_name", "origin", "contact_status", "contact_custom_fields_input"])

    reply = await call.post("/public/v2/contacts", body)

    assert reply.status == 422
    assert [(fault["pointer"], fault["detail"]) for fault in reply.problem["errors"]] == [
        ("/first_name", "must be a text, not null"),
        ("/last_name", "must be a text, not null"),
        ("/contact_custom_fields_input", "must be a list, not null"),
        ("/origin", "must be a text, not null"),
        ("/contact_status", "must be a text, not null"),
    ]


async def test_post_contact__trims_text_and_treats_blank_text_as_unset(call: ApiClient) -> None:
    body = {"email": "  ", "linkedin_url": "\t", "first_name": "  Jane ", "last_name": " ", "origin": "\u3000", "contact_status": "\n"}

    reply = await call.post("/public/v2/contacts", body)

    assert reply.json() == {**EMPTY, "first_name": "Jane"}


async def test_post_contact__ignores_read_only_and_unknown_fields(call: ApiClient) -> None:
    body = {"id": 77, "updated_time": "never", "previous_status": 3, "last_reply_received": "x", "nonsense": [{}], "first_name": "Jane"}

    reply = await call.post("/public/v2/contacts", body)

    assert reply.status == 201
    assert reply.json() == {**EMPTY, "first_name": "Jane"}


async def test_post_contact__refuses_an_unknown_company(call: ApiClient) -> None:
    reply = await call.post("/public/v2/contacts", {"company_id": 12})

    assert reply.status == 422
    assert reply.problem["errors"] == [
        {"pointer": "/company_id", "code": "company_not_found", "detail": "there is no company with id 12; create it first"}
    ]


async def test_post_contact__refuses_a_company_of_another_client(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"}, x_client_id="theirs")

    reply = await call.post("/public/v2/contacts", {"company_id": 1}, x_client_id="ours")

    assert reply.status == 422


async def test_get_contact__returns_the_contact_as_created(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com"})
    created = await call.post("/public/v2/contacts", FULL)

    read = await call.get("/public/v2/contacts/1")

    assert read.status == 200
    assert read.json() == created.json()
    assert read.headers["etag"] == created.headers["etag"]


async def test_get_contact__returns_404_for_an_unknown_id(call: ApiClient) -> None:
    for wrong in ("1", "0", "-1", "x", "1.0", "9007199254740992", "1" * 400):
        reply = await call.get(f"/public/v2/contacts/{wrong}")

        assert reply.status == 404, wrong
        assert reply.problem["code"] == "not_found"


async def test_get_and_patch_contact__return_404_for_a_contact_of_another_client(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"}, x_client_id="theirs")

    for reply in (await call.get("/public/v2/contacts/1"), await call.patch("/public/v2/contacts/1", {"origin": "x"})):
        assert reply.status == 404


async def test_post_contact__preserves_text_of_any_script(call: ApiClient) -> None:
    body = {"first_name": "Ærøskøbing 🦊", "last_name": "田中", "email": "用户@例子.广告", "linkedin_url": "linkedin.com/in/josé-ñ"}

    reply = await call.post("/public/v2/contacts", body)

    assert reply.status == 201
    assert {name: reply.json()[name] for name in body} == body
