"""`touchbase clients rename, suspend, resume, rotate-id, delete`: the life of a client."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import find_client, json_option, opened, print_json, run, setting_options
from touchbase.cli.durations import keep_old_option
from touchbase.cli.inbox_replay import STOPPED
from touchbase.clients.models import ACTIVE, SUSPENDED
from touchbase.common.timestamps import SECOND, Micros, to_text

if TYPE_CHECKING:
    from touchbase.clients.commands import Removal
    from touchbase.clients.models import Client
    from touchbase.sql.store import Store


@click.command()
@setting_options("database")
@click.argument("client_id")
@click.argument("name")
@json_option()
def rename(database: str | None, client_id: str, name: str, as_json: bool) -> None:
    """Give a client another name for people; its id and addresses stay."""
    _tell(run(_rename(database, client_id, name.strip())), f"client {client_id} is called {name.strip()!r}", as_json)


@click.command()
@setting_options("database")
@click.argument("client_id")
@json_option()
def suspend(database: str | None, client_id: str, as_json: bool) -> None:
    """Close a client's records: calls about them are answered 403. Its webhook calls are kept, and applied once it is resumed."""
    said = f"client {client_id} is suspended; its webhook calls are stored, `touchbase clients resume {client_id}` applies them"
    _tell(run(_set_state(database, client_id, SUSPENDED)), said, as_json)


@click.command()
@setting_options("database")
@click.argument("client_id")
@json_option()
def resume(database: str | None, client_id: str, as_json: bool) -> None:
    """Open a suspended client again; webhook calls that were kept meanwhile are applied."""
    _tell(run(_set_state(database, client_id, ACTIVE)), f"client {client_id} is active", as_json)


@click.command("rotate-id")
@setting_options("database")
@click.argument("client_id")
@click.option("--to", "new_id", help="The new id; without it, one is made that nobody can guess.")
@keep_old_option("7d", "How long the old id is honoured beside the new one.")
@json_option()
def rotate_id(database: str | None, client_id: str, new_id: str | None, keep_old: Micros, as_json: bool) -> None:
    """Give a client another id and print it; paste the new webhook addresses into its tools before the old id ends."""
    made, until = run(_rotate_id(database, client_id, new_id, keep_old))
    _tell(made, made.client_id, as_json)
    click.echo(f"{client_id} is honoured {f'until {to_text(until)}' if keep_old else 'no longer'}", err=True)


@click.command()
@setting_options("database")
@click.argument("client_id")
@click.option("--yes", is_flag=True, help="Remove it: contacts, companies, histories, the inbox, connections and keys, for ever.")
@json_option()
def delete(database: str | None, client_id: str, yes: bool, as_json: bool) -> None:
    """Delete a client with all its data.

    It is closed at once; its data goes piece by piece. Ctrl+C stops that: a running server goes on with it, or the
    same command, given again.
    """
    try:
        removed = run(_delete(database, client_id, yes))
    except KeyboardInterrupt:
        click.echo("\nstopped; a running server goes on with it, or the same command, given again", err=True)
        sys.exit(STOPPED)
    if as_json:
        print_json({"client_id": client_id, "removed_rows": removed})
    else:
        click.echo(f"client {client_id} is gone, {removed} rows with it")


def _tell(changed: Client, said: str, as_json: bool) -> None:
    """Print a changed client as JSON, or the sentence."""
    if as_json:
        print_json(as_values(changed))
    else:
        click.echo(said)


async def _rename(database: str | None, client_id: str, name: str) -> Client:
    from touchbase.clients.commands import RenameClient
    from touchbase.common.field_limits import NAME, why_not_storable

    if len(name) > NAME or (why := why_not_storable(name)):
        raise click.UsageError(f"a name {why if len(name) <= NAME else f'has at most {NAME} characters'}")
    async with opened(database) as store:
        return await store.write(RenameClient((await find_client(store, client_id)).number, name))


async def _set_state(database: str | None, client_id: str, state: str) -> Client:
    from touchbase.clients.commands import SetClientState

    async with opened(database) as store:
        return await store.write(SetClientState((await find_client(store, client_id)).number, state, _now()))


async def _rotate_id(database: str | None, client_id: str, new_id: str | None, keep_old: Micros) -> tuple[Client, Micros]:
    from touchbase.clients.commands import RotateClientId
    from touchbase.clients.service import is_client_id, new_client_id

    if new_id is not None and not is_client_id(new_id):
        raise click.UsageError("a client id is 1 to 100 letters, digits and . _ ~ -")
    async with opened(database) as store:
        until = _now() + keep_old
        number = (await find_client(store, client_id)).number
        return await store.write(RotateClientId(number, new_id or new_client_id(), until)), until


async def _delete(database: str | None, client_id: str, yes: bool) -> int:
    from touchbase.clients.commands import BeginDeletion, CountClientRows

    async with opened(database) as store:
        client = await find_client(store, client_id)
        if not yes:
            count = await store.read(CountClientRows(client.number))
            raise click.UsageError(
                f"this removes client {client.client_id} ({client.name or 'without a name'}) and {count} rows of its data for ever: "
                "say --yes if you mean it"
            )
        return await _remove(store, await store.write(BeginDeletion(client.number, _now())))


async def _remove(store: Store, client: Client) -> int:
    import asyncio

    from touchbase.clients.removal import removal_of

    removed, progress = 0, Progress()
    async for removal in removal_of(store, _now, client):
        removed = max(removed, removal.removed)
        progress.tell(removal)
        if removal.wait_us:
            await asyncio.sleep(min(1.0, removal.wait_us / SECOND))
    return removed


class Progress:
    """Says how far a deletion is: in one line that changes, or, where nobody watches, in a line a second."""

    def __init__(self, seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = seconds
        self._total: int | None = None
        self._told = seconds()

    def tell(self, removal: Removal) -> None:
        """Say it, if it is time to."""
        self._total = removal.total or self._total
        watched = sys.stderr.isatty()
        if not watched and (removal.done or self._seconds() < self._told + 1):
            return
        self._told = self._seconds()
        so_far = f"{removal.removed} rows" if self._total is None else f"{removal.removed} of {self._total} rows"
        waits = f"; {removal.wait_us // SECOND + 1} s left for calls that came before" if removal.wait_us else ""
        click.echo(f"\r\x1b[K{so_far}{waits}" if watched else f"{so_far}{waits}", err=True, nl=removal.done or not watched)


def _now() -> Micros:
    return time.time_ns() // 1000


def as_values(client: Client) -> dict[str, object]:
    """A client as plain values, in the words of the admin API, and its name in log lines."""
    import msgspec

    from touchbase.clients.api.settings import described
    from touchbase.server.access_log import client_log_name

    return {**msgspec.to_builtins(described(client)), "log_name": client_log_name(client.client_id)}
