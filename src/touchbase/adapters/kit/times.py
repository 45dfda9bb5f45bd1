"""Times in the formats that tools use, in microseconds.

A number's size determines its unit: in this century seconds have nine to eleven digits before the point, milliseconds
up to fourteen, microseconds more. A text without a zone is read as UTC and returned as `Unzoned`, so that the client's
zone (a connection's `time_zone`) can be applied.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from zoneinfo import ZoneInfo

from touchbase.common.timestamps import DAY, EARLIEST, EPOCH, LATEST, SECOND, Micros, before_leap_second, follows_leap_second

_ISO = re.compile(
    r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))?\s*(?:(Z|UTC|GMT)|([+-])(\d\d):?(\d\d)?)?)?",
    re.ASCII | re.IGNORECASE,
)
_NUMBER = re.compile(r"(\d{9,18})(?:[.,](\d+))?", re.ASCII)
_MAIL = re.compile(r"(?:[A-Z][a-z]{2}, )?\d\d? [A-Z][a-z]{2} \d{4} \d\d:\d\d(?::\d\d)?(?: (?:[+-]\d{4}|[A-Z]{1,4}))?", re.ASCII)
_SCRIPT = re.compile(r"[A-Z][a-z]{2} ([A-Z][a-z]{2} \d\d \d{4} \d\d:\d\d:\d\d) GMT([+-]\d{4})(?: \(.*\))?", re.ASCII)
"""The default text of a JavaScript date: `Fri Nov 20 2026 09:30:00 GMT+0000 (Coordinated Universal Time)`."""
_SPREADSHEET = re.compile(r"(\d\d?)/(\d\d?)/(\d{4})(?:,? (\d\d?):(\d\d)(?::(\d\d))?(?: ?([AP]M))?)?", re.ASCII | re.IGNORECASE)
"""`11/24/2025 4:00:00 PM`, as spreadsheets and Zapier write times."""
_DOTTED = re.compile(r"(\d\d?)\. ?(\d\d?)\. ?(\d{4})(?:,? (\d\d?):(\d\d)(?::(\d\d))?)?", re.ASCII)
"""`24.11.2025 16:00`: with points the day comes first, in every country."""
_DOTNET = re.compile(r"\\?/Date\((-?\d{1,15})(?:[+-]\d{4})?\)\\?/", re.ASCII)

_FIRST = EARLIEST + 366 * DAY
"""Go and .NET write the start of the year 1 for an unset time."""
_MIN_SECONDS = 10**9
_MIN_MILLIS = 10**11
_MIN_MICROS = 10**14


class Unzoned(int):
    """A time whose text has no zone, read as UTC."""


def in_zone(at: Micros, zone: str) -> Micros | None:
    """Return the time at which clocks in this zone show the wall time that `at` has in UTC; None if the system does not know the zone.

    In the repeated hour when clocks go back, the first occurrence is meant.
    """
    try:
        local = (EPOCH + timedelta(microseconds=at)).replace(tzinfo=ZoneInfo(zone))
        return _micros(local)
    except (LookupError, OSError, OverflowError, ValueError):
        return None


def parse_time(value: object) -> Micros | None:
    """Return a tool's value as a time; None if it is not a valid time.

    Reads ISO 8601 in its usual forms (any number of fraction digits, cut to microseconds), epoch seconds, milliseconds
    and microseconds as number or text, the `Date` formats of emails and JavaScript, `/Date(ms+zzzz)/`, `24.11.2025 16:00`, and a
    spreadsheet's `11/24/2025 4:00:00 PM` if day and month are certain. Small numbers are no times.
    """
    if type(value) is str:
        at = _from_text(value)
        return at if at is not None or ":60" not in value else _from_leap_second(value)
    if type(value) is int:
        return _from_number(value, "")
    if type(value) is float:
        digits, _, fraction = repr(value).partition(".")
        return _from_number(int(digits), fraction) if digits.isdecimal() and fraction.isdecimal() else None
    return None


def first_time(data: object, *keys: str) -> Micros | None:
    """Return the first valid time under one of these keys."""
    if isinstance(data, dict):
        for key in keys:
            if (time := parse_time(data.get(key))) is not None:
                # A name such as `date_modified_gmt` says the zone.
                return int(time) if key.endswith(("_gmt", "_utc")) else time
    return None


def _from_text(text: str) -> Micros | None:
    # Fast path for the usual format: `2026-11-20T09:30:00.123Z`.
    if len(text) >= 19 and text[4] == "-" and text[10] in "T ":
        try:
            return _micros(datetime.fromisoformat(text))
        except (ValueError, OverflowError):
            pass
    text = text.strip()
    for pattern, read in _FORMATS:
        if (match := pattern.fullmatch(text)) is not None:
            return read(match)
    return None


def _from_leap_second(text: str) -> Micros | None:
    """Count a leap second as the first second of the next day."""
    second = before_leap_second(text)
    before = None if second is None else _from_text(second)
    return before + SECOND if before is not None and follows_leap_second(before + SECOND) else None


def _from_script(match: re.Match[str]) -> Micros | None:
    try:
        return _micros(datetime.strptime(f"{match[1]} {match[2]}", "%b %d %Y %H:%M:%S %z"))
    except (ValueError, OverflowError):
        return None


def _from_spreadsheet(match: re.Match[str]) -> Micros | None:
    """Return the time, if the order of day and month is certain: by AM or PM, which are American, or by a number above 12."""
    first, second, year, hour, minute, seconds, half = match.groups()
    if half is None and first != second and max(int(first), int(second)) <= 12:
        return None
    month, day = (first, second) if half is not None or int(first) <= 12 else (second, first)
    try:
        at = datetime(int(year), int(month), int(day), int(hour or 0), int(minute or 0), int(seconds or 0))
    except ValueError:
        return None
    if half is not None:
        if not 1 <= at.hour <= 12:
            return None
        at = at.replace(hour=at.hour % 12 + (12 if half.upper() == "PM" else 0))
    return _micros(at)


def _from_dotted(match: re.Match[str]) -> Micros | None:
    day, month, year, hour, minute, second = (int(part or 0) for part in match.groups())
    try:
        return _micros(datetime(year, month, day, hour, minute, second))
    except ValueError:
        return None


def _from_mail(match: re.Match[str]) -> Micros | None:
    try:
        # The library returns a time without a zone for `-0000`, though it is UTC (RFC 5322, 3.3).
        return _micros(parsedate_to_datetime(match[0].replace(" -0000", " +0000")))
    except (ValueError, OverflowError):
        return None


def _from_iso(match: re.Match[str]) -> Micros | None:
    date, minute, second, fraction, zone, sign, hours, minutes = match.groups()
    try:
        first_time = datetime.fromisoformat(f"{date}T{minute or '00:00'}{second or ':00'}")
    except ValueError:
        return None
    offset = (int(hours) * 3600 + int(minutes or 0) * 60) * SECOND if hours else 0
    at = _micros(first_time)
    if at is None:
        return None
    at = _in_range(at + int(f"{fraction or ''}000000"[:6]) + (offset if sign == "-" else -offset))
    return Unzoned(at) if at is not None and zone is None and not hours else at


def _from_number(number: int, fraction: str) -> Micros | None:
    if number < _MIN_SECONDS:
        return None
    if number < _MIN_MILLIS:
        return _in_range(number * SECOND + int(f"{fraction}000000"[:6]))
    if number < _MIN_MICROS:
        return _in_range(number * 1000 + int(f"{fraction}000"[:3]))
    return _in_range(number)


def _micros(first_time: datetime) -> Micros | None:
    since = (first_time if first_time.tzinfo else first_time.replace(tzinfo=UTC)) - EPOCH
    at = _in_range((since.days * 86_400 + since.seconds) * SECOND + since.microseconds)
    return at if first_time.tzinfo or at is None else Unzoned(at)


def _in_range(at: Micros) -> Micros | None:
    return at if _FIRST <= at <= LATEST else None


_FORMATS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], Micros | None]], ...] = (
    (_NUMBER, lambda match: _from_number(int(match[1]), match[2] or "")),
    (_ISO, _from_iso),
    (_DOTNET, lambda match: _in_range(int(match[1]) * 1000)),
    (_SCRIPT, _from_script),
    (_SPREADSHEET, _from_spreadsheet),
    (_DOTTED, _from_dotted),
    (_MAIL, _from_mail),
)
"""Formats of texts; no text is of two."""
