"""Requests of `admin.reports`. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import TYPE_CHECKING

from touchbase.client.request import Paged, Text, Time

if TYPE_CHECKING:
    from touchbase.client.models.reports import CampaignRow, ClientCampaignReport, ClientStatusReport, ReportInterval, StatusRow


def report_contacts_by_status_of_all_clients(
    *, since: Time | None = None, until: Time | None = None, time_zone: str | None = None, interval: ReportInterval | None = None,
    limit: int | None = None, cursor: str | None = None,
) -> Paged[ClientStatusReport, StatusRow]:
    """Report contacts by status over time, for all clients."""
    return Paged(
        "report_contacts_by_status_of_all_clients", "GET", "/admin/v1/reports/contacts/statuses", query={"since": since, "until": until,
        "time_zone": time_zone, "interval": interval, "limit": limit, "cursor": cursor},
    )


def report_companies_by_status_of_all_clients(
    *, since: Time | None = None, until: Time | None = None, time_zone: str | None = None, interval: ReportInterval | None = None,
    limit: int | None = None, cursor: str | None = None,
) -> Paged[ClientStatusReport, StatusRow]:
    """Report companies by status over time, for all clients."""
    return Paged(
        "report_companies_by_status_of_all_clients", "GET", "/admin/v1/reports/companies/statuses", query={"since": since, "until": until,
        "time_zone": time_zone, "interval": interval, "limit": limit, "cursor": cursor},
    )


def report_campaigns_of_all_clients(
    *, since: Time | None = None, until: Time | None = None, time_zone: str | None = None, group_by: Text | None = None,
    limit: int | None = None, cursor: str | None = None,
) -> Paged[ClientCampaignReport, CampaignRow]:
    """Report mails, replies, bounces and unsubscriptions, for all clients."""
    return Paged(
        "report_campaigns_of_all_clients", "GET", "/admin/v1/reports/campaigns", query={"since": since, "until": until,
        "time_zone": time_zone, "group_by": group_by, "limit": limit, "cursor": cursor},
    )
