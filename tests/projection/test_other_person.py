"""A webhook that names two people is applied to one of them, and listed for a person to review."""

from __future__ import annotations

from typing import Any

import pytest
from tests.house import House, house

__all__ = ["house"]
ANN, BOB, PROFILE = "ann@example.com", "bob@example.com", "https://www.linkedin.com/in/ann-lee"
OBJECT = {"object_type": "contact", "object_id": "7"}


async def problems(house: House) -> list[Any]:
    """The problems of applied webhooks."""
    reply = await house.call.get(f"/admin/v1/deliveries?problems=true&client={house.client_id}")
    return [(problem["code"], problem["detail"]) for each in reply.json()["data"] for problem in each["problems"]]


async def test_webhook__with_the_profile_of_another_person_is_listed(house: House) -> None:
    await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.contact(email=BOB)

    await house.hook("camp", {"event": "email_sent", "email": BOB, "linkedin_url": PROFILE, "at": -1})

    ((code, detail),) = await problems(house)
    assert (code, "linkedin.com/in/ann-lee" in detail) == ("other_person", True)
    assert {each["email"] for each in await house.listed()} == {ANN, BOB}


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
