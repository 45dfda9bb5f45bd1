"""Times: UTC microseconds since 1970 inside, RFC 3339 with `Z` outside.

An `int` of microseconds compares, sorts and binds to both engines without loss, which is why records
and events carry it instead of `datetime`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

Micros = int
SECOND: Micros = 1_000_000
DAY: Micros = 86_400 * SECOND
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LEAP_SECOND = re.compile(r"([T ]\d\d:\d\d):60(?!\d)", re.ASCII)
_NAIVE_EPOCH = EPOCH.replace(tzinfo=None)
# RFC 3339 years are four digits; a time outside cannot be written and is no event time.
EARLIEST: Micros = -62_135_596_800 * SECOND
LATEST: Micros = 253_402_300_799 * SECOND


def to_text(at: Micros) -> str:
    """RFC 3339 in UTC with `Z`; microseconds only when there are any: `2026-11-20T09:30:00Z`."""
    return f"{(_NAIVE_EPOCH + timedelta(0, 0, at)).isoformat()}Z"


def from_datetime(moment: datetime) -> Micros:
    """Microseconds of an aware moment; a naive one is taken as UTC."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - EPOCH) // timedelta(microseconds=1)


def from_text(text: str) -> Micros:
    """Microseconds of an ISO 8601 text; raises `ValueError` when it is none, or one that UTC has no four-digit year for."""
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
    """The second before the leap second that a text names (`23:59:60Z`), which a calendar of Python has no place for; None for others."""
    return _LEAP_SECOND.sub(r"\1:59", text, count=1) if ":60" in text and _LEAP_SECOND.search(text) else None


def follows_leap_second(at: Micros) -> bool:
    """Whether this is in the second that a leap second is counted as: the first of a day, as it ends the day before."""
    return at % DAY < SECOND


def has_passed(span: Micros, since: Micros, now: Micros) -> bool:
    """Whether so much time has passed; also when the clock was put back meanwhile, as nobody can tell then."""
    return not 0 <= now - since < span


Clock = Callable[[], Micros]
"""The present time in microseconds; time enters as a value."""
