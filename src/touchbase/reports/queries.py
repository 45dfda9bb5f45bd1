"""Queries of reports, of one client."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid
from touchbase.reports.models import CampaignCounts, StatusCounts
from touchbase.sql.command import Query

MOST_ROWS = 10_000
"""Rows of one client's report."""


class ReportTooLarge(Invalid):
    """The report would have more than `MOST_ROWS` rows."""

    def __init__(self) -> None:
        detail = f"the report would have more than {MOST_ROWS:,} rows: send a later time, longer intervals or fewer groups"
        super().__init__([Fault("?since", "too_many", detail)])


@dataclass(slots=True)
class ReportStatuses(Query[list[StatusCounts] | ReportTooLarge]):
    """Records of one kind by status: a row for each interval and each status that one of them has, by interval and status."""

    client: int
    kind: int
    edges: Sequence[Micros]
    """Beginnings of the intervals, and the end of the last."""


@dataclass(slots=True)
class ReportCampaigns(Query[list[CampaignCounts] | ReportTooLarge]):
    """Mails and what came of them, a row for each group in which something happened, by interval, tool and campaign.

    Rows by campaign are also by tool: a campaign is one of its tool.
    """

    client: int
    edges: Sequence[Micros]
    """Beginnings of the intervals, and the end of the last; two without grouping by time."""
    by_tool: bool
    by_campaign: bool
