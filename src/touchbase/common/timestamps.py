"""Timestamps: UTC microseconds since 1970 inside, RFC 3339 with `Z` outside.

An `int` of microseconds compares, sorts and binds to both engines without loss, which is why records
and events carry it instead of `datetime`.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

Micros = int
SECOND: Micros = 1_000_000
DAY: Micros = 86_400 * SECOND
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAP_SECOND = re.compile(r"([T ]\d\d:\d\d):60(?!\d)", re.ASCII)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
# RFC 3339 years are four digits; a time outside cannot be written, and is not an event time.
EARLIEST: Micros = -62_135_596_800 * SECOND
LATEST: Micros = 253_402_300_799 * SECOND


def to_text(at: Micros) -> str:
    """Return RFC 3339 text in UTC with `Z`, with microseconds only if there are any: `2026-11-20T09:30:00Z`."""
    try:
        return f"{(_NAIVE_EPOCH + timedelta(0, 0, at)).isoformat()}Z"
    except OverflowError:  # a row that somebody changed by hand
        return "9999-12-31T23:59:59Z" if at > 0 else "0001-01-01T00:00:00Z"


def to_text_or_none(at: Micros | None) -> str | None:
    """Return the text of a time that may be missing."""
    return None if at is None else to_text(at)


def from_datetime(moment: datetime) -> Micros:
    """Return the microseconds of a datetime; a naive one is read as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_text(text: str) -> Micros:
    """Return the microseconds of an ISO 8601 text; raise `ValueError` for other text and for years outside 1 to 9999 in UTC."""
    try:
        at = from_datetime(datetime.fromisoformat(text))
    except ValueError:
        second = before_leap_second(text)
        if second is None:
            raise
        at = from_datetime(datetime.fromisoformat(second)) + SECOND
        if not follows_leap_second(at):
            raise
    if not EARLIEST <= at < LATEST + SECOND:
        raise ValueError("a time outside of the years 1 to 9999")
    return at


def before_leap_second(text: str) -> str | None:
    """Return the text of the second before a leap second (`23:59:60Z`), which `datetime` cannot represent; None for other texts."""
    return _LEAP_SECOND.sub(r"\1:59", text, count=1) if ":60" in text and _LEAP_SECOND.search(text) else None


def follows_leap_second(at: Micros) -> bool:
    """Return whether a time is in the first second of a day, as which the leap second at the end of the day before counts."""
    return at % DAY < SECOND


def has_passed(span: Micros, since: Micros, now: Micros) -> bool:
    """Return whether `span` has passed; True also if the clock was put back since, because the time passed is unknown then."""
    return not 0 <= now - since < span


Clock = Callable[[], Micros]
"""Returns the present time in microseconds."""


def clock() -> int:
    """Return the current time in microseconds."""
    return time.time_ns() // 1000


CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]"
"""Pattern of a time of day, such as 18:30."""


def is_clock(text: str) -> bool:
    """Return whether this is a time of day such as 18:30."""
    return re.fullmatch(CLOCK, text) is not None


def is_zone(name: str) -> bool:
    """Return whether this system has the IANA time zone. Zones with leap seconds, and the system's own zone, are not IANA names."""
    if name.partition("/")[0] in ("posix", "right", "localtime", "posixrules"):
        return False
    try:
        ZoneInfo(name)
    except (LookupError, OSError, ValueError):
        return False
    return True
