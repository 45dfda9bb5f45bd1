"""`touchbase clients rename, suspend, resume, rotate-id, delete`: the life of a client."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from touchbase.cli.failures import STOPPED
from touchbase.cli.options import json_option, keep_old_option, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.remote import fetch, through_server
from touchbase.cli.store import find_client, now_us, opened
from touchbase.clients.models import ACTIVE, SUSPENDED
from touchbase.common.timestamps import SECOND, Micros, to_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from touchbase.client import Touchbase
    from touchbase.clients.commands import Removal
    from touchbase.clients.models import Client
    from touchbase.sql.store import Store

Values = dict[str, object]


@click.command()
@through_server()
@setting_options("database")
@click.argument("client_id")
@click.argument("name")
@json_option()
def rename(database: str | None, client_id: str, name: str, as_json: bool) -> None:
    """Give a client another name for people; its id and addresses stay."""
    changed = fetch(
        lambda tb: values_at_server(tb.admin.clients.rename(client_id, {"name": name.strip()})),
        lambda: _rename(database, client_id, name.strip()),
    )
    _print_client(changed, f"client {client_id} is called {name.strip()!r}", as_json)


@click.command()
@through_server()
@setting_options("database")
@click.argument("client_id")
@json_option()
def suspend(database: str | None, client_id: str, as_json: bool) -> None:
    """Suspend a client: requests about its records get a 403. Its webhooks are stored, and applied when it is resumed."""
    message = f"client {client_id} is suspended; its webhooks are stored, `touchbase clients resume {client_id}` applies them"
    changed = fetch(lambda tb: values_at_server(tb.admin.clients.suspend(client_id)), lambda: _set_state(database, client_id, SUSPENDED))
    _print_client(changed, message, as_json)


@click.command()
@through_server()
@setting_options("database")
@click.argument("client_id")
@json_option()
def resume(database: str | None, client_id: str, as_json: bool) -> None:
    """Resume a suspended client; webhooks stored in between are applied."""
    changed = fetch(lambda tb: values_at_server(tb.admin.clients.resume(client_id)), lambda: _set_state(database, client_id, ACTIVE))
    _print_client(changed, f"client {client_id} is active", as_json)


@click.command("rotate-id")
@through_server()
@setting_options("database")
@click.argument("client_id")
@click.option("--to", "new_id", help="The new id; without it, one that cannot be guessed is made.")
@keep_old_option("7d", "How long the old id is still honoured.")
@json_option()
def rotate_id(database: str | None, client_id: str, new_id: str | None, keep_old: Micros, as_json: bool) -> None:
    """Give a client another id and print it; change the webhook addresses in its tools before the old id ends."""
    made, until = fetch(
        lambda tb: _rotate_id_at_server(tb, client_id, new_id, keep_old),
        lambda: _rotate_id(database, client_id, new_id, keep_old),
    )
    _print_client(made, str(made["client_id"]), as_json)
    click.echo(f"{client_id} is honoured {f'until {to_text(until)}' if keep_old else 'no longer'}", err=True)


@click.command()
@through_server()
@setting_options("database")
@click.argument("client_id")
@click.option("--yes", is_flag=True, help="Delete it: contacts, companies, events, deliveries, connections and keys, for ever.")
@json_option()
def delete(database: str | None, client_id: str, yes: bool, as_json: bool) -> None:
    """Delete a client with all its data.

    It is closed at once; its data is deleted in steps. Ctrl+C stops that: a running server continues it, or the
    same command.
    """
    try:
        removed = fetch(lambda tb: _delete_at_server(tb, client_id, yes), lambda: _delete(database, client_id, yes))
    except KeyboardInterrupt:
        click.echo("\nstopped; a running server continues it, or the same command", err=True)
        sys.exit(STOPPED)
    if as_json:
        print_json({"client_id": client_id, "removed_rows": removed})
    elif removed is None:
        click.echo(f"client {client_id} is closed; the server deletes its data")
    else:
        click.echo(f"client {client_id} is gone, {removed} rows with it")


def _print_client(changed: Values, message: str, as_json: bool) -> None:
    """Print a changed client as JSON, or the message."""
    if as_json:
        print_json(changed)
    else:
        click.echo(message)


def _rotate_id_at_server(tb: Touchbase, client_id: str, new_id: str | None, keep_old: Micros) -> tuple[Values, Micros]:
    made = tb.admin.clients.rotate_id(client_id, {"client_id": new_id, "keep_old_seconds": keep_old // SECOND})
    return values_at_server(made), now_us() + keep_old


def _delete_at_server(tb: Touchbase, client_id: str, yes: bool) -> int | None:
    """Let the server delete a client; None: its data is deleted while the server runs."""
    found = tb.admin.clients.get(client_id)
    if not yes:
        raise click.UsageError(
            f"this deletes client {client_id} ({found['name'] or 'without a name'}) and all its data for ever: add --yes to do it"
        )
    tb.admin.clients.delete(client_id, confirm=client_id)
    return None


async def _rename(database: str | None, client_id: str, name: str) -> Values:
    from touchbase.clients.sql.commands import rename_client

    check_name(name)
    async with opened(database) as store:
        return as_values(await store.write(rename_client((await find_client(store, client_id)).number, name)))


async def _set_state(database: str | None, client_id: str, state: str) -> Values:
    from touchbase.clients.sql.commands import set_client_state

    async with opened(database) as store:
        return as_values(await store.write(set_client_state((await find_client(store, client_id)).number, state, now_us())))


async def _rotate_id(database: str | None, client_id: str, new_id: str | None, keep_old: Micros) -> tuple[Values, Micros]:
    from touchbase.clients.commands import RotateClientId
    from touchbase.clients.service import new_client_id

    check_client_id(new_id)
    async with opened(database) as store:
        until = now_us() + keep_old
        number = (await find_client(store, client_id)).number
        return as_values(await store.write(RotateClientId(number, new_id or new_client_id(), until))), until


async def _delete(database: str | None, client_id: str, yes: bool) -> int:
    from touchbase.clients.commands import CountClientRows
    from touchbase.clients.sql.commands import begin_deletion

    async with opened(database) as store:
        client = await find_client(store, client_id)
        if not yes:
            count = await store.read(CountClientRows(client.number))
            raise click.UsageError(
                f"this deletes client {client.client_id} ({client.name or 'without a name'}) and {count} rows of its data for ever: "
                "add --yes to do it"
            )
        return await _remove(store, await store.write(begin_deletion(client.number, now_us())))


async def _remove(store: Store, client: Client) -> int:
    import asyncio

    from touchbase.clients.removal import removal_of

    removed, progress = 0, Progress()
    async for removal in removal_of(store, now_us, client):
        removed = max(removed, removal.removed)
        progress.show(removal)
        if removal.wait_us:
            await asyncio.sleep(min(1.0, removal.wait_us / SECOND))
    return removed


class Progress:
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


def check_client_id(client_id: str | None) -> None:
    """Fail for a text that cannot be a client's id."""
    from touchbase.clients.service import is_client_id

    if client_id is not None and not is_client_id(client_id):
        raise click.UsageError(f"a client id is 1 to 100 letters, digits and . _ ~ -, not {client_id!r}")


def check_name(name: str) -> None:
    """Fail for a text that cannot be a client's name."""
    from touchbase.common.field_limits import NAME, why_not_storable

    if len(name) > NAME:
        raise click.UsageError(f"a client's name has at most {NAME} characters")
    if why := why_not_storable(name):
        raise click.UsageError(f"a client's name {why}")


def values_at_server(found: Mapping[str, object], *, detail: bool = False) -> Values:
    """Return a client from a server, with its name in log lines; with `detail` its former ids too."""
    from touchbase.server.access_log import client_log_name

    values = {name: value for name, value in found.items() if name != "former_ids"}
    more = {"former_ids": found["former_ids"]} if detail else {}
    return {**values, "log_name": client_log_name(str(found["client_id"])), **more}


def as_values(client: Client) -> Values:
    """Return a client with the member names of the admin API, and its name in log lines."""
    import msgspec

    from touchbase.clients.api.settings import described
    from touchbase.server.access_log import client_log_name

    return {**msgspec.to_builtins(described(client)), "log_name": client_log_name(client.client_id)}
