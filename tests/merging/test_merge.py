"""Merging contacts and companies by request, and undoing it."""

from __future__ import annotations

from typing import Any

import pytest
from tests.house import House, read

from touchbase.common.timestamps import DAY, to_text
from touchbase.erasure.service import Eraser
from touchbase.retention.service import Retention

POLICIES = ("newest", "if_empty", "keep", "most_complete")
SENT = {"event": "email_sent"}


def custom(**values: str) -> list[dict[str, str]]:
    return [{"field_name": name, "field_value": value} for name, value in values.items()]


def named(record: dict[str, Any]) -> dict[str, str]:
    return {custom_field["field_name"]: custom_field["field_value"] for custom_field in record["contact_custom_fields"]}


async def two(house: House) -> tuple[int, int]:
    """Ann has a company and no last name, and was made first; Anna has a LinkedIn address, a last name and more fields."""
    company = await house.company("example.com")
    ann = await house.contact(
        email="ann@a.example", first_name="Ann", company_id=company, contact_status="new", contact_custom_fields_input=custom(Seats="1")
    )
    house.call.clock.move(10)
    anna = await house.contact(
        email="anna@b.example", linkedin_url="linkedin.com/in/anna", first_name="Anna", last_name="Lee", origin="import",
        contact_status="customer", contact_custom_fields_input=custom(Seats="2", Team="Sales"),
    )  # fmt: skip
    house.call.clock.move(10)
    return ann, anna


def still(record: dict[str, Any]) -> dict[str, Any]:
    """A record without the times at which it and its custom fields changed last: a value that changed and changed back changed."""
    fields = (
        [{**custom_field, "updated_time": ""} for custom_field in record["contact_custom_fields"]]
        if "contact_custom_fields" in record
        else []
    )
    return {**record, "updated_time": "", "contact_custom_fields": fields}


EXPECTED: dict[str, dict[str, Any]] = {
    "newest": {
        "email": "anna@b.example", "first_name": "Anna", "last_name": "Lee", "contact_status": "customer", "Seats": "2", "Team": "Sales"
    },
    "if_empty": {"email": "ann@a.example", "first_name": "Ann", "last_name": "Lee", "contact_status": "new", "Seats": "1", "Team": "Sales"},
    "keep": {"email": "ann@a.example", "first_name": "Ann", "last_name": "", "contact_status": "new", "Seats": "1"},
    "most_complete": {
        "email": "anna@b.example", "first_name": "Anna", "last_name": "Lee", "contact_status": "customer", "Seats": "2", "Team": "Sales"
    },
}  # fmt: skip


@pytest.mark.parametrize("policy", POLICIES)
async def test_merge_contacts__gives_the_values_of_the_policy_and_of_the_preview(house: House, policy: str) -> None:
    ann, anna = await two(house)
    before = [await house.get(number) for number in (ann, anna)]

    preview = await house.merge(ann, anna, survivorship=policy, dry_run=True)
    assert [await house.get(number) for number in (ann, anna)] == before
    merged = await house.merge(ann, anna, survivorship=policy)

    contact = merged["contact"]
    assert {**contact, **named(contact)} | EXPECTED[policy] == {**contact, **named(contact)}
    assert contact.get("company_id") == 1
    assert (contact.get("linkedin_url"), "Team" in named(contact)) == (
        (None, False) if policy == "keep" else ("linkedin.com/in/anna", True)
    )
    assert contact == await house.get(ann)
    assert (preview["merge_id"], preview["fields"]) == (None, merged["fields"])
    varying = {"updated_time": "", "status_changed_at": "", "contact_custom_fields": ""}
    assert preview["contact"] | varying == contact | varying
    assert named(preview["contact"]) == named(contact)
    gone = (await house.call.get(f"/public/v2/contacts/{anna}")).problem
    assert (gone["status"], gone["existing_id"]) == (404, ann)
    assert (merged["merged"], merged["undo_until"]) == ([anna], to_text(house.call.clock.now + 30 * DAY))
    assert await house.differences() == []


@pytest.mark.parametrize("policy", POLICIES)
async def test_chosen_values__win_over_every_policy_and_the_undo_gives_them_back(house: House, policy: str) -> None:
    ann, anna = await two(house)
    before = [await house.get(number) for number in (ann, anna)]
    chosen = {"email": anna, "first_name": ann, "last_name": anna, "contact_status": ann, "origin": ann, "cf.Seats": anna, "cf.Team": ann}

    preview = await house.merge(ann, anna, survivorship=policy, from_ids=chosen, dry_run=True)
    merged = await house.merge(ann, anna, survivorship=policy, from_ids=chosen)

    contact = await house.get(ann)
    shown = {name: contact[name] for name in ("email", "first_name", "last_name", "contact_status", "origin")}
    assert shown == {"email": "anna@b.example", "first_name": "Ann", "last_name": "Lee", "contact_status": "new", "origin": ""}
    assert named(contact) == {"Seats": "2"}
    assert preview["fields"] == merged["fields"]
    await house.hook("camp", SENT | {"email": "ann@a.example", "at": 25})
    assert (await house.timeline(ann)).count("email_sent") == 1
    assert await house.differences() == []
    after = await house.undo(ann, merged["merge_id"])
    assert [still(item)["email"] for item in after] == [response["email"] for response in before]
    assert named(after[1]) == {"Seats": "2", "Team": "Sales"}
    assert await house.differences() == []


@pytest.mark.parametrize(("policy", "stored"), [("newest", {}), ("if_empty", {"Seats": "1"}), ("keep", {"Seats": "1"})])
async def test_merge__with_a_record_that_removed_its_custom_fields_leaves_those_of_the_survivor(
    house: House, policy: str, stored: dict[str, str]
) -> None:
    ann = await house.contact(email="ann@a.example", contact_custom_fields_input=custom(Seats="1"))
    anna = await house.contact(email="anna@b.example", contact_custom_fields_input=custom(Team="Sales"))
    house.call.clock.move(10)
    await house.request("PATCH", f"/public/v2/contacts/{anna}", {"contact_custom_fields": None})
    house.call.clock.move(10)

    preview = await house.merge(ann, anna, survivorship=policy, dry_run=True)
    merged = await house.merge(ann, anna, survivorship=policy)

    assert named(preview["contact"]) == named(merged["contact"]) == named(await house.get(ann)) == stored
    assert await house.differences() == []


@pytest.mark.parametrize("policy", POLICIES)
async def test_later_webhooks_for_either_address__go_to_the_survivor(house: House, policy: str) -> None:
    ann, anna = await two(house)
    await house.merge(ann, anna, survivorship=policy)
    before = await house.get(ann)
    house.call.clock.move(10)

    for email in ("ann@a.example", "anna@b.example"):
        await house.hook("camp", SENT | {"email": email, "at": 25, "first_name": "Other"})
    await house.hook("camp", SENT | {"linkedin_url": "https://www.linkedin.com/in/anna/", "at": 26})
    await house.hook(
        "hubspot", {"event": "contact.updated", "email": "anna@b.example", "object_type": "contact", "object_id": "2", "at": 27}
    )
    await house.hook(
        "hubspot", {"event": "contact.updated", "email": "ann@a.example", "object_type": "contact", "object_id": "1", "at": 28}
    )
    await house.hook(
        "hubspot", {"event": "contact.updated", "object_type": "contact", "object_id": "2", "fields": {"last_name": "Li"}, "at": 29}
    )

    (first,) = await house.listed()
    assert (first["id"], first["first_name"], first["last_name"]) == (ann, before["first_name"], "Li")
    assert (await house.timeline(ann)).count("email_sent") == 3
    assert await house.differences() == []


async def test_objects_of_a_crm__stay_together_after_a_merge(house: House) -> None:
    def of(number: int, email: str, at: int, **fields: str) -> dict[str, Any]:
        return {"event": "contact.updated", "email": email, "object_type": "contact", "object_id": str(number), "at": at, "fields": fields}

    await house.hook("hubspot", of(1, "ann@a.example", -9, first_name="Ann"), of(2, "anna@b.example", -8, first_name="Anna"))
    ann, anna = [item["id"] for item in await house.listed()]
    await house.merge(ann, anna, survivorship="newest")
    house.call.clock.move(10)

    await house.hook("hubspot", of(1, "ann@a.example", 1, last_name="Lee"))
    await house.hook("hubspot", of(2, "anna@c.example", 2, last_name="Li"))
    await house.hook("hubspot", of(2, "anna@b.example", -7, first_name="Late"))

    (first,) = await house.listed()
    assert (first["id"], first["email"], first["first_name"], first["last_name"]) == (ann, "anna@c.example", "Late", "Li")
    assert await house.differences() == []


async def test_merge__keeps_the_survivors_values_of_records_made_at_one_time(house: House) -> None:
    """As those of a batch or an import are."""
    fields = [{"contact_status": word, "contact_custom_fields": [{"field_name": "Seats", "field_value": word}]} for word in "ab"]
    contact, other_contact = [await house.contact(first_name=word, **more) for word, more in zip("ab", fields, strict=True)]

    merged = (await house.merge(contact, other_contact))["contact"]

    assert (merged["first_name"], merged["contact_status"], merged["contact_custom_fields"][0]["field_value"]) == ("a", "a", "a")
    assert await house.differences() == []


async def test_undo__restores_both_with_what_arrived_since(house: House) -> None:
    ann, anna = await two(house)
    crm = {"event": "contact.updated", "object_type": "contact", "object_id": "2"}
    await house.hook("hubspot", crm | {"email": "anna@b.example", "at": 15, "fields": {"last_name": "Lea"}})
    await house.hook("camp", SENT | {"email": "ann@a.example", "at": 16})
    before = [await house.get(number) for number in (ann, anna)]
    timelines = [await house.timeline(number) for number in (ann, anna)]
    merge = (await house.merge(ann, anna, survivorship="newest"))["merge_id"]
    house.call.clock.move(10)
    await house.hook("camp", SENT | {"email": "anna@b.example", "at": 25}, SENT | {"email": "ann@a.example", "at": 26})
    await house.hook("hubspot", crm | {"fields": {"first_name": "Anne"}, "at": 27})
    await house.call.patch(f"/public/v2/contacts/{ann}", {"origin": "since"})
    house.call.clock.move(10)

    after = await house.undo(ann, merge)

    assert after == [await house.get(number) for number in (ann, anna)]
    at = {name: to_text(house.call.clock.now - (40 - n) * 1_000_000) for name, n in (("a", 26), ("b", 25))}
    assert still(after[0]) == still(before[0]) | {"origin": "since", "last_campaign_email_sent": at["a"]}
    assert still(after[1]) == still(before[1]) | {
        "first_name": "Anne", "first_campaign_email_sent": at["b"], "last_campaign_email_sent": at["b"],
    }  # fmt: skip
    assert await house.timeline(ann) == [*timelines[0], "contact.merged", "email_sent", "contact.updated"]
    assert await house.timeline(anna) == [*timelines[1], "email_sent", "contact.updated"]
    assert await house.differences() == []
    await house.hook("camp", SENT | {"email": "anna@b.example", "at": 38})
    assert (await house.timeline(anna))[-1] == "email_sent"
    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge/{merge}/undo")).status == 409
    await house.replay()
    assert await house.differences() == []


@pytest.mark.parametrize("policy", POLICIES)
async def test_undo__of_any_policy_gives_the_records_from_before(house: House, policy: str) -> None:
    ann, anna = await two(house)
    third = await house.contact(email="a3@c.example", contact_custom_fields_input=custom(Seats="3", Size="9"))
    before = [await house.get(number) for number in (anna, ann, third)]
    merge = (await house.merge(anna, ann, third, survivorship=policy))["merge_id"]
    assert len(await house.listed()) == 1

    after = await house.undo(anna, merge)

    assert [*map(still, after)] == [*map(still, before)]
    assert await house.differences() == []
    assert (await house.call.get(f"/public/v2/contacts/{ann}")).status == 200


async def test_merge__leaves_the_addresses_of_the_merged_record_to_the_survivor(house: House) -> None:
    ann, anna = await two(house)
    await house.merge(ann, anna, survivorship="keep")

    reply = await house.request("POST", "/public/v2/contacts", {"email": "anna@b.example"})

    assert (reply.status, reply.problem["existing_id"]) == (409, ann)
    assert [row["id"] for row in await house.listed(query="email=anna@b.example")] == [ann]


async def test_records_made_at_one_time__are_merged_and_undone(house: House) -> None:
    numbers = [await house.contact(email=f"p{n}@example.com", contact_custom_fields_input=custom(Seats=str(n))) for n in range(3)]
    before = [await house.get(number) for number in numbers]

    merge = (await house.merge(*numbers, survivorship="newest"))["merge_id"]

    assert await house.timeline(numbers[0]) == ["contact.created"] * 3 + ["contact.merged"]
    assert await house.differences() == []
    assert [*map(still, await house.undo(numbers[0], merge))] == [*map(still, before)]
    assert await house.differences() == []


async def test_merges_of_merges__are_undone_one_by_one(house: House) -> None:
    a, b, c = [await house.contact(email=f"{name}@example.com", first_name=name) for name in "abc"]
    before = [await house.get(number) for number in (a, b, c)]
    first = (await house.merge(b, c))["merge_id"]
    second = (await house.merge(a, b))["merge_id"]
    assert (await house.call.get(f"/public/v2/contacts/{c}")).problem["existing_id"] == a
    assert await house.differences() == []

    await house.undo(a, second)
    assert await house.differences() == []
    await house.undo(b, first)

    assert [still(await house.get(number)) for number in (a, b, c)] == [*map(still, before)]
    assert await house.differences() == []


async def test_merge_companies__moves_their_contacts_and_undo_moves_them_back(house: House) -> None:
    first_company, other_company = (
        await house.company("example.com", name="Example"),
        await house.company("example.org", company_status="lead"),
    )
    by_api = await house.contact(email="a@example.org", company_id=other_company)
    company = {"event": "company.updated", "domain": "example.org", "object_type": "company", "object_id": "5"}
    await house.hook("hubspot", company | {"at": -9})
    naming = {"event": "contact.updated", "email": "b@example.org", "company_object": ["company", "5"], "object_type": "contact"}
    await house.hook("hubspot", naming | {"object_id": "8", "at": -8})
    of_crm = (await house.listed(query="email=b@example.org"))[0]["id"]
    before = [await house.get(number, "companies") for number in (first_company, other_company)]
    house.call.clock.move(10)

    merged = await house.merge(first_company, other_company, kind="companies")

    assert (merged["company"]["domain"], merged["company"]["company_status"]) == ("example.com", "lead")
    assert [(await house.get(number))["company_id"] for number in (by_api, of_crm)] == [first_company, first_company]
    assert await house.differences() == []
    house.call.clock.move(10)
    await house.hook("hubspot", company | {"name": "Org", "fields": {"name": "Org"}, "at": 15})
    await house.hook("hubspot", naming | {"email": "c@example.org", "object_id": "9", "at": 16})
    since = (await house.listed(query="email=c@example.org"))[0]["id"]
    assert [item["id"] for item in await house.listed("companies")] == [first_company]
    assert (await house.get(since))["company_id"] == first_company

    after = await house.undo(first_company, merged["merge_id"], kind="companies")

    assert [*map(still, after)] == [still(before[0]), still(before[1]) | {"name": "Org"}]
    assert [(await house.get(number))["company_id"] for number in (by_api, of_crm, since)] == [other_company] * 3
    assert await house.differences() == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"with": []}, "/with"),
        ({"with": [1]}, "/with/0"),
        ({"with": [2, 2]}, "/with/1"),
        ({}, "/with"),
        ({"with": [2], "survivorship": "best"}, "/survivorship"),
        ({"with": [2], "dryrun": True}, "/dryrun"),
        ({"with": [*range(2, 23)]}, "/with"),
        ({"with": [2], "from_ids": {"email": 3}}, "/from_ids/email"),
        ({"with": [2], "from_ids": {"e-mail/x": 2}}, "/from_ids/e-mail~1x"),
        ({"with": [2], "from_ids": {"last_reply_received": 2}}, "/from_ids/last_reply_received"),
        ({"with": [2], "from_ids": {"cf.Team": "2"}}, "/from_ids/cf.Team"),
    ],
)
async def test_merge_that_makes_no_sense__is_refused(house: House, body: dict[str, Any], pointer: str) -> None:
    await two(house)

    reply = await house.call.post("/public/v2/contacts/1/merge", body)

    assert (reply.status, reply.problem["errors"][0]["pointer"]) == (422, pointer), reply.body


@pytest.mark.parametrize("dry", [True, False])
async def test_merge_with_a_missing_record__says_which(house: House, dry: bool) -> None:
    ann, anna = await two(house)
    await house.delete(anna)

    missing = await house.call.post(f"/public/v2/contacts/{ann}/merge", {"with": [77], "dry_run": dry})
    deleted = await house.call.post(f"/public/v2/contacts/{ann}/merge", {"with": [anna], "dry_run": dry})

    assert (missing.status, "77" in missing.problem["detail"]) == (404, True)
    assert (deleted.status, "restore" in deleted.problem["detail"]) == (404, True)


async def test_merge_with_a_key__happens_once(house: House) -> None:
    ann, anna = await two(house)

    first = await house.call.post(f"/public/v2/contacts/{ann}/merge", {"with": [anna]}, idempotency_key="merge")
    again = await house.call.post(f"/public/v2/contacts/{ann}/merge", {"with": [anna]}, idempotency_key="merge")

    assert (first.status, again.status, first.body == again.body) == (200, 200, True)


async def test_merge__is_forgotten_after_the_days_of_the_client(house: House) -> None:
    ann, anna = await two(house)
    merge = (await house.merge(ann, anna))["merge_id"]
    house.call.clock.move(31 * 86_400)

    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge/{merge}/undo")).status == 409
    await Retention(house.call.parts.store, Eraser(house.call.parts.store, read, house.call.clock), house.call.clock, pause=0).run_once()
    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge/{merge}/undo")).status == 404
    assert await house.differences() == []


async def test_merged_record__is_deleted_and_restored_and_the_merge_undone(house: House) -> None:
    ann, anna = await two(house)
    merge = (await house.merge(ann, anna))["merge_id"]
    await house.delete(ann)
    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge/{merge}/undo")).status == 409
    house.call.clock.move(10)
    await house.hook("camp", SENT | {"email": "anna@b.example", "at": 5})
    assert await house.listed() == []

    await house.restore(ann)

    assert (await house.call.get(f"/public/v2/contacts/{anna}")).problem["existing_id"] == ann
    await house.undo(ann, merge)
    assert (await house.timeline(anna))[-1] == "email_sent" or "email_sent" in await house.timeline(anna)
    assert await house.differences() == []


async def test_erasing_a_merged_person__leaves_nothing_to_undo(house: House) -> None:
    ann, anna = await two(house)
    merge = (await house.merge(ann, anna))["merge_id"]

    reply = await house.call("DELETE", f"/public/v2/contacts/{ann}?erase=true")

    assert reply.json()["removed"]["merges"] == 1
    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge/{merge}/undo")).status == 404
    for email in ("ann@a.example", "anna@b.example"):
        assert (await house.call.post("/public/v2/contacts", {"email": email})).problem["code"] == "person_erased"


async def test_another_client__cannot_merge_or_undo(house: House) -> None:
    ann, anna = await two(house)
    await house.call("PUT", "/admin/v1/clients/other", {"settings": {}})

    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge", {"with": [anna]}, x_client_id="other")).status == 404
    merge = (await house.merge(ann, anna))["merge_id"]
    assert (await house.call.post(f"/public/v2/contacts/{ann}/merge/{merge}/undo", x_client_id="other")).status == 404


PROFILE = "https://www.linkedin.com/in/anna-lee"


async def test_undo__gives_a_profile_that_came_while_two_were_one_to_the_person_that_it_was_named_with(house: House) -> None:
    ann, anna = await house.contact(email="ann@a.example"), await house.contact(email="anna@b.example")
    merge = (await house.merge(ann, anna, survivorship="keep"))["merge_id"]
    await house.hook("camp", {"event": "email_replied", "email": "anna@b.example", "linkedin_url": PROFILE})
    house.call.clock.move(5)
    assert (await house.get(ann))["linkedin_url"] == PROFILE

    await house.undo(ann, merge)

    assert (await house.get(anna))["linkedin_url"] == PROFILE
    assert "linkedin_url" not in await house.get(ann)
    assert (await house.get(ann))["last_reply_received"] is None
    await house.hook("camp", {"event": "linkedin_replied", "linkedin_url": PROFILE, "message_id": "2"})
    assert "linkedin_replied" in await house.timeline(anna)
    assert await house.differences() == []


@pytest.mark.parametrize("survivorship", ["newest", "if_empty", "keep", "most_complete"])
async def test_merge_of_contacts_that_were_posted_twice__agrees_with_its_history(house: House, survivorship: str) -> None:
    jane, joan = await house.contact(email="jane@example.com"), await house.contact(email="joan@example.com")
    for email, name in (("jane@example.com", "Jane"), ("joan@example.com", "Joan")):
        house.call.clock.move(1)
        reply = await house.request("POST", "/public/v2/contacts?on_duplicate=update", {"email": email, "first_name": name})
        assert reply.status == 200, reply.body
    house.call.clock.move(1)

    merge = (await house.merge(jane, joan, survivorship=survivorship))["merge_id"]
    merged = await house.differences()
    await house.undo(jane, merge)

    assert (merged, await house.differences()) == ([], [])
