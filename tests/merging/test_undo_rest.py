"""Undoing a merge: further addresses, opt-outs and fields that were renamed since."""

from __future__ import annotations

from typing import Any

import pytest
from tests.custom_fields.fields import rename as rename_field
from tests.house import House, house
from tests.statuses.jobs import finish, rename

__all__ = ["house"]
CONTACTS = "/public/v2/contacts"
ANN, LEE, LEE_2 = "ann@example.com", "lee@example.com", "lee@b.example"


async def suppressed(house: House) -> set[int]:
    return {item["id"] for item in await house.listed(query="suppressed=true")}


async def test_undo__of_a_merge_whose_further_address_another_person_has_is_refused(house: House) -> None:
    ann, lee = await house.contact(email=ANN), await house.contact(emails=[LEE, LEE_2])
    merge = (await house.merge(ann, lee, survivorship="keep"))["merge_id"]
    await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN, LEE]})
    third = await house.contact(email=LEE_2)

    reply = await house.request("POST", f"{CONTACTS}/{ann}/merge/{merge}/undo")

    assert (reply.status, reply.problem["existing_id"]) == (409, third)
    await house.delete(third)
    await house.undo(ann, merge)
    assert (await house.get(lee))["emails"] == [LEE, LEE_2]
    assert await house.differences() == []


async def test_undo__of_a_merge_after_whose_further_address_was_left_out_gives_it_back(house: House) -> None:
    ann, lee = await house.contact(emails=[ANN, "ann@b.example"]), await house.contact(emails=[LEE, LEE_2])
    merge = (await house.merge(ann, lee, survivorship="keep"))["merge_id"]
    house.call.clock.move(1)
    await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN, LEE]})

    await house.undo(ann, merge)

    assert (await house.get(lee))["emails"] == [LEE, LEE_2]
    assert (await house.get(ann))["email"] == ANN
    assert await house.differences() == []


@pytest.mark.parametrize("removed", [False, True])
async def test_undo__leaves_each_contact_its_own_opt_out(house: House, removed: bool) -> None:
    """Also one whose address is gone by then: a further one has it."""
    ann, lee = await house.contact(email=ANN), await house.contact(emails=[LEE, LEE_2])
    await house.hook("hubspot", {"event": "contact.updated", "email": LEE, "object_type": "contact", "object_id": "7", "at": -9})
    merge = (await house.merge(ann, lee, survivorship="keep"))["merge_id"]
    house.call.clock.move(10)
    await house.hook("hubspot", {"event": "email_unsubscribed", "object_type": "contact", "object_id": "7", "at": 5})
    if removed:
        await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN, LEE_2]})
    assert await suppressed(house) == {ann}

    await house.undo(ann, merge)

    assert await suppressed(house) == {lee}
    await house.request("PATCH", f"{CONTACTS}/{lee}", {"contact_status": "new"})
    assert await suppressed(house) == {lee}
    assert await house.differences() == []


@pytest.mark.parametrize("first", ["merge", "rename"])
async def test_opt_out__is_lifted_by_no_renaming_and_no_undo(house: House, first: str) -> None:
    ann, lee = await house.contact(email=ANN, contact_status="unsubscribed"), await house.contact(email=LEE, contact_status="customer")
    third = await house.contact(email="third@example.com", contact_status="unsubscribed")
    if first == "rename":
        await rename(house, "unsubscribed", "Gone")
        await finish(house)
    merge = (await house.merge(lee, ann, survivorship="keep"))["merge_id"]
    house.call.clock.move(1)
    if first == "merge":
        await rename(house, "unsubscribed", "Gone")
        await finish(house)
    assert await suppressed(house) == {lee, third}

    await house.undo(lee, merge)

    assert await suppressed(house) == {ann, third}
    await house.request("PATCH", f"{CONTACTS}/{ann}", {"contact_status": "customer"})
    assert await suppressed(house) == {ann, third}
    assert await house.differences() == []


async def test_undo__after_the_renaming_of_a_field_gives_values_under_the_new_name(house: House) -> None:
    fields: list[Any] = [[{"field_name": "Industry", "field_value": value}] for value in ("Bank", "Retail")]
    ann = await house.contact(email=ANN, contact_custom_fields=fields[0])
    lee = await house.contact(email=LEE, contact_custom_fields=fields[1])
    merge = (await house.merge(ann, lee, survivorship="newest"))["merge_id"]
    house.call.clock.move(1)
    await rename_field(house, "Industry", "Sector")
    house.call.clock.move(1)

    await house.undo(ann, merge)

    for number, value in ((ann, "Bank"), (lee, "Retail")):
        fields = (await house.get(number))["contact_custom_fields"]
        assert [(field["field_name"], field["field_value"]) for field in fields] == [("Sector", value)]
    assert await house.differences() == []
