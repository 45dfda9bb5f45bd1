"""A CRM that tells a merge as a deletion and an update with both addresses: the two contacts are one, in any order."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest
from tests.house import House, house

from touchbase.inbox.sql.queries import list_deliveries

__all__ = ["house"]
ANN, LEE = "ann@example.com", "ann.lee@example.org"
TYPE = "Contact"


def event(what: str, number: str, at: int, **values: Any) -> dict[str, Any]:
    return {"event": f"contact.{what}", "object_type": TYPE, "object_id": number, "at": at, **values}


ANN_MADE = event("created", "1", -90, email=ANN, fields={"first_name": "Ann"}, custom={"plan": "pro"})
LEE_MADE = event("created", "2", -80, email=LEE, emails=[LEE], fields={"first_name": "A.", "last_name": "Lee"})
GONE = event("deleted", "1", -20)
BOTH = event("updated", "2", -19, email=LEE, emails=[LEE, ANN], fields={"last_name": "Lee-Smith"})
CALLS = {"made": [ANN_MADE, LEE_MADE], "deletion": [GONE], "update": [BOTH]}


@pytest.mark.parametrize("order", [*permutations(CALLS), ("made", "update", "update", "deletion")], ids=" ".join)
async def test_deletion_and_update_with_both_addresses__are_a_merge(house: House, order: tuple[str, ...]) -> None:
    replied = {"event": "email_replied", "email": ANN, "at": -50}
    unsubscribed = {"event": "email_unsubscribed", "email": ANN, "at": -40}

    for name in order:
        await house.hook("espocrm", *CALLS[name])
        if name == "made":
            await house.hook("camp", replied, unsubscribed)

    [contact] = await house.listed()
    assert (contact["emails"], contact["first_name"], contact["last_name"]) == ([LEE, ANN], "A.", "Lee-Smith")
    assert (contact["contact_status"], contact["last_reply_received"]) == ("do_not_contact", "2026-11-20T09:29:10Z")
    assert {custom_field["field_name"]: custom_field["field_value"] for custom_field in contact["contact_custom_fields"]} == {"plan": "pro"}
    assert (await house.listed(query="suppressed=true"))[0]["id"] == contact["id"]
    assert await house.differences() == []
    await house.replay()
    assert [item["id"] for item in await house.listed()] == [contact["id"]]


async def test_merge__in_one_webhook_is_told(house: House) -> None:
    await house.hook("espocrm", ANN_MADE, LEE_MADE)

    await house.hook("espocrm", BOTH, GONE)

    assert [item["emails"] for item in await house.listed()] == [[LEE, ANN]]
    assert await house.differences() == []


UNTOLD = {
    "the object lives": [BOTH],
    "the update names no address of it": [GONE, BOTH | {"emails": [LEE, "other@example.com"]}],
    "the list no longer names it": [BOTH, event("updated", "2", -15, email=LEE, emails=[LEE]), GONE],
    "an object of another type": [GONE, BOTH | {"object_type": "Lead", "object_id": "9"}],
    "another object has the address": [event("created", "3", -60, email=ANN), GONE, BOTH],
}


@pytest.mark.parametrize("calls", UNTOLD.values(), ids=UNTOLD)
async def test_deletion_and_update__of_two_people_are_no_merge(house: House, calls: list[dict[str, Any]]) -> None:
    await house.hook("espocrm", ANN_MADE, LEE_MADE)

    for call in calls:
        await house.hook("espocrm", call)

    assert {item["email"] for item in await house.listed()} == {ANN, LEE}
    assert await house.differences() == []


async def test_deletion_in_another_connection__is_no_merge(house: House) -> None:
    await house.hook("espocrm", ANN_MADE)
    await house.hook("hubspot", LEE_MADE)

    await house.hook("espocrm", GONE)
    await house.hook("hubspot", BOTH)

    assert {item["email"] for item in await house.listed()} == {ANN, LEE}


REFUSED = "would have 4 e-mail addresses by this webhook, and at most 3 are possible, so it is not applied: remove addresses of the contact"


async def test_merges_to_more_addresses_than_a_contact_may_have__are_refused(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.projection.address_book.MAX_EMAILS", 3)
    made = [event("created", str(number), -90 + number, email=f"a{number}@example.com") for number in range(1, 5)]
    merges = [event("deleted", str(number), -20 + number, merged_into="1") for number in (2, 3, 4)]
    await house.hook("espocrm", *made)
    for merge in merges:
        await house.hook("espocrm", merge, apply=False)

    await house.work()

    assert await house.states() == ["applied", "applied", "applied", "failed"]
    emails = [contact.get("emails") or [contact["email"]] for contact in await house.listed()]
    assert sorted(map(sorted, emails)) == [[f"a{number}@example.com" for number in (1, 2, 3)], ["a4@example.com"]]
    assert await house.differences() == []


async def test_refused_merge__is_applied_by_a_replay_after_addresses_were_removed(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.projection.address_book.MAX_EMAILS", 3)
    three = [f"a{number}@example.com" for number in range(3)]
    survivor = await house.contact(emails=three)
    await house.hook("espocrm", event("created", "1", -90, email=three[0]), event("created", "2", -80, email=LEE, emails=[LEE]))
    merge, late = event("deleted", "2", -20, merged_into="1"), event("updated", "2", -10, email=LEE, fields={"first_name": "Lee"})

    await house.hook("espocrm", merge)
    await house.hook("espocrm", late)

    [failed] = [item for item in await house.call.parts.store.read(list_deliveries(200, house.number)) if item.state == "failed"]
    assert REFUSED in (failed.error or "")
    assert failed.attempts == 1
    assert {(item["email"], item["first_name"]) for item in await house.listed()} == {(three[0], ""), (LEE, "Lee")}
    await house.request("PATCH", f"/public/v2/contacts/{survivor}", {"emails": three[:2]})
    await house.replay()
    [contact] = await house.listed()
    assert contact["emails"] == [*three[:2], LEE]
    assert await house.differences() == []


async def test_list_of_more_addresses_than_a_contact_may_have__is_refused(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("touchbase.projection.address_book.MAX_EMAILS", 3)
    first, second = ([ANN, *(f"{letter}{number}@example.com" for number in range(2))] for letter in "ab")

    await house.hook("espocrm", event("created", "1", -90, email=ANN, emails=first))
    await house.hook("hubspot", event("created", "1", -80, email=ANN, emails=second))
    await house.hook("espocrm", event("updated", "1", -70, email=ANN, emails=first[:2], fields={"first_name": "Ann"}))

    assert await house.states() == ["applied", "failed", "applied"]
    assert [(item["emails"], item["first_name"]) for item in await house.listed()] == [(first[:2], "Ann")]
    assert await house.differences() == []
