"""Types of reports. Made by `make docs` from the OpenAPI document."""

# fmt: off
from __future__ import annotations

from typing import Literal, NotRequired, TypedDict


ReportInterval = Literal["day", "week", "month"]
"""The length of the intervals of a report."""


class CampaignReport(TypedDict):
    """Mails and what came of them, a row for each group in which something happened."""

    group_by: list[str]
    time_zone: str
    data: list[CampaignRow]


class CampaignRow(TypedDict):
    """What happened in one group."""

    client_id: NotRequired[str]
    begins_at: str
    ends_at: str
    tool: NotRequired[str]
    campaign: NotRequired[str | None]
    campaign_id: NotRequired[str | None]
    mailed: int
    mails: int
    replied: int
    replies: int
    mailed_replied: int
    reply_rate: float | None
    bounced: int
    bounces: int
    unsubscribed: int
    unsubscribes: int
    complained: int
    complaints: int


class ClientCampaignReport(TypedDict):
    """The same for a page of clients; `next_cursor` is null on the last one."""

    group_by: list[str]
    time_zone: str
    data: list[CampaignRow]
    next_cursor: str | None


class ClientStatusReport(TypedDict):
    """The same for a page of clients; `next_cursor` is null on the last one."""

    interval: str
    time_zone: str
    data: list[StatusRow]
    next_cursor: str | None


class StatusReport(TypedDict):
    """Records by status over time: a row for each interval and status, by interval and status."""

    interval: str
    time_zone: str
    data: list[StatusRow]


class StatusRow(TypedDict):
    """One status in one interval."""

    client_id: NotRequired[str]
    begins_at: str
    ends_at: str
    status: str | None
    records: int
    entered: int
