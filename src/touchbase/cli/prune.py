"""`touchbase prune`: bodies of calls that were kept long enough, removed now instead of within the hour."""

from __future__ import annotations

import click

from touchbase.cli.common import find_client, json_option, opened, print_json, run, setting_options


@click.command()
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's.")
@click.option("--dry-run", is_flag=True, help="Only count them.")
@json_option()
def prune(database: str | None, client_id: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove the bodies of applied and ignored calls that are older than their client keeps them.

    The server does this by itself, every hour. Bodies of calls that wait, or that nobody could read, are kept.
    """
    found = run(_prune(database, client_id, dry_run))
    if as_json:
        print_json([{"client_id": name, "bodies": bodies, "keep_bodies_days": days} for name, bodies, days in found])
        return
    for name, bodies, days in found:
        stored = "for ever" if days is None else f"{days} days"
        click.echo(f"{name}: {bodies} bodies {'would be ' if dry_run else ''}removed (stored {stored})")


async def _prune(database: str | None, client_id: str | None, dry_run: bool) -> list[tuple[str, int, int | None]]:
    """Each client's id, how many bodies were or would be removed, and for how many days it stores them."""
    from touchbase.app import clock
    from touchbase.clients.commands import ListClients
    from touchbase.retention import service as retention_service

    found = []
    async with opened(database) as store:
        clients = [await find_client(store, client_id)] if client_id is not None else await store.read(ListClients())
        for client in clients:
            total = await retention_service.count_due(store, client, clock()) if dry_run else 0
            while not dry_run and (removed := await retention_service.retain(store, client, clock())):
                total += removed
            found.append((client.client_id, total, client.settings.keep_bodies_days))
        if not dry_run:
            await store.vacuum()
    return found
