"""`touchbase clients`: clients, and what each has decided."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.client_life import as_values, delete, rename, resume, rotate_id, suspend
from touchbase.cli.common import Group, find_client, json_option, opened, print_json, read_file, run, setting_options, with_client_argument
from touchbase.cli.connections import list_ as connections
from touchbase.cli.connections import remove as disconnect
from touchbase.cli.connections_add import add as connect
from touchbase.cli.tables import SHORT, SPARE, Column, print_record, print_table
from touchbase.clients.models import CLIENT_STATES, DELETING
from touchbase.common.timestamps import Micros
from touchbase.errors import Invalid, MalformedBody

if TYPE_CHECKING:
    from touchbase.clients.models import Client, ClientSettings

COLUMNS = ("client", Column("name", SHORT), "state", "created", Column("log name", SPARE), Column("made by", SPARE))


@click.group(cls=Group)
def clients() -> None:
    """List, add, suspend and delete clients, and change their settings."""


@clients.command("list")
@setting_options("database")
@click.option("--state", type=click.Choice(CLIENT_STATES), help="Only clients in this state.")
@click.option("--name", help="Only clients with this in their name or id.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 1000), help="How many at most.")
@click.option("--after", help="The last client id of the page before.")
@json_option()
def list_(database: str | None, state: str | None, name: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List clients; the log name is what stands for a client in log lines."""
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
@click.option("--name", default="", help="Its name for people.")
@json_option()
def add(database: str | None, client_id: str | None, name: str, as_json: bool) -> None:
    """Add a client, so that its webhook addresses work, and print its id; one that is there already stays as it is.

    The id is part of the addresses. Leave it out: then one is made that nobody can guess.
    """
    made, new = run(_add(database, client_id, name.strip()))
    if as_json:
        print_json(as_values(made))
    else:
        click.echo(made.client_id)
    click.echo(f"client {made.client_id} {'is added' if new else 'was there already and stays as it was'}", err=True)


@clients.command()
@setting_options("database")
@click.argument("client_id")
@json_option()
def show(database: str | None, client_id: str, as_json: bool) -> None:
    """Show a client with its settings, and its former ids that still work."""
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
"""Former names of the commands of `touchbase connections`, which took the client's id as an argument."""
clients.former = {name: with_client_argument(name, command) for name, command in FORMER.items()}


async def _list(
    database: str | None, state: str | None, name: str | None, limit: int, after: str | None
) -> tuple[list[Client], str | None]:
    from touchbase.clients.service import Clients

    async with opened(database) as store:
        return await Clients(store, _now).page(limit, after, state=state, text=name)


async def _add(database: str | None, client_id: str | None, name: str) -> tuple[Client, bool]:
    """The client, and whether it is new."""
    from touchbase.clients.commands import CreateClient, FindClient
    from touchbase.clients.service import is_client_id, new_client_id
    from touchbase.common.field_limits import NAME, why_not_storable

    if client_id is not None and not is_client_id(client_id):
        raise click.UsageError("a client id is 1 to 100 letters, digits and . _ ~ -")
    if len(name) > NAME or why_not_storable(name):
        raise click.UsageError(f"a name has at most {NAME} characters, and none that cannot be kept")
    async with opened(database) as store:
        known = await store.read(FindClient(client_id, _now())) if client_id is not None else None
        if known is None:
            return await store.write(CreateClient(client_id or new_client_id(), name, _now())), True
        if known.state == DELETING:
            raise click.ClickException(f"client {client_id!r} is being deleted; add it again once it is gone")
        return known, False


async def _show(database: str | None, client_id: str) -> dict[str, object]:
    import msgspec

    from touchbase.clients.api.settings import detail_of
    from touchbase.clients.commands import FormerIds

    async with opened(database) as store:
        client = await find_client(store, client_id)
        former = await store.read(FormerIds(client.number, _now()))
    shown = msgspec.to_builtins(detail_of(client, former))
    return {**as_values(client), "former_ids": shown["former_ids"]}


async def _configure(database: str | None, client_id: str, settings: ClientSettings) -> Client:
    from touchbase.clients.service import Clients

    async with opened(database) as store:
        await find_client(store, client_id)
        return (await Clients(store, _now).put(client_id, settings))[0]


def _settings_in(file: Path) -> ClientSettings:
    import msgspec

    from touchbase.clients.api.settings import ClientRequest, checked
    from touchbase.http.body_errors import parse_json
    from touchbase.http.json_body import read_struct

    data = read_file(file)
    try:
        parse_json(data)  # by itself, so that what is told of a place in it is true
        body = b'{"settings": %b}' % data
        asked = read_struct(body, msgspec.json.Decoder(ClientRequest), ClientRequest, lambda partly: checked(partly.settings))
        return checked(asked.settings)
    except Invalid as error:
        why = "; ".join(f"{fault.pointer.removeprefix('/settings') or 'they'} {fault.detail}" for fault in error.faults)
        raise click.ClickException(f"these are no client settings: {why}; docs/reference/clients.md says what they are") from error
    except MalformedBody as error:
        raise click.ClickException(f"these are no client settings: {error.detail}; docs/reference/clients.md says what they are") from error


def _now() -> Micros:
    return time.time_ns() // 1000
