"""`touchbase migrate, verify, prune, vacuum`: maintenance of the store."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from touchbase.cli.each_cell import cell_names_of
from touchbase.cli.options import json_option, read_settings, setting_options
from touchbase.cli.output import escape_controls, json_text, print_json
from touchbase.cli.store import find_client, opened, run, without_password
from touchbase.clients.models import DELETING
from touchbase.errors import Overloaded

if TYPE_CHECKING:
    from touchbase.clients.models import Client
    from touchbase.consistency.records import Difference
    from touchbase.consistency.service import Verified
    from touchbase.deliveries.work import ProcessingStore


@click.command()
@setting_options("database", "migration_copy")
@json_option()
def migrate(database: str | None, migration_copy: bool | None, as_json: bool) -> None:
    """Bring the store's schema up to date.

    An empty store gets its schema. Run it before starting a newer Touchbase on PostgreSQL; on SQLite `serve` and
    `worker` do it by themselves. Other commands refuse a store with pending migrations. Stop servers of an older version before. A
    SQLite store is first copied to a backup in its folder, such as touchbase.db.before-0002-2026-11-25T010203Z. Delete it when all is
    well: it still has people whom you erase later.
    """
    names, notes = run(_migrate(database, migration_copy))
    if cells := cell_names_of(read_settings(database=database).database):
        notes.append(f"the other databases ({', '.join(cells)}) are not changed: `touchbase databases migrate` brings them up to date")
    if as_json:
        print_json({"migrations": names, "notes": notes})
        return
    for name in names:
        click.echo(f"ran {name}")
    for note in notes:
        click.echo(note)
    click.echo(f"{without_password(read_settings(database=database).database)} is up to date")


async def _migrate(database: str | None, migration_copy: bool | None) -> tuple[list[str], list[str]]:
    """Return the migrations that ran, and notes about the copy."""
    async with opened(database, as_is=True, new=True, copies=migration_copy) as store:
        before = len(store.warnings)
        names = await store.migrate()
        return names, list(store.warnings[before:])


@click.command()
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's records.")
@click.option("--no-bodies", is_flag=True, help="Leave out the bodies of deliveries, which are most of a store.")
@click.option("--recount", is_flag=True, help="Correct the counts of statuses that are wrong.")
@json_option()
def verify(database: str | None, client_id: str | None, no_bodies: bool, recount: bool, as_json: bool) -> None:
    """Recompute every derived value from the stored events.

    Compares statuses, mail and reply times, fields and custom fields with the write that should have won, normal forms of addresses,
    missing companies, records and deliveries that something names, wrong links, and bodies that differ from the received ones or were
    removed and are still there. Prints each difference, read again before, and then ends with status 1. Only reads, also while a server
    runs; with `--recount` it corrects the counts from which reports by status are made, one such command at a time. It reads all
    databases, and fails if one is down.
    """
    output = _JsonOutput() if as_json else _TextOutput()
    verified = run(_verify(database, client_id, output, bodies=not no_bodies, recount=recount))
    output.end(verified)
    if verified.differences:
        raise SystemExit(1)


class _TextOutput:
    """Prints a line for each difference when it is found, and a last line with the counts."""

    def difference(self, client_id: str, difference: Difference) -> None:
        """Print one difference."""
        click.echo(f"{client_id}: {escape_controls(str(difference))}")

    def end(self, verified: Verified) -> None:
        """Print how many records and events were verified."""
        differences = "no differences" if not verified.differences else f"{verified.differences} differences"
        if verified.recounted:
            differences += f", {verified.recounted} wrong counts corrected"
        click.echo(f"verified {verified.contacts} contacts, {verified.companies} companies, {verified.events} events: {differences}")
        for job in sorted(verified.renaming):
            click.echo(f"job {job} is giving records the new name of a status; they were compared by that name", err=True)


class _JsonOutput(_TextOutput):
    """Prints one JSON object, each difference when it is found, so that memory does not grow with their number."""

    def __init__(self) -> None:
        self._before = '{"differences": ['

    def difference(self, client_id: str, difference: Difference) -> None:
        """Print one difference."""
        values = {
            "client_id": client_id,
            "subject": difference.subject,
            "field": difference.field,
            "found": difference.present,
            "wanted": difference.wanted,
        }
        click.echo(f"{self._before}\n{json_text(values)}", nl=False)
        self._before = ","

    def end(self, verified: Verified) -> None:
        """Close the list, and print how many records and events were verified."""
        values: dict[str, object] = {"contacts": verified.contacts, "companies": verified.companies, "events": verified.events}
        if verified.recounted:
            values["recounted"] = verified.recounted
        if verified.renaming:
            values["renaming_jobs"] = sorted(verified.renaming)
        counts = json.dumps(values)
        click.echo(f"{self._before if self._before != ',' else ''}], {counts[1:]}")


async def _verify(database: str | None, client_id: str | None, output: _TextOutput, *, bodies: bool, recount: bool) -> Verified:
    from touchbase.consistency.service import Verified, verify

    so_far = Verified()
    async with opened(database) as store:
        for client in await _clients(store, client_id):
            if client.state == DELETING:
                continue  # part of its data is already deleted
            async for difference in verify(store, client.number, so_far, _show_progress(so_far), bodies=bodies, recount=recount):
                output.difference(client.client_id, difference)
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
    return so_far


def _show_progress(so_far: Verified) -> Callable[[], None]:
    if not sys.stderr.isatty():
        return lambda: None
    return lambda: click.echo(f"\r{so_far.contacts} contacts, {so_far.companies} companies, {so_far.events} events", err=True, nl=False)


@click.command()
@setting_options("database")
@click.option("--client", "client_id", help="Only this client's.")
@click.option("--dry-run", is_flag=True, help="Only count the bodies.")
@json_option()
def prune(database: str | None, client_id: str | None, dry_run: bool, as_json: bool) -> None:
    """Remove the bodies of old deliveries that were applied or ignored.

    Old is older than the client's setting `keep_bodies_days`. The server does this by itself, every hour. Bodies of
    waiting, failed and unrecognised deliveries stay.
    """
    pruned = run(_prune(database, client_id, dry_run))
    if as_json:
        print_json([{"client_id": name, "bodies": bodies, "keep_bodies_days": days} for name, bodies, days in pruned])
        return
    for name, bodies, days in pruned:
        stored = "permanently" if days is None else f"{days} days"
        click.echo(f"{name}: {bodies} bodies {'would be ' if dry_run else ''}removed (stored {stored})")


async def _prune(database: str | None, client_id: str | None, dry_run: bool) -> list[tuple[str, int, int | None]]:
    """Return each client's id, the number of bodies that were or would be removed, and for how many days it stores them."""
    from touchbase.common.timestamps import clock
    from touchbase.retention.service import count_due, prune

    pruned = []
    async with opened(database) as store:
        for client in await _clients(store, client_id):
            total = await count_due(store, client, clock()) if dry_run else 0
            while not dry_run and (removed := await prune(store, client, clock())):
                total += removed
            pruned.append((client.client_id, total, client.settings.keep_bodies_days))
        if not dry_run:
            await store.vacuum()
    return pruned


async def _clients(store: ProcessingStore, client_id: str | None) -> list[Client]:
    """Return one client, or all."""
    from touchbase.clients.sql.clients import list_clients

    return [await find_client(store, client_id)] if client_id is not None else await store.read(list_clients())


@click.command()
@setting_options("database")
@json_option()
def vacuum(database: str | None, as_json: bool) -> None:
    """Remove every trace of deleted rows from the files of all databases.

    SQLite: rewrites the file, which needs as much free space again, and empties its log; writes are blocked, so stop the server
    first. A server does it by itself while the file is small. PostgreSQL: vacuums the tables while servers run.
    """
    done = run(_vacuum(database))
    failed = {name: why for name, why in done.items() if why is not None}
    if as_json:
        print_json({"vacuumed": not failed, **({"failed": failed} if failed else {})})
    elif not failed:
        whose = "the store's files" if len(done) == 1 else f"the files of all {len(done)} stores"
        click.echo(f"{whose} have no trace of deleted rows")
    if failed:
        raise click.ClickException("; ".join(why if len(done) == 1 else f"{name}: {why}" for name, why in failed.items()))


async def _vacuum(database: str | None) -> dict[str, str | None]:
    """Vacuum the home store and all cells; return why one was not, by the name of the cell."""
    from touchbase.cells.models import HOME_NAME
    from touchbase.common.timestamps import clock
    from touchbase.erasure.service import Eraser
    from touchbase.erasure.sql.persons import open_erasures
    from touchbase.inbox.translator_pool import TranslatorPool

    done: dict[str, str | None] = {}
    async with opened(database) as router:
        named = {HOME_NAME: router.home, **{cell.cell.name: cell.store for cell in router.cells.values() if cell.is_open}}
        done |= {cell.cell.name: cell.reason for cell in router.cells.values() if not cell.is_open}
        for name, store in named.items():
            try:
                searched = await store.read(open_erasures())
                emptied = await Eraser(store, TranslatorPool(), clock).clean(searched, full=True)
            except Overloaded as error:
                done[name] = error.detail
            else:
                done[name] = None if emptied else _IN_USE
    return done


_IN_USE = "another process reads the store, so its log was not emptied: stop the server, then run this again"
