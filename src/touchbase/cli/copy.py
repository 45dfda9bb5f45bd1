"""`touchbase copy`: a store into an empty one, also from SQLite to PostgreSQL and back."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from touchbase.cli.each_cell import cell_names_of, said_of_cells
from touchbase.cli.options import json_option, read_settings
from touchbase.cli.output import print_json, print_table
from touchbase.cli.store import must_exist, run, without_password

if TYPE_CHECKING:
    from touchbase.storage.store_copy import CopiedTable

ADDRESS = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME"


@click.command()
@click.option("--from", "source", required=True, metavar="ADDRESS", help=f"The store to copy: {ADDRESS}.")
@click.option("--to", "target", required=True, metavar="ADDRESS", help="A new file, or an empty database.")
@json_option()
def copy(source: str, target: str, as_json: bool) -> None:
    """Copy a whole store into an empty one, also from SQLite to PostgreSQL and back.

    Copies everything: records, history, deliveries, clients, keys and connections, whose secrets are encrypted again
    with the target's key. Stop all servers of both stores first. A copy that was stopped continues when it is run again.
    At the end every table of both stores is compared; until then no server starts on the target. The source is not changed.

    \b
    touchbase copy --from sqlite:///touchbase.db --to postgresql://touchbase:PASSWORD@localhost/touchbase
    """
    _check("--from", source)
    _check("--to", target)
    must_exist(source)
    copied = run(_copy(source, target))
    cells = said_of_cells(
        cell_names_of(source), "stay where they are, and the copy's directory names them: let one home database alone use them"
    )
    total = sum(table.rows for table in copied)
    if as_json:
        print_json({"from": without_password(source), "to": without_password(target), "rows": total, "tables": copied, **cells})
        return
    print_table(["table", "rows"], [(table.name, table.rows) for table in copied if table.rows], empty="the source has no rows")
    click.echo(f"copied {total} rows to {without_password(target)}: every table is equal to its source")


def _check(option: str, address: str) -> None:
    """Fail, naming the option, for a text that cannot be the address of a store on disk."""
    from touchbase.errors import BadAddress
    from touchbase.storage import check_address

    try:
        check_address(address)
    except BadAddress as error:
        raise click.UsageError(f"{option} names no store: {error.detail}") from error


async def _copy(source: str, target: str) -> list[CopiedTable]:
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.stores import copy_store

    settings = read_settings()
    keys = EncryptionKeys(settings.encryption_key, settings.encryption_key_old)
    try:
        return await copy_store(source, target, keys, show_progress)
    finally:
        if sys.stderr.isatty():
            click.echo("\r\x1b[K", err=True, nl=False)


def show_progress(step: str, table: str, done: int, total: int) -> None:
    """Show how far a copy is, on a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[K{step} {table}: {done} of {total}", err=True, nl=False)
