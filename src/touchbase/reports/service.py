"""Reports of one client."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from touchbase.common.timestamps import Micros
from touchbase.reports.models import CAMPAIGN, TOOL, CampaignCounts, StatusCounts
from touchbase.reports.queries import ReportCampaigns, ReportStatuses, ReportTooLarge
from touchbase.sql.store import Store


async def report_statuses(store: Store, client: int, kind: int, edges: Sequence[Micros]) -> list[StatusCounts]:
    """Return the report by status of one kind of record; raises `ReportTooLarge`."""
    rows = await store.read(ReportStatuses(client, kind, edges))
    if isinstance(rows, ReportTooLarge):
        raise rows
    return rows


async def report_campaigns(store: Store, client: int, edges: Sequence[Micros], groups: Collection[str]) -> list[CampaignCounts]:
    """Return the report by tool or campaign, as `groups` has them, or neither; raises `ReportTooLarge`."""
    rows = await store.read(ReportCampaigns(client, edges, TOOL in groups, CAMPAIGN in groups))
    if isinstance(rows, ReportTooLarge):
        raise rows
    return rows
