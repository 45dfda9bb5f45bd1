"""A webhook that names two people is applied to one of them, and listed for a person to review."""

from __future__ import annotations

from itertools import islice, permutations
from typing import Any

import pytest
from tests.asgi_client import MakeClient
from tests.house import House, house, read

from touchbase.sql.store import Store

__all__ = ["house"]
ANN, BOB, PROFILE = "ann@example.com", "bob@example.com", "https://www.linkedin.com/in/ann-lee"
OBJECT = {"object_type": "contact", "object_id": "7"}


async def problems(house: House) -> list[Any]:
    """The problems of applied webhooks."""
    reply = await house.call.get(f"/admin/v1/deliveries?problems=true&client={house.client_id}")
    return [(problem["code"], problem["detail"]) for delivery in reply.json()["data"] for problem in delivery["problems"]]


async def test_webhook__with_the_profile_of_another_person_is_listed(house: House) -> None:
    await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.contact(email=BOB)

    await house.hook("camp", {"event": "email_sent", "email": BOB, "linkedin_url": PROFILE, "at": -1})

    ((code, detail),) = await problems(house)
    assert (code, "linkedin.com/in/ann-lee" in detail) == ("other_person", True)
    assert {item["email"] for item in await house.listed()} == {ANN, BOB}


async def test_webhook__of_an_object_with_the_address_of_another_person_is_listed(house: House) -> None:
    await house.contact(email=ANN)
    await house.contact(email=BOB)
    await house.hook("hubspot", {"event": "contact.created", "email": BOB, "at": -30, **OBJECT})

    await house.hook("hubspot", {"event": "contact.updated", "email": ANN, "at": -9, **OBJECT})

    assert [code for code, _ in await problems(house)] == ["other_person"]
    assert len(await house.listed()) == 2


@pytest.mark.parametrize("profile", [PROFILE, "https://www.linkedin.com/in/bob"])
async def test_webhook__about_one_person_has_no_problem(house: House, profile: str) -> None:
    await house.contact(email=ANN, linkedin_url=PROFILE)

    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": profile, "at": -1})
    await house.hook("hubspot", {"event": "contact.created", "email": ANN, "at": -30, **OBJECT})

    assert await problems(house) == []


HOOKS = [
    ("camp", {"event": "email_sent", "email": ANN, "linkedin_url": PROFILE, "at": -50, "first_name": "Ann"}),
    ("camp", {"event": "email_replied", "email": ANN, "at": -40}),
    ("plain", {"event": "linkedin_replied", "linkedin_url": PROFILE, "at": -30, "counts": True}),
    ("hubspot", {"event": "contact.updated", "email": ANN, "at": -20, "fields": {"linkedin_url": PROFILE, "last_name": "Lee"}, **OBJECT}),
    ("hubspot", {"event": "contact.status_changed", "status": "customer", "at": -10, **OBJECT}),
]


async def test_webhooks__that_name_two_contacts_of_requests_give_equal_records_in_any_order(store: Store, make_client: MakeClient) -> None:
    call, shown = make_client(store, read=read), list[Any]()
    for index, hooks in enumerate(islice(permutations(HOOKS), 0, None, 17)):
        house = await House.of(call, f"order{index}")
        await house.contact(email=ANN, first_name="A")
        await house.contact(linkedin_url=PROFILE)
        house.call.clock.move(60)
        for tool, event in hooks:
            await house.hook(tool, event)
        assert await house.differences() == []
        unequal = {"id", "created_time", "updated_time"}
        contacts = [{name: value for name, value in item.items() if name not in unequal} for item in await house.listed()]
        shown.append((contacts, [await house.timeline(item["id"]) for item in await house.listed()]))

    assert all(item == shown[0] for item in shown), shown
    [contact] = shown[0][0]
    assert (contact["email"], contact["linkedin_url"], contact["last_name"]) == (ANN, PROFILE, "Lee")
