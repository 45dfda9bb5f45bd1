"""`touchbase verify`: every derived value recomputed from the kept events."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import find_client, opened, run, setting_options
from touchbase.cli.tables import harmless
from touchbase.domain.client import DELETING

if TYPE_CHECKING:
    from touchbase.service.verify import Verified


@click.command()
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's records.")
@click.option("--no-bodies", is_flag=True, help="Leave out the bodies of received calls, which are most of a store.")
def verify(database: str | None, client_id: str | None, no_bodies: bool) -> None:
    """Recompute every derived value from the kept events, and print each difference.

    Only reads, also beside a running server. Ends with status 1 when there is any difference.
    """
    verified = run(_verify(database, client_id, bodies=not no_bodies))
    told = "no differences" if not verified.differences else f"{verified.differences} differences"
    click.echo(f"verified {verified.contacts} contacts, {verified.companies} companies, {verified.events} events: {told}")
    if verified.differences:
        raise SystemExit(1)


async def _verify(database: str | None, client_id: str | None, *, bodies: bool) -> Verified:
    from touchbase.domain.queries import ListClients
    from touchbase.service import verify as service

    so_far = service.Verified()
    async with opened(database) as store:
        clients = [await find_client(store, client_id)] if client_id is not None else await store.read(ListClients())
        for client in clients:
            if client.state == DELETING:
                continue  # half of it is gone, as it should be
            async for difference in service.verify(store, client.number, so_far, _progress(so_far), bodies=bodies):
                click.echo(f"{client.client_id}: {harmless(str(difference))}")
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    return so_far


def _progress(so_far: Verified) -> Callable[[], None]:
    if not sys.stderr.isatty():
        return lambda: None
    return lambda: click.echo(f"\r{so_far.contacts} contacts, {so_far.companies} companies, {so_far.events} events", err=True, nl=False)
