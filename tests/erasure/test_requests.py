"""A CRM's request to erase a person: the contact waits in the bin until a person decides, or is erased at once by a setting."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.house import House, house

from touchbase.adapters.crm.generic.words import asks_erasure, verb_in, words_of
from touchbase.clients.sql.clients import find_client_by_number, list_clients
from touchbase.common.timestamps import DAY, SECOND
from touchbase.deliveries.work import ProcessingStore, Translate
from touchbase.doctor import Finding, diagnose
from touchbase.erasure.service import PAGE, Eraser
from touchbase.erasure.sql.persons import read_bodies
from touchbase.inbox.worker import translator
from touchbase.retention.service import Retention
from touchbase.sql.store import Store

__all__ = ["house"]
OBJECT = {"object_type": "contact", "object_id": "101"}
CREATED = {"event": "contact.created", "email": "ann@example.com", "first_name": "Ann", "at": -20, **OBJECT}
REQUEST = {"event": "contact.deleted", "asks_erasure": True, "at": -10, **OBJECT}


async def waiting(house: House) -> list[Any]:
    return await house.listed("contacts/deleted", "erasure_requested=true")


async def erase(house: House, number: int) -> Any:
    reply = await house.request("DELETE", f"/public/v2/contacts/{number}?erase=true")
    assert reply.status == 200, reply.body
    return reply.json()["removed"]


async def retain(house: House) -> None:
    """Do the work of retention once."""
    parts = house.call.parts

    def read(*_: object) -> Translate:
        return translator(parts.read, {})

    await Retention(parts.store, Eraser(parts.store, parts.read, house.call.clock), house.call.clock, pause=0).run_once()


async def test_erasure_request__moves_the_contact_into_the_bin_and_waits(house: House) -> None:
    await house.hook("hubspot", CREATED)
    (ann,) = await house.listed()

    await house.hook("hubspot", REQUEST)

    assert await house.listed() == []
    (deleted,) = await waiting(house)
    assert (deleted["id"], deleted["email"]) == (ann["id"], "ann@example.com")
    assert (deleted["erasure_requested_at"], deleted["gone_at"]) == ("2026-11-20T09:29:50Z", None)
    log = (await house.request("GET", "/public/v2/events?types=contact.deleted")).json()["data"]
    assert [(each["data"]["record_id"], each["data"]["cause"]["origin"]) for each in log] == [(ann["id"], "delivery")]
    assert await house.differences() == []


async def test_erasure_request__is_confirmed_by_an_erasure(house: House) -> None:
    await house.hook("hubspot", CREATED, REQUEST)
    ((deleted,), before) = await waiting(house), await house.listed("erasures")

    removed = await erase(house, deleted["id"])

    assert (before, removed["deleted_records"]) == ([], 1)
    assert (await waiting(house), len(await house.listed("erasures"))) == ([], 1)
    await house.hook("hubspot", {**CREATED, "at": 60})
    assert await house.listed() == []


async def test_erasure_request__is_declined_by_a_restoration(house: House) -> None:
    await house.hook("hubspot", CREATED, REQUEST)
    ((deleted,),) = (await waiting(house),)

    await house.restore(deleted["id"])
    await house.replay()

    assert [each["email"] for each in await house.listed()] == ["ann@example.com"]
    assert await waiting(house) == []
    assert await house.timeline(deleted["id"]) == ["contact.created", "contact.deleted", "contact.deleted", "contact.restored"]
    assert await house.differences() == []


async def test_erasure_request__outlasts_the_days_of_the_bin(house: House) -> None:
    await house.hook("hubspot", CREATED, REQUEST)
    contact = await house.contact(email="bob@example.com")
    await house.delete(contact)
    house.call.clock.now += 400 * DAY

    await retain(house)

    assert [each["email"] for each in await house.listed("contacts/deleted")] == ["ann@example.com"]


async def test_erasure_request__erases_at_once_with_the_setting(house: House) -> None:
    await house.call.settings(house.client_id, erase_on_crm_request=True)
    await house.hook("hubspot", CREATED, REQUEST)

    await retain(house)

    assert await house.listed("contacts/deleted") == []
    (erasure,) = await house.listed("erasures")
    assert (erasure["removed"]["deleted_records"], erasure["searched_time"] is not None) == (1, True)


class ReadStore:
    """A store that notes its reads."""

    def __init__(self, store: Store) -> None:
        self.store, self.reads = store, list[Any]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)

    async def read(self, query: Any) -> Any:
        self.reads.append(query)
        return await self.store.read(query)


async def test_erasure_request__that_waits_makes_retention_read_its_client_alone(house: House) -> None:
    for name in (house.client_id, "a", "b"):
        await house.call.settings(name, erase_on_crm_request=name != house.client_id)
    await house.hook("hubspot", CREATED, REQUEST)
    parts, clock = house.call.parts, house.call.clock
    store = ReadStore(parts.store)
    retention = Retention(store, Eraser(parts.store, parts.read, clock), clock, pause=0)
    await retention.run_once()
    store.reads.clear()

    await retention.run_once()

    assert store.reads[2] == find_client_by_number(house.number)
    assert [each for each in store.reads if isinstance(each, type(list_clients()))] == []
    assert len(await waiting(house)) == 1


async def test_erasures_of_many_people__share_one_search_of_the_inbox(house: House) -> None:
    """A search for each of 770 people at once took the rest of the day."""
    parts, clock = house.call.parts, house.call.clock
    people = [await house.contact(email=f"p{number}@example.com") for number in range(4)]
    await house.hook("camp", {"event": "email_opened", "email": "zoe@example.com", "note": "with p1@example.com and p3@example.com"})
    store = ReadStore(parts.store)
    eraser = Eraser(cast("ProcessingStore", store), parts.read, clock)
    retention = Retention(parts.store, eraser, clock, pause=0)
    for person in people:
        await eraser.erase(house.number, person)

    await retention.run_once()

    done = [erasure["done_time"] is not None for erasure in await house.listed("erasures")]
    (delivery,) = (await house.request("GET", "/admin/v1/deliveries")).json()["data"]
    assert (done, store.reads.count(read_bodies(house.number, 0, PAGE, delivery["id"]))) == ([True] * 4, 1)
    assert (await house.request("GET", f"/admin/v1/deliveries/{delivery['id']}")).json()["body_removed"]["why"] == "erased"


async def test_erasure__beside_another_one_is_searched_in_the_background(house: House) -> None:
    parts = house.call.parts
    people = [await house.contact(email=f"p{number}@example.com") for number in range(2)]
    await Eraser(parts.store, parts.read, house.call.clock).erase(house.number, people[0])

    reply = await house.request("DELETE", f"/public/v2/contacts/{people[1]}?erase=true")
    before = [erasure["searched_time"] is not None for erasure in await house.listed("erasures")]
    await retain(house)

    assert (reply.json()["inbox_searched"], before) == (False, [False, False])
    assert [erasure["done_time"] is not None for erasure in await house.listed("erasures")] == [True, True]


async def test_erasure_request__holds_what_tools_send_later(house: House) -> None:
    await house.hook("hubspot", CREATED, REQUEST)
    house.call.clock.now += 60 * SECOND

    await house.hook("camp", {"event": "email_opened", "email": "ann@example.com", "at": 50})

    assert await house.listed() == []
    ((deleted,),) = (await waiting(house),)
    assert (await erase(house, deleted["id"]))["events"] == 4


async def test_erasure_request__about_a_contact_that_is_deleted_already(house: House) -> None:
    await house.hook("hubspot", CREATED)
    (ann,) = await house.listed()
    await house.delete(ann["id"])

    await house.hook("hubspot", {**REQUEST, "at": 30})

    assert [each["id"] for each in await waiting(house)] == [ann["id"]]


@pytest.mark.parametrize("late", [False, True])
async def test_erasure_request__before_the_object_is_known(house: House, late: bool) -> None:
    await house.hook("hubspot", REQUEST, apply=late)

    await house.hook("hubspot", CREATED)

    assert await house.listed() == []
    assert [each["email"] for each in await waiting(house)] == ["ann@example.com"]


async def test_erasure_request__with_an_address_finds_a_person_of_another_object(house: House) -> None:
    ann = await house.contact(email="ann@example.com")

    await house.hook("shopify", {**REQUEST, "email": "ann@example.com", "object_type": "customer"})

    assert [each["id"] for each in await waiting(house)] == [ann]


async def test_erasure_request__of_a_merged_object_is_about_the_survivor(house: House) -> None:
    await house.hook("hubspot", CREATED)
    (ann,) = await house.listed()
    bob = await house.contact(email="bob@example.com")
    await house.merge(bob, ann["id"])

    await house.hook("hubspot", {**REQUEST, "at": 5})

    assert [each["id"] for each in await waiting(house)] == [bob]


async def test_erasure_request__is_shown_by_doctor(house: House) -> None:
    await house.hook("hubspot", CREATED, REQUEST)

    found = [each async for each in diagnose(house.call.parts.store, house.call.clock(), silent=DAY, keys_needed=False)]

    detail = "1 people that a CRM asked to erase wait to be confirmed, the first since 2026-11-20T09:29:50Z"
    assert Finding("erasures", "note", detail, "`touchbase persons requests` lists them; erase or restore each") in found


@pytest.mark.parametrize(
    ("name", "asks"),
    [
        ("contact.gdpr_deleted", True),
        ("customers/redact", True),
        ("person.erased", True),
        ("contact.deleted", False),
        ("lead.updated", False),
    ],
)
def test_generic_crm__knows_requests_to_erase(name: str, asks: bool) -> None:
    words = words_of(name)

    assert asks_erasure(verb_in(words), words) is asks
