"""`touchbase clients list, add, show, configure`: clients and their settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.client_life import as_values, check_client_id, check_name, delete, rename, resume, rotate_id, suspend
from touchbase.cli.connections import list_ as connections
from touchbase.cli.connections import remove as disconnect
from touchbase.cli.connections_add import add as connect
from touchbase.cli.options import Group, json_option, setting_options, with_client_argument
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_record, print_table
from touchbase.cli.store import find_client, now_us, opened, read_file, run
from touchbase.clients import CLIENT_STATES, DELETING
from touchbase.errors import Invalid, MalformedBody

if TYPE_CHECKING:
    from touchbase.clients import Client, ClientSettings

COLUMNS = ("client", Column("name", SHORT), "state", "created", Column("log name", SPARE), Column("made by", SPARE))


@click.group(cls=Group)
def clients() -> None:
    """List, add, suspend and delete clients, and change their settings."""


@clients.command("list")
@setting_options("database")
@click.option("--state", type=click.Choice(CLIENT_STATES), help="Only clients in this state.")
@click.option("--name", help="Only clients whose name or id contains this.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 1000), help="How many at most.")
@click.option("--after", help="The last client id of the page before.")
@json_option()
def list_(database: str | None, state: str | None, name: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List clients; log lines name a client by its log name."""
    page, more = run(_list(database, state, name, limit, after))
    found = [as_values(client) for client in page]
    if as_json:
        print_json(found)
        return
    names = ("client_id", "name", "state", "created_time", "log_name", "made_by")
    print_table(COLUMNS, ([each[name] for name in names] for each in found), empty="there is no client: `touchbase clients add` adds one")
    if more is not None:
        click.echo(f"there are more: --after {more}", err=True)


@clients.command()
@setting_options("database")
@click.argument("client_id", required=False)
@click.option("--name", default="", help="The client's name, for people.")
@click.option("--cell", default="", help="The cell that it is to live in; else the one with the fewest clients.")
@json_option()
def add(database: str | None, client_id: str | None, name: str, cell: str, as_json: bool) -> None:
    """Add a client, so that its webhook addresses work, and print its id; an existing client is not changed.

    The id is part of the addresses. Without CLIENT_ID, one that cannot be guessed is made.
    """
    made, new = run(_add(database, client_id, name.strip(), cell))
    if as_json:
        print_json(as_values(made))
    else:
        click.echo(made.client_id)
    click.echo(f"client {made.client_id} {'is added' if new else 'exists and is not changed'}", err=True)


@clients.command()
@setting_options("database")
@click.argument("client_id")
@json_option()
def show(database: str | None, client_id: str, as_json: bool) -> None:
    """Show a client with its settings, and its former ids that are still honoured."""
    found = run(_show(database, client_id))
    if as_json:
        print_json(found)
    else:
        print_record(found)


@clients.command()
@setting_options("database")
@click.argument("client_id")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option()
def configure(database: str | None, client_id: str, file: Path, as_json: bool) -> None:
    """Replace a client's settings with the JSON in FILE (- for standard input)."""
    changed = as_values(run(_configure(database, client_id, _settings_in(file))))
    if as_json:
        print_json(changed)
    else:
        print_record(changed)


for each in (rename, suspend, resume, rotate_id, delete):
    clients.add_command(each)
FORMER = {"connect": connect, "connections": connections, "disconnect": disconnect}
"""Former names of commands of `touchbase connections`, which took the client's id as an argument."""
clients.former = {name: with_client_argument(name, command) for name, command in FORMER.items()}


async def _list(
    database: str | None, state: str | None, name: str | None, limit: int, after: str | None
) -> tuple[list[Client], str | None]:
    from touchbase.clients import Clients

    async with opened(database) as store:
        return await Clients(store, now_us).page(limit, after, state=state, text=name)


async def _add(database: str | None, client_id: str | None, name: str, cell: str) -> tuple[Client, bool]:
    """Return the client, and whether it is new."""
    from touchbase.clients import CreateClient, FindClient, new_client_id

    check_client_id(client_id)
    check_name(name)
    async with opened(database) as store:
        known = await store.read(FindClient(client_id, now_us())) if client_id is not None else None
        if known is None:
            return await store.write(CreateClient(client_id or new_client_id(), name, now_us(), cell=cell)), True
        if known.state == DELETING:
            raise click.ClickException(f"client {client_id!r} is being deleted; add it again when that is done")
        return known, False


async def _show(database: str | None, client_id: str) -> dict[str, object]:
    import msgspec

    from touchbase.clients import FormerIds
    from touchbase.clients.api.settings import detail_of

    async with opened(database) as store:
        client = await find_client(store, client_id)
        former = await store.read(FormerIds(client.number, now_us()))
    shown = msgspec.to_builtins(detail_of(client, former))
    return {**as_values(client), "former_ids": shown["former_ids"]}


async def _configure(database: str | None, client_id: str, settings: ClientSettings) -> Client:
    from touchbase.clients import Clients
    from touchbase.statuses import RECORD_KINDS, RecheckStatuses

    async with opened(database) as store:
        found = await find_client(store, client_id)
        changed = (await Clients(store, now_us).put(client_id, settings))[0]
        for kind in RECORD_KINDS.values():
            await store.write(RecheckStatuses(found.number, kind, now_us()))
        return changed


def _settings_in(file: Path) -> ClientSettings:
    import msgspec

    from touchbase.clients.api.settings_body import ClientRequest, checked
    from touchbase.http.body_errors import parse_json
    from touchbase.http.request_body import read_struct

    data = read_file(file)
    try:
        parse_json(data)  # alone, so that the position in an error is the position in the file
        body = b'{"settings": %b}' % data
        request = read_struct(body, msgspec.json.Decoder(ClientRequest), ClientRequest, lambda partly: checked(partly.settings))
        return checked(request.settings)
    except Invalid as error:
        why = "; ".join(f"{fault.pointer.removeprefix('/settings') or 'the settings'} {fault.detail}" for fault in error.faults)
        raise click.ClickException(f"{file} has no valid client settings: {why}; see docs/reference/clients.md") from error
    except MalformedBody as error:
        raise click.ClickException(f"{file} has no valid client settings: {error.detail}; see docs/reference/clients.md") from error
