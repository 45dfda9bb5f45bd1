"""Intervals of reports: days, weeks and months in a time zone, with its changes of summer time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from touchbase.common.timestamps import EPOCH, Micros, from_datetime

DAY, WEEK, MONTH = INTERVALS = ("day", "week", "month")
LATEST_COUNT = 12
"""Intervals of a report whose request does not say since when."""
MOST_INTERVALS = 400


def begin_of(at: Micros, interval: str, zone: str, back: int = 0) -> Micros:
    """Return when the interval with this time began, or the interval so many before it. A week begins on Monday.

    Raises `ValueError` or `OverflowError` for times that a calendar does not have.
    """
    local = (EPOCH + timedelta(microseconds=at)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    return _moment(_step(_floor(local, interval), interval, -back), zone)


def edges_of(since: Micros, until: Micros, interval: str, zone: str) -> list[Micros]:
    """Return the beginnings of the intervals from the one with `since` on (at most `MOST_INTERVALS` + 1), and `until`, the last end.

    Raises `ValueError` or `OverflowError` for times that a calendar does not have.
    """
    local = (EPOCH + timedelta(microseconds=since)).astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    local = _floor(local, interval)
    edges = [_moment(local, zone)]
    while len(edges) <= MOST_INTERVALS:
        local = _step(local, interval, 1)
        begin = _moment(local, zone)
        if begin >= until:
            break
        edges.append(begin)
    return [*edges, until]


def _floor(local: datetime, interval: str) -> datetime:
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)
    if interval == WEEK:
        return midnight - timedelta(days=midnight.weekday())
    return midnight.replace(day=1) if interval == MONTH else midnight


def _step(begin: datetime, interval: str, count: int) -> datetime:
    if interval == MONTH:
        months = begin.year * 12 + begin.month - 1 + count
        return begin.replace(year=months // 12, month=months % 12 + 1)
    return begin + timedelta(days=count * (7 if interval == WEEK else 1))


def _moment(local: datetime, zone: str) -> Micros:
    """Return a local midnight; where summer time begins at midnight, the moment of the change."""
    return from_datetime(local.replace(tzinfo=ZoneInfo(zone)).astimezone(UTC))


def midnights_of(since: Micros, until: Micros, zone: str, most: int) -> list[Micros]:
    """Return the beginnings of days from `since` to `until`, both included, and of one day more than `most` at most.

    Raises `ValueError` or `OverflowError` for times that a calendar does not have.
    """
    local = _floor((EPOCH + timedelta(microseconds=since)).astimezone(ZoneInfo(zone)).replace(tzinfo=None), DAY)
    midnights: list[Micros] = []
    while len(midnights) <= most and (begin := _moment(local, zone)) <= until:
        if begin >= since:
            midnights.append(begin)
        local = _step(local, DAY, 1)
    return midnights
