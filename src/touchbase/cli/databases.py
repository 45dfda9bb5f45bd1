"""`touchbase databases`: those that clients live in, when one is not enough."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.each_cell import keys_at_hand
from touchbase.cli.options import Group, json_option, read_settings, setting_options
from touchbase.cli.output import print_json, print_table
from touchbase.cli.store import now_us, opened, run, without_password
from touchbase.cli.through_api import here, through_api

if TYPE_CHECKING:
    from touchbase.cells.models import Cell
    from touchbase.routing.router import CellRouter
    from touchbase_client import Touchbase

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,39}")


@click.group(cls=Group)
def databases() -> None:
    """Spread clients over several databases: add, list, migrate, split, drain and remove them, change an address."""


@databases.command()
@click.argument("name")
@click.option("--database", "address", required=True, help="Its address: postgresql://...")
@click.option("--home", "database", help="The home database, which has the directory.  [TOUCHBASE_DATABASE]")
@json_option()
def add(name: str, address: str, database: str | None, as_json: bool) -> None:
    """Add an empty PostgreSQL database; new clients go to the one with the fewest.

    Every server and worker uses it within a second. The address is stored encrypted in the home database.
    """
    if not NAME.fullmatch(name) or name == "home":
        raise click.BadParameter("write 1 to 40 of a-z, 0-9 and -, not first a -; 'home' is the home database", param_hint="NAME")
    cell = run(_add(database, name, address))
    if as_json:
        print_json(_out(cell))
    else:
        click.echo(f"database {name} is number {cell.number}; servers use it within a second")


async def _add(database: str | None, name: str, address: str) -> Cell:
    from touchbase.errors import UnusableStore
    from touchbase.routing.set_up import add_cell
    from touchbase.stores import open_store

    if address == read_settings(database=database).database:
        raise UnusableStore("this is the home database itself: name another database")
    async with opened(database) as home:
        return await add_cell(home, name, address, partial(open_store, encryption_keys=keys_at_hand()), now_us())


@databases.command("list")
@through_api()
@json_option()
def list_(tb: Touchbase, as_json: bool) -> None:
    """List the databases, how many clients live in each, and whether it answers."""
    listed: list[dict[str, Any]] = [{**database} for database in tb.admin.databases.list()["data"]]
    application = here()
    if application is not None:  # the operator sees their addresses
        addresses = application.on_store(_addresses)
        home = without_password(application.settings.database)
        listed = [{**database, "address": addresses.get(database["name"], home)} for database in listed]
    if as_json:
        print_json(listed)
        return
    shown = ("name", "number", "state", "clients")
    columns = ("database", *shown[1:], "answers", *(["address"] if application is not None else []))
    rows = (
        (
            *(row[name] for name in shown),
            "yes" if row["answers"] else f"no: {row['reason']}",
            *([row["address"]] if "address" in row else []),
        )
        for row in listed
    )
    print_table(columns, rows)


async def _addresses(store: CellRouter) -> dict[str, str]:
    return {cell.cell.name: without_password(cell.cell.address) for cell in store.cells.values()}


def _out(cell: Cell) -> dict[str, object]:
    return {
        "name": cell.name,
        "number": cell.number,
        "state": cell.state,
        "clients": cell.clients,
        "address": without_password(cell.address),
    }


@databases.command()
@setting_options("database")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option()
def migrate(database: str | None, names: tuple[str, ...], as_json: bool) -> None:
    """Bring the schemas of the databases up to date, after that of the home database with `touchbase migrate`.

    Without NAME all of them. The command goes on behind a database that does not answer, and then ends with status 1.
    """
    done, failed = run(_migrate(database, names))
    if as_json:
        print_json({"migrated": done, "failed": failed})
    else:
        for name, ran in done.items():
            click.echo(f"{name}: {', '.join(ran) or 'is up to date'}")
        for name, reason in failed.items():
            click.echo(f"{name}: not migrated: {reason}", err=True)
    if failed:
        raise SystemExit(1)


async def _migrate(database: str | None, names: tuple[str, ...]) -> tuple[dict[str, list[str]], dict[str, str]]:
    from touchbase.errors import TouchbaseError
    from touchbase.stores import open_store

    done: dict[str, list[str]] = {}
    failed: dict[str, str] = {}
    async with opened(database) as store:
        open_cells = [cell.cell for cell in store.cells.values()]
    if unknown := set(names) - {cell.name for cell in open_cells}:
        raise click.ClickException(f"there is no database {', '.join(sorted(unknown))}: `touchbase databases list` shows all")
    for cell in open_cells:
        if names and cell.name not in names:
            continue
        try:
            await _refuse_empty(cell)
            opened_cell = await open_store(cell.address, as_is=True, encryption_keys=keys_at_hand())
            try:
                done[cell.name] = await opened_cell.migrate()
            finally:
                await opened_cell.close()
        except TouchbaseError as error:
            failed[cell.name] = str(error)
    return done, failed


async def _refuse_empty(cell: Cell) -> None:
    """Raise `UnusableStore` for a cell without tables: `databases add` has made them, so this is not its store."""
    from touchbase.errors import UnusableStore
    from touchbase.sql.migrations import packaged
    from touchbase.storage.schema_state import schema_state

    if len((await schema_state(cell.address)).pending) == len(packaged("postgres")):
        raise UnusableStore("the store at its address is empty, so it is not that of its clients: restore it there first")


@databases.command()
@setting_options("database")
@click.argument("name")
@click.option("--undo", is_flag=True, help="Let new clients live there again.")
@json_option()
def drain(database: str | None, name: str, undo: bool, as_json: bool) -> None:
    """Close a database to new clients. Its clients stay there and are served, until they are moved (`clients move`) or deleted."""
    cell = run(_drain(database, name, undo))
    if as_json:
        print_json(_out(cell))
    else:
        click.echo(f"database {name} is {cell.state}; {cell.clients} clients live there")


async def _drain(database: str | None, name: str, undo: bool) -> Cell:
    from touchbase.cells.models import DRAINING, OPEN
    from touchbase.cells.sql import set_cell_state

    async with opened(database) as store:
        cell = await store.write(set_cell_state(name, OPEN if undo else DRAINING))
        await store.refresh()
        return replace(cell, clients=store.placement.counts().get(cell.number, 0))


@databases.command()
@setting_options("database")
@click.argument("name")
@json_option()
def remove(database: str | None, name: str, as_json: bool) -> None:
    """Forget a database in which no client lives. It stays as it is."""
    cell = run(_remove(database, name))
    if as_json:
        print_json({"name": name, "number": cell.number})
    else:
        click.echo(f"database {name} is removed from the directory, and was not touched itself")


async def _remove(database: str | None, name: str) -> Cell:
    from touchbase.cells.sql import remove_cell

    async with opened(database) as store:
        return await store.write(remove_cell(name))


@databases.command("set-address")
@setting_options("database")
@click.argument("name")
@click.argument("address")
@json_option()
def set_address(database: str | None, name: str, address: str, as_json: bool) -> None:
    """Store that a database answers at another ADDRESS now, postgresql://...; servers use it within a second.

    Another database than that of NAME, and one that cannot be written, are refused. What is written at the former address afterwards is
    not in a copy: stop the former server first.
    """
    from touchbase.errors import TouchbaseError

    try:
        cell, lacking = run(_set_address(database, name, address))
    except TouchbaseError as error:
        raise click.ClickException(error.detail) from error
    if as_json:
        print_json({**_out(cell), "lacking_clients": lacking})
        return
    click.echo(f"database {name} is at {without_password(cell.address)}; servers use it within a second")
    if lacking:
        click.echo(f"it lacks clients that the directory has, whose requests are 404: {', '.join(lacking)}", err=True)


async def _set_address(database: str | None, name: str, address: str) -> tuple[Cell, list[str]]:
    from touchbase.routing.set_up import move_address
    from touchbase.stores import open_store

    async with opened(database, as_is=True) as store:
        return await move_address(store.home, name, address, partial(open_store, as_is=True, encryption_keys=keys_at_hand()))


@databases.command()
@setting_options("database")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--to",
    required=True,
    metavar="ADDRESS",
    help="A superuser's address at the second server, such as postgresql://postgres:...@db2/postgres.",
)
@click.option(
    "--from", "source", metavar="ADDRESS", help="The same at the first server. Else that of --to with the host of the first NAME."
)
@click.option("--dry-run", is_flag=True, help="Only check both servers, and print what would be done.")
@click.option("--undo", is_flag=True, help="After a split that was killed: serve the databases where they were.")
@click.option("--drop", is_flag=True, help="After the split: drop the closed copies on both servers. It needs --from.")
@json_option()
def split(
    database: str | None, names: tuple[str, ...], to: str, source: str | None, dry_run: bool, undo: bool, drop: bool, as_json: bool
) -> None:
    """Move databases from a full PostgreSQL server to its standby, which becomes a server of its own, while servers run.

    Nothing is copied, so it takes about a second whatever their size. Meanwhile API writes of their clients get 503 with Retry-After, and
    webhooks wait in the spool (without one they get 503 too). After an error the databases are served where they were, unless it says
    otherwise; a command that was killed is repeated. Each server keeps closed copies of what the other one serves, until --drop.
    """
    from touchbase.errors import TouchbaseError

    if dry_run + undo + drop > 1:
        raise click.UsageError("give one of --dry-run, --undo and --drop")
    if drop and source is None:
        raise click.UsageError("--drop needs --from: the directory has no address of the first server any more")
    try:
        values, text = run(_split(database, names, to, source, dry_run, undo, drop))
    except TouchbaseError as error:
        raise click.ClickException(error.detail) from error
    if as_json:
        print_json(values)
    else:
        click.echo(text)


async def _split(
    database: str | None, names: tuple[str, ...], to: str, source: str | None, dry_run: bool, undo: bool, drop: bool
) -> tuple[dict[str, object], str]:
    """Carry it out; return the values for JSON, and the text."""
    from touchbase.routing.split import drop_copies, split_databases, undo_split

    address, every = read_settings(database=database).database, ", ".join(names)
    async with opened(database, as_is=True) as store:
        if drop:
            dropped = await drop_copies(store.home, address, names, to, source or "")
            return {"dropped": dropped}, "\n".join(f"dropped: {name}" for name in dropped) or "there was no copy to drop"
        if undo:
            await undo_split(store.home, names, to, source)
            return {"opened": [*names]}, f"{every}: served from the first server, as before the split"
        outcome = await split_databases(store.home, address, names, to, source, dry_run=dry_run)
    stay = ", ".join(outcome.stay) or "none"
    if dry_run and not outcome.is_done:
        text = f"both servers are ready. {every} would move to the second one; databases of this installation that would stay: {stay}"
    elif not outcome.timeline:
        text = f"{every}: served from the second server already; --drop drops the copies"
    else:
        text = (
            f"{every}: served from the second server, timeline {outcome.timeline}; writes were refused for {outcome.refused_seconds:.1f} s."
            f" Databases that stayed: {stay}.\nBoth servers keep closed copies. See that all is well (`touchbase doctor`), then repeat the "
            "command with --drop and --from"
        )
        if outcome.slot:
            text += f"\nDrop the replication slot {outcome.slot} at the first server, which keeps its log for it"
    values = {
        "databases": outcome.databases, "stay": outcome.stay, "done": outcome.is_done, "refused_seconds": round(outcome.refused_seconds, 3),
        "timeline": outcome.timeline or None, "slot": outcome.slot or None,
    }  # fmt: skip
    return values, text
