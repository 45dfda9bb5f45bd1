"""The address book: every way in finds a person by any of their keys, and a key is one person's."""

from __future__ import annotations

from typing import Any

from tests.house import House

ANN, ANN_2, ANN_3 = "ann@a.example", "a.lee@b.example", "ann@c.example"
CONTACTS = "/public/v2/contacts"


async def test_create__with_several_addresses_is_found_by_each(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2])

    record = await house.get(ann)

    assert (record["email"], record["emails"]) == (ANN, [ANN, ANN_2])
    for email in (ANN, ANN_2):
        reply = await house.request("POST", CONTACTS, {"email": email.upper()})
        assert (reply.status, reply.problem["existing_id"]) == (409, ann)
        result = (await house.request("POST", f"{CONTACTS}/match", {"items": [{"email": email}]})).json()["data"]
        assert [item["id"] for item in result] == [ann]
        assert [item["id"] for item in await house.listed(query=f"email={email}")] == [ann]
        assert [item["id"] for item in await house.listed(query=f"email[in]={email},x@x.example")] == [ann]
        assert await house.listed(query=f"email[ne]={email}") == []
    assert "emails" not in await house.get(await house.contact(email=ANN_3))


async def test_create__with_an_address_of_another_person_among_several_creates_nobody(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2])

    reply = await house.request("POST", CONTACTS, {"emails": ["new@x.example", ANN_2]})

    assert (reply.status, reply.problem["existing_id"]) == (409, ann)
    assert len(await house.listed()) == 1


async def test_patch__replaces_the_list_and_frees_what_it_leaves_out(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2])

    reply = await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN_2, ANN_3]})

    assert reply.json()["emails"] == [ANN_2, ANN_3]
    assert (await house.request("POST", CONTACTS, {"email": ANN_3})).status == 409
    contact = await house.contact(email=ANN)
    refused = await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN_2, ANN]})
    assert (refused.status, refused.problem["existing_id"]) == (409, contact)
    assert await house.differences() == []


async def test_patch__of_the_first_address_makes_a_further_one_the_first_and_leaves_the_former_one(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2])

    promoted = (await house.request("PATCH", f"{CONTACTS}/{ann}", {"email": ANN_2})).json()
    replaced = (await house.request("PATCH", f"{CONTACTS}/{ann}", {"email": ANN_3})).json()

    assert promoted["emails"] == [ANN_2, ANN]
    assert replaced["emails"] == [ANN_3, ANN]
    assert await house.contact(email=ANN_2) != ann


async def test_webhook__after_a_patch_made_a_merged_address_the_first_one_leaves_the_former_one(house: House) -> None:
    contact = await house.contact(email=ANN_2)
    ann = await house.contact(email=ANN)
    await house.merge(ann, contact, survivorship="keep")
    house.call.clock.move(1)
    await house.request("PATCH", f"{CONTACTS}/{ann}", {"email": ANN_2})

    await house.hook("camp", {"event": "email_sent", "email": ANN})

    assert (await house.get(ann))["emails"] == [ANN_2, ANN]
    assert [item["id"] for item in await house.listed()] == [ann]
    assert await house.differences() == []


async def test_upsert__by_a_further_address_leaves_the_first_one(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2])

    replies = [
        await house.request("POST", f"{CONTACTS}?on_duplicate=update", {"email": ANN_2, "first_name": "Ann"}),
        await house.request("PUT", f"{CONTACTS}?match=email", {"email": ANN_2, "last_name": "Lee"}),
    ]

    assert [(reply.status, reply.json()["id"], reply.json()["email"]) for reply in replies] == [(200, ann, ANN)] * 2
    record = await house.get(ann)
    assert (record["emails"], record["first_name"], record["last_name"]) == ([ANN, ANN_2], "Ann", "Lee")


async def test_emails__that_are_wrong_are_refused_with_their_place(house: House) -> None:
    for body, pointer in (
        ({"emails": [ANN, "nonsense"]}, "/emails/1"),
        ({"email": ANN, "emails": [ANN_2]}, "/emails"),
        ({"emails": [f"a{n}@x.example" for n in range(51)]}, "/emails"),
    ):
        reply = await house.request("POST", CONTACTS, body)
        assert (reply.status, [error["pointer"] for error in reply.problem["errors"]]) == (422, [pointer])


async def test_emails__are_searched_by_words_and_logged(house: House) -> None:
    ann = await house.contact(email=ANN)

    await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN, ANN_2]})

    assert [item["id"] for item in await house.listed(query="q=a.lee")] == [ann]
    events: list[dict[str, Any]] = (await house.request("GET", "/public/v2/events")).json()["data"]
    assert events[-1]["data"]["changed"] == {"emails": [None, [ANN, ANN_2]]}
    assert events[-1]["data"]["object"]["emails"] == [ANN, ANN_2]


async def test_merge_and_undo__move_the_addresses_there_and_back(house: House) -> None:
    ann, other_contact = await house.contact(emails=[ANN, ANN_2]), await house.contact(email=ANN_3, external_id="7")
    before = [(await house.get(number)).get("emails") for number in (ann, other_contact)]

    merge = await house.merge(ann, other_contact, survivorship="keep")

    assert (await house.get(ann))["emails"] == [ANN, ANN_2, ANN_3]
    assert [item["id"] for item in await house.listed(query="external_id=7")] == [ann]
    assert await house.differences() == []
    await house.undo(ann, merge["merge_id"])
    assert [(await house.get(number)).get("emails") for number in (ann, other_contact)] == before
    assert [item["id"] for item in await house.listed(query="external_id=7")] == [other_contact]
    assert await house.differences() == []


async def test_undo__of_a_merge_whose_address_another_person_has_is_refused(house: House) -> None:
    ann, other_contact = await house.contact(email=ANN), await house.contact(email=ANN_2)
    merge = (await house.merge(ann, other_contact, survivorship="keep"))["merge_id"]
    for gone, left in ((ANN_2, ANN), (ANN, ANN_2)):
        await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [left]})
        third = await house.contact(email=gone)

        reply = await house.request("POST", f"{CONTACTS}/{ann}/merge/{merge}/undo")

        assert (reply.status, reply.problem["existing_id"]) == (409, third)
        await house.delete(third)
        await house.request("PATCH", f"{CONTACTS}/{ann}", {"emails": [ANN, ANN_2]})
    await house.undo(ann, merge)
    assert await house.differences() == []


async def test_restore__brings_the_addresses_back_except_those_of_others(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2, ANN_3])
    await house.delete(ann)
    await house.contact(email=ANN_2)

    restored = await house.restore(ann)

    assert restored["emails"] == [ANN, ANN_3]
    assert await house.differences() == []


async def test_merged_id__is_answered_with_the_survivor_by_each_method(house: House) -> None:
    ann, other_contact = await house.contact(email=ANN), await house.contact(email=ANN_2)
    await house.merge(ann, other_contact)

    for method, body in (("GET", None), ("PATCH", {"first_name": "Ann"}), ("DELETE", None)):
        reply = await house.request(method, f"{CONTACTS}/{other_contact}", body)
        assert (reply.status, reply.problem["existing_id"]) == (404, ann), method


PERSON = {"event": "contact.updated", "object_type": "person", "object_id": "7"}


async def test_list_of_a_crm__sets_the_further_addresses_in_any_order(house: House) -> None:
    older = {**PERSON, "email": ANN, "emails": [ANN, ANN_2], "at": -20}
    newer = {**PERSON, "email": ANN, "emails": [ANN, ANN_3], "at": -10}
    for number, events in enumerate(((older, newer), (newer, older))):
        second = await House.of(house.call, f"order{number}")
        for event in events:
            await second.hook("pipedrive", event)

        [contact] = await second.listed()

        assert contact["emails"] == [ANN, ANN_3]
        assert [item["id"] for item in await second.listed(query=f"email={ANN_3}")] == [contact["id"]]
        assert await second.listed(query=f"email={ANN_2}") == []
        assert await second.differences() == []


async def test_list_of_a_crm__leaves_the_address_of_another_person_to_them(house: House) -> None:
    contact = await house.contact(email=ANN_2)

    await house.hook("pipedrive", {**PERSON, "email": ANN, "emails": [ANN, ANN_2, ANN_3]})

    [ann] = await house.listed(query=f"email={ANN}")
    assert ann["emails"] == [ANN, ANN_3]
    assert [item["id"] for item in await house.listed(query=f"email={ANN_2}")] == [contact]
    assert await house.differences() == []


async def test_webhook__about_a_further_address_is_about_the_person(house: House) -> None:
    ann = await house.contact(emails=[ANN, ANN_2])

    await house.hook("camp", {"event": "email_replied", "email": ANN_2})

    record = await house.get(ann)
    assert record["last_reply_received"] is not None
    assert record["emails"] == [ANN, ANN_2]
    assert len(await house.listed()) == 1


async def test_crm__that_replaces_an_address_frees_it(house: House) -> None:
    await house.hook("pipedrive", {**PERSON, "email": ANN, "at": -20})
    await house.hook("pipedrive", {**PERSON, "email": ANN_2, "at": -10})

    [ann] = await house.listed()
    assert (ann["email"], "emails" in ann) == (ANN_2, False)
    assert await house.contact(email=ANN) != ann["id"]
    assert await house.differences() == []
