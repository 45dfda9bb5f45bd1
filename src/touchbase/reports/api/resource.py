"""HTTP resources of reports: for one client, and for all clients at once."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Sequence
from typing import TypeVar
from weakref import WeakValueDictionary

from touchbase.auth.authentication import ADMIN, READ
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import list_client_page
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import TouchbaseError
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.status_words import BOUNCED, DO_NOT_CONTACT, SERVICE_WORDS
from touchbase.http.endpoint import Call
from touchbase.http.query_parameters import LIMIT, PAGE, Parameters, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import encode
from touchbase.reports.api.parameters import GROUP_BY, INTERVAL, TIMES, ReportQuery, campaign_query, funnel_query, status_query
from touchbase.reports.api.schemas import (
    CampaignReport,
    CampaignRow,
    ClientCampaignReport,
    ClientFunnelReport,
    ClientStatusReport,
    FunnelReport,
    FunnelRow,
    StatusReport,
    StatusRow,
    campaign_row,
    funnel_row,
    groups_of,
    status_row,
)
from touchbase.reports.models import CAMPAIGN, TOOL, CampaignCounts, StatusCounts
from touchbase.reports.parts import MOST_ROWS, CampaignGroups, CountedPart, Reported, ReportTooLarge, Stretch
from touchbase.reports.sql import parts as plans
from touchbase.reports.sql import statuses as sql_statuses
from touchbase.reports.sql.funnel import FunnelCounts, report_funnel
from touchbase.sql.operation import Query
from touchbase.sql.store import Store
from touchbase.statuses.looks import TeamStatus, list_team_statuses

R = TypeVar("R", StatusRow, CampaignRow, FunnelRow)


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


TAG = Tag("Reports", "Records by status over time; mails, replies, bounces and unsubscriptions by campaign, tool and time.")
PATH, ADMIN_PATH = "/public/v2/reports", "/admin/v1/reports"


class StatusReports:
    """The handlers of reports by status of one kind of record."""

    def __init__(self, kind: int) -> None:
        self._kind = kind

    async def of_client(self, call: Call) -> Response:
        """`GET` of one client's report."""
        client, store = await call.client(), call.api.dependencies.store
        parameters = call.parameters()
        query = status_query(parameters, call.api.dependencies.clock())
        parameters.done()
        rows = [status_row(query, report_status) for report_status in await report_statuses(store, client.number, self._kind, query.edges)]
        return Response(body=encode(StatusReport(query.interval or "", query.time_zone, rows)))

    async def of_all(self, call: Call) -> Response:
        """`GET` of the report of a page of clients."""
        only, store = await call.administrator(), call.api.dependencies.store
        parameters = call.parameters()
        query = status_query(parameters, call.api.dependencies.clock())

        async def report(client: Client) -> list[StatusRow]:
            counts = await report_statuses(store, client.number, self._kind, query.edges)
            return [status_row(query, report_status, client.client_id) for report_status in counts]

        page = await _page(call, parameters, only, report)
        return Response(body=encode(ClientStatusReport(query.interval or "", query.time_zone, *page)))

    async def funnel_of_client(self, call: Call) -> Response:
        """`GET` of one client's funnel."""
        client, parameters = await call.client(), call.parameters()
        query = funnel_query(parameters, call.api.dependencies.clock())
        parameters.done()
        rows = [funnel_row(row) for row in await self._funnel(call, client, query, await _order(call))]
        return Response(body=encode(FunnelReport(to_text(query.edges[0]), to_text(query.edges[-1]), rows)))

    async def funnel_of_all(self, call: Call) -> Response:
        """`GET` of the funnels of a page of clients."""
        only, parameters = await call.administrator(), call.parameters()
        query = funnel_query(parameters, call.api.dependencies.clock())
        order = await _order(call)

        async def report(client: Client) -> list[FunnelRow]:
            return [funnel_row(row, client.client_id) for row in await self._funnel(call, client, query, order)]

        page = await _page(call, parameters, only, report)
        return Response(body=encode(ClientFunnelReport(to_text(query.edges[0]), to_text(query.edges[-1]), *page)))

    async def _funnel(self, call: Call, client: Client, query: ReportQuery, order: Sequence[TeamStatus]) -> list[FunnelCounts]:
        names = [status.name for status in order] or SERVICE_WORDS
        ends = {status.name for status in order if status.group in ("lost", "blocked")} or {BOUNCED, DO_NOT_CONTACT}
        return await call.api.dependencies.store.read(report_funnel(client.number, self._kind, query.edges, names, ends))


async def _order(call: Call) -> Sequence[TeamStatus]:
    return await call.api.dependencies.store.read(list_team_statuses())


async def campaigns_of_client(call: Call) -> Response:
    """`GET` of one client's report by campaign."""
    client, store = await call.client(), call.api.dependencies.store
    parameters = call.parameters()
    query = campaign_query(parameters, now := call.api.dependencies.clock())
    parameters.done()
    campaigns = await report_campaigns(store, client.number, query.edges, query.groups, query.time_zone, now)
    rows = [campaign_row(query, row) for row in campaigns]
    return Response(body=encode(CampaignReport(groups_of(query), query.time_zone, rows)))


async def campaigns_of_all(call: Call) -> Response:
    """`GET` of the report by campaign of a page of clients."""
    only, store = await call.administrator(), call.api.dependencies.store
    parameters = call.parameters()
    query = campaign_query(parameters, now := call.api.dependencies.clock())

    async def report(client: Client) -> list[CampaignRow]:
        campaigns = await report_campaigns(store, client.number, query.edges, query.groups, query.time_zone, now)
        return [campaign_row(query, row, client.client_id) for row in campaigns]

    page = await _page(call, parameters, only, report)
    return Response(body=encode(ClientCampaignReport(groups_of(query), query.time_zone, *page)))


async def _page(
    call: Call, parameters: Parameters, only: int | None, report: Callable[[Client], Awaitable[list[R]]]
) -> tuple[list[R], list[str], str | None]:
    """Return the rows of a page of clients that the administrator may see, the clients with too many, and the cursor of the next page.

    The page ends early with `MOST_ROWS` rows.
    """
    after = parameters.cursor("reports", str)
    parameters.done()
    clients = await call.api.dependencies.store.read(list_client_page(parameters[LIMIT] + 1, after, only=only))
    rows: list[R] = []
    left_out: list[str] = []
    for number, client in enumerate(clients):
        if number == parameters[LIMIT] or len(rows) >= MOST_ROWS:
            return rows, left_out, cursor_text("reports", clients[number - 1].client_id)
        try:
            rows += await report(client)
        except ReportTooLarge:
            left_out.append(client.client_id)
    return rows, left_out, None


_STATUS = (
    "A row for each interval and each status that a record had then: `records` at the end of the interval, `entered` in it. "
    "A record counts from its creation on. "
)
_CAMPAIGN = (
    "Mails and what came of them, by campaign, tool and time. `reply_rate` is, of the people emailed in a row, the share who have replied "
    "after one of its mails, until now: later replies count for the time of the mail. "
)
_CLIENTS = (
    f"A page has `limit` clients, or ends early with {MOST_ROWS:,} rows; each row has its `client_id`. "
    "A key of one client sees that client only."
)
_FUNNEL = (
    "A row for each status that records entered in the period, in the order of the team's statuses, and what has become of them until now. "
    "The median counts the days from the entry to the next status. "
)


def _status_routes(many: str, kind: int) -> list[Route]:
    handlers = StatusReports(kind)
    return [
        Route(
            "GET", f"{PATH}/{many}/statuses", handlers.of_client, scope=READ, operation_id=f"report_{many}_by_status", tag=TAG,
            summary=f"Report {many} by status over time", description=_STATUS.strip(), query=(*TIMES, INTERVAL),
            success=(Success(200, "The report.", StatusReport),),
        ),
        Route(
            "GET", f"{ADMIN_PATH}/{many}/statuses", handlers.of_all, scope=ADMIN, operation_id=f"report_{many}_by_status_of_all_clients",
            tag=TAG, summary=f"Report {many} by status over time, for all clients", description=_STATUS + _CLIENTS,
            query=(*TIMES, INTERVAL, *PAGE), success=(Success(200, "A page of the report.", ClientStatusReport),),
        ),
    ]  # fmt: skip


def _funnel_routes(many: str, kind: int) -> list[Route]:
    handlers = StatusReports(kind)
    return [
        Route(
            "GET", f"{PATH}/{many}/funnel", handlers.funnel_of_client, scope=READ, operation_id=f"report_{many}_funnel", tag=TAG,
            summary=f"Report the way of {many} through the statuses", description=_FUNNEL.strip(), query=TIMES,
            success=(Success(200, "The report.", FunnelReport),),
        ),
        Route(
            "GET", f"{ADMIN_PATH}/{many}/funnel", handlers.funnel_of_all, scope=ADMIN, operation_id=f"report_{many}_funnel_of_all_clients",
            tag=TAG, summary=f"Report the way of {many} through the statuses, for all clients", description=_FUNNEL + _CLIENTS,
            query=(*TIMES, *PAGE), success=(Success(200, "A page of the report.", ClientFunnelReport),),
        ),
    ]  # fmt: skip


def _in_order(routes: Sequence[Route]) -> list[Route]:
    """Return the routes of clients, then the routes of administrators."""
    return sorted(routes, key=lambda route: not route.of_client)


ROUTES = _in_order(
    [
        *_status_routes("contacts", CONTACT),
        *_status_routes("companies", COMPANY),
        *_funnel_routes("contacts", CONTACT),
        *_funnel_routes("companies", COMPANY),
        Route(
            "GET", f"{PATH}/campaigns", campaigns_of_client, scope=READ, operation_id="report_campaigns", tag=TAG,
            summary="Report mails, replies, bounces and unsubscriptions", description=_CAMPAIGN.strip(), query=(*TIMES, GROUP_BY),
            success=(Success(200, "The report.", CampaignReport),),
        ),
        Route(
            "GET", f"{ADMIN_PATH}/campaigns", campaigns_of_all, scope=ADMIN, operation_id="report_campaigns_of_all_clients", tag=TAG,
            summary="Report mails, replies, bounces and unsubscriptions, for all clients", description=_CAMPAIGN + _CLIENTS,
            query=(*TIMES, GROUP_BY, *PAGE), success=(Success(200, "A page of the report.", ClientCampaignReport),),
        ),
    ]
)  # fmt: skip
