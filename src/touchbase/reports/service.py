"""Reports of one client."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Collection, Sequence
from weakref import WeakValueDictionary

from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.reports.models import CAMPAIGN, TOOL, CampaignCounts, StatusCounts
from touchbase.reports.parts import CampaignGroups, CountedPart, Reported, ReportTooLarge, Stretch
from touchbase.reports.sql import parts as plans
from touchbase.reports.sql import statuses as sql_statuses
from touchbase.sql.operation import Query
from touchbase.sql.store import Store


async def report_statuses(store: Store, client: int, kind: int, edges: Sequence[Micros]) -> list[StatusCounts]:
    """Return the report by status of one kind of record; raises `ReportTooLarge`."""
    rows = await store.read(sql_statuses.report_statuses(client, kind, edges))
    if isinstance(rows, ReportTooLarge):
        raise rows
    return rows


async def report_campaigns(
    store: Store, client: int, edges: Sequence[Micros], groups: Collection[str], time_zone: str, now: Micros
) -> list[CampaignCounts]:
    """Return the report by tool or campaign, as `groups` has them, or neither; raises `ReportTooLarge`.

    The days of the time zone are counted once and stored, one after the other, so that other reads come between.
    """
    campaigns = CampaignGroups(client, edges, TOOL in groups, CAMPAIGN in groups)
    report = await _read(store, plans.report_campaigns(campaigns, time_zone))
    await _store(store, client, report, now)
    if report.rows is not None:
        return report.rows
    lock = _COUNTING.setdefault((id(store), client), asyncio.Lock())
    async with lock:  # a second report of the client gets the parts that the first one counts
        return await _count_and_store(store, campaigns, time_zone, now)


_COUNTING: WeakValueDictionary[tuple[int, int], asyncio.Lock] = WeakValueDictionary()
"""Reports of clients whose parts are being counted."""
MOST_READS = 2_000
"""Reads of one report. Then the rest is counted in one: the events may change faster than they can be counted."""


async def _count_and_store(store: Store, campaigns: CampaignGroups, time_zone: str, now: Micros) -> list[CampaignCounts]:
    parts: dict[Stretch, CountedPart] = {}
    for _ in range(MOST_READS):
        report = await _read(store, plans.report_campaigns(campaigns, time_zone, parts))
        parts |= report.counted
        await _store(store, campaigns.client, report, now)
        if report.rows is not None:
            return report.rows
    return (await _read(store, plans.report_campaigns(campaigns, time_zone, parts, most=None))).rows or []


async def _store(store: Store, client: int, report: Reported, now: Micros) -> None:
    if report.counted:
        with contextlib.suppress(TouchbaseError):  # a store that cannot write now can still report
            await store.write(plans.store_parts(client, report.counted, now))


async def _read(store: Store, query: Query[Reported | ReportTooLarge]) -> Reported:
    report = await store.read(query)
    if isinstance(report, ReportTooLarge):
        raise report
    return report
