"""`touchbase clients`: clients, and what each has decided."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import find_client, opened, print_json, print_table, read_file, run, setting_options
from touchbase.cli.connect import connect, connections, disconnect
from touchbase.domain.times import to_text

if TYPE_CHECKING:
    from touchbase.domain.client import Client, ClientSettings


@click.group()
def clients() -> None:
    """List and add clients, change their settings, and connect their tools."""


@clients.command("list")
@setting_options("database")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def list_(database: str | None, as_json: bool) -> None:
    """List clients; the log name is what stands for a client in log lines."""
    found = [as_values(client) for client in run(_list(database))]
    if as_json:
        print_json(found)
        return
    print_table(("client", "created", "log name"), ((each["client_id"], each["created_time"], each["log_name"]) for each in found))


@clients.command()
@setting_options("database")
@click.argument("client_id")
def add(database: str | None, client_id: str) -> None:
    """Add a client, so that its webhook addresses work; one that is there already stays as it is.

    The id is part of the addresses: in keys mode choose one that nobody can guess.
    """
    run(_add(database, client_id))
    click.echo(f"client {client_id} is there")


@clients.command()
@setting_options("database")
@click.argument("client_id")
def show(database: str | None, client_id: str) -> None:
    """Print a client with its settings, as JSON."""
    print_json(as_values(run(_show(database, client_id))))


@clients.command("set")
@setting_options("database")
@click.argument("client_id")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
def set_(database: str | None, client_id: str, file: Path) -> None:
    """Replace a client's settings with the JSON in FILE (- for standard input)."""
    print_json(as_values(run(_set(database, client_id, _settings_in(file)))))


for each in (connect, connections, disconnect):
    clients.add_command(each)


async def _list(database: str | None) -> list[Client]:
    from touchbase.domain.queries import ListClients

    async with opened(database) as store:
        return await store.read(ListClients())


async def _add(database: str | None, client_id: str) -> Client:
    from touchbase.domain.commands import EnsureClient
    from touchbase.service.clients import is_client_id

    if not is_client_id(client_id):
        raise click.UsageError("a client id is 1 to 100 letters, digits and . _ ~ -")
    async with opened(database) as store:
        return await store.write(EnsureClient(client_id, time.time_ns() // 1000))


async def _show(database: str | None, client_id: str) -> Client:
    async with opened(database) as store:
        return await find_client(store, client_id)


async def _set(database: str | None, client_id: str, settings: ClientSettings) -> Client:
    from touchbase.domain.commands import SetClientSettings

    async with opened(database) as store:
        await find_client(store, client_id)
        return await store.write(SetClientSettings(client_id, settings))


def _settings_in(file: Path) -> ClientSettings:
    import msgspec

    from touchbase.api.settings import SettingsBody, checked

    data = read_file(file)
    try:
        return checked(msgspec.json.decode(data, type=SettingsBody))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise click.ClickException(f"these are no client settings: {error}") from error


def as_values(client: Client) -> dict[str, object]:
    """A client as plain values, in the words of the admin API, and its name in log lines."""
    import msgspec

    from touchbase.api.settings import SettingsBody
    from touchbase.server.observe import client_in_logs

    return {
        "client_id": client.client_id,
        "created_time": to_text(client.created_us),
        "log_name": client_in_logs(client.client_id),
        "settings": msgspec.to_builtins(msgspec.convert(client.settings, SettingsBody, from_attributes=True)),
    }
