"""Reports by tool, campaign, step and label: of several clients, from closed rows that the process remembers where it can."""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from weakref import WeakKeyDictionary, WeakValueDictionary

from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.reports.models import CAMPAIGN, LABEL, STEP, TOOL, CampaignCounts
from touchbase.reports.parts import HOUR, CampaignGroups, CountedPart, Reported, ReportTooLarge, Stretch
from touchbase.reports.sql import parts as plans
from touchbase.reports.sql.campaigns import report_messages
from touchbase.reports.sql.closed import ClosedRows, report_from_closed
from touchbase.sql.store import Store

MOST_READS = 2_000
"""Reads of one report. Then the rest is counted in one: the events may change faster than they can be counted."""
MOST_REMEMBERED = 20_000
"""Closed rows of a store that the process remembers: some 6 MB, of 200 clients by day for three months. Eight edges count as a row."""
_MIDNIGHTS: Micros = HOUR // 4
"""What midnights of all time zones are multiples of. A report that begins at another time, such as 30 days ago, is not made again."""
_Key = tuple[int, Sequence[Micros], bool, bool]


class _ClosedReports:
    """The closed rows of the latest reports of a store."""

    def __init__(self) -> None:
        self._rows: OrderedDict[_Key, ClosedRows] = OrderedDict()
        self._number = 0

    def get(self, key: _Key, until: Micros) -> ClosedRows | None:
        """Return the closed rows of a report with this end."""
        closed = self._rows.get(key)
        if closed is None or closed.until != min(until, closed.horizon):
            return None
        self._rows.move_to_end(key)
        return closed

    def put(self, key: _Key, closed: ClosedRows) -> None:
        """Remember rows in place of older ones."""
        former = self._rows.pop(key, None)
        self._rows[key] = closed
        self._number += _size(key, closed) - (_size(key, former) if former else 0)
        while self._number > MOST_REMEMBERED:
            self._number -= _size(*self._rows.popitem(last=False))


def _size(key: _Key, closed: ClosedRows) -> int:
    return len(closed.rows) + 1 + len(key[1]) // 8


_CLOSED: WeakKeyDictionary[Store, _ClosedReports] = WeakKeyDictionary()
_COUNTING: WeakValueDictionary[tuple[int, int], asyncio.Lock] = WeakValueDictionary()
"""Reports of clients whose parts are being counted."""


async def report_campaigns(
    store: Store, client: int, edges: Sequence[Micros], groups: Collection[str], time_zone: str, now: Micros
) -> list[CampaignCounts]:
    """Return a client's report, as `report_clients` does; raises `ReportTooLarge`."""
    report = (await report_clients(store, [client], edges, groups, time_zone, now))[client]
    if isinstance(report, ReportTooLarge):
        raise report
    return report.rows or []


async def report_clients(
    store: Store, clients: Sequence[int], edges: Sequence[Micros], groups: Collection[str], time_zone: str, now: Micros
) -> dict[int, Reported | ReportTooLarge]:
    """Return the report of each client by tool, campaign, step and label, as `groups` has them.

    The days of the time zone are counted once and stored, one after the other, so that other reads come between. What they add up to
    is remembered, and brought up to date with the events of the present hour.
    """
    report = CampaignGroups(0, edges, TOOL in groups, CAMPAIGN in groups, STEP in groups, LABEL in groups)
    reports: dict[int, Reported | ReportTooLarge] = {}
    if not (report.by_step or report.by_label or edges[0] % _MIDNIGHTS):
        reports |= {client: Reported(rows) for client, rows in (await _from_closed(store, clients, report, time_zone, now)).items()}
    for client in clients:
        if client not in reports:
            reports[client] = await _report(store, replace(report, client=client), time_zone, now)
    return reports


async def _from_closed(
    store: Store, clients: Sequence[int], report: CampaignGroups, time_zone: str, now: Micros
) -> dict[int, list[CampaignCounts]]:
    """Return the reports that can be made from closed rows; those that are missing or out of date are counted."""
    hour, until = now // HOUR * HOUR, report.edges[-1]
    if report.edges[0] >= hour:
        return {}
    remembered = _CLOSED.setdefault(store, _ClosedReports())
    key_of = {client: (client, (*report.edges[:-1],), report.by_tool, report.by_campaign) for client in clients}
    closed = {client: rows for client in clients if (rows := remembered.get(key_of[client], until)) is not None}
    reported = (await store.read(report_from_closed([*closed], report, closed, hour))) if closed else {}
    edges = [*(edge for edge in report.edges if edge < min(until, hour)), min(until, hour)]
    counted: dict[int, ClosedRows] = {}
    for client in clients:
        if client not in reported:
            result = await _report(store, replace(report, client=client, edges=edges, horizon=hour), time_zone, now)
            if not isinstance(result, ReportTooLarge):
                counted[client] = ClosedRows(result.version, hour, edges[-1], result.rows or [])
                remembered.put(key_of[client], counted[client])
    reported |= (await store.read(report_from_closed([*counted], report, counted, hour))) if counted else {}
    return {client: rows for client, rows in reported.items() if rows is not None}


async def _report(store: Store, groups: CampaignGroups, time_zone: str, now: Micros) -> Reported | ReportTooLarge:
    """Return a client's report, counted from parts or, by step and label, from all its events."""
    if groups.by_step or groups.by_label:
        return await store.read(report_messages(groups))
    report = await _read(store, groups, time_zone, now)
    if isinstance(report, ReportTooLarge) or report.rows is not None:
        return report
    lock = _COUNTING.setdefault((id(store), groups.client), asyncio.Lock())
    async with lock:  # a second report of the client gets the parts that the first one counts
        parts: dict[Stretch, CountedPart] = {}
        for _ in range(MOST_READS):
            report = await _read(store, groups, time_zone, now, parts)
            if isinstance(report, ReportTooLarge) or report.rows is not None:
                return report
            parts |= report.counted
        return await store.read(plans.report_campaigns(groups, time_zone, parts, most=None))


async def _read(
    store: Store, groups: CampaignGroups, time_zone: str, now: Micros, parts: Mapping[Stretch, CountedPart] | None = None
) -> Reported | ReportTooLarge:
    """Return the report, or some more of its parts; they are stored."""
    report = await store.read(plans.report_campaigns(groups, time_zone, parts))
    if report.counted:
        with contextlib.suppress(TouchbaseError):  # a store that cannot write now can still report
            await store.write(plans.store_parts(groups.client, report.counted, now))
    return report
