"""Repeats: a state that a tool sets back is news, and what it sends several times is one fact, though its calls have no time and no id."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.examples import examples

from touchbase.adapters.interface import WebhookRequest
from touchbase.clients.sql.clients import ensure_client
from touchbase.common.timestamps import SECOND
from touchbase.consistency.service import Verified, verify
from touchbase.history.dedupe_keys import body_key
from touchbase.history.events import CONTACT, Event, Translation
from touchbase.history.sql import get_history
from touchbase.inbox.sql.commands import StoredDelivery, replay_deliveries, store_delivery
from touchbase.inbox.sql.queries import list_deliveries
from touchbase.inbox.worker import InboxWorker
from touchbase.projection import apply as projection
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.sql.reads import Listing, list_records
from touchbase.sql.store import Store

NOON = 1_790_000_000 * SECOND
CLIENTS = itertools.count(1)
MINUTE = 60 * SECOND


def read(request: WebhookRequest) -> Translation:
    """A tool whose bodies are our own events."""
    return Translation("test", [Event(**item) for item in json.loads(request.body)])


def state(number: int, status: str, **more: Any) -> dict[str, Any]:
    """What EspoCRM says of an object: no time, no id of the event."""
    return {"event": "contact.status_changed", "object_type": "lead", "object_id": str(number), "status": status} | more


async def keep(store: Store, client: int, at: int, *said: dict[str, Any]) -> StoredDelivery:
    body = json.dumps(said).encode()
    return await store.write(store_delivery(client, "crm", body_key("crm", "", "", body), b"{}", "", body, at))


async def apply(store: Store, turn: int = 50) -> None:
    await InboxWorker(store, read, lambda: NOON + 3600 * SECOND, batch_size=turn).drain()


async def client_with_leads(store: Store) -> int:
    """A client with two leads, of two people."""
    client = (await store.write(ensure_client(f"client-{next(CLIENTS)}", NOON))).number
    for number in (1, 2):
        lead = {"event": "contact.created", "object_type": "lead", "object_id": str(number), "email": f"p{number}@example.com"}
        await keep(store, client, NOON - 600 * SECOND, lead)
    await apply(store)
    return client


async def statuses(store: Store, client: int) -> dict[str, str | None]:
    return {str(record.email)[1]: record.status for record in await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))}


async def lead_states(store: Store, client: int, number: int) -> list[str | None]:
    """The states of one lead in its history, oldest first."""
    (record,) = [
        first_record
        for first_record in await store.read(list_records(Listing(CONTACT_TYPE, client, 9)))
        if first_record.email == f"p{number}@example.com"
    ]
    history = await store.read(get_history(client, CONTACT, record.id))
    return [item.status for item in sorted(history, key=lambda entry: entry.occurred_us) if item.event == "contact.status_changed"]


async def test_states_set_back_and_forth_at_once__are_all_stored_and_applied_together(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = await client_with_leads(store)
    parts, apply_part = list[int](), projection._apply_part
    monkeypatch.setattr(projection, "_apply_part", lambda *args: parts.append(len(args[1])) or apply_part(*args))
    words = ["Hot", "Cold"] * 8

    await asyncio.gather(*(keep(store, client, NOON + step, state(1, word)) for step, word in enumerate(words)))
    await apply(store)

    assert await lead_states(store, client, 1) == words
    assert len(parts) <= 2


@pytest.mark.parametrize("turn", [1, 50])
@pytest.mark.parametrize("seconds", [5, 300])
async def test_state_set_back__is_no_repeat(store: Store, turn: int, seconds: int) -> None:
    client = await client_with_leads(store)

    for step, word in enumerate(["In Process", "Dead", "In Process"]):
        await keep(store, client, NOON + step * seconds * SECOND, state(1, word))
        if turn == 1:
            await apply(store)
    await apply(store, turn)

    assert (await statuses(store, client))["1"] == "In Process"
    assert await lead_states(store, client, 1) == ["In Process", "Dead", "In Process"]


async def test_equal_state__is_a_new_event_after_the_dedupe_window(store: Store) -> None:
    client = await client_with_leads(store)

    stored = [await keep(store, client, NOON + at, state(1, "Dead")) for at in (0, 2 * MINUTE, 2 * MINUTE + 1)]
    await apply(store)

    assert [item.is_repeat for item in stored] == [False, True, False]
    assert await lead_states(store, client, 1) == ["Dead", "Dead"]


@pytest.mark.parametrize("turn", [1, 2, 50])
async def test_repeated_webhook__is_one_event_among_webhooks_about_others(store: Store, turn: int) -> None:
    client = await client_with_leads(store)

    for step in range(8):
        await keep(store, client, NOON + 2 * step, state(1, "Dead"))
        await keep(store, client, NOON + 2 * step + 1, state(2, f"State {step}"))
    await apply(store, turn)

    deliveries = [delivery for delivery in await store.read(list_deliveries(50, client)) if delivery.received_us >= NOON]
    assert await lead_states(store, client, 1) == ["Dead"]
    assert len(await lead_states(store, client, 2)) == 8
    assert sum(delivery.repeats for delivery in deliveries) == 7
    assert [delivery.state for delivery in deliveries].count("ignored") == 7


async def test_equal_state__is_a_new_event_after_another_event_of_the_person(store: Store) -> None:
    client = await client_with_leads(store)
    older = state(1, "Dead", email="p1@example.com")
    await keep(store, client, NOON, older)
    await keep(store, client, NOON + 1, state(2, "New"))
    await keep(store, client, NOON + 2, {"event": "email_opened", "email": "p1@example.com", "occurred_us": NOON})

    await keep(store, client, NOON + 3, older)
    await apply(store)

    assert await lead_states(store, client, 1) == ["Dead", "Dead"]  # the tool spoke about the person in between


async def test_equal_state__is_a_repeat_after_an_event_of_another_object_of_the_person(store: Store) -> None:
    client = await client_with_leads(store)
    await keep(store, client, NOON, state(1, "Dead", email="p1@example.com"))
    await keep(store, client, NOON + 1, state(7, "New", email="p1@example.com"))

    await keep(store, client, NOON + 2, state(1, "Dead", email="p1@example.com"))
    await apply(store)

    assert await lead_states(store, client, 1) == ["Dead", "New"]


async def test_replay__is_no_repeat(store: Store) -> None:
    client = await client_with_leads(store)
    stored = [await keep(store, client, NOON + step, state(1, word)) for step, word in enumerate(["A", "B", "A"])]
    await apply(store)

    for _ in range(2):
        await store.write(replay_deliveries(client, [item.id for item in stored], NOON))
        await apply(store, 1)

    assert await lead_states(store, client, 1) == ["A", "B", "A"]
    assert [delivery.repeats for delivery in await store.read(list_deliveries(50, client))] == [0] * 5


async def test_dated_webhook__is_a_repeat_for_an_hour(store: Store) -> None:
    client = await client_with_leads(store)
    dated = state(1, "A", occurred_us=NOON)
    first = await keep(store, client, NOON, dated)
    await keep(store, client, NOON + 1, state(1, "B", occurred_us=NOON + 1))
    await apply(store)

    again = await keep(store, client, NOON + 3600 * SECOND, dated)
    late = await keep(store, client, NOON + 3600 * SECOND + 1, dated)
    await apply(store)

    assert (again, late.is_repeat) == (StoredDelivery(first.id, True), False)
    assert await lead_states(store, client, 1) == ["A", "B"]


async def test_equal_state__is_a_new_event_after_an_unrecognised_webhook(store: Store) -> None:
    client = await client_with_leads(store)
    await keep(store, client, NOON, state(1, "A"))
    await keep(store, client, NOON + 1, {"event": "unrecognised"})
    await keep(store, client, NOON + 2, state(1, "A"))

    await apply(store)

    assert await lead_states(store, client, 1) == ["A", "A"]


calls = st.lists(
    st.tuples(st.sampled_from([1, 2]), st.sampled_from("ABC"), st.sampled_from([1, 1, 5, 130]), st.integers(0, 2)),
    min_size=1,
    max_size=12,
)
"""Object, state, seconds since the call before, and how often it is sent once more a little later."""


def arrivals(drawn: list[tuple[int, str, int, int]]) -> list[tuple[int, int, str]]:
    """When which object's state arrives, retries among the calls about the other object."""
    results: list[tuple[int, int, str]] = []
    now = NOON
    for number, word, gap, times in drawn:
        now += gap * SECOND
        results += [(now + again * SECOND // 10, number, word) for again in range(times + 1)]
    return sorted(results)


def facts(arrived: list[tuple[int, int, str]], number: int) -> list[str]:
    """The rule: equal to the last call about the object, within two minutes of it, is a repeat."""
    results: list[str] = []
    last: tuple[int, str] | None = None
    for at, whose, word in arrived:
        if whose == number:
            if last is None or last[1] != word or at > last[0] + 2 * MINUTE:
                results.append(word)
            last = (at, word)
    return results


@pytest.mark.slow_on_postgresql
@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=calls, data=st.data())
async def test_states_with_retries__end_at_the_last_state_in_any_order(
    store: Store, drawn: list[tuple[int, str, int, int]], data: st.DataObject
) -> None:
    arrived = arrivals(drawn)
    client, second = await client_with_leads(store), await client_with_leads(store)
    size = data.draw(st.integers(1, 5))

    for first in range(0, len(arrived), size):
        for at, number, word in arrived[first : first + size]:
            await keep(store, client, at, state(number, word))
        await apply(store, data.draw(st.integers(1, 4)))
    waiting = [(await keep(store, second, at, state(number, word))).id for at, number, word in arrived]
    later = data.draw(st.permutations(sorted(set(waiting))))
    for number in later:  # each alone, whatever came before it
        await store.work_on(second, [number], lambda delivery: read(WebhookRequest("crm", {}, "", delivery.body)), NOON)
    await apply(store)

    last = {str(number): word for _, number, word in arrived}
    for whose in (client, second):
        assert {number: word for number, word in (await statuses(store, whose)).items() if number in last} == last
        assert [str(item) async for item in verify(store, whose, Verified())] == []
    for number in (1, 2):
        assert await lead_states(store, client, number) == facts(arrived, number)
