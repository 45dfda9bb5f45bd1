"""`touchbase refusals`: webhook calls that were refused, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from touchbase.cli.common import Group, find_client, json_option, opened, print_json, run, setting_options
from touchbase.cli.tables import NOTE, SPARE, Column, print_table
from touchbase.common.timestamps import to_text
from touchbase.connections.models import CHANNELS
from touchbase.inbox.refused import CAUSES

if TYPE_CHECKING:
    from touchbase.inbox.refused import RefusedWebhook

COLUMNS = (
    "received",
    "client",
    "looks like",
    "cause",
    Column("calls", SPARE),
    Column("channel", SPARE),
    Column("size", SPARE),
    Column("sender", NOTE),
)


@click.group(cls=Group)
def refusals() -> None:
    """List webhook calls that were refused."""


@refusals.command("list")
@setting_options("database")
@click.option("--client", "client_id", help="Only calls to this client's addresses.")
@click.option("--channel", type=click.Choice(CHANNELS), help="Only calls to this webhook address.")
@click.option("--tool", help="Only calls that look like this tool's.")
@click.option("--cause", type=click.Choice(tuple(CAUSES)), help="Only calls refused for this cause.")
@click.option("--limit", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Most calls to list.")
@json_option("Print JSON, headers included.")
def list_(
    database: str | None, client_id: str | None, channel: str | None, tool: str | None, cause: str | None, limit: int, as_json: bool
) -> None:
    """List refused webhook calls, newest first. Their bodies were not stored; the last 1,000 of each client are listed."""
    found = run(_refused(database, client_id, channel, tool, cause, limit))
    if as_json:
        from touchbase.inbox.api.refused import refusal_out

        print_json([refusal_out(one) for one in found])
        return
    print_table(COLUMNS, map(_row, found), empty="no refused call matches")


async def _refused(
    database: str | None, client_id: str | None, channel: str | None, tool: str | None, cause: str | None, limit: int
) -> list[RefusedWebhook]:
    from touchbase.inbox.refused import ListRefusals

    async with opened(database) as store:
        client = None if client_id is None else (await find_client(store, client_id)).number
        return await store.read(ListRefusals(limit, client, channel, tool, cause))


def _row(one: RefusedWebhook) -> tuple[object, ...]:
    sender = one.headers.get("user-agent", "")
    return (to_text(one.received_us), one.client_id, one.tool, one.cause, one.calls, one.channel, one.size, sender)
