"""Dates in files."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from touchbase.common.timestamps import SECOND, from_datetime, from_text, to_text
from touchbase.imports.dates import DAY_FIRST, MONTH_FIRST, BadDate, parse_date, shown_order

MOMENTS = st.datetimes(datetime(1930, 1, 1), datetime(2100, 1, 1)).map(lambda moment: moment.replace(microsecond=0))


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-11-25", "2026-11-25T00:00:00Z"),
        (" 2026-11-25 14:03 ", "2026-11-25T14:03:00Z"),
        ("2026-11-25T14:03:07.5Z", "2026-11-25T14:03:07.500000Z"),
        ("2026-11-25T14:03:00+02:00", "2026-11-25T12:03:00Z"),
        ("2026-11-25 14:03:00 UTC", "2026-11-25T14:03:00Z"),
        ("2026-11-25 2:03 PM", "2026-11-25T14:03:00Z"),
        ("2026/11/25 14:03", "2026-11-25T14:03:00Z"),
        ("20261125", "2026-11-25T00:00:00Z"),
        ("25.11.2026", "2026-11-25T00:00:00Z"),
        ("5.1.26 09:30", "2026-01-05T09:30:00Z"),
        ("Nov 25, 2026", "2026-11-25T00:00:00Z"),
        ("November 25, 2026 2:03pm", "2026-11-25T14:03:00Z"),
        ("Wednesday, November 25, 2026 at 12:03 AM", "2026-11-25T00:03:00Z"),
        ("25 Nov 2026 14:03:00 +0100", "2026-11-25T13:03:00Z"),
        ("25-Nov-26", "2026-11-25T00:00:00Z"),
        ("Wed, 25 Nov 2026 14:03:00 GMT", "2026-11-25T14:03:00Z"),
        ("46351", "2026-11-25T00:00:00Z"),
        ("46351.5854166667", "2026-11-25T14:03:00Z"),
        ("1795615380", "2026-11-25T14:03:00Z"),
        ("1795615380000", "2026-11-25T14:03:00Z"),
    ],
)
def test_parse_date__reads_formats_of_spreadsheets_and_exports(text: str, time: str) -> None:
    assert to_text(parse_date(text)) == time


@pytest.mark.parametrize(
    ("text", "order", "time"),
    [
        ("11/25/2026 14:03", MONTH_FIRST, "2026-11-25T14:03:00Z"),
        ("25/11/2026 14:03", DAY_FIRST, "2026-11-25T14:03:00Z"),
        ("1/2/26", MONTH_FIRST, "2026-01-02T00:00:00Z"),
        ("1/2/26", DAY_FIRST, "2026-02-01T00:00:00Z"),
        ("11-25-2026 2:03:04 PM", MONTH_FIRST, "2026-11-25T14:03:04Z"),
        ("01.02.2026", MONTH_FIRST, "2026-02-01T00:00:00Z"),
    ],
)
def test_parse_date__reads_the_stated_day_order(text: str, order: str, time: str) -> None:
    assert to_text(parse_date(text, order)) == time


@pytest.mark.parametrize(
    ("text", "order", "message"),
    [
        ("11/12/2026", "", "state the day order of the file, day_first or month_first"),
        ("25/11/2026", MONTH_FIRST, "has no month 25: the import states month_first, and this date has the other order"),
        ("11/25/2026", DAY_FIRST, "has no month 25: the import states day_first"),
        ("31/02/2026", DAY_FIRST, "not a date that exists"),
        ("2026-02-30", "", "not a date that exists"),
        ("2026-11-25 25:00", "", "not a date that exists"),
        ("2026-11-25 14:03 PM", "", "not a date that exists"),
        ("true", "", "write it as 2026-11-25"),
        ("yesterday", "", "write it as 2026-11-25"),
        ("Foo 25, 2026", "", "write it as 2026-11-25"),
        ("5", "", "is a number, and not one that a spreadsheet writes"),
        ("2026", "", "is a number"),
        ("99999999", "", "is a number|not a date that exists"),
        ("0000-00-00", "", "not a date that exists"),
        ("0001-01-01T00:00:00+14:00", "", "outside of the years|not a date that exists"),
        ("1/2/3/4", DAY_FIRST, "write it as"),
        ("x" * 500, "", "not a date"),
        ("", "", "not a date"),
    ],
)
def test_parse_date__says_why_a_text_is_no_date(text: str, order: str, message: str) -> None:
    with pytest.raises(BadDate, match=message):
        parse_date(text, order)


def test_parse_date__reads_times_without_a_zone_in_the_stated_one() -> None:
    berlin = ZoneInfo("Europe/Berlin")

    assert to_text(parse_date("2026-11-25 14:03", zone=berlin)) == "2026-11-25T13:03:00Z"
    assert to_text(parse_date("2026-07-25", zone=berlin)) == "2026-07-24T22:00:00Z"
    assert to_text(parse_date("46351.5", zone=berlin)) == "2026-11-25T11:00:00Z"
    assert to_text(parse_date("2026-11-25 14:03Z", zone=berlin)) == "2026-11-25T14:03:00Z"
    assert to_text(parse_date("1795615380", zone=berlin)) == "2026-11-25T14:03:00Z"


@given(
    MOMENTS,
    st.sampled_from(["%m/%d/%Y %H:%M:%S", "%d/%m/%Y %I:%M:%S %p", "%d.%m.%Y %H:%M:%S", "%B %d, %Y %H:%M:%S", "%d %b %Y %H:%M:%S"]),
)
def test_parse_date__reads_any_time_in_any_format(moment: datetime, form: str) -> None:
    order = MONTH_FIRST if form.startswith("%m") else DAY_FIRST

    assert parse_date(moment.strftime(form), order) == from_datetime(moment)


@given(MOMENTS)
def test_parse_date__reads_any_serial_number_of_a_spreadsheet(moment: datetime) -> None:
    serial = (moment - datetime(1899, 12, 30)) / timedelta(days=1)

    assert abs(parse_date(repr(serial)) - from_datetime(moment)) <= SECOND // 1000


@given(st.datetimes(timezones=st.just(UTC)))
def test_parse_date__reads_what_touchbase_writes(moment: datetime) -> None:
    text = to_text(from_datetime(moment))

    assert parse_date(text) == from_text(text)


@given(st.text(max_size=70), st.sampled_from(["", DAY_FIRST, MONTH_FIRST]))
def test_parse_date__returns_a_time_or_a_fault_for_any_text(text: str, order: str) -> None:
    with suppress(BadDate):  # no other error
        to_text(parse_date(text, order))


@pytest.mark.parametrize(("text", "day"), [("25/11/2026", "2026-11-25"), ("11/25/2026", "2026-11-25"), ("5/5/2026", "2026-05-05")])
def test_parse_date__needs_no_order_for_a_date_that_shows_it(text: str, day: str) -> None:
    assert to_text(parse_date(text))[:10] == day


def test_shown_order__is_that_of_a_day_above_12() -> None:
    assert [shown_order(text) for text in ("11/25/2026 14:03", "25/11/2026", "1/2/2026")] == [MONTH_FIRST, DAY_FIRST, ""]
    assert [shown_order(text) for text in ("x", "2026-11-25", "25.11.2026", "3/3/2026", "13/14/2026")] == [None] * 5
