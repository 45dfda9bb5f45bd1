"""Further LinkedIn profiles of a contact, which a campaign tool has named: opt-outs, the bin, merges and erasure know them."""

from __future__ import annotations

from typing import Any

from tests.house import House, house

__all__ = ["house"]
CONTACTS = "/public/v2/contacts"
ANN = "ann@example.com"
PROFILE = "https://www.linkedin.com/in/ann-lee"


async def status_of(house: House, email: str) -> bool:
    reply = await house.request("POST", "/public/v2/suppressions/check", {"items": [{"email": email}]})
    assert reply.status == 200, reply.body
    return bool(reply.json()["data"][0]["suppressed"])


async def match(house: House, **keys: str) -> Any:
    return (await house.request("POST", f"{CONTACTS}/match", {"items": [keys]})).json()["data"][0]


async def test_deleted_contact__leaves_its_further_profile_to_who_takes_it(house: House) -> None:
    ann = await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": PROFILE + "-2", "at": 1})
    await house.delete(ann)
    bob = await house.contact(email="bob@example.com", linkedin_url=PROFILE + "-2")
    reply = await house.request("POST", f"{CONTACTS}/{ann}/restore")
    assert reply.status in (200, 409), reply.body
    assert (await match(house, linkedin_url=PROFILE + "-2"))["id"] == bob
    assert await house.differences() == []


async def test_profile_first_named_while_two_were_one__is_whose_address_it_came_with_after_the_undo(house: House) -> None:
    ann = await house.contact(email=ANN, linkedin_url=PROFILE)
    bob = await house.contact(email="bob@example.com", linkedin_url=PROFILE + "-b")
    merge = await house.merge(ann, bob)
    house.call.clock.move(10)
    await house.hook("camp", {"event": "email_sent", "email": "bob@example.com", "linkedin_url": PROFILE + "-b2", "at": 5})
    house.call.clock.move(10)
    await house.undo(ann, merge["merge_id"])
    assert (await match(house, linkedin_url=PROFILE + "-b2"))["id"] == bob
    assert await house.differences() == []


async def test_unsubscription_by_a_further_profile__is_of_the_person(house: House) -> None:
    await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": PROFILE + "-2", "at": 1})
    await house.hook("camp", {"event": "email_unsubscribed", "linkedin_url": PROFILE + "-2", "at": 2})
    assert await status_of(house, ANN)
    assert await house.differences() == []


async def test_erasure__finds_a_further_profile(house: House) -> None:
    ann = await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": PROFILE + "-2", "at": 1})
    assert (await house.request("DELETE", f"{CONTACTS}/{ann}?erase=true")).status == 200
    await house.hook("camp", {"event": "linkedin_replied", "linkedin_url": PROFILE + "-2", "at": 3})
    assert await house.listed() == []
    assert await house.differences() == []


async def test_patch_with_a_further_profile__makes_the_shown_one_a_further_one(house: House) -> None:
    ann = await house.contact(email=ANN, linkedin_url=PROFILE)
    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": PROFILE + "-2", "at": 1})
    house.call.clock.move(2)
    assert (await house.request("PATCH", f"{CONTACTS}/{ann}", {"linkedin_url": PROFILE + "-2"})).status == 200
    reply = await house.request("POST", CONTACTS, {"email": "bob@example.com", "linkedin_url": PROFILE})
    assert (reply.status, reply.json()["existing_id"]) == (409, ann)
    await house.replay()
    assert await house.differences() == []
    assert (await match(house, linkedin_url=PROFILE))["id"] == ann


async def test_late_reply_to_a_replaced_profile__is_of_who_had_it_then(house: House) -> None:
    ann = await house.contact(email=ANN)
    await house.hook("camp", {"event": "email_sent", "email": ANN, "linkedin_url": PROFILE, "at": 1})
    house.call.clock.move(10)
    await house.request("PATCH", f"{CONTACTS}/{ann}", {"linkedin_url": PROFILE + "-new"})
    house.call.clock.move(10)
    bob = await house.contact(email="bob@example.com", linkedin_url=PROFILE)
    await house.hook("camp", {"event": "linkedin_replied", "linkedin_url": PROFILE, "at": 5})
    await house.hook("camp", {"event": "linkedin_replied", "linkedin_url": PROFILE, "at": 25})
    assert ((await house.timeline(ann)).count("linkedin_replied"), (await house.timeline(bob)).count("linkedin_replied")) == (1, 1)
    assert await house.differences() == []
