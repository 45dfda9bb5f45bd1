"""`touchbase connections list, show, remove`: the connected tools of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.connections_add import add
from touchbase.cli.options import Group, connection_options, find_channel, json_option
from touchbase.cli.output import SPARE, Column, print_json, print_record, print_table
from touchbase.cli.through_api import PAGE, through_api

if TYPE_CHECKING:
    from touchbase.client import Touchbase

Values = dict[str, object]
COLUMNS = (
    "client",
    "tool",
    "channel",
    "secret",
    Column("access token", SPARE),
    Column("fetching", SPARE),
    Column("wanted", SPARE),
    Column("not found", SPARE),
    "silent since",
    Column("last call", SPARE),
    Column("calls a day", SPARE),
    Column("changed", SPARE),
)
SILENCE_COLUMNS = ("since", "noticed", "ended", "calls a day", Column("usual interval, seconds", SPARE))


@click.group(cls=Group)
def connections() -> None:
    """Connect clients' tools, list and show connections, and remove them."""


connections.add_command(add)


@connections.command("list")
@through_api()
@click.option("--client", "client_id", help="Only this client's.")
@json_option("Print JSON, settings included.")
def list_(tb: Touchbase, client_id: str | None, as_json: bool) -> None:
    """List connections with their calls and the state of fetching records; secrets are shown as set or not set."""
    found = _list(tb, client_id)
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, map(_row, found), empty="no tool is connected: `touchbase connections add` connects one")
    for one in found:
        if (why := _last_error(one)) is not None:
            click.echo(f"{one['client_id']} {one['tool']}: {why}", err=True)


@connections.command()
@through_api()
@connection_options
@json_option()
def show(tb: Touchbase, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """Show one connection with its settings, its calls and the state of fetching; secrets are shown as set or not set."""
    channel = find_channel(channel, tool)
    found = _list(tb, client_id)
    one = next((one for one in found if (one["channel"], one["tool"]) == (channel, tool)), None)
    if one is None:
        raise click.ClickException(f"client {client_id} has no connection of {tool} on {channel}: `touchbase connections list` shows all")
    if as_json:
        print_json(one)
    else:
        print_record(one)


@connections.command()
@through_api()
@connection_options
@json_option()
def silences(tb: Touchbase, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """List the times in which the tool's usual calls did not come, newest first."""
    on: Any = find_channel(channel, tool)
    found = tb.admin.connections.list_silences(client_id, on, tool)["data"]
    if as_json:
        print_json(found)
        return
    print_table(SILENCE_COLUMNS, (tuple(one.values()) for one in found), empty="the connection has never been silent")


@connections.command()
@through_api()
@connection_options
@json_option()
def remove(tb: Touchbase, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """Disconnect a tool: its webhooks need no proof any more and are read as without a connection. Its deliveries stay."""
    on: Any = find_channel(channel, tool)
    tb.admin.connections.disconnect(client_id, on, tool)
    present_id = tb.admin.clients.get(client_id)["client_id"]
    if as_json:
        print_json({"client_id": present_id, "channel": on, "tool": tool})
    else:
        click.echo(f"{tool} is no longer connected on {on}")


def _list(tb: Touchbase, client_id: str | None) -> list[Values]:
    """Return the connections of a client, or of all clients."""
    owners = [client_id] if client_id is not None else [each["client_id"] for each in tb.admin.clients.iterate(limit=PAGE)]
    return [{"client_id": owner, **one} for owner in owners for one in tb.admin.connections.list(owner)["data"]]


def _part(one: Values, name: str) -> Values:
    found = one[name]
    return found if isinstance(found, dict) else {}


def _last_error(one: Values) -> str | None:
    fetching = _part(one, "fetching")
    return f"{fetching['last_error']} ({fetching['last_error_time']})" if fetching.get("last_error") else None


def _row(one: Values) -> tuple[object, ...]:
    fetching, calls = _part(one, "fetching"), _part(one, "calls")
    return (
        *(one[name] for name in ("client_id", "tool", "channel", "secret", "access_token")),
        *(fetching.get(name) for name in ("state", "wanted", "not_found")),
        *(calls.get(name) for name in ("silent_since_time", "last_time", "per_day")),
        one["updated_time"],
    )
