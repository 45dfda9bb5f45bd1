"""Dates in the formats that spreadsheets and exports write.

`11/12/2026` is a day in November or in December: the order has to be stated. Dates with dots have the day first. A time without a
zone is in the zone that the import states, and a date without a time is its midnight there.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from touchbase.common.timestamps import EARLIEST, LATEST, SECOND, Micros, from_datetime

DAY_FIRST, MONTH_FIRST = "day_first", "month_first"
LONGEST = 60
"""Characters of the longest text that is read as a date."""

_TIME = (
    r"(?:,?[ T]+(?:at )?(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d{1,9}))?)? ?(?P<half>[AaPp]\.?[Mm]\.?)?"
    r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d))?)?"
)
_NUMBERS = re.compile(rf"(?P<one>\d{{1,4}})(?P<mark>[/.-])(?P<two>\d{{1,2}})(?P=mark)(?P<three>\d{{1,4}}){_TIME}", re.ASCII)
_MONTH_DAY = re.compile(
    rf"(?:[A-Za-z]{{3,9}},? )?(?P<name>[A-Za-z]{{3,9}})\.? (?P<day>\d{{1,2}})(?:st|nd|rd|th)?,? (?P<year>\d{{4}}){_TIME}", re.ASCII
)
_DAY_MONTH = re.compile(
    rf"(?:[A-Za-z]{{3,9}},? )?(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.)?[ -](?P<name>[A-Za-z]{{3,9}})\.?,?[ -](?P<year>\d{{4}}|\d\d){_TIME}",
    re.ASCII,
)
_NUMBER = re.compile(r"\d{1,13}(?:\.\d{1,15})?", re.ASCII)
_NAMES = "january, february, march, april, may, june, july, august, september, october, november, december"
_MONTHS = {name[:size]: number for number, name in enumerate(_NAMES.split(", "), 1) for size in (3, 4, len(name))}
_SERIAL_START = datetime(1899, 12, 30)
"""Day 0 of a spreadsheet's dates, with which day 61 is 1900-03-01 (https://learn.microsoft.com/office/troubleshoot/excel/)."""
_SERIALS = range(10_000, 2_958_466)
"""From 1927 to 9999: smaller numbers are counts or years."""
_SECONDS = range(10**8, 10**11)
_MILLIS = range(10**11, 10**13)


class BadDate(ValueError):
    """A text that is no date; the message has the reason and the cure."""


def parse_date(text: str, day_order: str = "", zone: tzinfo = UTC) -> Micros:
    """Return the time of a date in ISO 8601, with slashes, dots or a month's name, or of a spreadsheet's or Unix number.

    Raises `BadDate`. `day_order` is DAY_FIRST, MONTH_FIRST or blank, with which a date such as 11/12/2026 is refused.
    """
    text = text.strip()
    if len(text) > LONGEST:
        raise BadDate(f"{text[:LONGEST]!r} is not a date")
    try:
        moment = _moment(text, day_order)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=zone)
        at = from_datetime(moment)
    except BadDate:
        raise
    except (ValueError, OverflowError):
        raise BadDate(f"{text!r} is not a date that exists") from None
    if not EARLIEST <= at < LATEST + SECOND:
        raise BadDate(f"{text!r} is outside of the years 1 to 9999")
    return at


def shown_order(text: str) -> str | None:
    """Return the order that a date shows: DAY_FIRST, MONTH_FIRST, or blank if it may have either; None if its order is known, or wrong."""
    match = _NUMBERS.fullmatch(text.strip()[:LONGEST])
    if match is None or match["mark"] == "." or len(match["one"]) > 2 or match["one"] == match["two"]:
        return None
    is_day = [int(match[name]) > 12 for name in ("one", "two")]
    return None if all(is_day) else DAY_FIRST if is_day[0] else MONTH_FIRST if is_day[1] else ""


def _moment(text: str, day_order: str) -> datetime:
    if text[4:5] == "-" and text[7:8] == "-":
        try:
            return datetime.fromisoformat(text)
        except ValueError:
            pass  # perhaps "2026-11-25 2:03 PM"
    if _NUMBER.fullmatch(text):
        return _from_number(text)
    if match := _NUMBERS.fullmatch(text):
        return _with_time(match, *_year_month_day(match, text, day_order))
    match = _MONTH_DAY.fullmatch(text) or _DAY_MONTH.fullmatch(text)
    if match is None or (month := _MONTHS.get(match["name"].lower())) is None:
        raise BadDate(f"{text!r} is not a date; write it as 2026-11-25 or 2026-11-25T14:03:00Z")
    return _with_time(match, _year(match["year"]), month, int(match["day"]))


def _year_month_day(match: re.Match[str], text: str, day_order: str) -> tuple[int, int, int]:
    first, second, third = match["one"], match["two"], match["three"]
    if len(first) == 4:
        return int(first), int(second), int(third)
    if len(first) == 3 or len(third) not in (2, 4):
        raise BadDate(f"{text!r} is not a date; write it as 2026-11-25")
    if match["mark"] == ".":
        day_order = DAY_FIRST
    if not day_order:
        day_order = DAY_FIRST if first == second else shown_order(f"{first}/{second}/{third}") or ""
    if not day_order:
        raise BadDate(f"{text!r} may have the day or the month first; state the day order of the file, {DAY_FIRST} or {MONTH_FIRST}")
    day, month = (int(first), int(second)) if day_order == DAY_FIRST else (int(second), int(first))
    if month > 12 >= day:
        raise BadDate(f"{text!r} has no month {month}: the import states {day_order}, and this date has the other order")
    return _year(third), month, day


def _year(digits: str) -> int:
    """Return the year; of two digits, one of this century."""
    return int(digits) + (2000 if len(digits) == 2 else 0)


def _with_time(match: re.Match[str], year: int, month: int, day: int) -> datetime:
    if match["hour"] is None:
        return datetime(year, month, day)
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= 12:
            raise ValueError
        hour = hour % 12 + (12 if match["half"][0] in "Pp" else 0)
    micros = int(f"{match['fraction'] or ''}000000"[:6])
    local = datetime(year, month, day, hour, int(match["minute"]), int(match["second"] or 0), micros)
    zone = match["zone"]
    if zone is None:
        return local
    return datetime.fromisoformat(f"{local.isoformat()}{'Z' if zone in ('UTC', 'GMT') else zone}")


def _from_number(text: str) -> datetime:
    number = float(text)
    units = int(number)
    if units in _SERIALS:
        return _SERIAL_START + timedelta(days=units, milliseconds=round((number - units) * 86_400_000))
    if units in _SECONDS:
        return datetime.fromtimestamp(0, UTC) + timedelta(seconds=number)
    if units in _MILLIS:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=number)
    if len(text) == 8 and text.isdigit():
        return datetime.fromisoformat(text)
    raise BadDate(f"{text!r} is a number, and not one that a spreadsheet writes for a date")
