"""Erasure of a person whose address an object of somebody else lists: nothing of the address stays with the other one."""

from __future__ import annotations

from tests.house import House, house
from tests.storage.database_search import find_in_database

__all__ = ["house"]
ANN, LEE = "ann.quill@example.com", "lee@example.org"


async def test_address__is_erased_from_the_lists_of_other_contacts(house: House, engine_url: str) -> None:
    await house.request("POST", "/public/v2/contacts", {"email": ANN, "first_name": "Ann"})
    lists = {"event": "contact.created", "object_type": "Contact", "object_id": "2", "at": -80, "email": LEE, "emails": [LEE, ANN]}
    await house.hook("espocrm", lists)
    ann = next(contact["id"] for contact in await house.listed() if contact["email"] == ANN)

    reply = await house.request("DELETE", f"/public/v2/contacts/{ann}?erase=true")

    assert reply.status in (200, 202), reply
    # The search of the inbox, which comes next, removes the body; SQLite's files are cleaned after it.
    places = [place for place in await find_in_database(engine_url, "ann.quill") if "." in place and not place.startswith("delivery")]
    assert [place for place in places if ".db" not in place] == []
    [lee] = await house.listed()
    assert (lee["email"], "emails" in lee) == (LEE, False)
    assert await house.differences() == []
