"""`touchbase connections list, show, remove`: the connected tools of clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.connections_add import add
from touchbase.cli.options import Group, connection_options, find_channel, json_option, setting_options
from touchbase.cli.output import SPARE, Column, print_json, print_record, print_table
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.store import explain_not_found, find_client, now_us, opened

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.clients.models import Client
    from touchbase.sql.store import Store

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
@through_server()
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's.")
@json_option("Print JSON, settings included.")
def list_(database: str | None, client_id: str | None, as_json: bool) -> None:
    """List connections with their calls and the state of fetching records; secrets are shown as set or not set."""
    found = fetch(lambda tb: _list_at_server(tb, client_id), lambda: _list(database, client_id))
    if as_json:
        print_json(found)
        return
    print_table(COLUMNS, map(_row, found), empty="no tool is connected: `touchbase connections add` connects one")
    for one in found:
        if (why := _last_error(one)) is not None:
            click.echo(f"{one['client_id']} {one['tool']}: {why}", err=True)


@connections.command()
@through_server()
@setting_options("database")
@connection_options
@json_option()
def show(database: str | None, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """Show one connection with its settings, its calls and the state of fetching; secrets are shown as set or not set."""
    channel = find_channel(channel, tool)
    found = fetch(lambda tb: _list_at_server(tb, client_id), lambda: _list(database, client_id))
    one = next((one for one in found if (one["channel"], one["tool"]) == (channel, tool)), None)
    if one is None:
        raise click.ClickException(f"client {client_id} has no connection of {tool} on {channel}: `touchbase connections list` shows all")
    if as_json:
        print_json(one)
    else:
        print_record(one)


@connections.command()
@through_server()
@setting_options("database")
@connection_options
@json_option()
def silences(database: str | None, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """List the times in which the tool's usual calls did not come, newest first."""
    on: Any = find_channel(channel, tool)
    found = fetch(
        lambda tb: tb.admin.connections.list_silences(client_id, on, tool)["data"], lambda: _silences(database, client_id, on, tool)
    )
    if as_json:
        print_json(found)
        return
    print_table(SILENCE_COLUMNS, (tuple(one.values()) for one in found), empty="the connection has never been silent")


@connections.command()
@through_server()
@setting_options("database")
@connection_options
@json_option()
def remove(database: str | None, client_id: str, channel: str | None, tool: str, as_json: bool) -> None:
    """Disconnect a tool: its webhooks need no proof any more and are read as without a connection. Its deliveries stay."""
    channel = find_channel(channel, tool)
    present_id = fetch(lambda tb: _remove_at_server(tb, client_id, channel, tool), lambda: _remove(database, client_id, channel, tool))
    if as_json:
        print_json({"client_id": present_id, "channel": channel, "tool": tool})
    else:
        click.echo(f"{tool} is no longer connected on {channel}")


def _list_at_server(tb: Touchbase, client_id: str | None) -> list[Values]:
    owners = [client_id] if client_id is not None else [each["client_id"] for each in tb.admin.clients.iterate()]
    return [{"client_id": owner, **one} for owner in owners for one in tb.admin.connections.list(owner)["data"]]


def _remove_at_server(tb: Touchbase, client_id: str, channel: Any, tool: str) -> str:
    tb.admin.connections.disconnect(client_id, channel, tool)
    return tb.admin.clients.get(client_id)["client_id"]


async def _list(database: str | None, client_id: str | None) -> list[Values]:
    from touchbase.clients.sql.queries import list_clients

    async with opened(database) as store:
        owners = [await find_client(store, client_id)] if client_id is not None else await store.read(list_clients())
        return [one for owner in owners for one in await _of(store, owner)]


async def _of(store: Store, owner: Client) -> list[Values]:
    """Return a client's connections with the member names of the admin API."""
    import msgspec

    from touchbase.connections.api.schemas import Known, connection_out
    from touchbase.connections.service import Connections

    service = Connections(store, now_us)
    if not (found := await service.all(owner.number)):
        return []
    fetching, calls = await service.fetching(owner.number), await service.calls(owner.number)
    shown = [connection_out(one, known=Known(fetching.get(one.tool), calls.get((one.channel, one.tool)))) for one in found]
    return [{"client_id": owner.client_id, **msgspec.to_builtins(one)} for one in shown]


async def _silences(database: str | None, client_id: str, channel: str, tool: str) -> list[Values]:
    import msgspec

    from touchbase.connections.api.silences import silence_out
    from touchbase.connections.service import Connections
    from touchbase.connections.sql.silence import list_silences

    async with opened(database) as store:
        client = await find_client(store, client_id)
        with explain_not_found(f"`touchbase connections list --client {client_id}` shows all"):
            await Connections(store, now_us).get(client.number, channel, tool)
        found = await store.read(list_silences(client.number, channel, tool))
        return [msgspec.to_builtins(silence_out(one)) for one in found]


async def _remove(database: str | None, client_id: str, channel: str, tool: str) -> str:
    from touchbase.connections.commands import RemoveConnection

    async with opened(database) as store:
        client = await find_client(store, client_id)
        with explain_not_found(f"`touchbase connections list --client {client_id}` shows all"):
            await store.write(RemoveConnection(client.number, channel, tool))
        return client.client_id


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
