"""PUT: change the record with this address, or create it; also when many send the same at once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.asgi_client import ApiClient, Clock, MakeClient
from tests.conftest import ExecuteSql
from tests.examples import examples

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
EMAIL = "jane@example.com"
LINKEDIN = "https://www.linkedin.com/in/jane-doe"


async def put(call: ApiClient, path: str, body: object, **headers: str) -> Any:
    return await call("PUT", path, body, **headers)


async def test_put__creates_a_record_that_is_not_there(call: ApiClient) -> None:
    custom = [{"field_name": "Seats", "field_value": "40"}, {"field_name": "Team", "field_value": None}]
    response = await put(
        call, f"{CONTACTS}?match=email", {"email": EMAIL, "first_name": "Jane", "last_name": None, "contact_custom_fields": custom}
    )
    company = await put(call, f"{COMPANIES}?match=domain&structure=FLAT", {"domain": "https://Example.com/x", "name": "Example"})

    assert (response.status, response.headers["location"]) == (201, f"{CONTACTS}/1")
    assert (response.json()["first_name"], response.json()["last_name"]) == ("Jane", "")
    assert [(custom_field["field_name"], custom_field["field_value"]) for custom_field in response.json()["contact_custom_fields"]] == [
        ("Seats", "40")
    ]
    assert response.json() == (await call.get(f"{CONTACTS}/1")).json()
    assert (company.status, company.json()["domain"], company.json()["company_custom_fields"]) == (201, "example.com", {})


async def test_put__changes_a_record_that_is_there_and_leaves_what_was_not_sent(call: ApiClient) -> None:
    await call.post(COMPANIES, {"domain": "example.com", "name": "Example", "company_status": "target"})
    before = (
        await call.post(CONTACTS, {"email": EMAIL, "first_name": "Jane", "last_name": "Doe", "company_id": 1, "contact_status": "new"})
    ).json()
    later = call.clock.move(5)

    changed = await put(call, f"{CONTACTS}?match=email", {"email": "JANE@example.com", "contact_status": "won", "last_name": None})
    company = await put(call, COMPANIES, {"domain": "www.example.com", "company_status": "won"})

    assert changed.status == 200
    assert changed.json() == {
        **before, "email": "JANE@example.com", "last_name": "", "contact_status": "won", "previous_status": "new",
        "status_changed_at": later, "updated_time": later,
    }  # fmt: skip
    assert (company.status, company.json()["name"], company.json()["company_status"]) == (200, "Example", "won")
    assert company.headers["etag"] == (await call.get(f"{COMPANIES}/1")).headers["etag"]


async def test_put__matches_by_the_linkedin_address_in_its_normal_form(call: ApiClient) -> None:
    await call.post(CONTACTS, {"linkedin_url": LINKEDIN})

    response = await put(call, f"{CONTACTS}?match=linkedin_url", {"linkedin_url": "de.linkedin.com/in/Jane-Doe/?x=1", "email": EMAIL})

    assert (response.status, response.json()["id"], response.json()["email"]) == (200, 1, EMAIL)


@pytest.mark.parametrize(
    ("target", "body", "fault"),
    [
        (CONTACTS, {}, ("/email", "required")),
        (f"{CONTACTS}?match=email", {"email": " "}, ("/email", "required")),
        (f"{CONTACTS}?match=email", {"linkedin_url": LINKEDIN}, ("/email", "required")),
        (f"{CONTACTS}?match=linkedin_url", {"linkedin_url": "n/a"}, ("/linkedin_url", "no_identity")),
        (f"{CONTACTS}?match=email", {"email": "nonsense"}, ("/email", "email")),
        (f"{CONTACTS}?match=phone", {"email": EMAIL}, ("?match", "choice")),
        (f"{CONTACTS}?macth=email", {"email": EMAIL}, ("?macth", "unknown")),
        (COMPANIES, {"name": "x"}, ("/domain", "required")),
        (CONTACTS, {"email": EMAIL, "status": "x"}, ("/status", "unknown")),
        (CONTACTS, {"email": EMAIL, "company_id": 99}, ("/company_id", "company_not_found")),
    ],
)
async def test_put__names_what_is_wrong(call: ApiClient, target: str, body: object, fault: tuple[str, str]) -> None:
    reply = await put(call, target, body)

    assert reply.status == 422
    assert [(error["pointer"], error["code"]) for error in reply.problem["errors"]] == [fault]


async def test_put__refuses_an_address_of_another_record(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": EMAIL})
    await call.post(CONTACTS, {"email": "bob@example.com", "linkedin_url": LINKEDIN})

    replies = [
        await put(call, CONTACTS, {"email": EMAIL, "linkedin_url": LINKEDIN}),
        await put(call, CONTACTS, {"email": "new@example.com", "linkedin_url": LINKEDIN}),
    ]

    assert [(reply.status, reply.problem["code"], reply.problem["existing_id"]) for reply in replies] == [(409, "duplicate", 2)] * 2
    assert len((await call.get(CONTACTS)).json()["data"]) == 2


@pytest.mark.parametrize("had", [[], [EMAIL]])
async def test_put__of_a_profile_with_the_address_of_a_third_contact__names_that_one(call: ApiClient, had: list[str]) -> None:
    await call.post(CONTACTS, {"emails": ["bob@example.com", *had], "linkedin_url": LINKEDIN})
    await call("PATCH", f"{CONTACTS}/1", {"emails": ["bob@example.com"]})
    await call.post(CONTACTS, {"email": EMAIL})

    refused = await put(call, f"{CONTACTS}?match=linkedin_url", {"email": EMAIL, "linkedin_url": LINKEDIN})

    assert (refused.status, refused.json()["existing_id"]) == (409, 2)
    assert "two records: 1, and 2 by its email" in refused.json()["detail"]


@pytest.mark.parametrize(("path", "body"), [(CONTACTS, {"email": EMAIL, "linkedin_url": LINKEDIN}), (COMPANIES, {"domain": "example.com"})])
async def test_put__of_64_at_once_makes_one_record(call: ApiClient, path: str, body: dict[str, object]) -> None:
    named = "first_name" if path == CONTACTS else "name"

    replies = await asyncio.gather(*(put(call, path, {**body, named: f"n{n}"}) for n in range(64)))

    assert sorted(reply.status for reply in replies) == [200] * 63 + [201]
    assert {reply.json()["id"] for reply in replies} == {replies[0].json()["id"]}
    assert len((await call.get(path)).json()["data"]) == 1


async def test_put__through_two_processes_at_once_makes_one_record(postgres_url: str, make_client: MakeClient) -> None:
    from touchbase.stores import open_store

    stores = [await open_store(postgres_url), await open_store(postgres_url)]
    try:
        calls = [make_client(store) for store in stores]
        await calls[0].post(CONTACTS, {"first_name": "Jane"})
        bodies = [{"email": f"{n % 4}@example.com", "first_name": f"n{n}"} for n in range(64)]
        replies = await asyncio.gather(*(put(calls[n % 2], CONTACTS, body) for n, body in enumerate(bodies)))
        listed = (await calls[0].get(CONTACTS)).json()["data"]
    finally:
        for store in stores:
            await store.close()

    assert sorted(reply.status for reply in replies) == [200] * 60 + [201] * 4
    assert len(listed) == 5


async def test_put__with_an_idempotency_key_is_done_once(call: ApiClient) -> None:
    key = {"idempotency_key": "k1"}
    first = await put(call, CONTACTS, {"email": EMAIL, "first_name": "Jane"}, **key)
    await call.patch(f"{CONTACTS}/1", {"first_name": "Janet"})

    again = await put(call, CONTACTS, {"email": EMAIL, "first_name": "Jane"}, **key)
    response = await put(call, CONTACTS, {"email": EMAIL, "first_name": "Joan"}, **key)

    assert (first.status, again.status, again.body) == (201, 201, first.body)
    assert again.headers["idempotency-replayed"] == "true"
    assert (response.status, response.problem["code"]) == (422, "idempotency_key_reused")
    assert (await call.get(f"{CONTACTS}/1")).json()["first_name"] == "Janet"


async def test_put__of_an_erased_person_is_refused(call: ApiClient) -> None:
    await call.post(CONTACTS, {"email": EMAIL})
    assert (await call("DELETE", f"{CONTACTS}/1?erase=true")).status == 200
    await call.post(CONTACTS, {"email": "other@example.com"})

    replies = [await put(call, CONTACTS, {"email": EMAIL}), await put(call, CONTACTS, {"email": "other@example.com"})]

    assert [reply.status for reply in replies] == [409, 200]
    assert replies[0].problem["code"] == "person_erased"


PERSON = st.fixed_dictionaries(
    {},
    optional={
        "email": st.sampled_from(["a@example.com", "b@example.com", "c@example.com", None]),
        "linkedin_url": st.sampled_from(["linkedin.com/in/aaa", "linkedin.com/in/bbb", "linkedin.com/in/ccc", None]),
        "first_name": st.sampled_from(["Ann", "Bob", None]),
        "contact_status": st.sampled_from(["new", "won", None]),
    },
)


@given(st.lists(st.tuples(st.sampled_from(["email", "linkedin_url"]), PERSON), max_size=12))
@settings(max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_puts_at_once__give_what_they_give_one_after_the_other_by_identity(puts: list[tuple[str, dict[str, object]]]) -> None:
    """No 500 and no two records with one address, whatever is sent at once."""
    import tempfile

    from touchbase.stores import open_store
    from touchbase.web import Dependencies

    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            store = await open_store(f"sqlite:///{folder}/s.db")
            try:
                call = ApiClient(Dependencies(store=store, clock=Clock()), Clock())
                replies = await asyncio.gather(*(put(call, f"{CONTACTS}?match={match}", body) for match, body in puts))
                listed = (await call.get(CONTACTS)).json()["data"]
            finally:
                await store.close()
        for (match, body), reply in zip(puts, replies, strict=True):
            assert reply.status in ((200, 201, 409) if body.get(match) else (422,)), reply
        for name in ("email", "linkedin_url"):
            having = [contact[name] for contact in listed if name in contact]
            assert len(having) == len(set(having))
        assert len(listed) <= sum(reply.status == 201 for reply in replies)  # a later one may have joined two

    asyncio.run(run())


async def test_put__of_a_record_that_webhooks_made_counts_as_its_creation(call: ApiClient, execute_sql: ExecuteSql) -> None:
    await put(call, CONTACTS, {"email": EMAIL})
    await execute_sql("UPDATE contact SET from_api = 0")

    changed = await put(call, CONTACTS, {"email": EMAIL, "contact_status": "won"})
    unsets = await put(call, CONTACTS, {"email": EMAIL, "first_name": None})

    assert (changed.status, changed.json()["contact_status"], unsets.status) == (200, "won", 200)
    assert await execute_sql("SELECT from_api FROM contact") == [(1,)]
