"""`touchbase clients move`: a client goes to another cell while it is used."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from touchbase.cli.each_cell import keys_at_hand
from touchbase.cli.failures import STOPPED
from touchbase.cli.options import json_option, read_settings, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.store import find_client, now_us, opened, run
from touchbase.common.timestamps import SECOND

if TYPE_CHECKING:
    from touchbase.encryption import Cipher
    from touchbase.routing import CellRouter
    from touchbase.routing.moving import ClientMove, Moved
    from touchbase.routing.moving_copy import Progress
    from touchbase.storage.client_rows import ClientRows


@click.command()
@setting_options("database")
@click.argument("client_id")
@click.option("--to", "cell", help="The name of the cell to move it to; 'home' is the home store.")
@click.option("--undo", is_flag=True, help="Give up a move that has not switched yet: the client stays, its copy is removed.")
@click.option("--verify/--no-verify", default=True, show_default=True, help="Recompute its records from their history before the switch.")
@json_option()
def move(database: str | None, client_id: str, cell: str | None, undo: bool, verify: bool, as_json: bool) -> None:
    """Move a client to another cell while it is used.

    All of its rows are copied and compared, and what changes in between is copied after them. For a second or so its writes are
    refused with 503 and Retry-After; then it lives in the new cell. A move that was stopped or killed goes on when it is run again.
    """
    if (cell is None) is not undo:
        raise click.UsageError("write --to CELL to move the client, or --undo to give up its move")
    try:
        moved = run(_undo(database, client_id) if cell is None else _move(database, client_id, cell, verify))
    except KeyboardInterrupt:
        _clear()
        click.echo(f"stopped: run the same command again to go on, or `touchbase clients move {client_id} --undo`", err=True)
        raise SystemExit(STOPPED) from None
    finally:
        _clear()
    if moved is None:
        if as_json:
            print_json({"client_id": client_id, "undone": True})
        else:
            click.echo(f"the move of client {client_id} is undone; it lives where it did")
        return
    if as_json:
        values: dict[str, object] = {
            "cell": cell,
            "rows": moved.rows,
            "changed_during_copy": moved.differences,
            "refused_ms": moved.frozen_us // 1000,
        }
        print_json({"client_id": client_id, **values})
        return
    if moved.source == moved.target:
        click.echo(f"client {client_id} lives in {cell} already")
        return
    click.echo(f"client {client_id} lives in {cell}: {moved.rows} rows; writes were refused for {moved.frozen_us / SECOND:.1f} seconds")


async def _move(database: str | None, client_id: str, cell: str, verify: bool) -> Moved:
    async with opened(database) as store:
        return await move_client(store, database, client_id, cell, verify=verify)


async def move_client(store: CellRouter, database: str | None, client_id: str, cell: str, *, verify: bool = True) -> Moved:
    """Move a client to the cell of this name, and show the progress on a terminal.

    One that lives there is not moved, so that the command can be repeated until it succeeds.
    """
    from touchbase.cells import ListMoves
    from touchbase.errors import Invalid
    from touchbase.routing.moving import Moved

    try:
        number = store.cell_for_new_client(cell)
    except Invalid as error:
        raise click.ClickException(error.faults[0].detail) from error
    client = await find_client(store, client_id, lasting=True)
    is_moving = any(each.number == client.number for each in await store.home.read(ListMoves()))
    if store.placement.cell_of(client.number) == number and not is_moving:
        return Moved(client.number, number, number)
    return await _of(store, database, client.number, number, verify).run()


async def _undo(database: str | None, client_id: str) -> None:
    from touchbase.cells import ListMoves

    async with opened(database) as store:
        # By its id when the move began, too: the client may be deleted since.
        known = next((each.number for each in await store.home.read(ListMoves()) if each.client_id == client_id), None)
        number = (await find_client(store, client_id)).number if known is None else known
        await _of(store, database, number, -1, False).undo()


def _of(store: CellRouter, database: str | None, number: int, cell: int, verify: bool) -> ClientMove:
    from touchbase.cells import HOME
    from touchbase.routing.moving import ClientMove
    from touchbase.storage import open_client_rows

    async def open_rows(where: int) -> tuple[ClientRows, Cipher]:
        if where == HOME:
            return await open_client_rows(read_settings(database=database).database, number, keys_at_hand())
        found = store.cells[where]
        if not found.is_open:
            raise click.ClickException(f"cell {found.cell.name} cannot be used: {found.reason}")
        return await open_client_rows(found.cell.address, number, keys_at_hand())

    return ClientMove(store, number, cell, open_rows, now_us, _show, verify)


def _show(progress: Progress) -> None:
    """Show how far the move is, on a terminal."""
    if not sys.stderr.isatty():
        return
    of = f"{progress.done} of {progress.total}" if progress.total and progress.done else str(progress.done or "")
    words: dict[str, Any] = {
        "wait": f"another process moves this client; waiting up to {progress.total} seconds for it to end or to stop",
        "freeze": "freeze: writes are refused for a moment",
    }
    text = words.get(progress.step, f"{progress.step} {progress.table} {of}".strip())
    click.echo(f"\r\x1b[K{text}", err=True, nl=False)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo("\r\x1b[K", err=True, nl=False)
