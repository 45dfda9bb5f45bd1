"""Bodies of reports."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.common.timestamps import to_text
from touchbase.http.schemas import Time, example
from touchbase.reports.api.parameters import ReportQuery
from touchbase.reports.models import CAMPAIGN, CLIENT, LABEL, STEP, TOOL, CampaignCounts, StatusCounts
from touchbase.reports.parts import MOST_MESSAGES, MOST_ROWS
from touchbase.reports.sql.funnel import FunnelCounts

ClientId = Annotated[str, Meta(description="The client.")]
_Rate = Annotated[float | None, Meta(description="`mailed_replied` / `mailed`, to four digits; null if `mailed` is 0.")]


_COMPARED = Meta(description="With `compare=previous`.")


class StatusRow(Struct, kw_only=True):
    """One status in one interval."""

    client_id: ClientId | UnsetType = UNSET
    begins_at: Time
    ends_at: Time
    status: Annotated[str | None, Meta(description="null: records without a status.")]
    records: Annotated[int, Meta(description="Records that have it at the end of the interval.")]
    entered: Annotated[int, Meta(description="How often a record got it in the interval, its creation included.")]


class StatusesBefore(Struct):
    """The rows of the period before."""

    begins_at: Time
    ends_at: Time
    data: list[StatusRow]


class StatusReport(Struct, kw_only=True):
    """Records by status over time: a row for each interval and status, by interval and status."""

    interval: str
    time_zone: str
    data: list[StatusRow]
    previous: Annotated[StatusesBefore, _COMPARED] | UnsetType = UNSET


class FunnelRow(Struct, kw_only=True):
    """Records that entered one status in the period, each counted once."""

    client_id: ClientId | UnsetType = UNSET
    status: Annotated[str, Meta(description="Its present name.")]
    entered: Annotated[int, Meta(description="Records that got it in the period, their creation included.")]
    went_on: Annotated[
        int, Meta(description="Of these, how many have had a later status of the team's order until now, lost and blocked ones aside.")
    ]
    share: Annotated[float | None, Meta(description="`went_on` / `entered`, to four digits.")]
    left: Annotated[int, Meta(description="How many have had any other status since.")]
    median_days: Annotated[float | None, Meta(description="Days in the status, of those who left it; null: nobody has.")]


class FunnelBefore(Struct):
    """The rows of the period before."""

    begins_at: Time
    ends_at: Time
    data: list[FunnelRow]


class FunnelReport(Struct, kw_only=True):
    """The way of records through the statuses, in the team's order."""

    begins_at: Time
    ends_at: Time
    data: list[FunnelRow]
    previous: Annotated[FunnelBefore, _COMPARED] | UnsetType = UNSET


LeftOut = Annotated[
    list[str],
    Meta(
        description=f"Clients of this page that have no rows here because they would have more than {MOST_ROWS:,}, or by step or "
        f"label more than {MOST_MESSAGES:,} events: read the report of each alone, with a later time, longer intervals or fewer groups.",
    ),
]


class ClientFunnelReport(FunnelReport, kw_only=True):
    """The same for a page of clients; `next_cursor` is null on the last one."""

    left_out: LeftOut
    next_cursor: str | None


class CampaignRow(Struct, kw_only=True):
    """Events in one group. People are contacts, each counted once in the row."""

    client_id: ClientId | UnsetType = UNSET
    begins_at: Time
    ends_at: Time
    tool: Annotated[str, Meta(description="If the report is by tool or campaign.")] | UnsetType = UNSET
    campaign: Annotated[str | None, Meta(description="The name. null: the tool named no campaign.")] | UnsetType = UNSET
    campaign_id: Annotated[str | None, Meta(description="null: the tool sends none.")] | UnsetType = UNSET
    step: Annotated[str | None, Meta(description="The step, of other events than mails the last before. null: not known.")] | UnsetType = (
        UNSET
    )
    label: Annotated[str | None, Meta(description="What the author of the reply wants. null: not known.")] | UnsetType = UNSET
    mailed: Annotated[int, Meta(description="People who were sent a mail.")]
    mails: Annotated[int, Meta(description="Mails sent.")]
    replied: Annotated[int, Meta(description="People who replied in the interval, whenever they were emailed.")]
    replies: int
    mailed_replied: Annotated[int, Meta(description="Of the people emailed, those who have replied after a mail, until now.")]
    reply_rate: _Rate
    bounced: Annotated[int, Meta(description="People with a hard bounce.")]
    bounces: int
    unsubscribed: Annotated[int, Meta(description="People who unsubscribed.")]
    unsubscribes: int
    complained: Annotated[int, Meta(description="People who reported a mail as spam.")]
    complaints: int


class CampaignsBefore(Struct):
    """The rows of the period before."""

    begins_at: Time
    ends_at: Time
    data: list[CampaignRow]


class CampaignReport(Struct, kw_only=True):
    """Mails and their results, a row for each group with an event."""

    group_by: list[str]
    time_zone: str
    data: list[CampaignRow]
    previous: Annotated[CampaignsBefore, _COMPARED] | UnsetType = UNSET


class ClientStatusReport(StatusReport, kw_only=True):
    """The same for a page of clients; `next_cursor` is null on the last one."""

    left_out: LeftOut
    next_cursor: str | None


class ClientCampaignReport(CampaignReport, kw_only=True):
    """The same for a page of clients; `next_cursor` is null on the last one."""

    left_out: LeftOut
    next_cursor: str | None


_TIMES = {"begins_at": "2026-11-16T00:00:00Z", "ends_at": "2026-11-20T09:30:00Z"}
_STATUS = {**_TIMES, "status": "replied", "records": 48, "entered": 6}
_COUNTS = {
    **_TIMES, "tool": "smartlead", "campaign": "Autumn", "campaign_id": "4711", "mailed": 400, "mails": 1100, "replied": 19, "replies": 22,
    "mailed_replied": 18, "reply_rate": 0.045, "bounced": 5, "bounces": 5, "unsubscribed": 2, "unsubscribes": 2, "complained": 0,
    "complaints": 0,
}  # fmt: skip
example(StatusReport, {"interval": "week", "time_zone": "UTC", "data": [_STATUS]})
example(CampaignReport, {"group_by": ["campaign", "week"], "time_zone": "UTC", "data": [_COUNTS]})
example(
    ClientStatusReport,
    {"interval": "week", "time_zone": "UTC", "data": [{"client_id": "acme", **_STATUS}], "left_out": [], "next_cursor": None},
)
example(
    ClientCampaignReport,
    {"group_by": ["campaign", "week"], "time_zone": "UTC", "data": [{"client_id": "acme", **_COUNTS}], "left_out": [], "next_cursor": None},
)
_FUNNEL = {"status": "replied", "entered": 60, "went_on": 24, "share": 0.4, "left": 31, "median_days": 2.5}
example(FunnelReport, {**_TIMES, "data": [_FUNNEL]})
example(ClientFunnelReport, {**_TIMES, "data": [{"client_id": "acme", **_FUNNEL}], "left_out": [], "next_cursor": None})


def funnel_row(row: FunnelCounts, client_id: str | UnsetType = UNSET) -> FunnelRow:
    """Return a row of a funnel."""
    return FunnelRow(
        client_id=client_id, status=row.status, entered=row.entered, went_on=row.went_on, share=round(row.went_on / row.entered, 4),
        left=row.left, median_days=row.median_days,
    )  # fmt: skip


def status_row(query: ReportQuery, row: StatusCounts, client_id: str | UnsetType = UNSET) -> StatusRow:
    """Return a row of a report by status."""
    begin, end = (to_text(query.edges[row.number + n]) for n in (0, 1))
    return StatusRow(client_id=client_id, begins_at=begin, ends_at=end, status=row.status, records=row.records, entered=row.entered)


def campaign_row(query: ReportQuery, row: CampaignCounts, client_id: str | UnsetType = UNSET) -> CampaignRow:
    """Return a row of a report by campaign."""
    begin, end = (to_text(query.edges[row.number + n]) for n in (0, 1))
    by_campaign = CAMPAIGN in query.groups
    return CampaignRow(
        client_id=client_id, begins_at=begin, ends_at=end,
        tool=row.tool or "" if by_campaign or TOOL in query.groups else UNSET,
        campaign=row.campaign if by_campaign else UNSET, campaign_id=row.campaign_id if by_campaign else UNSET,
        step=row.step if STEP in query.groups else UNSET, label=row.label if LABEL in query.groups else UNSET,
        mailed=row.mailed, mails=row.mails, replied=row.replied, replies=row.replies, mailed_replied=row.mailed_replied,
        reply_rate=row.reply_rate, bounced=row.bounced, bounces=row.bounces, unsubscribed=row.unsubscribed,
        unsubscribes=row.unsubscribes, complained=row.complained, complaints=row.complaints,
    )  # fmt: skip


def groups_of(query: ReportQuery) -> list[str]:
    """Return the groups of a report, in the order of its rows' members."""
    return [name for name in (CLIENT, TOOL, CAMPAIGN, STEP, LABEL, query.interval) if name in query.groups and name is not None]
