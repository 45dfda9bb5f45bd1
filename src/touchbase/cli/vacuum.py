"""`touchbase vacuum`: what was removed leaves the store's files too, now."""

from __future__ import annotations

import click

from touchbase.cli.common import opened, run, setting_options


@click.command()
@setting_options("database")
def vacuum(database: str | None) -> None:
    """Leave no trace of removed rows in the store's files, however large they are.

    SQLite: writes the file anew and empties its log, for which there must be as much room again; nobody can write meanwhile, so stop
    the server first. A server does it by itself while the file is small. PostgreSQL: vacuums the tables, beside a running server.
    """
    run(_vacuum(database))


async def _vacuum(database: str | None) -> None:
    async with opened(database) as store:
        if not await store.scrub(whole=True):
            raise click.ClickException(
                "somebody reads the store just now, so its log could not be emptied; stop the server, then run this again"
            )
    click.echo("nothing of what was removed is left in the store's files")
