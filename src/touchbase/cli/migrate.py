"""`touchbase migrate`: the store's schema, brought up to date."""

from __future__ import annotations

import click

from touchbase.cli.common import read_settings, run, setting_options, shown
from touchbase.settings import Settings


@click.command()
@setting_options("database")
def migrate(**options: object) -> None:
    """Bring the store's schema up to date.

    An empty store gets its schema. Run it before starting a newer Touchbase on PostgreSQL; on SQLite the
    server does it by itself.
    """
    settings = read_settings(**options)
    url = settings.database
    ran = run(_migrate(settings))
    for name in ran:
        click.echo(f"ran {name}")
    click.echo(f"{shown(url)} is up to date")


async def _migrate(settings: Settings) -> list[str]:
    from touchbase.storage import open_store
    from touchbase.storage.sealing.keys import MasterKeys

    store = await open_store(settings.database, as_is=True, master_keys=MasterKeys(settings.master_key, settings.master_key_old))
    try:
        return await store.migrate()
    finally:
        await store.close()
