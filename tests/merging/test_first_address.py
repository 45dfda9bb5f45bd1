"""A contact with any e-mail address has a first one, whatever took or removed the one that it had."""

from __future__ import annotations

from tests.house import House, house

__all__ = ["house"]
ANN = "https://www.linkedin.com/in/ann"


async def addresses(house: House) -> list[tuple[str | None, list[str] | None]]:
    """The first address of each contact, and all of those that have several."""
    assert await house.differences() == []
    return [(contact.get("email"), contact.get("emails")) for contact in await house.listed()]


async def test_patch__that_removes_the_first_address_leaves_the_next_one(house: House) -> None:
    jane = await house.contact(emails=["a@x.example", "b@x.example"])

    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"email": None})

    assert await addresses(house) == [("b@x.example", None)]
    assert (await house.request("POST", "/public/v2/contacts", {"email": "a@x.example"})).status == 201
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"email": None})
    assert await addresses(house) == [(None, None), ("a@x.example", None)]


async def joined(house: House) -> int:
    """A contact whose address a request removed, joined by its profile with another one, which has an older address."""
    jane = await house.contact(email="old@x.example", linkedin_url=ANN)
    house.call.clock.move(10)
    await house.request("PATCH", f"/public/v2/contacts/{jane}", {"email": None})
    await house.hook("camp", {"event": "email_sent", "at": 2, "email": "b@x.example"})
    await house.hook("camp", {"event": "email_replied", "at": 3, "email": "b@x.example", "linkedin_url": ANN})
    return jane


async def test_join__of_webhooks_gives_a_contact_without_address_the_further_one(house: House) -> None:
    jane = await joined(house)

    assert await addresses(house) == [("b@x.example", None)]
    assert (await house.request("POST", "/public/v2/contacts", {"email": "b@x.example"})).problem["existing_id"] == jane
    house.call.clock.move(100)
    crm = {"event": "contact.updated", "object_type": "contact", "object_id": "1"}
    await house.hook("hubspot", crm | {"at": 50, "email": "b@x.example"})
    assert await addresses(house) == [("b@x.example", None)]
    await house.hook("hubspot", crm | {"at": 60, "email": "c@x.example"})
    assert await addresses(house) == [("c@x.example", None)]


async def test_joined_address__stays_the_persons_after_a_merge_and_its_undoing(house: House) -> None:
    jane = await joined(house)
    contact = await house.contact(email="z@x.example")
    merge = (await house.merge(contact, jane))["merge_id"]
    assert await addresses(house) == [("z@x.example", ["z@x.example", "b@x.example"])]

    await house.undo(contact, merge)

    assert await addresses(house) == [("b@x.example", None), ("z@x.example", None)]
    await house.delete(jane)
    await house.restore(jane)
    assert await addresses(house) == [("b@x.example", None), ("z@x.example", None)]
