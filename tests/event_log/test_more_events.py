"""Events of merges, deletions, erasures, jobs, lists, deliveries and connections."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.event_log.replaying import copied, shown
from tests.event_log.test_feed import read as page
from tests.event_log.test_log import JANE, logged, types
from tests.house import House, read

from touchbase.common.timestamps import DAY
from touchbase.config import Settings
from touchbase.erasure.service import Eraser
from touchbase.jobs.worker import JobWorker
from touchbase.retention.service import Retention
from touchbase.workers import job_kinds


async def run_jobs(house: House) -> None:
    """Run the waiting jobs."""
    await JobWorker(house.call.parts.store, house.call.clock, job_kinds(Settings())).drain()


def eraser(house: House) -> Eraser:
    return Eraser(house.call.parts.store, read, house.call.clock)


async def test_webhook__that_is_repeated_or_late_logs_nothing(house: House) -> None:
    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 50})
    before = await types(house)
    assert before == ["contact.created", "contact.replied"]

    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 50})
    await house.hook("camp", {"event": "email_opened", "email": "jane@example.com", "at": 55})
    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 20})
    await house.replay()

    assert await types(house) == before


async def test_meetings__are_logged_though_a_canceled_one_changes_no_field(house: House) -> None:
    await house.contact(**JANE)
    for at, event in ((50, "meeting_booked"), (60, "meeting_rescheduled"), (70, "meeting_canceled"), (80, "meeting_no_show")):
        await house.hook("camp", {"event": event, "email": "jane@example.com", "at": at})
        await house.hook("camp", {"event": event, "email": "jane@example.com", "at": at})

    events = [event for event in await logged(house) if "meeting" in event.type]
    assert [event.type.removeprefix("contact.") for event in events] == [
        "meeting_booked", "meeting_rescheduled", "meeting_canceled", "meeting_no_show",
    ]  # fmt: skip
    assert {event.record_id for event in events} == {1}
    assert events[2].changed == {}
    assert events[2].data["meeting"]["tool"] == "camp"
    assert events[2].cause["origin"] == "delivery"


async def test_merge__names_the_records_that_ended(house: House) -> None:
    number = await house.contact(**JANE)
    contact = await house.contact(email="j@example.com", last_name="Doe")
    merged = await house.merge(number, contact)

    event = (await logged(house, 2))[0]
    assert (event.type, event.record_id, event.data) == ("contact.merged", number, {"merged": [contact], "merge_id": 1})
    assert event.changed["last_name"] == (None, "Doe")

    await house.undo(number, merged["merge_id"])
    assert sorted(await types(house, 3)) == ["contact.restored", "contact.updated"]


async def test_merge_of_companies__logs_each_contact_that_moved(house: House) -> None:
    company, other_company = await house.company("x.example"), await house.company("y.example")
    contact = await house.contact(email="p@y.example", company_id=other_company)

    await house.merge(company, other_company, kind="companies")

    events = {event.type: event for event in await logged(house, 3)}
    assert events["contact.updated"].record_id == contact
    assert events["contact.updated"].changed == {"company_id": (other_company, company)}


async def test_erasure__removes_what_changed_and_leaves_no_gap(house: House) -> None:
    number = await house.contact(**JANE)
    contact = await house.contact(email="j@example.com", last_name="Doe")
    await house.merge(number, contact)
    await house.request("POST", "/public/v2/suppressions", {"value": "jane@example.com"})

    await eraser(house).erase(house.number, number)

    events = await logged(house)
    assert [event.sequence for event in events] == [*range(1, len(events) + 1)]
    assert events[-1].type == "contact.erased"
    assert events[-1].cause["origin"] == "erasure"
    shown_now = str(await page(house))
    assert all(word not in shown_now for word in ("jane@", "j@example", "Jane", "Doe"))


async def test_erasure__after_an_undone_merge_leaves_nothing_in_the_other_record(house: House) -> None:
    number = await house.contact(email="ann@example.com")
    contact = await house.contact(email="j@example.com", last_name="Doe")
    merged = await house.merge(number, contact)
    await house.undo(number, merged["merge_id"])

    await eraser(house).erase(house.number, contact)

    shown_now = str(await page(house))
    assert all(word not in shown_now for word in ("j@example", "Doe"))
    assert (await house.get(number))["email"] == "ann@example.com"


async def test_deletion_for_good__is_logged_and_forgets_what_changed(house: House) -> None:
    number = await house.contact(**JANE)
    await house.delete(number)
    house.call.clock.move(40 * 86_400)

    await Retention(house.call.parts.store, eraser(house), house.call.clock, pause=0).run_once()

    events = await logged(house)
    assert [(event.type, event.data) for event in events[1:]] == [("contact.deleted", {}), ("contact.deleted", {"for_good": True})]
    assert all(not event.changed for event in events)


async def test_retention__trims_the_log(house: House) -> None:
    await house.contact(**JANE)
    house.call.clock.now += 31 * DAY
    await house.company("example.com")

    await Retention(house.call.parts.store, eraser(house), house.call.clock, pause=0, keep_events_days=30).run_once()

    assert [event.sequence for event in await logged(house)] == [2]


async def test_rename_of_a_status__is_one_event(house: House) -> None:
    await house.contact(**JANE)
    await house.contact(email="j@example.com", contact_status="new")
    reply = await house.request("PATCH", "/public/v2/statuses/contacts/new", {"name": "fresh"})
    assert reply.status in (200, 202), reply.body
    await run_jobs(house)

    (event,) = await logged(house, 2)
    assert (event.type, event.data) == ("status.renamed", {"record": "contact", "from": "new", "to": "fresh"})


async def test_rename_of_a_custom_field__logs_each_record_with_its_job(house: House) -> None:
    number = await house.contact(**JANE)
    reply = await house.request("PATCH", "/public/v2/custom-fields/contacts/Seats", {"name": "Places"})
    assert reply.status in (200, 202), reply.body
    await run_jobs(house)

    (event,) = await logged(house, 1)
    assert (event.type, event.record_id) == ("contact.updated", number)
    assert event.changed == {"cf.Seats": ("40", None), "cf.Places": (None, "40")}
    assert (event.cause["origin"], "job_id" in event.cause) == ("job", True)


async def test_suppressions__are_logged_when_an_address_enters_and_leaves(house: House) -> None:
    await house.hook("camp", {"event": "email_unsubscribed", "email": "jane@example.com", "at": 5})
    listed = (await house.request("GET", "/public/v2/suppressions")).json()["data"]
    await house.request("DELETE", f"/public/v2/suppressions/{listed[0]['id']}")

    events = [item for item in (await page(house))["data"] if item["type"].startswith("suppression")]

    assert [(event["type"], event["data"]["object"]["value"]) for event in events] == [
        ("suppression.added", "jane@example.com"), ("suppression.removed", "jane@example.com"),
    ]  # fmt: skip
    assert events[0]["data"]["cause"]["tool"] == "camp"


async def test_deliveries__that_fail_or_are_not_understood_are_logged(house: House) -> None:
    await house.hook("camp", {"event": "unknown", "source_event": "surprise"})

    (event,) = (await page(house))["data"]

    assert event["type"] == "delivery.unrecognised"
    assert event["data"]["object"]["state"] == "unrecognised"
    assert "surprise" in event["data"]["object"]["error"]


async def test_dry_runs__log_nothing(house: House) -> None:
    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 50})
    before = await types(house)

    for target, body in (
        ("/public/v2/contacts?dry_run=true", {"email": "x@example.com"}),
        ("/admin/v1/deliveries/replay", {"state": "applied", "dry_run": True}),
    ):
        assert (await house.request("POST", target, body)).status in (200, 201)

    assert await types(house) == before


async def test_imports__log_their_rows_with_the_job(house: House) -> None:
    number = await house.contact(**JANE)
    csv = b"email,last_name,last_reply_received\njane@example.com,Doe,2026-11-01T09:00:00Z\nnew@example.com,New,\n"
    reply = await house.call(
        "POST", "/public/v2/contacts/imports?start=true&mode=upsert", raw=csv, content_type="text/csv", x_client_id=house.client_id
    )
    assert reply.status == 201, reply.body
    await run_jobs(house)

    events = await logged(house, 1)
    assert {event.cause["origin"] for event in events} == {"job"}
    assert [(event.type, event.record_id == number) for event in events].count(("contact.created", False)) == 1
    assert not any(event.type == "contact.replied" for event in events)
    copy, _ = await copied(house)
    assert copy == await shown(house)


async def test_bulk_changes__are_replayed(house: House) -> None:
    for n in range(5):
        await house.contact(email=f"p{n}@example.com", contact_status="new")
    body: dict[str, Any] = {"contact_status": "won"}
    reply = await house.request("PATCH", "/public/v2/contacts?contact_status=new", body, prefer="max-affected=10")
    assert reply.status == 200, reply.body

    assert (await types(house, 5)) == ["contact.status_changed"] * 5
    copy, _ = await copied(house)
    assert copy == await shown(house)


async def test_deletion_of_a_company__logs_its_contacts(house: House) -> None:
    company = await house.company("x.example")
    await asyncio.gather(*(house.contact(email=f"p{n}@x.example", company_id=company) for n in range(3)))
    await house.delete(company, "companies")
    await house.restore(company, "companies")

    copy, _ = await copied(house)
    assert copy == await shown(house)
    assert (await types(house)).count("contact.updated") == 6


async def test_second_reply__within_the_same_second_is_a_reply(house: House) -> None:
    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 50})
    before = len(await types(house))

    await house.hook("camp", {"event": "email_replied", "email": "jane@example.com", "at": 50.5})

    assert await types(house, before) == ["contact.replied"]
