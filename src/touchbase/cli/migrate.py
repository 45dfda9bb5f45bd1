"""`touchbase migrate`: the store's schema, brought up to date."""

from __future__ import annotations

import click

from touchbase.cli.common import read_settings, run, setting_options, shown


@click.command()
@setting_options("database")
def migrate(**options: object) -> None:
    """Bring the store's schema up to date.

    An empty store gets its schema. Run it before starting a newer Touchbase on PostgreSQL; on SQLite the
    server does it by itself.
    """
    url = read_settings(**options).database
    ran = run(_migrate(url))
    for name in ran:
        click.echo(f"ran {name}")
    click.echo(f"{shown(url)} is up to date")


async def _migrate(url: str) -> list[str]:
    from touchbase.storage import open_store

    store = await open_store(url, as_is=True)
    try:
        return await store.migrate()
    finally:
        await store.close()
