"""What every engine promises of erasing a person while their client is suspended: what waits is searched too, and else stays as it is."""

from __future__ import annotations

import msgspec
import pytest
from tests.storage.database_search import find_in_database
from tests.storage.test_contract_erasure import EMAIL, NAMES, NOON, REF, House, crm, house, read, sent

from touchbase.clients.models import ACTIVE, SUSPENDED
from touchbase.clients.sql.clients import begin_deletion, ensure_client, set_client_state
from touchbase.erasure import erase_pending
from touchbase.erasure.service import Eraser
from touchbase.erasure.sql.persons import open_erasures
from touchbase.history.events import Translation
from touchbase.retention.service import Retention

__all__ = ["house"]
FOLDED = ("first_name", "status", "previous_status", "status_changed_us", "first_sent_us", "last_sent_us")


async def suspend(house: House, state: str = SUSPENDED) -> None:
    await house.store.write(set_client_state(house.client, state, NOON))


async def test_erasure_of_a_suspended_client__searches_waiting_deliveries_and_leaves_others(house: House, engine_url: str) -> None:
    await house.tell(sent(EMAIL, first_name="Canaria"))
    await suspend(house)
    theirs = [
        await house.keep(msgspec.json.encode([sent(EMAIL, 2, first_name="Canaria")])),
        await house.keep(b"to=canary.bird%40example.com"),
        await house.keep(b"break canary.bird@example.com"),
    ]
    bobs = [msgspec.json.encode([sent("bob@example.com")]), b"break bob@example.com", b"what is this"]
    others = [await house.keep(body) for body in bobs]

    erasure = await house.erase(refs=(REF,))
    await house.store.vacuum()

    assert await find_in_database(engine_url, *NAMES) == []
    assert [(await house.state(number))[:2] for number in theirs] == [("ignored", "erased")] * 3
    assert [await house.state(number) for number in others] == [("received", None, body) for body in bobs]
    assert (erasure.removed["deliveries"], await house.contacts(), await house.store.read(open_erasures())) == (4, {}, [])


async def test_erasure_of_a_suspended_client__applies_shared_deliveries_as_for_an_active_one(house: House) -> None:
    active = House(house.store, (await house.store.write(ensure_client("active", NOON))).number)
    calls = [
        [sent("bob@example.com", 4, first_name="Robert")],
        [sent(EMAIL, 2), sent("bob@example.com", 3, first_name="Bob")],
        [sent("bob@example.com", 5)],
    ]
    await suspend(house)
    for entry in (house, active):
        entry.kept = [await entry.keep(msgspec.json.encode(call)) for call in calls]

    for entry in (house, active):
        await entry.eraser.apply_pending(entry.client)
        await entry.erase(refs=(REF,))
    shared, untouched = await house.state(house.kept[1]), await house.state(house.kept[0])
    await suspend(house, ACTIVE)
    await house.work()

    assert (shared, untouched[:2]) == (("applied", "erased", b""), ("received", None))
    (bob,), (same,) = [list((await item.contacts()).values()) for item in (house, active)]
    assert [getattr(bob, name) for name in FOLDED] == [getattr(same, name) for name in FOLDED]
    assert await house.differences() == []


async def test_erasure_of_a_suspended_client__finds_an_object_through_another_delivery(
    house: House, engine_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(erase_pending, "PAGE", 1)
    await suspend(house)
    await house.keep(msgspec.json.encode([crm(object_id="obj-canary-9", fields={"first_name": "Canaria"})]))
    await house.keep(msgspec.json.encode([crm(step=3, object_id="obj-canary-9", email=EMAIL)]))
    bobs = await house.keep(msgspec.json.encode([crm(step=4, object_id="obj-canary-9", email="bob@example.com")]))

    await house.erase(refs=(REF,))
    await house.store.vacuum()

    assert await find_in_database(engine_url, "canary.bird", "Canaria") == []
    assert (await house.state(bobs))[0] == "received"


async def test_retention__removes_erased_people_from_late_webhooks_of_a_suspended_client(house: House) -> None:
    await house.erase(refs=(REF,))
    await suspend(house)
    late = await house.keep(msgspec.json.encode([sent(EMAIL, 7)]))
    bobs = await house.keep(msgspec.json.encode([sent("bob@example.com", 7)]))

    await Retention(house.store, Eraser(house.store, read, house.clock), house.clock, pause=0).run_once()

    assert (await house.state(late))[:2] == ("ignored", "erased")
    assert (await house.state(bobs))[0] == "received"


async def test_work_on__applies_no_delivery_of_a_client_being_deleted(house: House) -> None:
    number = await house.keep(msgspec.json.encode([sent(EMAIL)]))
    await house.store.write(begin_deletion(house.client, NOON))

    report = await house.store.work_on(house.client, [number], lambda delivery: Translation("test", []), NOON)

    assert (report.taken, (await house.state(number))[0]) == (0, "received")
