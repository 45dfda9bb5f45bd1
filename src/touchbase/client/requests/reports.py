"""Requests of `reports`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Request, Text, Time

if TYPE_CHECKING:
    from touchbase.client.models.reports import CampaignReport, ReportInterval, StatusReport


def report_contacts_by_status(
    *, since: Time | None = None, until: Time | None = None, time_zone: str | None = None, interval: ReportInterval | None = None,
) -> Request[StatusReport]:
    """Report contacts by status over time."""
    return Request(
        "report_contacts_by_status", "GET", "/public/v2/reports/contacts/statuses", query={"since": since, "until": until,
        "time_zone": time_zone, "interval": interval}, of_client=True,
    )


def report_companies_by_status(
    *, since: Time | None = None, until: Time | None = None, time_zone: str | None = None, interval: ReportInterval | None = None,
) -> Request[StatusReport]:
    """Report companies by status over time."""
    return Request(
        "report_companies_by_status", "GET", "/public/v2/reports/companies/statuses", query={"since": since, "until": until,
        "time_zone": time_zone, "interval": interval}, of_client=True,
    )


def report_campaigns(
    *, since: Time | None = None, until: Time | None = None, time_zone: str | None = None, group_by: Text | None = None,
) -> Request[CampaignReport]:
    """Report mails, replies, bounces and unsubscriptions."""
    return Request(
        "report_campaigns", "GET", "/public/v2/reports/campaigns", query={"since": since, "until": until, "time_zone": time_zone,
        "group_by": group_by}, of_client=True,
    )
