"""`touchbase vacuum`: what was removed leaves the store's files too, now."""

from __future__ import annotations

import click

from touchbase.cli.common import json_option, opened, print_json, run, setting_options


@click.command()
@setting_options("database")
@json_option()
def vacuum(database: str | None, as_json: bool) -> None:
    """Leave no trace of removed rows in the store's files, however large they are.

    SQLite: writes the file anew and empties its log, for which there must be as much room again; nobody can write meanwhile, so stop
    the server first. A server does it by itself while the file is small. PostgreSQL: vacuums the tables, beside a running server.
    """
    run(_vacuum(database))
    if as_json:
        print_json({"vacuumed": True})
    else:
        click.echo("nothing of what was removed is left in the store's files")


async def _vacuum(database: str | None) -> None:
    async with opened(database) as store:
        if not await store.vacuum(whole=True):
            raise click.ClickException(
                "somebody reads the store just now, so its log could not be emptied; stop the server, then run this again"
            )
