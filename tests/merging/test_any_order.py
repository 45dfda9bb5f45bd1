"""Any order of webhooks around a deletion, a merge or its undoing gives the same records and loses no event."""

from __future__ import annotations

import random
from typing import Any

import pytest
from tests.asgi_client import MakeClient
from tests.house import House, read

from touchbase.history.events import CONTACT
from touchbase.history.sql import get_history
from touchbase.sql.store import Store

END = 100
OPERATION = 50
"""Seconds from the start: the time of the deletion or the merge; an undoing is at its double."""
ANN, ANNA = "ann@a.example", "anna@b.example"
PEOPLE = ({"email": ANN}, {"email": ANNA}, {"linkedin_url": "linkedin.com/in/anna"})
WORDS = ("Ann", "Anna", "Anne", "Hanna")


def webhook(chance: random.Random, at: int) -> tuple[str, dict[str, Any]]:
    """A webhook of a campaign tool or a CRM about one of the two, with a time of its own."""
    if chance.random() < 0.5:
        kind = chance.choice(("email_sent", "email_replied", "email_unsubscribed"))
        return "camp", {"event": kind, "at": at, "first_name": chance.choice(WORDS), **chance.choice(PEOPLE)}
    number, email = chance.choice((("1", ANN), ("2", ANNA)))
    event = {"event": "contact.updated", "at": at, "object_type": "contact", "object_id": number, "email": email}
    if chance.random() < 0.3:
        return "hubspot", event | {"event": "contact.status_changed", "status": chance.choice(("lead", "customer"))}
    return "hubspot", event | {"fields": {"last_name": chance.choice(WORDS)}, "custom": {"Seats": str(at)}}


async def run(house: House, program: list[tuple[int, tuple[str, dict[str, Any]]]], operation: str) -> tuple[int, int]:
    """Make the two contacts, and receive each webhook at its time of receipt; return the contacts' ids."""
    start = house.call.clock.now
    ann = await house.contact(email=ANN, first_name="Ann")
    house.call.clock.move(0.5)
    anna = await house.contact(email=ANNA, linkedin_url="linkedin.com/in/anna", contact_status="new")
    steps: list[tuple[float, Any]] = [(received, said) for received, said in program]
    steps += [(OPERATION, "begin"), *([(OPERATION * 2, "undo")] if operation == "undo" else [])]
    merge = 0
    for at, step in sorted(steps, key=lambda item: (item[0], str(item[1]))):
        house.call.clock.now = max(house.call.clock.now, start + int(at * 1_000_000))
        if step == "begin" and operation == "delete":
            await house.delete(anna)
        elif step == "begin":
            merge = (await house.merge(ann, anna, survivorship="newest"))["merge_id"]
        elif step == "undo":
            await house.undo(ann, merge)
        else:
            await house.hook(step[0], step[1])
    return ann, anna


async def state(house: House, numbers: tuple[int, int]) -> tuple[Any, Any]:
    """The records without ids and times of receipt, and the events of every record, also of those in the bin."""
    shown = []
    for record in await house.listed():
        fields = {item["field_name"]: item["field_value"] for item in record.pop("contact_custom_fields")}
        events = await house.timeline(record.pop("id"))
        record.pop("updated_time")
        shown.append((sorted(record.items(), key=str), fields, events))
    histories = [await house.call.parts.store.read(get_history(house.number, CONTACT, number)) for number in numbers]
    return sorted(shown, key=str), [[(event.event, event.occurred_us, event.effect) for event in history] for history in histories]


@pytest.mark.parametrize("operation", ["delete", "merge", "undo"])
@pytest.mark.parametrize("seed", range(6))
async def test_late_webhooks__give_what_those_in_time_give(store: Store, make_client: MakeClient, operation: str, seed: int) -> None:
    chance = random.Random(f"{operation} {seed}")
    times = sorted(chance.sample([at for at in range(2, END - 1) if at not in (OPERATION, OPERATION * 2)], 14))
    webhooks = [(at, webhook(chance, at)) for at in times]
    late = [(chance.choice((at, END + 50 + chance.randrange(20))), said) for at, said in webhooks]
    results = []
    for name, program in (("early", webhooks), ("late", late)):
        house = await House.of(make_client(store, read=read), f"{name}-{operation}-{seed}")
        numbers = await run(house, program, operation)
        results.append(await state(house, numbers))
        await house.replay()
        assert await state(house, numbers) == results[-1]
        assert await house.differences() == []
        assert set(await house.states()) <= {"applied", "ignored"}

    assert results[0] == results[1]
