"""`touchbase migrate`: the store's schema, brought up to date."""

from __future__ import annotations

import click

from touchbase.cli.common import opened, read_settings, run, setting_options, shown


@click.command()
@setting_options("database")
def migrate(database: str | None) -> None:
    """Bring the store's schema up to date.

    An empty store gets its schema. Run it before starting a newer Touchbase on PostgreSQL; on SQLite the
    server does it by itself.
    """
    for name in run(_migrate(database)):
        click.echo(f"ran {name}")
    click.echo(f"{shown(read_settings(database=database).database)} is up to date")


async def _migrate(database: str | None) -> list[str]:
    async with opened(database, as_is=True, new=True) as store:
        return await store.migrate()
