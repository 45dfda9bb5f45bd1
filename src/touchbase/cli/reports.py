"""`touchbase reports`: records by status over time; mails and what came of them by campaign, tool and time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlencode

import click

from touchbase.cli.options import Group, json_option, setting_options
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_table
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.store import find_client, now_us, opened
from touchbase.errors import Invalid

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.clients.models import Client
    from touchbase.reports.api.parameters import Asked
    from touchbase.sql.store import Store

F = TypeVar("F", bound=Callable[..., Any])

CLIENT = {"client_id": Column("client", SHORT)}
STATUS_COLUMNS = {"begins_at": "begins", "ends_at": Column("ends", SPARE), "status": Column("status", SHORT), "records": "records"}
STATUS_COLUMNS |= {"entered": "entered"}
CAMPAIGN_COLUMNS = {
    "begins_at": "begins", "ends_at": Column("ends", SPARE), "tool": Column("tool", SHORT), "campaign": Column("campaign", SHORT),
    "campaign_id": Column("campaign id", SPARE), "mailed": "mailed", "mails": Column("mails", SPARE), "replied": "replied",
    "reply_rate": "reply rate", "bounced": "bounced", "unsubscribed": Column("unsubscribed", SPARE),
    "complained": Column("complained", SPARE),
}  # fmt: skip


def report_options(function: F) -> F:
    """Add the options that all reports have."""
    for option in (
        json_option("Print JSON, all members included."),
        click.option("--time-zone", help="IANA name of the zone in which days, weeks and months begin; default: UTC."),
        click.option("--until", help="As --since; default: now."),
        click.option("--since", help="A time, a date, or a length before now such as 30d or 12w; default: 12 intervals."),
        click.option("--client", "client_id", help="The client's id; default: all clients."),
    ):
        function = option(function)
    return setting_options("database")(function)


@click.group(cls=Group)
def reports() -> None:
    """Report records by status, and mails and replies by campaign."""


@reports.command()
@through_server()
@click.option("--record", type=click.Choice(["contacts", "companies"]), default="contacts", show_default=True, help="What to count.")
@click.option("--interval", type=click.Choice(["day", "week", "month"]), help="Length of the intervals; default: week.")
@report_options
def status(record: str, interval: str | None, **options: Any) -> None:
    """Count records by status at the end of each interval, and how many got it in it."""
    from touchbase.history.events import COMPANY, CONTACT
    from touchbase.reports.api.parameters import INTERVAL, asked_statuses
    from touchbase.reports.api.schemas import status_row
    from touchbase.reports.service import report_statuses

    kind = CONTACT if record == "contacts" else COMPANY

    async def rows_of(store: Store, client: Client, asked: Asked) -> list[Any]:
        return [status_row(asked, each, client.client_id) for each in await report_statuses(store, client.number, kind, asked.edges)]

    _print(STATUS_COLUMNS, f"{record}_by_status", INTERVAL, interval, asked_statuses, rows_of, **options)


@reports.command()
@through_server()
@click.option("--group-by", help="Up to two of campaign, tool, day, week, month, separated by commas; default: campaign.")
@report_options
def campaigns(group_by: str | None, **options: Any) -> None:
    """Count mailed, replied, bounced and unsubscribed people, and the reply rate, by campaign, tool and time."""
    from touchbase.reports.api.parameters import GROUP_BY, asked_campaigns
    from touchbase.reports.api.schemas import campaign_row
    from touchbase.reports.service import report_campaigns

    async def rows_of(store: Store, client: Client, asked: Asked) -> list[Any]:
        found = await report_campaigns(store, client.number, asked.edges, asked.groups, asked.time_zone, now_us())
        return [campaign_row(asked, each, client.client_id) for each in found]

    _print(CAMPAIGN_COLUMNS, "campaigns", GROUP_BY, group_by, asked_campaigns, rows_of, **options)


def _print(
    columns: dict[str, Any],
    report: str,
    more: Any,
    value: str | None,
    ask: Callable[..., Asked],
    rows_of: Callable[..., Any],
    *,
    database: str | None,
    client_id: str | None,
    as_json: bool,
    **times: str | None,
) -> None:
    import msgspec

    from touchbase.http.query_parameters import Parameters
    from touchbase.reports.api.parameters import TIMES

    sent = {name: text for name, text in {**times, more.name: value}.items() if text is not None}
    try:
        given = Parameters(urlencode(sent).encode(), (*TIMES, more))
        asked = ask(given, now_us())
        given.done()
        rows: Sequence[dict[str, Any]] = msgspec.to_builtins(
            fetch(lambda tb: _rows_at_server(tb, client_id, report, sent), lambda: _rows(database, client_id, asked, rows_of))
        )
    except Invalid as error:
        named = (f"--{fault.pointer.removeprefix('?').replace('_', '-')}: {fault.detail}" for fault in error.faults)
        raise click.UsageError("; ".join(named)) from error
    if as_json:
        print_json(rows)
        return
    shown = {name: title for name, title in {**({} if client_id else CLIENT), **columns}.items() if any(name in row for row in rows)}
    print_table([*shown.values()], [[row.get(name) for name in shown] for row in rows], empty="nothing to report in this time")


def _rows_at_server(tb: Touchbase, client_id: str | None, report: str, sent: dict[str, Any]) -> list[Any]:
    """Return the rows of a client; without one those of all clients, for which the key must be an administrator's."""
    if client_id is None:
        return [*getattr(tb.admin.reports, f"iterate_{report}")(**sent)]
    rows = getattr(tb.for_client(client_id).reports, report)(**sent)["data"]
    return [{"client_id": client_id, **row} for row in rows]


async def _rows(database: str | None, client_id: str | None, asked: Asked, rows_of: Callable[..., Any]) -> list[Any]:
    from touchbase.clients.sql.queries import list_clients

    async with opened(database) as store:
        clients = await store.read(list_clients()) if client_id is None else [await find_client(store, client_id)]
        return [row for client in clients for row in await rows_of(store, client, asked)]
