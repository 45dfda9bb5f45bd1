"""`touchbase verify`: every derived value recomputed from the kept events."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import find_client, json_option, opened, run, setting_options
from touchbase.cli.tables import harmless
from touchbase.clients.models import DELETING

if TYPE_CHECKING:
    from touchbase.consistency.records import Difference
    from touchbase.consistency.service import Verified


@click.command()
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's records.")
@click.option("--no-bodies", is_flag=True, help="Leave out the bodies of received calls, which are most of a store.")
@json_option()
def verify(database: str | None, client_id: str | None, no_bodies: bool, as_json: bool) -> None:
    """Recompute every derived value from the kept events, and print each difference.

    Only reads, also beside a running server. Ends with status 1 when there is any difference.
    """
    tell = _Json() if as_json else _Lines()
    verified = run(_verify(database, client_id, tell, bodies=not no_bodies))
    tell.end(verified)
    if verified.differences:
        raise SystemExit(1)


class _Lines:
    """Prints a line for each difference as it is found, and a last one."""

    def difference(self, client_id: str, found: Difference) -> None:
        """Print one difference."""
        click.echo(f"{client_id}: {harmless(str(found))}")

    def end(self, verified: Verified) -> None:
        """Print how much was looked at."""
        differences = "no differences" if not verified.differences else f"{verified.differences} differences"
        click.echo(f"verified {verified.contacts} contacts, {verified.companies} companies, {verified.events} events: {differences}")


class _Json(_Lines):
    """Prints the same as one JSON object, piece by piece, however many differences there are."""

    def __init__(self) -> None:
        self._before = '{"differences": ['

    def difference(self, client_id: str, found: Difference) -> None:
        """Print one difference."""
        values = {"client_id": client_id, "subject": found.subject, "field": found.field, "found": found.found, "wanted": found.wanted}
        click.echo(f"{self._before}\n{json.dumps(values, ensure_ascii=False)}", nl=False)
        self._before = ","

    def end(self, verified: Verified) -> None:
        """Close the list, and print how much was looked at."""
        counts = json.dumps({"contacts": verified.contacts, "companies": verified.companies, "events": verified.events})
        click.echo(f"{self._before if not verified.differences else ''}], {counts[1:]}")


async def _verify(database: str | None, client_id: str | None, tell: _Lines, *, bodies: bool) -> Verified:
    from touchbase.clients.commands import ListClients
    from touchbase.consistency import service

    so_far = service.Verified()
    async with opened(database) as store:
        clients = [await find_client(store, client_id)] if client_id is not None else await store.read(ListClients())
        for client in clients:
            if client.state == DELETING:
                continue  # half of it is gone, as it should be
            async for difference in service.verify(store, client.number, so_far, _progress(so_far), bodies=bodies):
                tell.difference(client.client_id, difference)
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    return so_far


def _progress(so_far: Verified) -> Callable[[], None]:
    if not sys.stderr.isatty():
        return lambda: None
    return lambda: click.echo(f"\r{so_far.contacts} contacts, {so_far.companies} companies, {so_far.events} events", err=True, nl=False)
