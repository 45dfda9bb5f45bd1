"""What every engine promises about erasing a person: nothing of them is left, they do not come back, and nobody else is harmed."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import msgspec
import pytest
from tests.storage.database_search import find_in_database, tables_of_sqlite

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import ensure_client, find_client
from touchbase.common.normalize import email_key, linkedin_key
from touchbase.common.timestamps import DAY, SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.erasure.service import Eraser
from touchbase.erasure.sql.erasures import add_erasures, erase_person, lift_erasure
from touchbase.erasure.sql.persons import find_erased, find_person, list_erasures, open_erasures
from touchbase.erasure.sql.pii_tables import PII_TABLES
from touchbase.errors import Conflict, NotFound, PersonErased, UnrecognisedPayload
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT, Event, Translation
from touchbase.history.sql import get_history
from touchbase.identity import pii_scan
from touchbase.identity import scan as identity_scan
from touchbase.inbox.sql.commands import replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import get_delivery, list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.records.models import Company, Contact
from touchbase.records.operations import create_company, create_contact, update_contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.reads import Listing, find_record, list_records
from touchbase.records.writes import Creation, RecordUpdate
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
EMAIL = "Canary.Bird@example.com"
PROFILE = "https://www.linkedin.com/in/canary-slug"
NAMES = ("canary.bird", "Canaria", "Vogelsang", "canary-slug", "obj-canary")
REF = ("", "email", "canary.bird@example.com")


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events; what is not a list of them is not understood, and "break" breaks it."""
    if request.body == b"break" or b"break" in request.body[:20]:
        raise KeyError(request.body.decode())
    try:
        document = msgspec.json.decode(request.body, type=list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise UnrecognisedPayload("not ours") from error
    return Translation("test", [Event(**first) for first in document])


@dataclass
class House:
    """A store with a client, and what tests do with them."""

    store: Store
    client: int
    now: int = NOON
    kept: list[int] = field(default_factory=list)

    def clock(self) -> int:
        return self.now

    @property
    def eraser(self) -> Eraser:
        return Eraser(self.store, read, self.clock)

    async def keep(self, body: bytes, *, headers: dict[str, str] | None = None, query: str = "", channel: str = "crm") -> int:
        key = body_key(channel, query, "", body)
        reported = json.dumps(headers or {}).encode()
        delivery = await self.store.write(store_delivery(self.client, channel, key, reported, query, body, self.now))
        return delivery.id

    async def tell(self, *events: dict[str, Any]) -> int:
        """A call that says this, applied."""
        number = await self.keep(msgspec.json.encode(events))
        await self.work()
        return number

    async def work(self) -> None:
        await InboxWorker(self.store, read, self.clock).drain()

    async def erase(self, contact: int | None = None, refs: tuple[tuple[str, str, str], ...] = ()) -> Any:
        erasure = await self.eraser.erase(self.client, contact, refs)
        return await self.eraser.search(erasure)

    async def contacts(self) -> dict[str | None, Contact]:
        return {record.email_key: record for record in await self.store.read(list_records(Listing(CONTACT_TYPE, self.client, 200)))}

    async def state(self, number: int) -> tuple[str, str | None, bytes]:
        delivery = await self.store.read(get_delivery(number, self.client))
        assert delivery is not None
        return delivery.state, delivery.body_removed, delivery.body

    async def differences(self) -> list[str]:
        return [str(item) async for item in verify(self.store, self.client, Verified())]


@pytest.fixture
async def house(store: Store) -> House:
    return House(store, (await store.write(ensure_client("acme", NOON))).number)


def sent(email: str, step: int = 1, **more: Any) -> dict[str, Any]:
    return {"event": "email_sent", "email": email, "occurred_us": NOON - DAY + step * SECOND, **more}


def crm(what: str = "updated", step: int = 2, **more: Any) -> dict[str, Any]:
    return {"event": f"contact.{what}", "occurred_us": NOON - DAY + step * SECOND, "object_type": "person", **more}


async def create(house: House, email: str, **more: Any) -> Contact:
    contact = Contact(house.client, 0, NOON - 2 * DAY, NOON - 2 * DAY, email=email, email_key=email_key(email), **more)
    return (await house.store.write(create_contact(Creation(contact, [("nickname", "Canaria")])))).record


async def full_life(house: House) -> int:
    """A person who is everywhere: record, custom fields, former addresses, objects, timeline, calls in every state."""
    contact = await create(
        house, "old.canary.bird@example.com", first_name="Canaria", last_name="Vogelsang", linkedin_url=PROFILE,
        linkedin_key=linkedin_key(PROFILE),
    )  # fmt: skip
    change = {"email": EMAIL, "email_key": REF[2], "first_name": "Canaria-Maria"}
    await house.store.write(update_contact(RecordUpdate(house.client, contact.id, change, {"motto": "Vogelsang!"}, NOON - DAY, "k1")))
    await house.tell(crm("created", object_id="obj-canary-1", email=EMAIL, fields={"last_name": "Vogelsang"}, custom={"plan": "Canaria"}))
    await house.tell(crm(object_id="obj-canary-1", fields={"first_name": "Canaria"}, changed=[]))
    await house.tell(sent(EMAIL, 3, first_name="Canaria"), sent("bob@example.com", 4, first_name="Bob"))
    await house.tell(sent("bob@example.com", 4, first_name="Bob"), sent(EMAIL, 3, first_name="Canaria"))
    await house.tell(crm(object_id="obj-2", fields={"first_name": "Parked"}), sent(EMAIL, 6))
    await house.keep(b'{"odd": "canary.bird@example.com"}')
    await house.keep(b'{"canary.bird@example.com": "as a key"}')
    await house.keep(b"who=canary%2Ebird%40example.com&x=1")
    await house.keep(rb'{"x": "\u0063anary.bird\u0040EXAMPLE.com", "n": "Vogelsang"}')
    await house.keep(b"<a href='mailto:Canary.Bird&#64;example.com'>x</a>")
    await house.keep(b'{"profile": "http:\\/\\/de.linkedin.com\\/in\\/Canary-Slug\\/"}')
    await house.keep(b"nothing", query="to=canary.bird%40example.com")
    await house.keep(b"nothing", headers={"x-person": "Vogelsang <canary.bird@example.com>"})
    await house.work()
    await house.keep(b'break {"a": "canary.bird@example.com"}')
    await house.work()
    return contact.id


async def test_erasure__removes_every_value_of_the_person_from_the_database(house: House, engine_url: str) -> None:
    contact = await full_life(house)
    assert await find_in_database(engine_url, *NAMES) != []

    erasure = await house.erase(contact)

    assert await find_in_database(engine_url, *NAMES) == []
    assert (erasure.removed["contacts"], erasure.removed["custom_fields"], erasure.removed["links"]) == (1, 3, 2)
    assert erasure.removed["events"] == 6
    assert erasure.removed["deliveries"] == 14
    assert await house.store.read(open_erasures()) == []
    assert await house.differences() == []


async def test_erasure__removes_the_body_of_a_shared_delivery_and_only_one_persons_events(house: House) -> None:
    shared = await house.tell(sent(EMAIL), sent("bob@example.com", 2))
    alone = await house.tell(sent(EMAIL, 3))
    bobs = await house.tell(sent("bob@example.com", 4))
    people = await house.contacts()
    bob = people["bob@example.com"]
    history = await house.store.read(get_history(house.client, CONTACT, bob.id))

    await house.erase(people[REF[2]].id)

    assert await house.state(shared) == ("applied", "erased", b"")
    assert (await house.state(alone))[:2] == ("ignored", "erased")
    assert (await house.state(bobs))[:2] == ("applied", None)
    assert await house.contacts() == {"bob@example.com": bob}
    assert await house.store.read(get_history(house.client, CONTACT, bob.id)) == history
    assert await house.differences() == []


async def test_replay__skips_a_delivery_whose_body_was_erased(house: House) -> None:
    shared = await house.tell(sent(EMAIL), sent("bob@example.com", 2))
    await house.erase(refs=(REF,))

    replayed = await house.store.write(replay_deliveries(house.client, [shared], house.now))
    await house.work()

    assert replayed == 0
    assert await house.state(shared) == ("applied", "erased", b"")


LATE: dict[str, tuple[dict[str, Any], ...]] = {
    "the same again": (sent(EMAIL),),
    "something new": (sent(EMAIL, 9),),
    "the address in capitals": (sent("CANARY.BIRD@EXAMPLE.COM", 9),),
    "a former address": (sent("old.canary.bird@example.com", 9),),
    "the CRM's object": (crm(object_id="obj-canary-1", fields={"first_name": "Canaria"}),),
    "the object under a new address": (crm(object_id="obj-canary-1", email="canary.bird2@example.com"),),
    "the profile": (sent("x@example.com", 9, linkedin_url=PROFILE),),
    "a new object, first by name": (
        crm("created", object_id="obj-canary-9", fields={"first_name": "Canaria"}),
        crm(step=3, object_id="obj-canary-9", email=EMAIL),
    ),
    "a new object, then its name": (
        crm(object_id="obj-canary-9", email=EMAIL),
        crm(step=3, object_id="obj-canary-9", fields={"first_name": "Canaria"}),
    ),
    "a merge into another object": (crm(object_id="obj-canary-1", merged_into="obj-canary-8", fields={"first_name": "Canaria"}),),
}


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("late", LATE.values(), ids=LATE)
async def test_suppression__ignores_a_late_webhook_about_an_erased_person(
    house: House, engine_url: str, late: tuple[dict[str, Any], ...], at_once: bool
) -> None:
    contact = await create(house, "old.canary.bird@example.com", linkedin_url=PROFILE, linkedin_key=linkedin_key(PROFILE))
    await house.store.write(
        update_contact(RecordUpdate(house.client, contact.id, {"email": EMAIL, "email_key": REF[2]}, {}, NOON - DAY, "k"))
    )
    await house.tell(crm("created", object_id="obj-canary-1", email=EMAIL))
    await house.tell(sent(EMAIL))
    await house.erase(contact.id)

    numbers = [await house.tell(*late)] if at_once else [await house.tell(item) for item in late]

    assert await house.contacts() == {}
    assert [(await house.state(number))[:2] for number in numbers] == [("ignored", "erased")] * len(numbers)
    await house.store.vacuum()
    assert await find_in_database(engine_url, *NAMES) == []
    assert await house.differences() == []


async def test_suppression__applies_a_late_shared_webhook_to_the_other_people(house: House) -> None:
    await house.tell(sent(EMAIL))
    await house.erase(refs=(REF,))

    number = await house.tell(sent(EMAIL, 2), sent("bob@example.com", 3), sent("new@example.com", 4))

    assert set(await house.contacts()) == {"bob@example.com", "new@example.com"}
    assert await house.state(number) == ("applied", "erased", b"")


async def test_suppression__removes_the_body_of_a_late_unrecognised_or_failing_webhook(house: House) -> None:
    await house.erase(refs=(REF,))

    odd = await house.tell()
    strange, broken = await house.keep(b"to=canary.bird%40example.com"), await house.keep(b"break canary.bird@example.com")
    await house.work()

    assert (await house.state(odd))[1] is None
    assert [(await house.state(number))[:2] for number in (strange, broken)] == [("ignored", "erased")] * 2


async def test_erasure__removes_the_bodies_that_it_cannot_search(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    applied = await house.tell(sent("bob@example.com"), sent("new@example.com", 2))
    strange = await house.keep(b"a@b.example c@d.example e@f.example")
    await house.work()
    monkeypatch.setattr(pii_scan, "MAX_MATCHES", 1)

    erasure = await house.erase(refs=(REF,))
    late = await house.tell(sent("late@example.com", 3), sent("later@example.com", 4))

    assert erasure.removed["unsearchable"] == 2
    assert [await house.state(number) for number in (applied, strange, late)] == [
        ("applied", "unsearchable", b""), ("ignored", "unsearchable", b""), ("applied", "unsearchable", b""),
    ]  # fmt: skip
    assert set(await house.contacts()) == {f"{name}@example.com" for name in ("bob", "new", "late", "later")}
    delivery = await house.store.read(get_delivery(strange))
    assert delivery is not None
    assert delivery.error == "its body could not be searched for erased people within the limits, and was removed"
    assert await house.differences() == []


async def test_suppression__limits_a_search_error_to_one_delivery(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    await house.erase(refs=(REF,))
    looked = identity_scan.find_identities

    def look(headers: Any, query: str, body: bytes) -> Any:
        if b"poison" in body:
            raise ValueError("no text that can be looked through")
        return looked(headers, query, body)

    monkeypatch.setattr(identity_scan, "find_identities", look)
    bad = await house.keep(msgspec.json.encode([sent("poison@example.com")]))
    good = await house.keep(msgspec.json.encode([sent("bob@example.com")]))
    await house.work()

    assert (await house.state(good))[0] == "applied"
    assert (await house.store.read(get_delivery(bad))).error == "ValueError: no text that can be looked through"  # type: ignore[union-attr]


async def test_erasure__handles_character_references_of_any_length(house: House) -> None:
    number = await house.tell({**sent("bob@example.com"), "campaign": "&#" + "9" * 5_000})
    await house.erase(refs=(REF,))
    later = await house.tell({**sent("bob@example.com", 2), "campaign": "&#" + "9" * 5_000})

    assert [(await house.state(item))[0] for item in (number, later)] == ["applied", "applied"]


async def test_object_of_an_erased_person__follows_a_later_claim_of_another_address(house: House) -> None:
    await house.erase(refs=(REF,))
    await house.tell(crm(object_id="7", email=EMAIL))

    await house.tell(crm(step=3, object_id="7", email="bob@example.com"))
    await house.tell(crm(step=4, object_id="7", fields={"first_name": "Bob"}))

    (bob,) = (await house.contacts()).values()
    assert (bob.email, bob.first_name) == ("bob@example.com", "Bob")


async def test_object_of_a_present_contact__stays_with_it_after_naming_an_erased_address(house: House) -> None:
    await house.tell(crm("created", object_id="7", email="bob@example.com"))
    await house.erase(refs=(REF,))

    await house.tell(crm(step=3, object_id="7", email=EMAIL))
    await house.tell(crm(step=4, object_id="7", fields={"first_name": "Bob"}))

    (bob,) = (await house.contacts()).values()
    assert (bob.email, bob.first_name) == ("bob@example.com", "Bob")


async def test_erasure__removes_parked_events_of_an_erased_identity(house: House) -> None:
    parked = await house.tell(crm(object_id="7", fields={"first_name": "Canaria"}))
    both = await house.tell(crm(step=3, object_id="7", fields={"last_name": "X"}), crm(step=3, object_id="8", fields={"last_name": "Y"}))
    await house.tell(crm(step=5, object_id="7", merged_into="9"))

    await house.erase(refs=(("test", "person", "9"),))

    assert [(await house.state(number))[:2] for number in (parked, both)] == [("ignored", "erased"), ("parked", "erased")]
    assert await house.differences() == []
    await house.tell(crm(step=6, object_id="8", email="eve@example.com"))
    assert (await house.state(both))[0] == "applied"
    assert await house.differences() == []


async def test_erasure__leaves_the_company_of_the_person(house: House) -> None:
    company = (await house.store.write(create_company(Creation(Company(house.client, 0, NOON, NOON, "example.com"))))).record
    contact = await create(house, EMAIL, company_id=company.id)

    await house.erase(contact.id)

    assert await house.store.read(find_record(house.client, COMPANY_TYPE, company.id)) == company


async def test_erasure__leaves_a_contact_of_another_client_with_the_same_address(house: House) -> None:
    other_house = House(house.store, (await house.store.write(ensure_client("other", NOON))).number)
    for item in (house, other_house):
        await item.tell(sent(EMAIL))
    with pytest.raises(NotFound):
        await other_house.erase((await house.contacts())[REF[2]].id)

    await house.erase(refs=(REF,))
    await other_house.tell(sent(EMAIL, 5))

    assert await house.contacts() == {}
    assert REF[2] in await other_house.contacts()
    assert await other_house.store.read(find_erased(other_house.client, [REF])) == set()


async def test_would_erase__counts_without_removing(house: House) -> None:
    contact = await full_life(house)
    before = await house.store.read(find_person(house.client, contact))

    would_erase = await house.eraser.would_erase(house.client, contact, ())
    after = await house.store.read(find_person(house.client, contact))
    erasure = await house.erase(contact)

    assert before == after
    assert would_erase["deliveries"] == erasure.removed["deliveries"]
    assert {name: count for name, count in would_erase.items() if name != "deliveries"} == {
        name: count for name, count in erasure.removed.items() if name != "deliveries"
    }


async def test_erased_person__is_refused_by_create_and_update(house: House) -> None:
    contact = await create(house, EMAIL, linkedin_url=PROFILE, linkedin_key=linkedin_key(PROFILE))
    bob = await create(house, "bob@example.com")
    await house.erase(contact.id)
    client = await house.store.read(find_client("acme"))
    assert client is not None
    assert client.has_erased

    again = Contact(house.client, 0, NOON, NOON, email=EMAIL, email_key=REF[2])
    profile = Contact(house.client, 0, NOON, NOON, linkedin_url=PROFILE, linkedin_key=linkedin_key(PROFILE))
    for created in (again, profile):
        with pytest.raises(PersonErased, match="was erased"):
            await house.store.write(create_contact(Creation(created, guarded=True)))
    change = update_contact(RecordUpdate(house.client, bob.id, {"email": EMAIL, "email_key": REF[2]}, {}, NOON, "k", guarded=True))
    with pytest.raises(PersonErased):
        await house.store.write(change)
    fine = await house.store.write(
        create_contact(Creation(Contact(house.client, 0, NOON, NOON, email="c@d.com", email_key="c@d.com"), guarded=True))
    )

    assert fine.is_new
    assert set(await house.contacts()) == {"bob@example.com", "c@d.com"}


async def test_lift_erasure__lets_the_person_and_its_object_return(house: House) -> None:
    await house.tell(crm("created", object_id="7", email=EMAIL))
    await house.erase(refs=(REF,))

    gone = await house.store.write(lift_erasure(house.client, [REF]))
    await house.tell(crm(step=5, object_id="7", email=EMAIL))

    assert gone == 2
    assert set(await house.contacts()) == {REF[2]}
    assert not (await house.store.read(find_client("acme"))).has_erased  # type: ignore[union-attr]


async def test_list_erasures__returns_keyed_hashes_with_the_single_secret_of_the_store(house: House, engine_url: str) -> None:
    copy = House(house.store, (await house.store.write(ensure_client("backup", NOON))).number)
    await full_life(copy)
    contact = await full_life(house)
    await house.erase(contact)
    # Digests of one client say nothing of another's: the copy is told of them as that client's own.
    first = await house.store.read(list_erasures(house.client, 2))
    remaining_erasures = await house.store.read(list_erasures(house.client, 200, first.last or b""))
    assert first.secret is not None

    with pytest.raises(Conflict):
        await copy.store.write(add_erasures(copy.client, b"x" * 32, [], NOON))
    again = await house.store.write(add_erasures(house.client, first.secret, first.keys + remaining_erasures.keys, NOON))

    assert (len(first.keys), again) == (2, 0)
    assert len(remaining_erasures.keys) == 2
    assert all(len(key.digest) == 32 for key in first.keys + remaining_erasures.keys)


def test_pii_tables__include_every_table_that_names_a_record(sqlite_url: str) -> None:
    import asyncio

    from touchbase.stores import open_store

    asyncio.run(_made(open_store, sqlite_url))
    tables = {name for name, columns in tables_of_sqlite(sqlite_url).items() if {"record_kind", "record_id"} <= set(columns)}

    # Records that are wanted from a CRM name an object, and are found by its link; attempts name an event. An event that waits to be sent
    # has nothing but the record's id, and its receiver is to hear of the erasure too; so has an erasure in files of events. Messages, notes
    # and tasks are found by their events, answers by messages, a conversation by its contact, and a pair by its two ids.
    found_otherwise = {
        "distinct_pair",
        "fetch_queue",
        "webhook_attempt",
        "message",
        "note",
        "task",
        "answer",
        "conversation",
        "conversation_read",
        "answer_draft",
        "notification",
    }
    assert tables - {"pending_webhook", "event_file_erasure"} | found_otherwise == {place.table for place in PII_TABLES}


async def _made(open_store: Any, url: str) -> None:
    await (await open_store(url)).close()


async def test_erasure__of_an_unknown_identity_is_stored(house: House) -> None:
    erasure = await house.erase(refs=(REF,))

    assert {name: count for name, count in erasure.removed.items() if count} == {}
    assert await house.store.read(find_erased(house.client, [REF, ("", "email", "bob@example.com")])) == {REF}


async def test_erasure__raises_not_found_for_an_unknown_contact(house: House) -> None:
    with pytest.raises(NotFound, match="no contact with id 7"):
        await house.store.write(erase_person(house.client, NOON, 7))

    assert await house.store.read(find_record(house.client, CONTACT_TYPE, 7)) is None
    assert await house.store.read(list_deliveries(5)) == []


async def test_vacuum__after_an_erasure_leaves_no_trace_and_all_other_people(house: House, engine_url: str) -> None:
    number = await house.keep(b'[{"event": "email_sent", "email": "%s", "occurred_us": 5}]' % EMAIL.encode())
    second = await house.keep(b'[{"event": "email_sent", "email": "bob@example.com", "occurred_us": 7}]')
    await house.work()
    await house.erase(refs=(REF,))

    assert await house.store.vacuum(full=True)
    assert set(await house.contacts()) == {"bob@example.com"}
    assert [(await house.state(item))[:2] for item in (number, second)] == [("ignored", "erased"), ("applied", None)]
    assert await find_in_database(engine_url, *NAMES) == []
