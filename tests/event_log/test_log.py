"""The log of writes through the API: what is logged, in which order, and what is not."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.house import CLIENT, House

from touchbase.event_log.models import EVENT_TYPES, EventType, LoggedEvent
from touchbase.event_log.sql.queries import find_new_events, list_logged_events, list_newest_events

JANE = {
    "email": "jane@example.com",
    "first_name": "Jane",
    "contact_status": "new",
    "contact_custom_fields_input": [{"field_name": "Seats", "field_value": "40"}],
}


async def logged(house: House, after: int = 0) -> list[LoggedEvent]:
    """The client's events."""
    return (await house.call.parts.store.read(list_logged_events(house.number, after, 1_000))).events


async def types(house: House, after: int = 0) -> list[str]:
    """The types of the client's events."""
    return [event.type for event in await logged(house, after)]


async def last(house: House) -> int:
    """The client's newest sequence."""
    return (await house.call.parts.store.read(list_logged_events(house.number, None, 1))).newest


def after(event: LoggedEvent) -> dict[str, Any]:
    """The values after an event."""
    return {name: values[1] for name, values in event.changed.items()}


async def test_create_contact__logs_the_given_values(house: House) -> None:
    number = await house.contact(**JANE)

    (event,) = await logged(house)

    assert (event.sequence, event.type, event.record_id, event.at) == (1, "contact.created", number, house.call.clock.now)
    assert event.changed == {
        "email": (None, "jane@example.com"), "first_name": (None, "Jane"), "contact_status": (None, "new"), "cf.Seats": (None, "40"),
    }  # fmt: skip
    assert event.cause["origin"] == "api"


async def test_create_contact__that_exists_logs_nothing(house: House) -> None:
    await house.contact(**JANE)

    reply = await house.request("POST", "/public/v2/contacts", JANE)

    assert reply.status == 409
    assert await types(house) == ["contact.created"]


async def test_update_contact__logs_what_changed(house: House) -> None:
    number = await house.contact(**JANE)
    house.call.clock.move(10)

    await house.request("PATCH", f"/public/v2/contacts/{number}", {"first_name": "Joan", "contact_status": "won"})

    updated, status = await logged(house, 1)
    assert (updated.type, updated.changed) == ("contact.updated", {"first_name": ("Jane", "Joan")})
    assert status.type == "contact.status_changed"
    assert status.changed["contact_status"] == ("new", "won")
    assert after(status) == {"contact_status": "won", "previous_status": "new", "status_changed_at": "2026-11-20T09:30:10Z"}


async def test_update_contact__that_changes_nothing_logs_nothing(house: House) -> None:
    number = await house.contact(**JANE)

    await house.request("PATCH", f"/public/v2/contacts/{number}", {"first_name": "Jane", "contact_status": "new"})

    assert await types(house) == ["contact.created"]


async def test_concurrent_writes__take_each_number_once_and_leave_no_gap(house: House) -> None:
    numbers = await asyncio.gather(*(house.contact(email=f"p{n}@example.com") for n in range(60)))
    await asyncio.gather(
        *(house.request("PATCH", f"/public/v2/contacts/{number}", {"last_name": "Doe"}) for number in numbers),
        *(house.company(f"c{n}.example") for n in range(40)),
    )

    assert [event.sequence for event in await logged(house)] == [*range(1, 161)]


async def test_batch__logs_nothing_of_what_is_rolled_back(house: House) -> None:
    bad = {"op": "create", "body": {"email": "no address"}}
    good = {"op": "create", "body": {"email": "jane@example.com"}}

    refused = await house.request("POST", "/public/v2/contacts/batch", {"atomic": True, "commands": [good, good]})
    dry = await house.request("POST", "/public/v2/contacts/batch?dry_run=true", {"commands": [good]})
    assert (refused.status, dry.status) == (422, 200), (refused.body, dry.body)
    assert await types(house) == []

    await house.request("POST", "/public/v2/contacts/batch", {"commands": [good, bad, good]})
    assert await types(house) == ["contact.created"]


def test_event_types__all_have_a_meaning() -> None:
    assert [*EVENT_TYPES] == [*EventType]  # the reference page and OpenAPI are made from it


async def test_find_new_events__names_clients_with_later_events(house: House) -> None:
    store = house.call.parts.store
    await house.contact(**JANE)
    second = await House.of(house.call, "other")
    await second.contact(**JANE)
    await second.company("example.com")

    assert await store.read(find_new_events({CLIENT: 0, second.number: 2})) == {CLIENT: 1}
    assert await store.read(list_newest_events()) == {CLIENT: 1, second.number: 2}
