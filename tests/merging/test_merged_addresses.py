"""Addresses of merged and joined contacts: one is the first, each is spelled as written, and undoing gives each record its own."""

from __future__ import annotations

from typing import Any

import pytest
from tests.asgi_client import ApiClient
from tests.changes.test_reverts import newest, reverted
from tests.house import House, house
from tests.projection.test_crm_merges import event

__all__ = ["house"]
CONTACTS = "/public/v2/contacts"
ANN, LEE, PROFILE = "ann@example.com", "lee@example.com", "https://www.linkedin.com/in/ann-lee"


async def batch(house: House, *commands: dict[str, Any], **more: Any) -> list[Any]:
    reply = await house.request("POST", f"{CONTACTS}/batch", {"commands": commands, **more})
    assert reply.status == 200, reply.body
    return reply.json()["results"]


@pytest.mark.parametrize("atomic", [False, True])
@pytest.mark.parametrize("removed", [{"email": None}, {"email": None, "first_name": "Ann"}], ids=str)
async def test_join__after_a_creation_and_a_removed_address_in_one_batch(house: House, removed: dict[str, Any], atomic: bool) -> None:
    await house.contact(linkedin_url=PROFILE)
    key = {"external_id": "7"}

    results = await batch(
        house,
        {"op": "create", "body": {**key, "email": ANN}},
        {"op": "upsert", "match": "external_id", "body": {**key, **removed}},
        {"op": "upsert", "match": "external_id", "body": {**key, "linkedin_url": PROFILE}},
        atomic=atomic,
    )

    assert [item["status"] for item in results] == [201, 200, 200]
    assert await house.differences() == []
    [contact] = await house.listed()
    assert (contact["external_id"], contact["linkedin_url"]) == ("7", PROFILE)


@pytest.mark.parametrize("removed", ["first", "second"])
async def test_join__of_a_contact_created_and_emptied_in_one_batch(house: House, removed: str) -> None:
    """Both writes have one time: the later in the batch wins, also in the history of the survivor."""
    other_contact = await house.contact(linkedin_url=PROFILE, email=LEE if removed == "second" else None)
    results = await batch(
        house,
        {"op": "upsert", "match": "external_id", "body": {"external_id": "7", "email": ANN}},
        {"op": "upsert", "match": "external_id", "body": {"external_id": "7", "email": None}},
    )
    number = results[0]["id"]
    await house.request("PATCH", f"{CONTACTS}/{number}", {"email": None})

    if removed == "second":
        await house.request("PATCH", f"{CONTACTS}/{other_contact}", {"email": None})
    reply = await house.request("PUT", f"{CONTACTS}?match=external_id", {"external_id": "7", "linkedin_url": PROFILE})

    assert reply.status == 200, reply.body
    assert await house.differences() == []
    [contact] = await house.listed()
    assert "email" not in contact


async def test_undo__of_contacts_and_their_companies_leaves_no_difference(house: House) -> None:
    old, new = await house.company("old.example"), await house.company("new.example")
    ann, lee = await house.contact(email=ANN, company_id=old), await house.contact(email=LEE, company_id=new)
    for first, second in ((("contacts", ann, lee), ("companies", old, new)), (("companies", old, new), ("contacts", ann, lee))):
        for backwards in (False, True):
            merges = [
                (kind, first_item, (await house.merge(first_item, second_item, kind=kind))["merge_id"])
                for kind, first_item, second_item in (first, second)
            ]
            for kind, one, merge in reversed(merges) if backwards else merges:
                house.call.clock.move(1)
                await house.undo(one, merge, kind=kind)
            assert await house.differences() == []
            assert [(await house.get(number))["company_id"] for number in (ann, lee)] == [old, new]


async def test_merge__by_newest_that_leaves_no_first_address_takes_the_first_of_the_others(house: House) -> None:
    ann, lee = await house.contact(emails=[ANN, "ann@b.example"]), await house.contact(email=LEE)
    house.call.clock.move(1)
    await house.request("PATCH", f"{CONTACTS}/{lee}", {"email": None})

    merge = await house.merge(ann, lee)

    assert ((await house.get(ann)).get("email"), (await house.get(ann)).get("emails")) == (ANN, [ANN, "ann@b.example"])
    assert await house.differences() == []
    await house.undo(ann, merge["merge_id"])
    assert [(await house.get(number)).get("email") for number in (ann, lee)] == [ANN, None]
    assert await house.differences() == []


async def test_join__by_newest_that_leaves_no_first_address_takes_the_only_one(house: House) -> None:
    ann = await house.contact(email=ANN)
    lee = await house.contact(email=LEE, linkedin_url=PROFILE)
    house.call.clock.move(1)
    await house.request("PATCH", f"{CONTACTS}/{lee}", {"email": None})
    house.call.clock.move(1)

    reply = await house.request("POST", f"{CONTACTS}?on_duplicate=update", {"email": ANN, "linkedin_url": PROFILE})

    assert (reply.status, reply.json()["email"], reply.json().get("emails")) == (200, ANN, None)
    assert (await house.get(ann))["email"] == ANN
    assert await house.differences() == []


@pytest.mark.parametrize("survivorship", ["newest", "keep", "if_empty", "most_complete"])
async def test_merge__spells_each_address_as_it_was_written(house: House, survivorship: str) -> None:
    ann, lee = await house.contact(emails=["Ann@Example.com", "A.Lee@B.example"]), await house.contact(email="Lee@Example.COM")

    merge = await house.merge(ann, lee, survivorship=survivorship)

    assert set((await house.get(ann))["emails"]) == {"Ann@Example.com", "A.Lee@B.example", "Lee@Example.COM"}
    await house.hook("camp", {"event": "email_sent", "email": "LEE@example.com"})
    await house.hook("camp", {"event": "email_sent", "email": "ANN@example.com"})
    assert set((await house.get(ann))["emails"]) == {"Ann@Example.com", "A.Lee@B.example", "Lee@Example.COM"}
    assert await house.differences() == []
    await house.undo(ann, merge["merge_id"])
    assert [(await house.get(number))["email"] for number in (ann, lee)] == ["Ann@Example.com", "Lee@Example.COM"]
    assert await house.differences() == []


async def test_undo__returns_addresses_that_a_list_brought_since_the_merge(house: House) -> None:
    ann = await house.contact(emails=[ANN, "a1@example.com"])
    await house.hook("espocrm", event("created", "1", -90, email=LEE, emails=[LEE]))
    [lee] = [contact["id"] for contact in await house.listed() if contact["id"] != ann]
    merge = await house.merge(ann, lee)
    await house.hook("espocrm", event("updated", "1", -70, email=LEE, emails=[LEE, "b1@example.com", "b2@example.com"]))

    await house.undo(ann, merge["merge_id"])

    assert [(await house.get(number))["emails"] for number in (ann, lee)] == [
        [ANN, "a1@example.com"],
        [LEE, "b1@example.com", "b2@example.com"],
    ]
    assert await house.differences() == []


async def test_restore__brings_back_all_addresses_and_leaves_the_limit_to_later_webhooks(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("touchbase.projection.address_book.MAX_EMAILS", 3)
    lists = {"espocrm": [ANN, "a1@example.com", "a2@example.com"], "hubspot": [ANN, "b1@example.com", "b2@example.com"]}
    for tool in lists:
        await house.hook(tool, event("created", "1", -90, email=ANN, emails=[ANN]))
    [contact] = await house.listed()
    await house.delete(contact["id"])
    for tool, emails in lists.items():
        await house.hook(tool, event("updated", "1", -70, email=ANN, emails=emails))

    await house.restore(contact["id"])

    assert (await house.get(contact["id"]))["emails"] == sorted(
        {*lists["espocrm"], *lists["hubspot"]}, key=lambda email: (email != ANN, email)
    )
    await house.hook("hubspot", event("updated", "1", -60, email=ANN, emails=[*lists["hubspot"], "b3@example.com"]))
    await house.hook("hubspot", event("updated", "1", -50, email=ANN, emails=[ANN], fields={"first_name": "Ann"}))
    assert await house.states() == ["applied", "applied", "applied", "applied", "failed", "applied"]
    assert ((await house.get(contact["id"]))["emails"], await house.differences()) == (lists["espocrm"], [])


async def test_contact_of_very_many_addresses__is_merged_no_further(call: ApiClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.merging.sql.merge.MAX_EMAILS", 5)
    bodies = [{"emails": [f"{name}{number}@example.com" for number in range(3)]} for name in "ab"]
    first, second = [(await call.post("/public/v2/contacts", body)).json()["id"] for body in bodies]

    refused = await call.post(f"/public/v2/contacts/{first}/merge", {"with": [second]})

    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/with")
    assert "would have 6 e-mail addresses, and at most 5 are possible; remove some first" in refused.problem["detail"]
    await call("PATCH", f"/public/v2/contacts/{second}", {"emails": ["b0@example.com"]})
    assert (await call.post(f"/public/v2/contacts/{first}/merge", {"with": [second]})).status == 200


async def test_upserts__add_no_more_addresses_than_a_contact_may_have(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.records.sql.update.MAX_EMAILS", 3)
    ann = await house.contact(emails=[ANN, "a1@example.com"])
    upsert = f"{CONTACTS}?on_duplicate=update"
    assert (await house.request("POST", upsert, {"emails": [ANN, "a2@example.com"]})).status == 200

    refused = await house.request("POST", upsert, {"emails": [ANN, "a3@example.com"]})

    assert (refused.status, refused.problem["errors"][0]["pointer"]) == (422, "/emails")
    assert (await house.request("POST", upsert, {"emails": [ANN, "a1@example.com"], "first_name": "Ann"})).status == 200
    assert (await house.get(ann))["emails"] == [ANN, "a1@example.com", "a2@example.com"]
    assert await house.differences() == []


@pytest.mark.parametrize("reverts", [False, True], ids=["by the record", "by the change"])
async def test_contact_at_its_limit_of_addresses__has_no_more_after_the_bin_and_an_undo(
    call: ApiClient, monkeypatch: pytest.MonkeyPatch, reverts: bool
) -> None:
    """Restored and divided, also by a revert, it has its addresses and no more; the limit holds for the next write."""
    for module in ("merging.sql.merge", "records.sql.update", "projection.address_book"):
        monkeypatch.setattr(f"touchbase.{module}.MAX_EMAILS", 5)
    house = await House.of(call, "default")
    both = [[f"{name}{number}@example.com" for number in range(count)] for name, count in (("a", 3), ("b", 2))]
    ann, lee = [await house.contact(emails=emails) for emails in both]
    one_more = (f"{CONTACTS}?on_duplicate=update", {"emails": ["a0@example.com", "c@example.com"]})

    merge = await house.merge(ann, lee)
    merged = await newest(call)
    call.clock.move(3600)
    await house.delete(ann)
    await (reverted(call, await newest(call)) if reverts else house.restore(ann))

    assert {*(await house.get(ann))["emails"]} == {*both[0], *both[1]}
    assert (await house.request("POST", *one_more)).status == 422
    await (reverted(call, merged) if reverts else house.undo(ann, merge["merge_id"]))
    assert [(await house.get(number))["emails"] for number in (ann, lee)] == both
    for letter in "de":
        assert (await house.request("POST", one_more[0], {"emails": ["a0@example.com", f"{letter}@example.com"]})).status == 200
    assert (await house.request("POST", *one_more)).status == 422
    assert (await house.request("POST", f"{CONTACTS}/{ann}/merge", {"with": [lee]})).status == 422
    assert await house.differences() == []
