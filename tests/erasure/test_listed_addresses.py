"""Erasure of a person whose address an object of somebody else lists: nothing of the address stays with the other one."""

from __future__ import annotations

import pytest
from tests.house import House, house
from tests.storage.database_search import find_in_database

__all__ = ["house"]
ANN, LEE, BOB = "ann.quill@example.com", "lee@example.org", "bob@example.net"


@pytest.mark.parametrize("place", ["contact", "bin", "merged", "merged and undone", "twice listed"])
async def test_address__is_erased_from_the_lists_of_other_contacts(house: House, engine_url: str, place: str) -> None:
    await house.request("POST", "/public/v2/contacts", {"email": ANN, "first_name": "Ann"})
    lists = {"event": "contact.created", "object_type": "Contact", "object_id": "2", "at": -80, "email": LEE, "emails": [LEE, ANN]}
    await house.hook("espocrm", lists)
    ids = {contact["email"]: contact["id"] for contact in await house.listed()}
    if place == "bin":
        await house.delete(ids[LEE])
    elif place == "twice listed":
        await house.hook("espocrm", lists | {"event": "contact.updated", "at": -60, "emails": [LEE, BOB, ANN]})
    elif place != "contact":
        bob = await house.contact(email=BOB)
        merge = (await house.merge(bob, ids[LEE]))["merge_id"]
        if place == "merged and undone":
            await house.undo(bob, merge)

    reply = await house.request("DELETE", f"/public/v2/contacts/{ids[ANN]}?erase=true")

    assert reply.status in (200, 202), reply
    # The search of the inbox, which comes next, removes the body; SQLite's files are cleaned after it.
    places = [place for place in await find_in_database(engine_url, "ann.quill") if "." in place and not place.startswith("delivery")]
    assert [place for place in places if ".db" not in place] == []
    if place == "bin":
        await house.restore(ids[LEE])
    lee = next(contact for contact in await house.listed() if LEE in contact.get("emails", [contact["email"]]))
    assert ANN not in lee.get("emails", [])
    assert await house.differences() == []


async def test_address__is_erased_from_lists_that_wait_for_their_contact(house: House, engine_url: str) -> None:
    ann = await house.contact(email=ANN, first_name="Ann")
    lists = {"event": "contact.updated", "object_type": "Contact", "object_id": "2", "at": -80, "emails": [LEE, ANN]}
    await house.hook("espocrm", lists)
    assert await house.states() == ["parked"]

    await house.request("DELETE", f"/public/v2/contacts/{ann}?erase=true")

    places = [place for place in await find_in_database(engine_url, "ann.quill") if "." in place and not place.startswith("delivery")]
    assert [place for place in places if ".db" not in place] == []
