"""`touchbase clients list, add, show, configure`: clients and their settings."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.client_life import Values, delete, rename, resume, rotate_id, suspend, values_of
from touchbase.cli.connections import list_ as connections
from touchbase.cli.connections import remove as disconnect
from touchbase.cli.connections_add import add as connect
from touchbase.cli.options import Group, json_option, with_client_argument
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_record, print_table
from touchbase.cli.store import read_file
from touchbase.cli.through_api import PAGE, page_of, through_api
from touchbase.clients.models import CLIENT_STATES, DELETING

if TYPE_CHECKING:
    from touchbase.client import Touchbase

COLUMNS = ("client", Column("name", SHORT), "state", "created", Column("log name", SPARE), Column("made by", SPARE))


@click.group(cls=Group)
def clients() -> None:
    """List, add, suspend and delete clients, and change their settings."""


@clients.command("list")
@through_api()
@click.option("--state", type=click.Choice(CLIENT_STATES), help="Only clients in this state.")
@click.option("--name", help="Only clients whose name or id contains this.")
@click.option("--limit", default=1000, show_default=True, type=click.IntRange(1, 1000), help="How many at most.")
@click.option("--after", help="The last client id of the page before.")
@json_option()
def list_(tb: Touchbase, state: Any, name: str | None, limit: int, after: str | None, as_json: bool) -> None:
    """List clients; log lines name a client by its log name."""
    listed: Any = tb.admin.clients.iterate(state=state, name=name, limit=min(limit + 1, PAGE))
    page, more = page_of(listed, limit, after, name="client_id")
    found = [values_of(each) for each in page]
    if as_json:
        print_json(found)
        return
    names = ("client_id", "name", "state", "created_time", "log_name", "made_by")
    print_table(COLUMNS, ([each[name] for name in names] for each in found), empty="there is no client: `touchbase clients add` adds one")
    if more:
        click.echo(f"there are more: --after {page[-1]['client_id']}", err=True)


@clients.command()
@through_api()
@click.argument("client_id", required=False)
@click.option("--name", default="", help="The client's name, for people.")
@click.option("--cell", default="", help="The cell that it is to live in; else the one with the fewest clients.")
@json_option()
def add(tb: Touchbase, client_id: str | None, name: str, cell: str, as_json: bool) -> None:
    """Add a client, so that its webhook addresses work, and print its id; an existing client is not changed.

    The id is part of the addresses. Without CLIENT_ID, one that cannot be guessed is made.
    """
    made, new = _add(tb, client_id, name.strip(), cell)
    if as_json:
        print_json(made)
    else:
        click.echo(made["client_id"])
    click.echo(f"client {made['client_id']} {'is added' if new else 'exists and is not changed'}", err=True)


@clients.command()
@through_api()
@click.argument("client_id")
@json_option()
def show(tb: Touchbase, client_id: str, as_json: bool) -> None:
    """Show a client with its settings, and its former ids that are still honoured."""
    found = values_of(tb.admin.clients.get(client_id), detail=True)
    if as_json:
        print_json(found)
    else:
        print_record(found)


@clients.command()
@through_api()
@click.argument("client_id")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option()
def configure(tb: Touchbase, client_id: str, file: Path, as_json: bool) -> None:
    """Replace a client's settings with the JSON in FILE (- for standard input)."""
    changed = _configure(tb, client_id, file)
    if as_json:
        print_json(changed)
    else:
        print_record(changed)


for each in (rename, suspend, resume, rotate_id, delete):
    clients.add_command(each)
FORMER = {"connect": connect, "connections": connections, "disconnect": disconnect}
"""Former names of commands of `touchbase connections`, which took the client's id as an argument."""
clients.former = {name: with_client_argument(name, command) for name, command in FORMER.items()}


def _add(tb: Touchbase, client_id: str | None, name: str, cell: str) -> tuple[Values, bool]:
    """Return the client, and whether it is new."""
    from touchbase.client import NotFound

    if client_id is not None:
        try:
            present = tb.admin.clients.get(client_id)
        except NotFound:
            pass
        else:
            if present["state"] == DELETING:
                raise click.ClickException(f"client {client_id!r} is being deleted; add it again when that is done")
            return values_of(present), False
    return values_of(tb.admin.clients.create({"client_id": client_id, "name": name, "cell": cell})), True


def _configure(tb: Touchbase, client_id: str, file: Path) -> Values:
    from touchbase.client import Problem

    try:
        settings = json.loads(read_file(file))
    except ValueError as error:
        raise click.ClickException(f"{file} has no valid client settings: {error}; see docs/reference/clients.md") from None
    tb.admin.clients.get(client_id)  # else a `PUT` would make it
    try:
        return values_of(tb.admin.clients.put(client_id, {"settings": settings}))
    except Problem as problem:
        if not problem.errors:
            raise
        why = "; ".join(f"{each.pointer.removeprefix('/settings') or 'the settings'} {each.detail}" for each in problem.errors)
        raise click.ClickException(f"{file} has no valid client settings: {why}; see docs/reference/clients.md") from None
