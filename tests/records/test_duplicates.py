"""Records that exist already: refused, answered or merged, as the caller or the client wants."""

from __future__ import annotations

import asyncio

import pytest
from tests.asgi_client import ApiClient

JANE = {"email": "jane@example.com", "linkedin_url": "https://www.linkedin.com/in/jane-doe", "first_name": "Jane"}


@pytest.mark.parametrize(
    "again",
    [
        {"email": " JANE@Example.COM "},
        {"linkedin_url": "http://uk.linkedin.com/in/Jane-Doe/?trk=x"},
        {"email": "other@example.com", "linkedin_url": "linkedin.com/in/jane%2Ddoe/de"},
    ],
)
async def test_post_contact__returns_409_with_the_id_of_a_known_email_or_linkedin_url(call: ApiClient, again: dict[str, str]) -> None:
    await call.post("/public/v2/contacts", JANE)

    reply = await call.post("/public/v2/contacts", again)

    assert reply.status == 409
    assert reply.problem == {
        "type": "about:blank",
        "title": "Conflict",
        "status": 409,
        "detail": "this contact exists already, with id 1; send on_duplicate=return to get it or on_duplicate=update to merge into it",
        "code": "duplicate",
        "existing_id": 1,
    }


async def test_post_company__returns_409_with_the_id_of_a_known_domain(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "münchen.example"})

    reply = await call.post("/public/v2/companies", {"domain": "HTTPS://WWW.xn--mnchen-3ya.EXAMPLE/kontakt"})

    assert reply.status == 409
    assert reply.problem["existing_id"] == 1


async def test_on_duplicate_return__returns_the_existing_record_unchanged(call: ApiClient) -> None:
    created = await call.post("/public/v2/contacts", JANE)

    reply = await call.post("/public/v2/contacts?on_duplicate=return", {"email": "jane@example.com", "first_name": "Janet"})

    assert reply.status == 200
    assert reply.json() == created.json()
    assert reply.headers["location"] == "/public/v2/contacts/1"


async def test_on_duplicate_update__merges_the_given_fields_and_leaves_the_others(call: ApiClient) -> None:
    fields = [{"field_name": "Seats", "field_value": "40"}, {"field_name": "Team", "field_value": "Sales"}]
    created = await call.post("/public/v2/contacts", {**JANE, "contact_status": "new", "contact_custom_fields_input": fields})
    later = call.clock.move(60)

    merged = {
        "email": "jane@example.com",
        "last_name": "Doe",
        "contact_status": "customer",
        "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "50"}],
    }
    reply = await call.post("/public/v2/contacts?on_duplicate=update", merged)

    assert reply.status == 200
    before = created.json()["contact_custom_fields"]
    assert reply.json() == {
        **created.json(),
        "updated_time": later,
        "last_name": "Doe",
        "contact_status": "customer",
        "previous_status": "new",
        "status_changed_at": later,
        "contact_custom_fields": [{**before[0], "updated_time": later, "field_value": "50"}, before[1]],
    }
    assert (await call.get("/public/v2/contacts/1")).json() == reply.json()


async def test_on_duplicate_update__leaves_a_linkedin_url_if_a_placeholder_comes(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", JANE)

    merged = await call.post("/public/v2/contacts?on_duplicate=update", {"email": "jane@example.com", "linkedin_url": "n/a"})

    contacts = await call.get("/public/v2/contacts?linkedin_url=linkedin.com/in/jane-doe")
    assert merged.status == 200
    assert [contact["id"] for contact in contacts.json()["data"]] == [merged.json()["id"]]


async def test_on_duplicate_update__creates_a_missing_record(call: ApiClient) -> None:
    reply = await call.post("/public/v2/companies?on_duplicate=update", {"domain": "example.com"})

    assert reply.status == 201


async def test_on_duplicate_update__merges_a_company(call: ApiClient) -> None:
    await call.post("/public/v2/companies", {"domain": "example.com", "name": "Example"})

    reply = await call.post("/public/v2/companies?on_duplicate=update&structure=FLAT", {"domain": "example.com", "company_status": "won"})

    assert reply.status == 200
    assert (reply.json()["name"], reply.json()["company_status"]) == ("Example", "won")


async def test_on_duplicate_update__returns_409_for_an_identity_of_a_third_record(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"email": "jane@example.com"})
    await call.post("/public/v2/contacts", {"email": "joan@example.com", "linkedin_url": "https://www.linkedin.com/in/jane-doe"})

    reply = await call.post("/public/v2/contacts?on_duplicate=update", JANE)

    assert reply.status == 409
    assert reply.problem["existing_id"] == 2


async def test_on_duplicate__in_the_request_overrides_the_client_setting(call: ApiClient) -> None:
    await call.settings(on_duplicate="return")
    await call.post("/public/v2/contacts", JANE)

    by_setting = await call.post("/public/v2/contacts", JANE)
    by_caller = await call.post("/public/v2/contacts?on_duplicate=error", JANE)

    assert (by_setting.status, by_caller.status) == (200, 409)


async def test_on_duplicate__refuses_another_value(sqlite_call: ApiClient) -> None:
    reply = await sqlite_call.post("/public/v2/contacts?on_duplicate=merge", {"first_name": "Jane"})

    assert reply.status == 422
    assert reply.problem["errors"] == [{"pointer": "?on_duplicate", "code": "choice", "detail": "must be one of error, return, update"}]


async def test_post_contact__creates_one_contact_per_client_of_the_same_person(call: ApiClient) -> None:
    first = await call.post("/public/v2/contacts", JANE, x_client_id="one")
    second = await call.post("/public/v2/contacts", JANE, x_client_id="two")

    assert (first.status, second.status) == (201, 201)


async def test_post_contact__matches_no_placeholder_in_linkedin_url(call: ApiClient) -> None:
    texts = ["n/a", "N/A", "-", "-", "null", "private profile"]

    replies = [await call.post("/public/v2/contacts", {"linkedin_url": text}) for text in texts]

    assert [reply.status for reply in replies] == [201] * 6


@pytest.mark.parametrize(
    "text",
    [
        "https://www.linkedin.com/company/acme", "https://www.linkedin.com/school/mit", "https://lnkd.in/xyz", "@jane-doe",
        "Jane on the network", "https://www.linkedin.com/in/null", "https://example.com/in/jane-doe",
    ],
)  # fmt: skip
async def test_post_contact__refuses_a_linkedin_url_that_names_no_person(call: ApiClient, text: str) -> None:
    refused = await call.post("/public/v2/contacts", {"email": "jane@example.com", "linkedin_url": text})

    fault = refused.json()["errors"][0]
    assert (refused.status, fault["pointer"], fault["code"]) == (422, "/linkedin_url", "no_identity")
    assert "https://www.linkedin.com/in/jane-doe" in fault["detail"]


async def test_on_duplicate_update__creates_one_record_among_concurrent_requests(call: ApiClient) -> None:
    await call.post("/public/v2/contacts", {"first_name": "Jane"})

    replies = await asyncio.gather(*(call.post("/public/v2/contacts?on_duplicate=update", JANE) for _ in range(20)))

    assert sorted(reply.status for reply in replies) == [200] * 19 + [201]
    assert len({reply.json()["id"] for reply in replies}) == 1
