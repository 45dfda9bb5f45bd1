"""Deleting and restoring contacts and companies."""

from __future__ import annotations

import pytest
from tests.house import CLIENT, House, read

from touchbase.common.timestamps import DAY, SECOND, to_text
from touchbase.erasure.service import Eraser
from touchbase.retention.service import Retention

JANE = {
    "email": "jane@example.com",
    "linkedin_url": "linkedin.com/in/jane-doe",
    "first_name": "Jane",
    "contact_status": "new",
    "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "40"}],
}
SENT = {"event": "email_sent", "email": "jane@example.com", "campaign": "Spring"}
REPLIED = {"event": "email_replied", "email": "jane@example.com"}
OBJECT = {"object_type": "contact", "object_id": "9"}


async def test_delete_contact__answers_the_record_and_hides_it(house: House) -> None:
    number = await house.contact(**JANE)
    before = await house.get(number)

    assert await house.delete(number) == before

    assert await house.listed() == []
    gone = (await house.call.get(f"/public/v2/contacts/{number}")).problem
    assert gone["code"] == "not_found"
    assert f"POST /public/v2/contacts/{number}/restore" in gone["detail"]
    assert gone["deleted_at"] == to_text(house.call.clock.now + 1)
    for reply in (
        await house.call.patch(f"/public/v2/contacts/{number}", {"first_name": "x"}),
        await house.call.get(f"/public/v2/contacts/{number}/timeline"),
        await house.call("DELETE", f"/public/v2/contacts/{number}"),
    ):
        assert (reply.status, "restore" in reply.problem["detail"]) == (404, True)
    assert await house.differences() == []


async def test_delete_contact__frees_its_addresses(house: House) -> None:
    number = await house.contact(**JANE)
    await house.delete(number)

    again = await house.contact(**JANE)

    assert again != number
    assert await house.differences() == []


async def test_restore_contact__brings_all_of_it_back(house: House) -> None:
    company = await house.company("example.com")
    number = await house.contact(**JANE, company_id=company)
    house.call.clock.move(10)
    await house.hook("camp", SENT | {"at": 5})
    await house.hook("hubspot", {"event": "contact.updated", "email": "jane@example.com", "last_name": "Doe", "at": 6, **OBJECT})
    before = await house.get(number)
    house.call.clock.move(10)
    await house.delete(number)
    house.call.clock.move(10)

    restored = await house.restore(number)

    assert restored == {**before, "updated_time": restored["updated_time"]}
    assert restored == await house.get(number)
    assert await house.timeline(number) == ["contact.created", "email_sent", "contact.updated", "contact.deleted", "contact.restored"]
    await house.hook("hubspot", {"event": "contact.updated", "fields": {"first_name": "Janet"}, "at": 29, **OBJECT})
    assert (await house.get(number))["first_name"] == "Janet"
    assert await house.differences() == []
    assert (await house.call.post(f"/public/v2/contacts/{number}/restore")).status == 404


async def test_restore_contact__whose_address_is_taken_names_the_other_record(house: House) -> None:
    number = await house.contact(**JANE)
    await house.delete(number)
    other_contact = await house.contact(email="JANE@example.com")

    reply = await house.call.post(f"/public/v2/contacts/{number}/restore")

    assert (reply.status, reply.problem["existing_id"]) == (409, other_contact)
    await house.delete(other_contact)
    assert (await house.restore(number))["id"] == number
    assert await house.differences() == []


async def test_list_deleted__newest_first_in_pages(house: House) -> None:
    numbers = [await house.contact(email=f"p{n}@example.com") for n in range(5)]
    for number in numbers:
        house.call.clock.move(60)
        await house.delete(number)

    result, query = [], "limit=2"
    while query:
        page = (await house.call.get(f"/public/v2/contacts/deleted?{query}")).json()
        result += page["data"]
        query = page["next_cursor"] and f"limit=2&cursor={page['next_cursor']}"

    assert [item["id"] for item in result] == numbers[::-1]
    assert result[0]["email"] == "p4@example.com"
    assert result[0]["deleted_at"] == to_text(house.call.clock.now)
    assert result[0]["gone_at"] == to_text(house.call.clock.now + 30 * DAY)
    assert (await house.call.get("/public/v2/companies/deleted")).json() == {"data": [], "next_cursor": None}


async def test_webhook_of_a_time_after_the_deletion__makes_a_new_record(house: House) -> None:
    number = await house.contact(**JANE)
    house.call.clock.move(10)
    await house.delete(number)
    house.call.clock.move(10)

    await house.hook("camp", SENT | {"at": 15})

    (new,) = await house.listed()
    assert new["id"] != number
    assert await house.timeline(new["id"]) == ["email_sent"]
    assert await house.differences() == []


@pytest.mark.parametrize("late", [SENT, {"event": "email_sent", "linkedin_url": "https://linkedin.com/in/jane-doe/"}])
async def test_late_webhook_of_a_time_before_the_deletion__belongs_to_the_deleted_record(house: House, late: dict[str, object]) -> None:
    number = await house.contact(**JANE)
    house.call.clock.move(10)
    await house.delete(number)
    house.call.clock.move(10)

    await house.hook("camp", late | {"at": 5}, {"event": "email_sent", "email": "bob@example.com", "at": 5})
    await house.hook("camp", SENT | {"at": 18})

    assert [item["email"] for item in await house.listed()] == ["bob@example.com", "jane@example.com"]
    assert await house.differences() == []
    await house.delete((await house.listed())[1]["id"])
    restored = await house.restore(number)
    assert restored["first_campaign_email_sent"] == restored["last_campaign_email_sent"] == to_text(house.call.clock.now - 15 * SECOND)
    assert restored["contact_status"] == "contacted"
    assert await house.differences() == []


async def test_late_webhook_of_an_object_alone__belongs_to_the_deleted_record(house: House) -> None:
    await house.hook("hubspot", {"event": "contact.created", "email": "jane@example.com", "at": -5, **OBJECT})
    (jane,) = await house.listed()
    house.call.clock.move(10)
    await house.delete(jane["id"])
    house.call.clock.move(10)

    await house.hook("hubspot", {"event": "contact.updated", "fields": {"first_name": "Late"}, "at": 5, **OBJECT})
    await house.hook("hubspot", {"event": "contact.updated", "fields": {"last_name": "Later"}, "at": 15, **OBJECT})

    assert await house.listed() == []
    assert await house.states() == ["applied", "applied", "parked"]
    assert await house.differences() == []
    restored = await house.restore(jane["id"])
    assert (restored["first_name"], restored["last_name"]) == ("Late", "Later")
    assert await house.states() == ["applied", "applied", "applied"]
    assert await house.differences() == []


async def test_late_address__applies_when_the_record_is_restored(house: House) -> None:
    await house.hook("hubspot", {"event": "contact.created", "email": "jane@example.com", "at": -5, **OBJECT})
    (jane,) = await house.listed()
    house.call.clock.move(10)
    await house.delete(jane["id"])
    await house.hook("hubspot", {"event": "contact.updated", "email": "jane@new.example", "at": 5, **OBJECT})
    assert await house.listed() == []

    assert (await house.restore(jane["id"]))["email"] == "jane@new.example"

    house.call.clock.move(10)
    await house.hook("camp", SENT | {"at": 15})
    assert [item["id"] for item in await house.listed()] == [jane["id"]]
    assert await house.differences() == []


async def test_replays__do_not_bring_a_deleted_record_back(house: House) -> None:
    await house.hook("camp", SENT | {"at": -5}, {"event": "email_sent", "email": "bob@example.com", "at": -5})
    await house.hook("camp", REPLIED | {"at": -4, "key": "reply-1"})
    await house.hook("hubspot", {"event": "contact.updated", "email": "jane@example.com", "last_name": "Doe", "at": -3, **OBJECT})
    jane = next(item for item in await house.listed() if item["email"] == "jane@example.com")
    before = await house.states()
    await house.delete(jane["id"])

    await house.replay()

    assert [item["email"] for item in await house.listed()] == ["bob@example.com"]
    assert await house.states() == before
    assert await house.differences() == []
    restored = await house.restore(jane["id"])
    assert restored == {**jane, "updated_time": restored["updated_time"]}
    await house.replay()
    assert await house.differences() == []


async def test_deletion__is_idempotent_by_its_key_only_for_restoring(house: House) -> None:
    number = await house.contact(**JANE)
    await house.delete(number)

    first = await house.call.post(f"/public/v2/contacts/{number}/restore", idempotency_key="once")
    again = await house.call.post(f"/public/v2/contacts/{number}/restore", idempotency_key="once")

    assert (first.status, again.status, first.body == again.body) == (200, 200, True)


async def test_repeated_creation_with_a_key__does_not_bring_a_deleted_record_back(house: House) -> None:
    reply = await house.call.post("/public/v2/contacts", JANE, idempotency_key="make")
    await house.delete(reply.json()["id"])

    again = await house.call.post("/public/v2/contacts", JANE, idempotency_key="make")

    assert (again.status, again.body) == (201, reply.body)
    assert await house.listed() == []


async def test_bin__is_emptied_after_the_days_of_the_client(house: House) -> None:
    await house.call.settings(keep_deleted_days=7)
    number, company = await house.contact(**JANE), await house.company("example.com")
    await house.hook("camp", SENT | {"at": -5})
    await house.delete(number)
    await house.delete(company, "companies")
    retention = Retention(house.call.parts.store, Eraser(house.call.parts.store, read, house.call.clock), house.call.clock, pause=0)

    house.call.clock.move(7 * 86_400 - 5)
    await retention.run_once()
    assert len((await house.call.get("/public/v2/contacts/deleted")).json()["data"]) == 1

    house.call.clock.move(3_700)
    await retention.run_once()
    for kind, gone in (("contacts", number), ("companies", company)):
        assert (await house.call.get(f"/public/v2/{kind}/deleted")).json()["data"] == []
        assert (await house.call.get(f"/public/v2/{kind}/{gone}")).problem["detail"].startswith("there is no")
        assert (await house.call.post(f"/public/v2/{kind}/{gone}/restore")).status == 404
    assert await house.states() == ["ignored"]
    assert await house.differences() == []


async def test_delete_company__unlinks_its_contacts_and_restores_the_links(house: House) -> None:
    company = await house.company("example.com", name="Example")
    by_api = await house.contact(email="a@example.com", company_id=company)
    patched = await house.contact(email="b@example.com")
    await house.call.patch(f"/public/v2/contacts/{patched}", {"company_id": company})
    unset = await house.contact(email="c@example.com", company_id=company)
    await house.hook("hubspot", {"event": "company.updated", "domain": "example.com", "object_type": "company", "object_id": "5", "at": -9})
    claimed = {"event": "contact.updated", "email": "d@example.com", "company_object": ["company", "5"], "at": -8, **OBJECT}
    await house.hook("hubspot", claimed)
    of_crm = (await house.listed(query="email=d@example.com"))[0]["id"]
    assert (await house.get(of_crm))["company_id"] == company
    house.call.clock.move(10)

    await house.delete(company, "companies")

    numbers = (by_api, patched, unset, of_crm)
    assert ["company_id" in await house.get(number) for number in numbers] == [False] * 4
    assert await house.differences() == []
    assert (await house.call.post("/public/v2/contacts", {"email": "e@example.com", "company_id": company})).status == 422
    house.call.clock.move(10)
    await house.call.patch(f"/public/v2/contacts/{unset}", {"company_id": None})

    await house.restore(company, "companies")

    assert [(await house.get(number)).get("company_id") for number in numbers] == [company, company, None, company]
    assert await house.differences() == []


async def test_company_that_its_crm_sends_again__gets_its_contacts(house: House) -> None:
    company = {"event": "company.updated", "domain": "example.com", "object_type": "company", "object_id": "5"}
    await house.hook("hubspot", company | {"at": -9})
    await house.hook(
        "hubspot", {"event": "contact.updated", "email": "d@example.com", "company_object": ["company", "5"], "at": -8, **OBJECT}
    )
    (old,) = await house.listed("companies")
    house.call.clock.move(10)
    await house.delete(old["id"], "companies")
    house.call.clock.move(10)

    await house.hook("hubspot", company | {"at": 15})

    (new,) = await house.listed("companies")
    assert (new["id"] != old["id"], (await house.listed())[0]["company_id"]) == (True, new["id"])
    assert await house.differences() == []


async def test_contact_and_its_company__are_restored_in_any_order(house: House) -> None:
    for first, second in ((0, 1), (1, 0)):
        for back in ((0, 1), (1, 0)):
            domain = f"d{first}{second}{back[0]}.example"
            company = await house.company(domain)
            contact = await house.contact(email=f"jane@{domain}", company_id=company)
            both = (("contacts", contact), ("companies", company))
            for index in (first, second):
                await house.delete(both[index][1], both[index][0])
            for index in back:
                await house.restore(both[index][1], both[index][0])
            assert (await house.get(contact))["company_id"] == company
            assert await house.differences() == []


async def test_erasing_a_person__reaches_the_bin(house: House) -> None:
    number = await house.contact(**JANE)
    await house.hook("camp", SENT | {"at": -5})
    await house.delete(number)
    again = await house.contact(email="jane@example.com")

    reply = await house.call("DELETE", f"/public/v2/contacts/{again}?erase=true")

    assert (reply.status, reply.json()["removed"]["deleted_records"]) == (200, 1)
    assert (await house.call.get("/public/v2/contacts/deleted")).json()["data"] == []
    assert (await house.call.post(f"/public/v2/contacts/{number}/restore")).status == 404
    await house.replay()
    assert await house.listed() == []


async def test_deleted_contact__can_be_erased_and_exported_by_its_id(house: House) -> None:
    number = await house.contact(**JANE)
    await house.hook("hubspot", {"event": "contact.updated", "email": "jane@example.com", "last_name": "Doe", "at": -3, **OBJECT})
    await house.delete(number)

    exported = (await house.call.get(f"/public/v2/contacts/{number}/export")).json()
    assert (exported["contact"]["email"], len(exported["timeline"]), len(exported["deliveries"])) == ("jane@example.com", 3, 1)
    assert {"tool": "hubspot", "object_type": "contact", "object_id": "9"} in exported["identities"]

    assert (await house.call("DELETE", f"/public/v2/contacts/{number}?erase=true")).status == 200
    reply = await house.call.post("/public/v2/contacts", {"email": "jane@example.com"})
    assert (reply.status, reply.problem["code"]) == (409, "person_erased")


async def test_another_client__cannot_see_delete_or_restore(house: House) -> None:
    number = await house.contact(**JANE)
    await house.call("PUT", "/admin/v1/clients/other", {"settings": {}})

    assert (await house.call("DELETE", f"/public/v2/contacts/{number}", x_client_id="other")).status == 404
    await house.delete(number)
    assert (await house.call.post(f"/public/v2/contacts/{number}/restore", x_client_id="other")).status == 404
    assert (await house.call.get("/public/v2/contacts/deleted", x_client_id="other")).json()["data"] == []
    assert CLIENT == 1


ENDS = ("none", "delete", "merge", "merge and undo", "merge and delete", "patch", "restore", "delete two")


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("field", ["email", "linkedin_url"])
@pytest.mark.parametrize(("at", "is_first"), [(10, True), (25, True), (35, False)])
async def test_late_reply_from_an_address_of_two_contacts__belongs_to_the_one_that_had_it_then(
    house: House, at: int, is_first: bool, field: str, end: str
) -> None:
    """Jane had the address for 20 seconds, and Joan from second 30 on."""
    first, second = ("jane@example.com", "doe@example.com") if field == "email" else ("linkedin.com/in/jane", "linkedin.com/in/doe")
    jane = await house.contact(**{field: first})
    house.call.clock.move(20)
    await house.call.patch(f"/public/v2/contacts/{jane}", {field: second})
    house.call.clock.move(10)
    joan = await house.contact(**{field: first})
    house.call.clock.move(10)
    second_item = {"linkedin_url": "linkedin.com/in/kim"} if field == "email" else {"email": "kim@example.com"}
    kim = await house.contact(first_name="Kim", **second_item)
    if end.startswith("merge"):
        merge = (await house.merge(kim, joan))["merge_id"]
        if end.endswith("undo"):
            await house.undo(kim, merge)
        elif end.endswith("delete"):
            await house.delete(kim)
    elif end == "patch":
        third = "joan@example.com" if field == "email" else "linkedin.com/in/joan"
        await house.call.patch(f"/public/v2/contacts/{joan}", {field: third})
    elif end != "none":
        await house.delete(joan)
        if end == "restore":
            await house.restore(joan)
        elif end == "delete two":
            again = await house.contact(**{field: first})
            house.call.clock.move(10)
            await house.delete(again)

    await house.hook("camp", {"event": "email_replied" if field == "email" else "linkedin_replied", field: first, "at": at})

    timeline = await house.timeline(jane)
    if end.startswith("delete"):
        await house.restore(joan)
    elif end == "merge and delete":
        await house.restore(kim)
    theirs = kim if end in ("merge", "merge and delete") else joan
    reply = "email_replied" if field == "email" else "linkedin_replied"
    assert (reply in timeline, reply in await house.timeline(theirs)) == (is_first, not is_first)
    assert await house.differences() == []
