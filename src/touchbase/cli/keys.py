"""`touchbase keys`: API keys."""

from __future__ import annotations

import time

import click

from touchbase.cli.common import find_client, opened, run, setting_options

SCOPES = ("records:read", "records:write", "admin")


@click.group()
def keys() -> None:
    """Make API keys."""


@keys.command("create")
@setting_options("database")
@click.option("--client", "client_id", help="The client whose records the key opens; without it, any client's.")
@click.option("--scope", "scopes", multiple=True, type=click.Choice(SCOPES), help="What the key allows; may be given several times.")
@click.option("--name", required=True, help="What or whom the key is for; you will see it in lists.")
def create(database: str | None, client_id: str | None, scopes: tuple[str, ...], name: str) -> None:
    """Make a key and print it: it is shown this once, and only its hash is kept.

    Without --scope it may read and write records.
    """
    click.echo(run(_create(database, client_id, list(scopes) or list(SCOPES[:2]), name)))


async def _create(database: str | None, client_id: str | None, scopes: list[str], name: str) -> str:
    from touchbase.service.authorise import add_key

    async with opened(database) as store:
        client = (await find_client(store, client_id)).number if client_id is not None else None
        return await add_key(store, client, scopes, name, time.time_ns() // 1000)
