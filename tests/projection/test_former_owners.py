"""A late reply belongs to the person who had its address at its time, however many have had the address since."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest
from tests.house import House, house

__all__ = ["house"]
KEY = "info@example.com"
PROFILE = "https://www.linkedin.com/in/info"
ENDS = ("moves on", "is deleted", "is merged")
THREE = [
    ("moves on", "moves on", "moves on"),
    ("moves on", "is deleted", "is merged"),
    ("is merged", "is deleted", "moves on"),
    ("is deleted", "moves on", "is merged and the survivor is deleted"),
    ("is merged and the survivor is deleted", "is merged", "is deleted"),
]
STEP = 100
"""Seconds between two changes of an owner."""


async def have_in_turn(house: House, ends: Sequence[str], field: str, key: str) -> list[int]:
    """Give an address to one contact after the other, each for a step; return the contacts, or those that they were merged into."""
    owners: list[int] = []
    for index, end in enumerate(ends):
        house.call.clock.move(STEP / 2)
        owner = await house.contact(**{field: key, "first_name": f"Owner {index}"})
        house.call.clock.move(STEP / 2)
        if end == "moves on":
            other_key = key.replace("info", f"moved-{index}")
            assert (await house.request("PATCH", f"/public/v2/contacts/{owner}", {field: other_key})).status == 200
        elif end == "is deleted":
            await house.delete(owner)
        elif end.startswith("is merged"):
            survivor = await house.contact(email=f"survivor-{index}@example.com")
            await house.merge(survivor, owner, survivorship="keep")
            if end.endswith("is deleted"):
                await house.delete(survivor)
            elif field == "email":
                emails = {"emails": [f"s-{index}@example.com"]}
                assert (await house.request("PATCH", f"/public/v2/contacts/{survivor}", emails)).status == 200
            owner = survivor
        owners.append(owner)
    return owners


async def replies_of(house: House, number: int) -> int:
    """How many replies a contact has, which may be in the bin."""
    if is_deleted := (await house.request("GET", f"/public/v2/contacts/{number}")).status == 404:
        await house.restore(number)
    replies = (await house.timeline(number)).count("email_replied")
    assert await house.differences() == []
    if is_deleted:
        await house.delete(number)
    return replies


@pytest.mark.parametrize("ends", [*product(ENDS, repeat=2), *THREE], ids=" ".join)
async def test_late_replies__belong_to_the_owner_at_their_time(house: House, ends: Sequence[str]) -> None:
    owners = await have_in_turn(house, (*ends, "stays"), "email", KEY)

    for index in range(len(owners)):
        await house.hook("camp", {"event": "email_replied", "email": KEY, "at": STEP * (index + 0.75)})

    assert await house.differences() == []
    await house.request("PATCH", f"/public/v2/contacts/{owners[-1]}", {"email": "last@example.com"})
    assert [await replies_of(house, owner) for owner in owners] == [1] * len(owners)
    assert await house.differences() == []


@pytest.mark.parametrize("last", ["moves on", "is deleted", "is merged"])
async def test_late_replies__without_a_present_owner_belong_to_the_owner_at_their_time(house: House, last: str) -> None:
    owners = await have_in_turn(house, ("moves on", "is merged", "moves on", last), "email", KEY)

    for index in range(len(owners)):
        await house.hook("camp", {"event": "email_replied", "email": KEY, "at": STEP * (index + 0.75)})

    assert [await replies_of(house, owner) for owner in owners] == [1] * len(owners)
    assert await house.differences() == []


async def test_late_replies__by_a_profile_belong_to_the_owner_at_their_time(house: House) -> None:
    owners = await have_in_turn(house, ("moves on", "is deleted", "moves on", "moves on", "stays"), "linkedin_url", PROFILE)

    for index in range(len(owners)):
        await house.hook("camp", {"event": "linkedin_replied", "linkedin_url": PROFILE, "at": STEP * (index + 0.75), "counts": True})

    await house.request("PATCH", f"/public/v2/contacts/{owners[-1]}", {"linkedin_url": None})
    await house.restore(owners[1])
    assert [(await house.timeline(owner)).count("linkedin_replied") for owner in owners] == [1] * len(owners)
    assert await house.differences() == []


async def test_late_reply__after_the_undo_of_a_merge_belongs_to_the_owner_at_its_time(house: House) -> None:
    first, second = await have_in_turn(house, ("moves on", "stays"), "email", KEY)
    third = await house.contact(email="third@example.com")
    house.call.clock.move(STEP)
    merge = await house.merge(third, second, survivorship="keep")
    await house.undo(third, merge["merge_id"])
    await house.request("PATCH", f"/public/v2/contacts/{second}", {"email": "second@example.com"})

    for index in (0, 1):
        await house.hook("camp", {"event": "email_replied", "email": KEY, "at": STEP * (index + 0.75)})

    assert [await replies_of(house, number) for number in (first, second, third)] == [1, 1, 0]
    assert await house.differences() == []
