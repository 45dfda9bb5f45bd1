"""The report by status over time over HTTP."""

from __future__ import annotations

from typing import Any

from tests.house import House
from tests.reports.test_campaigns import DAY, columns_of, mail, report
from tests.statuses.jobs import renamed

STATUSES = "/public/v2/reports/contacts/statuses"


async def statuses(house: House, query: str) -> list[tuple[Any, ...]]:
    """The rows of the report, without their ends."""
    return columns_of(await report(house, query, STATUSES), "begins_at", "status", "records", "entered")


async def test_statuses__count_records_at_the_end_and_entries_in_the_interval(house: House) -> None:
    await house.contact(email="ann@example.com", contact_status="new")
    await house.contact(email="bob@example.com")
    house.call.clock.move(DAY)
    await house.hook("camp", mail("ann", DAY - 5), mail("bob", DAY - 4))
    house.call.clock.move(DAY)
    await house.hook("camp", mail("ann", 2 * DAY - 5, event="email_replied"))

    rows = await statuses(house, "interval=day&since=2d")

    assert rows == [
        ("2026-11-20T00:00:00Z", "contacted", 0, 0),
        ("2026-11-20T00:00:00Z", "new", 1, 1),
        ("2026-11-20T00:00:00Z", "replied", 0, 0),
        ("2026-11-20T00:00:00Z", None, 1, 1),
        ("2026-11-21T00:00:00Z", "contacted", 2, 2),
        ("2026-11-21T00:00:00Z", "new", 0, 0),
        ("2026-11-21T00:00:00Z", "replied", 0, 0),
        ("2026-11-21T00:00:00Z", None, 0, 0),
        ("2026-11-22T00:00:00Z", "contacted", 1, 0),
        ("2026-11-22T00:00:00Z", "new", 0, 0),
        ("2026-11-22T00:00:00Z", "replied", 1, 1),
        ("2026-11-22T00:00:00Z", None, 0, 0),
    ]


async def test_statuses__records_from_before_the_report_count_from_its_beginning(house: House) -> None:
    await house.contact(email="ann@example.com", contact_status="new")
    house.call.clock.move(40 * DAY)

    assert await statuses(house, "since=2d") == [("2026-12-28T00:00:00Z", "new", 1, 0)]


async def test_statuses__an_event_that_arrives_late_counts_at_its_own_time(house: House) -> None:
    ann = await house.contact(email="ann@example.com")
    house.call.clock.move(5 * DAY)
    await house.request("PATCH", f"/public/v2/contacts/{ann}", {"contact_status": "customer"})

    await house.hook("camp", mail("ann", 2 * DAY))

    house.call.clock.move(1)
    rows = await statuses(house, "interval=day&since=5d")
    assert [row for row in rows if row[1] == "contacted" and row[3]] == [("2026-11-22T00:00:00Z", "contacted", 1, 1)]
    assert rows[-3:] == [
        ("2026-11-25T00:00:00Z", "contacted", 0, 0),
        ("2026-11-25T00:00:00Z", "customer", 1, 1),
        ("2026-11-25T00:00:00Z", None, 0, 0),
    ]


async def test_statuses__leave_out_deleted_records(house: House) -> None:
    ann = await house.contact(email="ann@example.com", contact_status="new")

    await house.delete(ann)

    house.call.clock.move(1)
    assert await statuses(house, "since=1d") == []


async def test_statuses__of_companies(house: House) -> None:
    await house.company("example.com", company_status="target")

    house.call.clock.move(1)
    rows = await report(house, "since=1d", "/public/v2/reports/companies/statuses")

    assert columns_of(rows, "status", "records", "entered") == [("target", 1, 1)]


async def test_statuses__too_many_words_are_refused(house: House, monkeypatch: Any) -> None:
    monkeypatch.setattr("touchbase.reports.sql.statuses.MOST_ROWS", 5)
    await house.contact(email="ann@example.com", contact_status="new")
    house.call.clock.move(1)

    reply = await house.request("GET", f"{STATUSES}?interval=day&since=9d")

    assert reply.status == 422
    assert reply.json()["errors"][0]["code"] == "too_many"


async def test_statuses__a_renamed_status_has_its_present_name_at_all_times(house: House) -> None:
    await house.contact(email="ann@example.com")
    await house.contact(email="bob@example.com")
    await house.hook("camp", mail("ann", -5))
    house.call.clock.move(2 * DAY)
    await renamed(house, "contacted", "In sequence")
    await house.hook("camp", mail("bob", -4))  # late, of before the rename

    house.call.clock.move(DAY)
    rows = await statuses(house, "interval=day&since=3d")

    assert {row[1] for row in rows} == {"In sequence"}
    assert {row[2] for row in rows} == {2}
    assert await house.differences() == []
