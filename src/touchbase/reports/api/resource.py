"""HTTP resources of reports: for one client, and for all clients at once."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from msgspec import UNSET, Struct, UnsetType

from touchbase.auth.authentication import ADMIN, READ
from touchbase.clients.models import Client
from touchbase.clients.sql.clients import list_client_page
from touchbase.common.timestamps import Micros, to_text
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
    CampaignsBefore,
    ClientCampaignReport,
    ClientFunnelReport,
    ClientStatusReport,
    FunnelBefore,
    FunnelReport,
    FunnelRow,
    StatusesBefore,
    StatusReport,
    StatusRow,
    campaign_row,
    funnel_row,
    groups_of,
    status_row,
)
from touchbase.reports.campaigns import report_clients
from touchbase.reports.models import LABEL, STEP, StatusCounts
from touchbase.reports.parts import MOST_MESSAGES, MOST_ROWS, PAGE_MESSAGES, Reported, ReportTooLarge
from touchbase.reports.sql import statuses as sql_statuses
from touchbase.reports.sql.funnel import report_funnel
from touchbase.sql.store import Store
from touchbase.statuses.looks import list_team_statuses

R = TypeVar("R", StatusRow, CampaignRow, FunnelRow)
Rows: TypeAlias = Callable[[Client, ReportQuery, str | UnsetType], Awaitable[list[R]]]
AT_ONCE = 50
"""Clients of one read: a page ends early with `MOST_ROWS`, and then the rest was read for nothing."""


async def report_statuses(store: Store, client: int, kind: int, edges: Sequence[Micros]) -> list[StatusCounts]:
    """Return the report by status of one kind of record; raises `ReportTooLarge`."""
    rows = await store.read(sql_statuses.report_statuses(client, kind, edges))
    if isinstance(rows, ReportTooLarge):
        raise rows
    return rows


@dataclass(slots=True)
class Cost:
    """What a page of reports has read so far."""

    messages: int = 0


TAG = Tag("Reports", "Records by status over time; mails, replies, bounces and unsubscriptions by campaign, tool and time.")
PATH, ADMIN_PATH = "/public/v2/reports", "/admin/v1/reports"


class Report(Generic[R]):
    """Handlers of one report: of one client, and of all that an administrator may see."""

    body: type[Struct]
    body_of_all: type[Struct]
    before: type[Struct]

    def query(self, parameters: Parameters, now: Micros) -> ReportQuery:
        """Read the parameters; faults are added to them."""
        raise NotImplementedError

    def head(self, query: ReportQuery) -> dict[str, Any]:
        """Return the members of a response beside its rows."""
        raise NotImplementedError

    async def rows_of(self, call: Call, clients: Sequence[Client], cost: Cost) -> Rows[R]:
        """Return the function that makes the rows of one of these clients, named by its id in a report of several.

        It raises `ReportTooLarge`.
        """
        raise NotImplementedError

    async def of_client(self, call: Call) -> Response:
        """`GET` of one client's report."""
        client, parameters = await call.client(), call.parameters()
        query = self.query(parameters, call.api.dependencies.clock())
        parameters.done()
        rows_of = await self.rows_of(call, [client], Cost())
        rows = await rows_of(client, query, UNSET)
        before = [] if query.before is None else await rows_of(client, query.before, UNSET)
        return Response(body=encode(self.body(**self.head(query), data=rows, previous=self._before(query, before))))

    async def of_all(self, call: Call) -> Response:
        """`GET` of the report of a page of clients, which ends early with `MOST_ROWS` or `PAGE_MESSAGES`.

        Clients with more rows are left out.
        """
        only, parameters = await call.administrator(), call.parameters()
        query = self.query(parameters, call.api.dependencies.clock())
        after = parameters.cursor("reports", str)
        parameters.done()
        limit = parameters[LIMIT]
        clients = await call.api.dependencies.store.read(list_client_page(limit + 1, after, only=only))
        cost = Cost()
        rows_of = await self.rows_of(call, clients[:limit], cost)
        rows: list[R] = []
        before: list[R] = []
        left_out: list[str] = []
        cursor = None
        for number, client in enumerate(clients):
            if number == limit or len(rows) + len(before) >= MOST_ROWS or cost.messages >= PAGE_MESSAGES:
                cursor = cursor_text("reports", clients[number - 1].client_id)
                break
            try:
                of_client = await rows_of(client, query, client.client_id)
                before += [] if query.before is None else await rows_of(client, query.before, client.client_id)
                rows += of_client
            except ReportTooLarge:
                left_out.append(client.client_id)
        previous = self._before(query, before)
        return Response(
            body=encode(self.body_of_all(**self.head(query), data=rows, previous=previous, left_out=left_out, next_cursor=cursor))
        )

    def _before(self, query: ReportQuery, rows: list[R]) -> Struct | UnsetType:
        edges = query.edges_before
        return UNSET if edges is None else self.before(to_text(edges[0]), to_text(edges[-1]), rows)


class StatusReports(Report[StatusRow]):
    """Records of one kind by status over time."""

    body, body_of_all, before = StatusReport, ClientStatusReport, StatusesBefore

    def __init__(self, kind: int) -> None:
        self._kind = kind

    def query(self, parameters: Parameters, now: Micros) -> ReportQuery:
        """Read the parameters."""
        return status_query(parameters, now)

    def head(self, query: ReportQuery) -> dict[str, Any]:
        """Return interval and zone."""
        return {"interval": query.interval or "", "time_zone": query.time_zone}

    async def rows_of(self, call: Call, clients: Sequence[Client], cost: Cost) -> Rows[StatusRow]:
        """Return the function that makes the rows."""

        async def rows_of(client: Client, query: ReportQuery, client_id: str | UnsetType) -> list[StatusRow]:
            counts = await report_statuses(call.api.dependencies.store, client.number, self._kind, query.edges)
            return [status_row(query, row, client_id) for row in counts]

        return rows_of


class FunnelReports(Report[FunnelRow]):
    """The way of records of one kind through the statuses."""

    body, body_of_all, before = FunnelReport, ClientFunnelReport, FunnelBefore

    def __init__(self, kind: int) -> None:
        self._kind = kind

    def query(self, parameters: Parameters, now: Micros) -> ReportQuery:
        """Read the parameters."""
        return funnel_query(parameters, now)

    def head(self, query: ReportQuery) -> dict[str, Any]:
        """Return the period."""
        return {"begins_at": to_text(query.edges[0]), "ends_at": to_text(query.edges[-1])}

    async def rows_of(self, call: Call, clients: Sequence[Client], cost: Cost) -> Rows[FunnelRow]:
        """Return the function that makes the rows."""
        store = call.api.dependencies.store
        order = await store.read(list_team_statuses())
        names = [status.name for status in order] or SERVICE_WORDS
        ends = {status.name for status in order if status.group in ("lost", "blocked")} or {BOUNCED, DO_NOT_CONTACT}

        async def rows_of(client: Client, query: ReportQuery, client_id: str | UnsetType) -> list[FunnelRow]:
            counts = await store.read(report_funnel(client.number, self._kind, query.edges, names, ends))
            return [funnel_row(row, client_id) for row in counts]

        return rows_of


class CampaignReports(Report[CampaignRow]):
    """Mails and what came of them."""

    body, body_of_all, before = CampaignReport, ClientCampaignReport, CampaignsBefore

    def query(self, parameters: Parameters, now: Micros) -> ReportQuery:
        """Read the parameters."""
        return campaign_query(parameters, now)

    def head(self, query: ReportQuery) -> dict[str, Any]:
        """Return groups and zone."""
        return {"group_by": groups_of(query), "time_zone": query.time_zone}

    async def rows_of(self, call: Call, clients: Sequence[Client], cost: Cost) -> Rows[CampaignRow]:
        """Return the function that makes the rows."""
        store, now = call.api.dependencies.store, call.api.dependencies.clock()
        numbers = [client.number for client in clients]
        reported: dict[tuple[int, Micros], Reported | ReportTooLarge] = {}

        async def rows_of(client: Client, query: ReportQuery, client_id: str | UnsetType) -> list[CampaignRow]:
            if (client.number, query.edges[0]) not in reported:
                place, count = numbers.index(client.number), 1 if {STEP, LABEL} & query.groups else AT_ONCE
                reports = await report_clients(store, numbers[place : place + count], query.edges, query.groups, query.time_zone, now)
                reported.update({(number, query.edges[0]): report for number, report in reports.items()})
            report = reported.pop((client.number, query.edges[0]))
            if isinstance(report, ReportTooLarge):
                raise report
            cost.messages += report.messages
            return [campaign_row(query, row, client_id) for row in report.rows or []]

        return rows_of


CAMPAIGNS = CampaignReports()


_STATUS = (
    "A row for each interval and each status that a record had then: `records` at the end of the interval, `entered` in it. "
    "A record counts from its creation on. "
)
_CAMPAIGN = (
    "Mails and what came of them, by campaign, tool, step, label and time. `reply_rate` is, of the people emailed in a row, the share who "
    "have replied after one of its mails, until now: later replies count for the time of the mail. By `step` or `label` each event's "
    f"message is read, of up to {MOST_MESSAGES:,} events; by `label` only replies are counted. "
)
_CLIENTS = (
    f"A page has `limit` clients, or ends early with {MOST_ROWS:,} rows; each row has its `client_id`. "
    "A key of one client sees that client only."
)
_MESSAGES = f" By step or label a page also ends after {PAGE_MESSAGES:,} events."
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
    handlers = FunnelReports(kind)
    return [
        Route(
            "GET", f"{PATH}/{many}/funnel", handlers.of_client, scope=READ, operation_id=f"report_{many}_funnel", tag=TAG,
            summary=f"Report the way of {many} through the statuses", description=_FUNNEL.strip(), query=TIMES,
            success=(Success(200, "The report.", FunnelReport),),
        ),
        Route(
            "GET", f"{ADMIN_PATH}/{many}/funnel", handlers.of_all, scope=ADMIN, operation_id=f"report_{many}_funnel_of_all_clients",
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
            "GET", f"{PATH}/campaigns", CAMPAIGNS.of_client, scope=READ, operation_id="report_campaigns", tag=TAG,
            summary="Report mails, replies, bounces and unsubscriptions", description=_CAMPAIGN.strip(), query=(*TIMES, GROUP_BY),
            success=(Success(200, "The report.", CampaignReport),),
        ),
        Route(
            "GET", f"{ADMIN_PATH}/campaigns", CAMPAIGNS.of_all, scope=ADMIN, operation_id="report_campaigns_of_all_clients", tag=TAG,
            summary="Report mails, replies, bounces and unsubscriptions, for all clients", description=_CAMPAIGN + _CLIENTS + _MESSAGES,
            query=(*TIMES, GROUP_BY, *PAGE), success=(Success(200, "A page of the report.", ClientCampaignReport),),
        ),
    ]
)  # fmt: skip
