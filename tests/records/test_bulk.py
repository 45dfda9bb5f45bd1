"""PATCH of a list: one change of all records that match its filters, refused when they are more than allowed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.asgi_client import ApiClient, MakeClient
from tests.conftest import ExecuteSql
from tests.idempotency.test_idempotency import beside

from touchbase.search.api.bulk import MAX_AFFECTED, change_page
from touchbase.sql.store import Store

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"


async def create_contacts(call: ApiClient, count: int, **body: object) -> None:
    commands = [{"op": "create", "body": {"email": f"{n}@example.com", **body}} for n in range(count)]
    assert (await call.post(f"{CONTACTS}/batch", {"commands": commands})).json()["failed"] == 0


async def statuses(call: ApiClient) -> list[Any]:
    return [contact.get("contact_status") for contact in (await call.get(f"{CONTACTS}?limit=200")).json()["data"]]


async def test_bulk__changes_all_that_match_and_no_other(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.search.api.bulk.STEP", 3)
    await create_contacts(call, 10, contact_status="new")
    await call.post(CONTACTS, {"contact_status": "won"})
    await call.post(CONTACTS, {"contact_status": "new"}, x_client_id="other")
    call.clock.move(5)

    reply = await call.patch(f"{CONTACTS}?contact_status=new", {"contact_status": "lost", "title": "x"}, prefer="max-affected=10")

    assert (reply.status, reply.json()) == (200, {"matched": 10, "changed": 10, "failed": 0, "failures": []})
    assert (reply.headers["preference-applied"], reply.headers["touchbase-ignored"]) == ("max-affected=10", "title")
    assert await statuses(call) == ["lost"] * 10 + ["won"]
    assert (await call.get(f"{CONTACTS}/1")).json()["previous_status"] == "new"
    assert (await call.get(f"{CONTACTS}?contact_status=new", x_client_id="other")).json()["data"] != []


async def test_bulk__changes_records_of_which_others_change_another_field(
    call: ApiClient, engine_url: str, make_client: MakeClient
) -> None:
    await create_contacts(call, 20, contact_status="new")

    async with beside(call, engine_url, make_client) as second:
        bulk, *single = await asyncio.gather(
            call.patch(f"{CONTACTS}?contact_status=new", {"contact_status": "lost"}),
            *(second.patch(f"{CONTACTS}/{number}", {"first_name": "Jo"}) for number in range(1, 21)),
        )

    assert bulk.json() == {"matched": 20, "changed": 20, "failed": 0, "failures": []}
    assert {reply.status for reply in single} == {200}
    assert {(contact["contact_status"], contact["first_name"]) for contact in (await call.get(CONTACTS)).json()["data"]} == {("lost", "Jo")}


async def test_bulk__is_refused_when_more_would_be_hit(call: ApiClient, execute_sql: ExecuteSql) -> None:
    await create_contacts(call, 5, contact_status="new")
    before = sorted(map(repr, await execute_sql("SELECT * FROM contact")))

    refused = await call.patch(f"{CONTACTS}?contact_status=new", {"origin": "x"}, prefer="max-affected=4")
    tried = await call.patch(f"{CONTACTS}?contact_status=new&dry_run=true", {"origin": "x"})

    assert (refused.status, refused.problem["code"], refused.problem["affected"]) == (409, "too_many_affected", 5)
    assert tried.json() == {"matched": 5, "changed": 0, "failed": 0, "failures": []}
    assert sorted(map(repr, await execute_sql("SELECT * FROM contact"))) == before


async def test_bulk__has_a_limit_without_a_preference(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.search.api.bulk.MAX_AFFECTED", 2)
    await create_contacts(call, 3, contact_status="new")

    for headers in ({}, {"prefer": "max-affected=99999"}):
        reply = await call.patch(f"{CONTACTS}?contact_status=new", {"origin": "x"}, **headers)
        assert (reply.status, reply.problem["affected"]) == (409, 3)
    assert MAX_AFFECTED == 10_000


async def test_bulk__reports_records_that_cannot_change(call: ApiClient) -> None:
    await call.settings(contact_statuses={"statuses": ["new", "won", "lost"], "transitions": {"won": []}})
    await call.post(COMPANIES, {"domain": "example.com"})
    await call.post(CONTACTS, {"company_id": 1, "contact_status": "won"})
    await call.post(CONTACTS, {"company_id": 1, "contact_status": "new"})
    await call.post(CONTACTS, {"company_id": 1, "contact_status": "lost"})

    reply = await call.patch(f"{CONTACTS}?company_id=1", {"contact_status": "lost"})

    assert (reply.json()["matched"], reply.json()["changed"], reply.json()["failed"]) == (3, 1, 1)
    assert [(failure["id"], failure["code"]) for failure in reply.json()["failures"]] == [(1, "invalid")]
    assert await statuses(call) == ["won", "lost", "lost"]


async def test_bulk__of_companies_and_with_a_company_by_its_domain(call: ApiClient) -> None:
    await call.post(COMPANIES, {"domain": "example.com", "company_status": "target"})
    await create_contacts(call, 3, contact_status="new")

    firms = await call.patch(f"{COMPANIES}?company_status=target", {"name": "Example", "company_custom_fields": None})
    people = await call.patch(f"{CONTACTS}?contact_status=new", {"company_id": "www.example.com"}, prefer="handling=strict")

    assert (firms.json()["changed"], people.json()["changed"]) == (1, 3)
    assert people.headers["preference-applied"] == "handling=strict, max-affected=10000"
    assert (await call.get(f"{COMPANIES}/1")).json()["name"] == "Example"
    assert [contact["company_id"] for contact in (await call.get(CONTACTS)).json()["data"]] == [1, 1, 1]


@pytest.mark.parametrize(
    ("query", "body", "headers", "pointers"),
    [
        ("", {"origin": "x"}, {}, ["?"]),
        ("?updated_since=2020-01-01", {"origin": "x"}, {}, ["?updated_since"]),
        ("?phone=1", {"origin": "x"}, {}, ["?phone"]),
        ("?contact_status=new", {"email": "a@example.com", "linkedin_url": None}, {}, ["/email", "/linkedin_url"]),
        ("?contact_status=new", {}, {}, [""]),
        ("?contact_status=new", {"Origin": "x"}, {}, ["/Origin"]),
        ("?contact_status=new", {"origin": "x"}, {"prefer": "max-affected=many"}, ["Prefer"]),
    ],
)
async def test_bulk__names_what_is_wrong(
    sqlite_call: ApiClient, query: str, body: object, headers: dict[str, str], pointers: list[str]
) -> None:
    await sqlite_call.post(CONTACTS, {"contact_status": "new"})

    reply = await sqlite_call.patch(f"{CONTACTS}{query}", body, **headers)

    assert (reply.status, [error["pointer"] for error in reply.problem["errors"]]) == (422, pointers)
    assert (await sqlite_call.get(f"{CONTACTS}/1")).json()["origin"] == ""


async def test_bulk__takes_the_filters_of_searches(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.search.api.bulk.STEP", 2)
    for n, (status, field) in enumerate([("new", "bank"), ("won", "Bank of X"), ("new", "farm"), ("lost", "bank"), ("new", "banking")]):
        await call.post(
            CONTACTS,
            {
                "email": f"{n}@example.com",
                "contact_status": status,
                "contact_custom_fields_input": [{"field_name": "Industry", "field_value": field}],
            },
        )
        call.clock.move(1)
    await call.post(CONTACTS, {"email": "a@example.com", "contact_status": "new"}, x_client_id="other")
    filters = "contact_status[in]=new,won&cf.Industry[contains]=bank"

    tried = await call.patch(f"{CONTACTS}?{filters}&dry_run=true", {"contact_status": "lost"})
    refused = await call.patch(f"{CONTACTS}?{filters}", {"contact_status": "lost"}, prefer="max-affected=2")
    reply = await call.patch(f"{CONTACTS}?{filters}", {"contact_status": "lost"}, prefer="max-affected=3")

    assert tried.json() == {"matched": 3, "changed": 0, "failed": 0, "failures": []}
    assert (refused.status, refused.problem["affected"]) == (409, 3)
    assert (reply.status, reply.json()) == (200, {"matched": 3, "changed": 3, "failed": 0, "failures": []})
    assert await statuses(call) == ["lost", "lost", "new", "lost", "lost"]
    assert len((await call.get(f"{CONTACTS}?contact_status=new", x_client_id="other")).json()["data"]) == 1


async def test_bulk__takes_the_words_of_searches_also_of_records_that_are_not_indexed_yet(
    call: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.search.api.bulk.STEP", 2)
    for n, name in enumerate(("Ann", "Anna", "Bea", "Annabel", "Ann")):
        body = {"email": f"{n}@x.example", "first_name": name, "contact_status": "won" if n == 4 else "new"}
        await call.post(CONTACTS, body)
        call.clock.move(1)

    refused = await call.patch(f"{CONTACTS}?q=ann&contact_status=new", {"contact_status": "lost"}, prefer="max-affected=2")
    reply = await call.patch(f"{CONTACTS}?q=ann&contact_status=new", {"contact_status": "lost"})
    words_alone = await call.patch(f"{CONTACTS}?q=bea", {"origin": "x"})

    assert (refused.status, refused.problem["affected"]) == (409, 3)
    assert reply.json() == {"matched": 3, "changed": 3, "failed": 0, "failures": []}
    assert await statuses(call) == ["lost", "lost", "new", "lost", "won"]
    assert words_alone.json()["changed"] == 1


async def test_bulk__ends_although_each_change_makes_its_record_match_again(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.search.api.bulk.STEP", 2)
    await create_contacts(call, 5)
    call.clock.move(1)

    reply = await call.patch(f"{CONTACTS}?updated_time[gte]=1d", {"origin": "x"})

    assert reply.json() == {"matched": 5, "changed": 5, "failed": 0, "failures": []}


@pytest.mark.parametrize(
    ("query", "pointer"),
    [("contact_statu[in]=new", "?contact_statu[in]"), ("contact_status[like]=new", "?contact_status[like]"), ("q=...", "?q")],
)
async def test_bulk__refuses_a_filter_that_lists_do_not_have_and_names_it(call: ApiClient, query: str, pointer: str) -> None:
    await create_contacts(call, 1, contact_status="new")

    reply = await call.patch(f"{CONTACTS}?{query}", {"origin": "x"})

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer)
    assert (await call.get(f"{CONTACTS}/1")).json()["origin"] != "x"


async def test_bulk__changes_few_records_at_once_when_each_gets_many_custom_fields(
    call: ApiClient, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.search.api.bulk.STEP_FIELDS", 7)
    await create_contacts(call, 5, contact_status="new")
    call.clock.move(1)
    steps: list[int] = []
    write = store.write

    async def counted(command: Any) -> Any:
        result = await write(command)
        if isinstance(command, change_page):
            steps.append(result.matched)
        return result

    monkeypatch.setattr(store, "write", counted)
    fields = [{"field_name": name, "field_value": "x"} for name in "abc"]

    reply = await call.patch(f"{CONTACTS}?contact_status=new", {"contact_custom_fields_input": fields})

    assert reply.json() == {"matched": 5, "changed": 5, "failed": 0, "failures": []}
    assert steps == [2, 2, 1]
