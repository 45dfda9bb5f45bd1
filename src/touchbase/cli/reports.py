"""`touchbase reports`: records by status over time; mails and their outcomes by campaign, tool and time."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.options import Group, json_option
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_table
from touchbase.cli.through_api import through_api

if TYPE_CHECKING:
    from touchbase_client import Touchbase

CLIENT = {"client_id": Column("client", SHORT)}
PERIOD = {"period": "period"}
STATUS_COLUMNS = {"begins_at": "begins", "ends_at": Column("ends", SPARE), "status": Column("status", SHORT), "records": "records"}
STATUS_COLUMNS |= {"entered": "entered"}
FUNNEL_COLUMNS = {"status": Column("status", SHORT), "entered": "entered", "went_on": "went on", "share": "share", "median_days": "days"}
CAMPAIGN_COLUMNS = {
    "begins_at": "begins", "ends_at": Column("ends", SPARE), "tool": Column("tool", SHORT), "campaign": Column("campaign", SHORT),
    "step": Column("step", SHORT), "label": Column("label", SHORT),
    "campaign_id": Column("campaign id", SPARE), "mailed": "emailed", "mails": Column("mails", SPARE), "replied": "replied",
    "reply_rate": "reply rate", "bounced": "bounced", "unsubscribed": Column("unsubscribed", SPARE),
    "complained": Column("complained", SPARE),
}  # fmt: skip


def report_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that all reports have."""
    for option in (
        json_option("Print JSON, all members included."),
        click.option("--compare", type=click.Choice(["previous"]), help="Also the period before, as long as this one."),
        click.option("--time-zone", help="IANA name of the zone in which days, weeks and months begin; default: UTC."),
        click.option("--until", help="As --since; default: now."),
        click.option("--since", help="A time, a date, or a length before now such as 30d or 12w; default: 12 intervals."),
        click.option("--client", "client_id", help="The client's id; default: all clients."),
    ):
        function = option(function)
    return through_api(client="own")(function)


@click.group(cls=Group)
def reports() -> None:
    """Report records by status, and mails and replies by campaign."""


@reports.command()
@click.option("--record", type=click.Choice(["contacts", "companies"]), default="contacts", show_default=True, help="What to count.")
@click.option("--interval", type=click.Choice(["day", "week", "month"]), help="Length of the intervals; default: week.")
@report_options
def status(tb: Touchbase, record: str, **options: Any) -> None:
    """Count records by status at the end of each interval, and how many got it in it.

    Without --client for each client.

    \b
    touchbase reports status --client acme --since 12w --time-zone Europe/Berlin
    """
    _print(tb, STATUS_COLUMNS, f"{record}_by_status", **options)


@reports.command()
@click.option("--record", type=click.Choice(["contacts", "companies"]), default="contacts", show_default=True, help="What to count.")
@report_options
def funnel(tb: Touchbase, record: str, **options: Any) -> None:
    """Count records that entered each status, how many went on from it, and their days in it.

    Without --client for each client.

    \b
    touchbase reports funnel --client acme --since 30d
    """
    _print(tb, FUNNEL_COLUMNS, f"{record}_funnel", **options)


@reports.command()
@click.option(
    "--group-by", help="Up to two of client, campaign, tool, step, label, day, week, month, separated by commas; default: campaign."
)
@report_options
def campaigns(tb: Touchbase, **options: Any) -> None:
    """Count emailed, replied, bounced and unsubscribed people, and the reply rate, by campaign, tool, step, label and time.

    Without --client for each client.

    \b
    touchbase reports campaigns --client acme --group-by campaign,week --since 4w
    touchbase reports campaigns --client acme --group-by step --since 30d --compare previous
    """
    _print(tb, CAMPAIGN_COLUMNS, "campaigns", **options)


@reports.command()
@through_api()
@click.option("--client", "client_id", required=True, help="The client's id or handle.")
@click.option("--name", required=True, help="Who gets the link.")
@click.option("--days", default=30, show_default=True, type=click.IntRange(1, 365), help="Days after which it ends.")
@click.option("--period", default="30", show_default=True, type=click.Choice(["7", "30", "90", "365"]), help="Days that it shows first.")
@click.option("--time-zone", default="UTC", show_default=True, help="IANA name of the zone in which its days begin.")
@json_option()
def link(tb: Touchbase, client_id: str, as_json: bool, period: str, **options: Any) -> None:
    """Create a link by which somebody reads one client's report without signing in, and print it: it is shown only once.

    \b
    touchbase reports link --client acme --name "Dana at Acme" --days 90
    """
    body: Any = {**options, "period": int(period)}
    new = tb.admin.report_links.create(client_id, body)
    if as_json:
        print_json(new)
    else:
        click.echo(new["url"])


@reports.command()
@through_api()
@click.option("--client", "client_id", required=True, help="The client's id or handle.")
@json_option()
def links(tb: Touchbase, client_id: str, as_json: bool) -> None:
    """List the links to a client's report, the newest first, without their addresses."""
    rows: list[Any] = [*tb.admin.report_links.list(client_id)["data"]]
    if as_json:
        print_json(rows)
        return
    columns: dict[str, Any] = {"id": "id", "name": Column("name", SHORT), "state": "state", "expires_at": "ends"}
    columns["last_used_at"] = Column("last used", SPARE)
    print_table([*columns.values()], [[row[name] for name in columns] for row in rows], empty="no link")


@reports.command()
@through_api()
@click.argument("link_id")
@click.option("--client", "client_id", required=True, help="The client's id or handle.")
@json_option()
def unlink(tb: Touchbase, client_id: str, link_id: str, as_json: bool) -> None:
    """Revoke a link to a client's report."""
    tb.admin.report_links.revoke(client_id, link_id)
    if as_json:
        print_json(next(link for link in tb.admin.report_links.list(client_id)["data"] if link["id"] == link_id))
    else:
        click.echo(f"the link {link_id} shows nothing more")


def _print(tb: Touchbase, columns: dict[str, Any], report: str, *, client_id: str | None, as_json: bool, **parameters: str | None) -> None:
    """Print the rows of a client; without a client, of all clients, which needs an administrator's key."""
    if client_id is None:
        page = getattr(tb.admin.reports, report)(**parameters)
        rows, left_out = _rows(page), page["left_out"]
        while page["next_cursor"] is not None:
            page = getattr(tb.admin.reports, report)(**parameters, cursor=page["next_cursor"])
            rows, left_out = rows + _rows(page), left_out + page["left_out"]
        for name in left_out:
            click.echo(f"left out: {name}, which has too many rows; read it with --client, and a later --since or fewer groups", err=True)
    else:
        rows = [{"client_id": client_id, **row} for row in _rows(getattr(tb.reports, report)(**parameters))]
    if as_json:
        print_json(rows)
        return
    shown = {**({} if client_id else CLIENT), **PERIOD, **columns}
    shown = {name: title for name, title in shown.items() if any(name in row for row in rows)}
    print_table([*shown.values()], [[row.get(name) for name in shown] for row in rows], empty="nothing to report in this time")


def _rows(report: Any) -> list[dict[str, Any]]:
    """Return the rows of a report; those of the period before have a `period`."""
    return [*report["data"], *({"period": "previous", **row} for row in report.get("previous", {"data": []})["data"])]
