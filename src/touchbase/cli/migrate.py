"""`touchbase migrate`: the store's schema, brought up to date."""

from __future__ import annotations

import click

from touchbase.cli.common import json_option, opened, print_json, read_settings, run, setting_options, shown


@click.command()
@setting_options("database", "migration_copy")
@json_option()
def migrate(database: str | None, migration_copy: bool | None, as_json: bool) -> None:
    """Bring the store's schema up to date.

    An empty store gets its schema. Run it before starting a newer Touchbase on PostgreSQL; on SQLite `serve` and
    `worker` do it by themselves. A SQLite store is copied to a file beside it first. Stop a server of an older version before.
    """
    names, told = run(_migrate(database, migration_copy))
    if as_json:
        print_json({"migrations": names, "notes": told})
        return
    for name in names:
        click.echo(f"ran {name}")
    for line in told:
        click.echo(line)
    click.echo(f"{shown(read_settings(database=database).database)} is up to date")


async def _migrate(database: str | None, migration_copy: bool | None) -> tuple[list[str], list[str]]:
    """The migrations that ran, and what is said about the copy."""
    async with opened(database, as_is=True, new=True, copies=migration_copy) as store:
        before = len(store.warnings)
        names = await store.migrate()
        return names, list(store.warnings[before:])
