"""`touchbase backup`: a consistent copy of a SQLite store, also while a server writes into it."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import click

import touchbase
from touchbase.cli.common import json_option, must_exist, print_json, read_settings, setting_options
from touchbase.common.timestamps import to_text

# Row-level security holds the tables' owner too: with all clients in scope the dump is whole.
PG_DUMP = 'PGOPTIONS="-c touchbase.clients=all" pg_dump --enable-row-security --format=custom --file=FILE ADDRESS'


@click.command()
@setting_options("database")
@click.option("--force", is_flag=True, help="Replace FILE if it is there.")
@json_option()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def backup(database: str | None, force: bool, as_json: bool, file: Path) -> None:
    """Copy the store to FILE, one moment of it, also while a server runs; its SHA-256 goes to FILE.sha256.

    A copy is checked and on disk before it gets its name; one that fails leaves nothing. The encryption key is not in it: keep that
    elsewhere. A PostgreSQL store is backed up with PostgreSQL's own tools, see docs/how-to/back-up.md.
    """
    from touchbase.storage.sqlite.backup import back_up

    source = sqlite_file(database, PG_DUMP)
    if file.exists() and not force:
        raise click.ClickException(f"{file} is there already: choose another name, or replace it with --force")
    made = back_up(source, file, touchbase.__version__, time.time_ns() // 1000, _progress)
    if as_json:
        made_time = to_text(made.made_us or 0)
        print_json({"file": str(file), "bytes": made.bytes, "schema": made.schema, "made_time": made_time, "checksum": made.checksum})
        return
    click.echo(f"backed up {source} to {file}: {made.bytes} bytes, schema {made.schema}, as of {to_text(made.made_us or 0)}")
    key = Path(f"{source}.key")
    if key.exists():
        click.echo(f"its secrets are sealed with the key in {key}, which is not in the backup: keep a copy of that elsewhere")


def sqlite_file(database: str | None, instead: str) -> Path:
    """The file of the SQLite store that a command is for; any other is refused, with what to do instead."""
    from touchbase.storage import check_address
    from touchbase.storage.sqlite.connection import path_of

    settings = read_settings(database=database)
    check_address(settings.database)
    if not settings.on_sqlite:
        raise click.ClickException(f"this store is on PostgreSQL, which brings its own tools: {instead}; docs/how-to/back-up.md tells more")
    if instead == PG_DUMP:
        must_exist(settings.database)
    path = path_of(settings.database)
    if path is None:
        raise click.ClickException("a private store ends with its process: there is no file of it")
    return Path(path)


def _progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total} pages", err=True, nl=done >= total)
