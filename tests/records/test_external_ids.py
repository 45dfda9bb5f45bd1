"""external_id: the caller's own id of a record, by which records are created, found, matched, imported and merged."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.house import House
from tests.imports.jobs import counts, finished, imported, report, upload

from touchbase.common.field_limits import EXTERNAL_ID

CONTACTS, COMPANIES = "/public/v2/contacts", "/public/v2/companies"
OBJECT = {"object_type": "contact", "object_id": "9"}


def others(kind: str) -> dict[str, str]:
    """The members that a record of this kind needs besides."""
    return {"domain": "example.com"} if kind == "companies" else {}


@pytest.mark.parametrize("kind", ["contacts", "companies"])
async def test_external_id__is_shown_only_by_records_that_have_one(call: ApiClient, kind: str) -> None:
    path = f"/public/v2/{kind}"
    plain = await call.post(path, {"domain": "a.example"} if kind == "companies" else {"origin": "test"})
    response = await call.post(path, {**others(kind), "external_id": " crm-4711 "})

    assert "external_id" not in plain.json()
    assert response.json()["external_id"] == "crm-4711"
    assert (await call.get(f"{path}/2")).json() == response.json()
    for unset in (None, " "):
        assert (await call.patch(f"{path}/1", {"external_id": "x"})).json()["external_id"] == "x"
        assert "external_id" not in (await call.patch(f"{path}/1", {"external_id": unset})).json()
    too_long = await call.post(path, {**others(kind), "external_id": "x" * (EXTERNAL_ID + 1)})
    assert [error["pointer"] for error in too_long.problem["errors"]] == ["/external_id"]


async def test_external_id__belongs_to_one_record_of_a_kind_and_client(call: ApiClient) -> None:
    await call.post(CONTACTS, {"external_id": "7"})
    await call.post(CONTACTS, {"external_id": "a"})

    again = await call.post(CONTACTS, {"external_id": "7", "email": "jane@example.com"})
    returned = await call.post(f"{CONTACTS}?on_duplicate=return", {"external_id": "7"})
    merged = await call.post(f"{CONTACTS}?on_duplicate=update", {"external_id": "7", "first_name": "Jane"})
    patched = await call.patch(f"{CONTACTS}/2", {"external_id": "7"})
    bulk = await call.patch(f"{CONTACTS}?external_id=7", {"external_id": "8"})
    different = [
        await call.post(CONTACTS, {"external_id": "A"}), await call.post(COMPANIES, {"domain": "example.com", "external_id": "7"}),
        await call.post(CONTACTS, {"external_id": "7"}, x_client_id="other"),
    ]  # fmt: skip

    assert [(reply.status, reply.problem["existing_id"]) for reply in (again, patched)] == [(409, 1), (409, 1)]
    assert (returned.json()["id"], merged.json()["first_name"]) == (1, "Jane")
    assert bulk.problem["errors"][0]["code"] == "not_in_bulk"
    assert [reply.status for reply in different] == [201, 201, 201]


async def test_external_id__of_many_requests_at_once_makes_one_record(call: ApiClient) -> None:
    replies = await asyncio.gather(*(call("PUT", f"{CONTACTS}?match=external_id", {"external_id": "7"}) for _ in range(16)))
    await asyncio.gather(*(call.post(CONTACTS, {"first_name": str(n)}) for n in range(8)))
    others = [contact["id"] for contact in (await call.get(CONTACTS)).json()["data"] if "external_id" not in contact]
    taken = await asyncio.gather(*(call.patch(f"{CONTACTS}/{number}", {"external_id": "8"}) for number in others))

    assert sorted(reply.status for reply in replies) == [200] * 15 + [201]
    assert sorted(reply.status for reply in taken) == [200] + [409] * 7
    assert len((await call.get(f"{CONTACTS}?external_id=8")).json()["data"]) == 1


async def test_put__matches_by_external_id(call: ApiClient) -> None:
    target = f"{CONTACTS}?match=external_id"
    created = await call("PUT", target, {"external_id": "7", "email": "jane@example.com"})
    changed = await call("PUT", target, {"external_id": "7", "first_name": "Jane"})
    missing = await call("PUT", target, {"email": "jane@example.com"})
    company = await call("PUT", f"{COMPANIES}?match=external_id", {"external_id": "7", "domain": "example.com"})
    renamed = await call("PUT", f"{COMPANIES}?match=external_id", {"external_id": "7", "domain": "example.org"})
    nameless = await call("PUT", f"{COMPANIES}?match=external_id", {"external_id": "8"})
    batch = await call.post(
        f"{CONTACTS}/batch",
        {"commands": [{"op": "upsert", "match": "external_id", "body": {"external_id": n, "last_name": "Doe"}} for n in ("7", "8", "8")]},
    )

    assert (created.status, changed.status, changed.json()["email"]) == (201, 200, "jane@example.com")
    assert (missing.status, missing.problem["errors"][0]["pointer"]) == (422, "/external_id")
    assert (company.status, renamed.status, renamed.json()["domain"], renamed.json()["id"]) == (201, 200, "example.org", 1)
    assert (nameless.status, nameless.problem["errors"][0]["pointer"]) == (422, "/domain")
    assert [item["status"] for item in batch.json()["results"]] == [200, 201, 200]


async def test_match__finds_by_external_id(call: ApiClient) -> None:
    await call.post(CONTACTS, {"external_id": "Seven", "email": "jane@example.com"})
    await call.post(COMPANIES, {"domain": "example.com", "external_id": "Seven"})
    await call.post(CONTACTS, {"email": "john@example.com"})
    items = [
        {"external_id": "Seven"}, {"external_id": "seven"}, {"external_id": "x", "email": "jane@example.com"},
        {"external_id": "Seven", "email": "john@example.com"}, {"external_id": " "},
    ]  # fmt: skip

    result = (await call.post(f"{CONTACTS}/match", {"items": items})).json()["data"]
    company = (await call.post(f"{COMPANIES}/match", {"items": items[:1]})).json()["data"]
    clients = (await call.post("/admin/v1/companies/match", {"items": items[:2]})).json()["data"]

    assert [item["id"] for item in result] == [1, None, 1, None, None]
    assert [item.get("error", {}).get("code") for item in result] == [None, None, None, "ambiguous", "required"]
    assert [item["id"] for item in company] == [1]
    assert [len(client["clients"]) for client in clients] == [1, 0]


async def test_search__filters_by_external_id_with_its_case(call: ApiClient) -> None:
    for word in ("CRM-1", "CRM-2", "crm-3", None):
        await call.post(CONTACTS, {"origin": "test", "external_id": word})
    await call.post(COMPANIES, {"domain": "example.com", "external_id": "Acme"})
    await call.patch(f"{CONTACTS}/4", {"company_id": 1})

    async def listed_ids(query: str) -> list[int]:
        reply = await call.get(f"{CONTACTS}?{query}")
        return [contact["id"] for contact in reply.json()["data"]]

    assert await listed_ids("external_id=CRM-1") == [1]
    assert await listed_ids("external_id=crm-1") == []
    assert await listed_ids("external_id[in]=CRM-2,crm-3") == [2, 3]
    assert await listed_ids("external_id[starts_with]=CRM") == [1, 2]
    assert await listed_ids("external_id[contains]=-3") == [3]
    assert await listed_ids("external_id[is_set]=false") == [4]
    assert await listed_ids("company.external_id=Acme") == [4]
    assert await listed_ids("external_id[is_set]=true&sort=-external_id") == [3, 2, 1]


async def test_bin__frees_an_external_id_and_restores_it(house: House) -> None:
    number = await house.contact(external_id="7")
    await house.delete(number)
    other_contact = await house.contact(external_id="7")

    refused = await house.request("POST", f"{CONTACTS}/{number}/restore")
    await house.request("PATCH", f"{CONTACTS}/{other_contact}", {"external_id": None})
    restored = await house.restore(number)

    assert (refused.status, refused.problem["existing_id"]) == (409, other_contact)
    assert restored["external_id"] == "7"
    assert await house.differences() == []


@pytest.mark.parametrize("kind", ["contacts", "companies"])
async def test_merge__keeps_the_survivors_external_id_or_takes_the_others(house: House, kind: str) -> None:
    async def create_record(domain: str, **fields: Any) -> int:
        return await (house.company(domain, **fields) if kind == "companies" else house.contact(**fields))

    own, second, none = (
        await create_record("a.example", external_id="A"),
        await create_record("b.example", external_id="B"),
        await create_record("c.example"),
    )

    stored = await house.merge(own, second, kind=kind)
    taken = await house.merge(none, own, kind=kind)

    name = "company" if kind == "companies" else "contact"
    assert [item[name]["external_id"] for item in (stored, taken)] == ["A", "A"]
    assert await house.differences() == []
    await house.undo(none, taken["merge_id"], kind=kind)
    assert ("external_id" in await house.get(none, kind), (await house.get(own, kind))["external_id"]) == (False, "A")
    await house.undo(own, stored["merge_id"], kind=kind)
    assert (await house.get(second, kind))["external_id"] == "B"
    assert await house.differences() == []


async def test_undo__is_refused_while_another_record_has_an_external_id(house: House) -> None:
    own, other_contact = await house.contact(external_id="A"), await house.contact(external_id="B")
    merge = (await house.merge(own, other_contact, survivorship="newest"))["merge_id"]
    assert (await house.get(own))["external_id"] == "B"
    target = f"{CONTACTS}/{own}/merge/{merge}/undo"

    third = await house.request("POST", CONTACTS, {"external_id": "A"})
    house.call.clock.move(5)
    await house.request("PATCH", f"{CONTACTS}/{own}", {"external_id": "C"})
    await house.request("PATCH", f"{CONTACTS}/{own}", {"external_id": "B"})
    given_since = await house.request("POST", target)
    await house.request("PATCH", f"{CONTACTS}/{own}", {"external_id": "C"})
    undone = await house.undo(own, merge)

    assert (third.status, third.problem["existing_id"]) == (409, own)  # the survivor has it
    assert (given_since.status, given_since.problem["existing_id"]) == (409, own)
    assert [item["external_id"] for item in undone] == ["C", "B"]
    assert await house.differences() == []


async def test_webhooks__unite_records_and_keep_the_later_external_id(house: House) -> None:
    """Records that a webhook proves to be one: no value is lost, and no two records have one id."""
    house.call.clock.move(10)
    await house.hook("hubspot", {"event": "contact.updated", "email": "jane@example.com", "at": 5, **OBJECT})
    await house.hook("plain", {"event": "email_sent", "linkedin_url": "linkedin.com/in/jane-doe", "at": 5})
    jane, profile = [item["id"] for item in await house.listed()]
    await house.request("PATCH", f"{CONTACTS}/{profile}", {"external_id": "B"})
    house.call.clock.move(10)

    both = {"email": "jane@example.com", "linkedin_url": "linkedin.com/in/jane-doe"}
    await house.hook("hubspot", {"event": "contact.updated", **both, "at": 15, **OBJECT})

    assert [(item["id"], item["external_id"]) for item in await house.listed()] == [(jane, "B")]
    assert await house.differences() == []


async def test_import__finds_by_external_id(call: ApiClient) -> None:
    await call.post(CONTACTS, {"external_id": "7", "email": "jane@example.com"})
    await call.post(CONTACTS, {"email": "john@example.com"})
    people = b"External ID,Email,First name\n7,,Jane\n8,,New\n8,,Again\n9,john@example.com,John\n"

    first = await imported(call, people)
    call.clock.move(5)
    again = await imported(call, people)
    moved = await finished(
        call, await upload(call, b"external_id,email\n7,jane@example.org\n8,john@example.com\n", start="true", match="external_id")
    )
    listed = await report(call, moved)
    firms = [
        await imported(call, file, path="companies/imports", match="external_id")
        for file in (b"domain,external_id\na.example,A\n", b"domain,external_id\nb.example,A\nb.example,B\n")
    ]  # fmt: skip

    assert (first, again) == (
        {"created": 1, "updated": 2, "duplicate_in_file": 1}, {"unchanged": 3, "duplicate_in_file": 1}
    )  # fmt: skip
    assert [contact.get("external_id") for contact in (await call.get(CONTACTS)).json()["data"]] == ["7", "9", "8"]
    assert (await call.get(f"{CONTACTS}/1")).json()["email"] == "jane@example.org"
    assert counts(moved) == {"updated": 1, "unchanged": 1, "cells_left_out": 1}
    assert ("3", "cells_left_out", "email", "john@example.com", "contact 2 has it") in listed
    assert firms == [{"created": 1}, {"updated": 1, "duplicate_in_file": 1, "cells_left_out": 1}]
    assert [company["domain"] for company in (await call.get(COMPANIES)).json()["data"]] == ["b.example"]


async def test_timeline_and_history__name_the_external_id(house: House) -> None:
    number = await house.contact(external_id="7")
    house.call.clock.move(5)
    await house.request("PATCH", f"{CONTACTS}/{number}", {"external_id": "8"})

    timeline = (await house.request("GET", f"{CONTACTS}/{number}/timeline")).json()["data"]
    history = (await house.request("GET", f"{CONTACTS}/{number}/history?field=external_id")).json()["data"]

    assert {"field": "external_id", "value": "8", "previous": "7"} in timeline[0]["changed"]
    assert [item["value"] for item in history] == ["8", "7"]
