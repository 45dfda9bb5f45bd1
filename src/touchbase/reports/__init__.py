"""Reports: records by status over time; mails, replies, bounces and unsubscriptions by campaign, tool and time."""

from __future__ import annotations

from touchbase.reports.intervals import DAY, INTERVALS, LATEST_COUNT, MONTH, MOST_INTERVALS, WEEK, begin_of, edges_of, is_zone
from touchbase.reports.models import CAMPAIGN, TOOL, CampaignCounts, StatusCounts
from touchbase.reports.parts import COUNTED, HOUR
from touchbase.reports.queries import MOST_ROWS, ReportCampaigns, Reported, ReportStatuses, ReportTooLarge, StoreParts
from touchbase.reports.service import report_campaigns, report_statuses

__all__ = [
    "CAMPAIGN",
    "COUNTED",
    "DAY",
    "HOUR",
    "INTERVALS",
    "LATEST_COUNT",
    "MONTH",
    "MOST_INTERVALS",
    "MOST_ROWS",
    "TOOL",
    "WEEK",
    "CampaignCounts",
    "ReportCampaigns",
    "ReportStatuses",
    "ReportTooLarge",
    "Reported",
    "StatusCounts",
    "StoreParts",
    "begin_of",
    "edges_of",
    "is_zone",
    "report_campaigns",
    "report_statuses",
]
