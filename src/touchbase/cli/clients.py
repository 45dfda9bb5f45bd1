"""`touchbase clients`: clients, their settings and their life."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.connections import add as connect
from touchbase.cli.connections import list_ as connections
from touchbase.cli.connections import remove as disconnect
from touchbase.cli.failures import STOPPED
from touchbase.cli.options import Group, former_option, json_option, keep_old_option, read_settings, setting_options, with_client_argument
from touchbase.cli.output import SHORT, SPARE, Column, print_json, print_list, print_values
from touchbase.cli.store import find_client, now_us, opened, read_file, run
from touchbase.cli.through_api import PAGE, here, page_of, through_api
from touchbase.clients.models import CLIENT_STATES, DELETING
from touchbase.common.timestamps import SECOND, Micros, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.clients.models import Removal
    from touchbase.routing.move import Moved
    from touchbase.routing.router import CellRouter
    from touchbase_client import Touchbase

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
    clients = [values_of(client) for client in page]
    names = ("client_id", "name", "state", "created_time", "log_name", "made_by")
    more_text = f"there are more: --after {page[-1]['client_id']}" if more else ""
    print_list(clients, COLUMNS, names, as_json=as_json, empty="there is no client: `touchbase clients add` adds one", more=more_text)


@clients.command()
@through_api()
@click.argument("client_id", required=False)
@click.option("--name", default="", help="The client's name, for people.")
@click.option("--handle", help="Its name in addresses of the console; else it is made from the name.")
@click.option("--to", "target", default="", metavar="DATABASE", help="The database that it is to live in; else the one with the fewest.")
@former_option("--cell", "--to")
@json_option()
def add(tb: Touchbase, client_id: str | None, name: str, handle: str | None, target: str, as_json: bool) -> None:
    """Add a client, so that its webhook addresses work, and print its id; an existing client is not changed.

    The id is part of the addresses. Without CLIENT_ID, one that cannot be guessed is made.
    """
    client, new = _add(tb, client_id, name.strip(), handle, target)
    if as_json:
        print_json(client)
    else:
        click.echo(client["client_id"])
    click.echo(f"client {client['client_id']} {'is added' if new else 'exists and is not changed'}", err=True)


@clients.command()
@through_api()
@click.argument("client_id")
@json_option()
def show(tb: Touchbase, client_id: str, as_json: bool) -> None:
    """Show a client with its settings, and its former ids that are still honoured."""
    values = values_of(tb.admin.clients.get(client_id), detail=True)
    print_values(values, as_json=as_json)


@clients.command()
@through_api()
@click.argument("client_id")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option()
def configure(tb: Touchbase, client_id: str, file: Path, as_json: bool) -> None:
    """Replace a client's settings with the JSON in FILE (- for standard input).

    A setting that is left out gets its default.

    \b
    echo '{"on_duplicate": "update"}' | touchbase clients configure acme -
    """
    changed = _configure(tb, client_id, file)
    print_values(changed, as_json=as_json)


Values = dict[str, object]


@clients.command()
@through_api()
@click.argument("client_id")
@click.argument("name")
@json_option()
def rename(tb: Touchbase, client_id: str, name: str, as_json: bool) -> None:
    """Change a client's displayed name; its id and addresses stay."""
    changed = values_of(tb.admin.clients.rename(client_id, {"name": name.strip()}))
    _print_client(changed, f"client {client_id} is called {name.strip()!r}", as_json)


@clients.command()
@through_api()
@click.argument("client_id")
@json_option()
def suspend(tb: Touchbase, client_id: str, as_json: bool) -> None:
    """Suspend a client: requests about its records get a 403. Its webhooks are stored, and applied when it is resumed."""
    message = f"client {client_id} is suspended; its webhooks are stored, `touchbase clients resume {client_id}` applies them"
    changed = values_of(tb.admin.clients.suspend(client_id))
    _print_client(changed, message, as_json)


@clients.command()
@through_api()
@click.argument("client_id")
@json_option()
def resume(tb: Touchbase, client_id: str, as_json: bool) -> None:
    """Resume a suspended client; webhooks stored in between are applied."""
    changed = values_of(tb.admin.clients.resume(client_id))
    _print_client(changed, f"client {client_id} is active", as_json)


@clients.command("rotate-id")
@through_api()
@click.argument("client_id")
@click.option("--to", "new_id", help="The new id; without it, one that cannot be guessed is made.")
@keep_old_option("7d", "How long the old id is still honoured.")
@json_option()
def rotate_id(tb: Touchbase, client_id: str, new_id: str | None, keep_old: Micros, as_json: bool) -> None:
    """Change a client's id and print it; change the webhook addresses in its tools before the old id ends."""
    body: Any = {"client_id": new_id, "keep_old_seconds": keep_old // SECOND}
    client, until = values_of(tb.admin.clients.rotate_id(client_id, body)), now_us() + keep_old
    _print_client(client, str(client["client_id"]), as_json)
    click.echo(f"{client_id} is honoured {f'until {to_text(until)}' if keep_old else 'no longer'}", err=True)


@clients.command()
@through_api()
@click.argument("client_id")
@click.option("--yes", is_flag=True, help="Delete it: contacts, companies, events, deliveries, connections and keys, permanently.")
@json_option()
def delete(tb: Touchbase, client_id: str, yes: bool, as_json: bool) -> None:
    """Delete a client with all its data.

    Without --yes it prints how much that is, and ends with status 2. The client is closed at once; its data is deleted in steps.
    Ctrl+C stops that: a running server continues it, or the same command.
    """
    try:
        removed = _delete(tb, client_id, yes)
    except KeyboardInterrupt:
        click.echo("\nstopped; a running server continues it, or the same command", err=True)
        sys.exit(STOPPED)
    if as_json:
        print_json({"client_id": client_id, "removed_rows": removed})
    elif removed is None:
        click.echo(f"client {client_id} is closed; the server deletes its data")
    else:
        click.echo(f"client {client_id} is gone, {removed} rows with it")


@clients.command()
@setting_options("database")
@click.argument("client_id")
@click.option("--to", "target", required=True, metavar="DATABASE", help="`home`, or a name of `touchbase databases list`.")
@json_option()
def move(database: str | None, client_id: str, target: str, as_json: bool) -> None:
    """Move a client to another database, also from SQLite to PostgreSQL and back, while servers run.

    Until it ends the client's records can be read, writes get 503 with Retry-After, and webhooks wait in the spool (without one they get
    503 too). A million rows take about a minute. After an error the client stays where it was; a command that was stopped is repeated.
    """
    moved = run(_move(database, client_id, target))
    if as_json:
        print_json(moved)
    elif moved.source == moved.target:
        click.echo(f"client {client_id} lives in {target} and is served")
    else:
        click.echo(f"client {client_id} lives in {target} now, with {moved.rows} rows, each compared with {moved.source}")


async def _move(database: str | None, client_id: str, target: str) -> Moved:
    from touchbase.cli.copy import show_progress
    from touchbase.routing.move import move_client
    from touchbase.stores import open_client_rows

    async with opened(database) as store:
        try:
            return await move_client(store, read_settings(database=database).database, client_id, target, open_client_rows, show_progress)
        finally:
            if sys.stderr.isatty():
                click.echo("\r\x1b[K", err=True, nl=False)


def _print_client(changed: Values, message: str, as_json: bool) -> None:
    """Print a changed client as JSON, or the message."""
    if as_json:
        print_json(changed)
    else:
        click.echo(message)


def _delete(tb: Touchbase, client_id: str, yes: bool) -> int | None:
    """Delete a client; return the number of its rows, or None if the server deletes them while it runs."""
    client, application = tb.admin.clients.get(client_id), here()
    if not yes:
        data = "all" if application is None else f"{application.on_store(lambda store: _count(store, client_id))} rows of"
        raise click.UsageError(
            f"this deletes client {client_id} ({client['name'] or 'without a name'}) and {data} its data permanently: add --yes to do it"
        )
    tb.admin.clients.delete(client_id, confirm=client_id)
    return None if application is None else application.on_store(lambda store: _remove(store, client_id))


async def _count(store: CellRouter, client_id: str) -> int:
    from touchbase.clients.sql.removal import count_client_rows

    return await store.read(count_client_rows((await find_client(store, client_id)).number))


async def _remove(store: CellRouter, client_id: str) -> int:
    """Do the work of the server's maintenance."""
    import asyncio

    from touchbase.clients.removal import removal_of

    removed, progress = 0, RemovalProgress()
    async for removal in removal_of(store, now_us, await find_client(store, client_id)):
        removed = max(removed, removal.removed)
        progress.show(removal)
        if removal.wait_us:
            await asyncio.sleep(min(1.0, removal.wait_us / SECOND))
    return removed


class RemovalProgress:
    """Prints how far a deletion is: in one line that changes on a terminal, else in a line a second."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._total: int | None = None
        self._last_shown = seconds()

    def show(self, removal: Removal) -> None:
        """Print the progress, at most once a second without a terminal."""
        self._total = removal.total or self._total
        on_terminal = sys.stderr.isatty()
        if not on_terminal and (removal.done or self._seconds() < self._last_shown + 1):
            return
        self._last_shown = self._seconds()
        so_far = f"{removal.removed} rows" if self._total is None else f"{removal.removed} of {self._total} rows"
        waits = f"; {removal.wait_us // SECOND + 1} s until earlier requests have ended" if removal.wait_us else ""
        click.echo(f"\r\x1b[K{so_far}{waits}" if on_terminal else f"{so_far}{waits}", err=True, nl=removal.done or not on_terminal)


def values_of(client: Mapping[str, object], *, detail: bool = False) -> Values:
    """Return a client of the API, with its name in log lines; with `detail` its former ids too."""
    from touchbase.server.access_log import client_log_name

    values = {name: value for name, value in client.items() if name != "former_ids"}
    more = {"former_ids": client["former_ids"]} if detail else {}
    return {**values, "log_name": client_log_name(str(client["client_id"])), **more}


FORMER = {"connect": connect, "connections": connections, "disconnect": disconnect}
"""Former names of commands of `touchbase connections`, which took the client's id as an argument."""
clients.former = {name: with_client_argument(name, command) for name, command in FORMER.items()}


def _add(tb: Touchbase, client_id: str | None, name: str, handle: str | None, target: str) -> tuple[Values, bool]:
    """Return the client, and whether it is new."""
    from touchbase_client import NotFound

    if client_id is not None:
        try:
            present = tb.admin.clients.get(client_id)
        except NotFound:
            pass
        else:
            if present["state"] == DELETING:
                raise click.ClickException(f"client {client_id!r} is being deleted; add it again when that is done")
            return values_of(present), False
    return values_of(tb.admin.clients.create({"client_id": client_id, "name": name, "handle": handle, "database": target})), True


def _configure(tb: Touchbase, client_id: str, file: Path) -> Values:
    from touchbase_client import Problem

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
        why = "; ".join(f"{error.pointer.removeprefix('/settings') or 'the settings'} {error.detail}" for error in problem.errors)
        raise click.ClickException(f"{file} has no valid client settings: {why}; see docs/reference/clients.md") from None
