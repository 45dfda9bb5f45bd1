"""`touchbase clients list, add, show, configure`: clients and their settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.client_life import (
    Values,
    as_values,
    check_client_id,
    check_name,
    delete,
    rename,
    resume,
    rotate_id,
    suspend,
    values_at_server,
)
from touchbase.cli.connections import list_ as connections
from touchbase.cli.connections import remove as disconnect
from touchbase.cli.connections_add import add as connect
from touchbase.cli.options import Group, json_option, setting_options, with_client_argument
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_record, print_table
from touchbase.cli.remote import PAGE, fetch, say_more, some, through_server
from touchbase.cli.store import find_client, now_us, opened, read_file
from touchbase.clients.models import CLIENT_STATES, DELETING
from touchbase.errors import Invalid, MalformedBody

if TYPE_CHECKING:
    from touchbase.client import Touchbase
    from touchbase.clients.models import ClientSettings

COLUMNS = ("client", Column("name", SHORT), "state", "created", Column("log name", SPARE), Column("made by", SPARE))


@click.group(cls=Group)
def clients() -> None:
    """List, add, suspend and delete clients, and change their settings."""


@clients.command("list")
@through_server(only_store=("after",))
@setting_options("database")
@click.option("--state", type=click.Choice(CLIENT_STATES), help="Only clients in this state.")
@click.option("--name", help="Only clients whose name or id contains this.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 1000), help="How many at most.")
@click.option("--after", help="The last client id of the page before.")
@json_option()
def list_(database: str | None, state: str | None, name: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List clients; log lines name a client by its log name."""
    found, more = fetch(lambda tb: _list_at_server(tb, state, name, limit), lambda: _list(database, state, name, limit, after))
    if as_json:
        print_json(found)
        return
    names = ("client_id", "name", "state", "created_time", "log_name", "made_by")
    print_table(COLUMNS, ([each[name] for name in names] for each in found), empty="there is no client: `touchbase clients add` adds one")
    if more is not None:
        say_more("--after", more)


@clients.command()
@through_server()
@setting_options("database")
@click.argument("client_id", required=False)
@click.option("--name", default="", help="The client's name, for people.")
@click.option("--cell", default="", help="The cell that it is to live in; else the one with the fewest clients.")
@json_option()
def add(database: str | None, client_id: str | None, name: str, cell: str, as_json: bool) -> None:
    """Add a client, so that its webhook addresses work, and print its id; an existing client is not changed.

    The id is part of the addresses. Without CLIENT_ID, one that cannot be guessed is made.
    """
    made, new = fetch(lambda tb: _add_at_server(tb, client_id, name.strip(), cell), lambda: _add(database, client_id, name.strip(), cell))
    if as_json:
        print_json(made)
    else:
        click.echo(made["client_id"])
    click.echo(f"client {made['client_id']} {'is added' if new else 'exists and is not changed'}", err=True)


@clients.command()
@through_server()
@setting_options("database")
@click.argument("client_id")
@json_option()
def show(database: str | None, client_id: str, as_json: bool) -> None:
    """Show a client with its settings, and its former ids that are still honoured."""
    found = fetch(lambda tb: values_at_server(tb.admin.clients.get(client_id), detail=True), lambda: _show(database, client_id))
    if as_json:
        print_json(found)
    else:
        print_record(found)


@clients.command()
@through_server()
@setting_options("database")
@click.argument("client_id")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option()
def configure(database: str | None, client_id: str, file: Path, as_json: bool) -> None:
    """Replace a client's settings with the JSON in FILE (- for standard input)."""
    changed = fetch(lambda tb: _configure_at_server(tb, client_id, file), lambda: _configure(database, client_id, _settings_in(file)))
    if as_json:
        print_json(changed)
    else:
        print_record(changed)


for each in (rename, suspend, resume, rotate_id, delete):
    clients.add_command(each)
FORMER = {"connect": connect, "connections": connections, "disconnect": disconnect}
"""Former names of commands of `touchbase connections`, which took the client's id as an argument."""
clients.former = {name: with_client_argument(name, command) for name, command in FORMER.items()}


def _list_at_server(tb: Touchbase, state: Any, name: str | None, limit: int) -> tuple[list[Values], str | None]:
    page, more = some(tb.admin.clients.iterate(state=state, name=name, limit=min(limit, PAGE)), limit)
    return [values_at_server(each) for each in page], page[-1]["client_id"] if more else None


def _add_at_server(tb: Touchbase, client_id: str | None, name: str, cell: str) -> tuple[Values, bool]:
    from touchbase.client import NotFound

    if client_id is not None:
        try:
            return values_at_server(tb.admin.clients.get(client_id)), False
        except NotFound:
            pass
    return values_at_server(tb.admin.clients.create({"client_id": client_id, "name": name, "cell": cell})), True


def _configure_at_server(tb: Touchbase, client_id: str, file: Path) -> Values:
    import msgspec

    _settings_in(file)  # its errors name the file
    tb.admin.clients.get(client_id)  # else a `PUT` would make it
    return values_at_server(tb.admin.clients.put(client_id, {"settings": msgspec.json.decode(read_file(file))}))


async def _list(
    database: str | None, state: str | None, name: str | None, limit: int, after: str | None
) -> tuple[list[Values], str | None]:
    from touchbase.clients.service import Clients

    async with opened(database) as store:
        page, more = await Clients(store, now_us).page(limit, after, state=state, text=name)
        return [as_values(client) for client in page], more


async def _add(database: str | None, client_id: str | None, name: str, cell: str) -> tuple[Values, bool]:
    """Return the client, and whether it is new."""
    from touchbase.clients.commands import CreateClient, FindClient
    from touchbase.clients.service import new_client_id

    check_client_id(client_id)
    check_name(name)
    async with opened(database) as store:
        known = await store.read(FindClient(client_id, now_us())) if client_id is not None else None
        if known is None:
            return as_values(await store.write(CreateClient(client_id or new_client_id(), name, now_us(), cell=cell))), True
        if known.state == DELETING:
            raise click.ClickException(f"client {client_id!r} is being deleted; add it again when that is done")
        return as_values(known), False


async def _show(database: str | None, client_id: str) -> dict[str, object]:
    import msgspec

    from touchbase.clients.api.settings import detail_of
    from touchbase.clients.sql.queries import former_ids

    async with opened(database) as store:
        client = await find_client(store, client_id)
        former = await store.read(former_ids(client.number, now_us()))
    shown = msgspec.to_builtins(detail_of(client, former))
    return {**as_values(client), "former_ids": shown["former_ids"]}


async def _configure(database: str | None, client_id: str, settings: ClientSettings) -> Values:
    from touchbase.clients.service import Clients
    from touchbase.statuses.models import RECORD_KINDS
    from touchbase.statuses.sql.refused import recheck_statuses

    async with opened(database) as store:
        found = await find_client(store, client_id)
        changed = (await Clients(store, now_us).put(client_id, settings))[0]
        for kind in RECORD_KINDS.values():
            await store.write(recheck_statuses(found.number, kind, now_us()))
        return as_values(changed)


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
