"""Erasing in the midst of everything: any order of calls around it, turns that are under way, and calls of real tools."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some
from tests.examples import examples
from tests.projection.test_convergence import NOON, bodies, differences, receive, seed, snapshot, with_linkedin
from tests.projection.test_convergence import read as read_events
from tests.storage.database_search import find_in_database
from tests.storage.test_contract_erasure import EMAIL, NAMES, REF, House, house, read, sent

from touchbase.deliveries.delivery import Delivery
from touchbase.erasure.service import Eraser
from touchbase.errors import Overloaded
from touchbase.history.events import Translation
from touchbase.inbox.sql.commands import replay_deliveries
from touchbase.inbox.sql.queries import get_delivery
from touchbase.inbox.worker import InboxWorker, translator
from touchbase.records.operations import update_contact
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.records.writes import RecordUpdate
from touchbase.sql.store import Store
from touchbase.stores.prefetch import SLICE_BYTES

__all__ = ["house"]
ANN = "ann@example.com"
HYPOTHESIS = settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
batches = some.lists(some.lists(bodies, min_size=1, max_size=3), min_size=1, max_size=6)


async def erase(store: Store, client: int) -> None:
    eraser = Eraser(store, read_events, lambda: NOON)
    await eraser.search(await eraser.erase(client, refs=[("", "email", ANN)]))


@pytest.mark.slow_on_postgresql
@HYPOTHESIS
@given(calls=batches, before=some.integers(0, 6), known=some.booleans(), data=some.data())
async def test_erase__removes_the_person_for_any_order_of_webhooks(
    store: Store, engine_url: str, calls: list[list[dict[str, Any]]], before: int, known: bool, data: some.DataObject
) -> None:
    client = await seed(store, [ANN] if known else [])
    await receive(store, client, calls[:before], batch=data.draw(some.integers(1, 5)))

    await erase(store, client)
    again = data.draw(some.permutations(calls))
    await receive(store, client, [*calls[before:], *again], batch=data.draw(some.integers(1, 5)), sent=calls)

    await store.vacuum()
    assert [each for each in await store.read(list_records(Listing(CONTACT_TYPE, client, 200))) if each.email_key == ANN] == []
    assert await find_in_database(engine_url, ANN) == []
    assert await differences(store, client) == []


@HYPOTHESIS
@given(
    calls=some.lists(some.lists(with_linkedin, min_size=1, max_size=3), min_size=1, max_size=6),
    before=some.integers(0, 6),
    data=some.data(),
)
async def test_erase__leaves_other_people_as_if_the_person_had_never_existed(
    store: Store, calls: list[list[dict[str, Any]]], before: int, data: some.DataObject
) -> None:
    one, other = await seed(store, []), await seed(store, [])
    others = [[each for each in call if each["email"] != ANN] for call in calls]

    await receive(store, one, calls[:before], batch=3)
    await erase(store, one)
    await receive(store, one, data.draw(some.permutations(calls)), batch=data.draw(some.integers(1, 5)), sent=calls)
    await receive(store, other, others, batch=50)

    assert await snapshot(store, one) == await snapshot(store, other)


class Held:
    """A turn that has read its deliveries and is not let on."""

    def __init__(self) -> None:
        self.taken, self.go_on = threading.Event(), threading.Event()

    def __call__(self, delivery: Delivery) -> Translation:
        self.taken.set()
        assert self.go_on.wait(60)
        return translator(read)(delivery)


@pytest.mark.parametrize("replayed", [False, True])
async def test_erase__during_a_batch_does_not_restore_the_person(house: House, engine_url: str, replayed: bool) -> None:
    # So large that a thread translates them.
    number = await house.keep(b'[{"event": "email_sent", "email": "%s", "occurred_us": 5}]'.ljust(SLICE_BYTES) % EMAIL.encode())
    told = (
        '[{"event": "email_sent", "email": "%s", "occurred_us": 6}, {"event": "email_sent", "email": "bob@example.com", "occurred_us": 7}]'
    )
    shared = await house.keep((told % EMAIL).encode().ljust(SLICE_BYTES))
    if replayed:
        await house.work()
        await house.store.write(replay_deliveries(house.client, [number, shared], house.now))
    held = Held()
    turn = asyncio.create_task(house.store.work(house.client, 10, held, house.now))
    async with asyncio.timeout(120):
        await asyncio.to_thread(held.taken.wait)

        erasure = await house.erase(refs=(REF,))
        held.go_on.set()
        with suppress(Overloaded):  # it was read before the first erasure; the worker reads it again
            await turn
        await house.work()
        erasure = await house.eraser.search(erasure)

    assert erasure.done_us is not None
    assert set(await house.contacts()) == {"bob@example.com"}
    assert await find_in_database(engine_url, *NAMES) == []
    assert [(await house.state(each))[:2] for each in (number, shared)] == [("ignored", "erased"), ("applied", "erased")]
    assert await house.differences() == []


async def test_erase__concurrent_with_workers_removes_the_person(house: House, engine_url: str) -> None:
    async def tell() -> None:
        for step in range(20):
            await house.keep(
                b'[{"event": "email_sent", "email": "%s", "occurred_us": %d}, {"event": "email_sent", "email": "bob@example.com", '
                b'"occurred_us": %d}]' % (EMAIL.encode(), step, step)
            )

    async def erase_often() -> None:
        for _ in range(5):
            await house.erase(refs=(REF,))

    async with asyncio.timeout(240):
        await asyncio.gather(tell(), *(InboxWorker(house.store, read, house.clock, batch_size=3).drain() for _ in range(3)), erase_often())
        await house.work()

    await house.store.vacuum()
    (bob,) = (await house.contacts()).values()
    assert (bob.first_sent_us, bob.last_sent_us) == (0, 19)
    assert await find_in_database(engine_url, *NAMES) == []
    assert await house.differences() == []


async def test_erase__concurrent_with_changes_leaves_no_data(house: House, engine_url: str) -> None:

    from touchbase.errors import NotFound

    await house.tell(sent(EMAIL))
    contact = (await house.contacts())[REF[2]].id

    async def change(step: int) -> None:
        command = update_contact(
            RecordUpdate(house.client, contact, {"first_name": f"Canaria {step}"}, {"pet": "Vogelsang"}, house.now + step, f"k{step}")
        )
        try:
            await house.store.write(command)
        except NotFound:
            return

    async with asyncio.timeout(120):
        await asyncio.gather(*(change(step) for step in range(5)), house.erase(contact), *(change(step) for step in range(5, 10)))

    await house.store.vacuum()
    assert await find_in_database(engine_url, *NAMES) == []
    assert await house.store.read(get_delivery(999)) is None
