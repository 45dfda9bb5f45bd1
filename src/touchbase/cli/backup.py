"""`touchbase backup, restore`: a consistent copy of a store, and putting a SQLite store's in its place."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

import touchbase
from touchbase.cli.each_cell import address_of_cell, cell_names_of, said_of_cells
from touchbase.cli.options import former_option, json_option, read_settings, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.reapply_erasures import UNKNOWN_ERASURES, erase_again, refuse_unless_store
from touchbase.cli.store import must_exist, now_us, run
from touchbase.common.timestamps import SECOND, to_text
from touchbase.errors import UnusableStore

NOT_IN_IT = "are not in it: back up each, `touchbase backup --from NAME FILE`"
STAY = "were left as they are: `touchbase doctor` says which of their clients this directory lacks, and which of its clients they lack"
PG_RESTORE = "pg_restore --dbname=ADDRESS FILE"


@click.command()
@setting_options("database")
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--from", "name", help="The database of this name (`touchbase databases list`); without it, the home database alone.")
@former_option("--cell", "--from")
@json_option()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def backup(database: str | None, force: bool, name: str | None, as_json: bool, file: Path) -> None:
    """Copy a store to FILE, also while a server runs. Each database of clients needs its own copy.

    The copy is of one moment. It is checked and on disk before it gets its name; one that fails leaves nothing. The
    encryption key is not in it: store that elsewhere. Of a SQLite store the SHA-256 goes to FILE.sha256. Of a
    PostgreSQL store FILE is a dump for pg_restore, made by pg_dump; one that lacks the rows of a table is refused.

    \b
    touchbase backup nightly.db
    """
    if file.exists() and not force:
        raise click.ClickException(f"{file} exists: choose another name, or replace it with --force")
    if name is not None and name != "home":
        database = address_of_cell(database, name)
    settings = read_settings(database=database)
    if not settings.on_sqlite:
        _dump(settings.database, file, as_json)
        return
    from touchbase.storage.sqlite.backup import back_up

    source = _sqlite_file(database)
    must_exist(f"sqlite:///{source}")
    written = back_up(source, file, touchbase.__version__, now_us(), _show_progress)
    cells = said_of_cells(cell_names_of(f"sqlite:///{source}"), NOT_IN_IT)
    if as_json:
        backup_time = to_text(written.made_us or 0)
        print_json(
            {
                "file": str(file),
                "bytes": written.bytes,
                "schema": written.schema,
                "made_time": backup_time,
                "checksum": written.checksum,
                **cells,
            }
        )
        return
    click.echo(f"backed up {source} to {file}: {written.bytes} bytes, schema {written.schema}, as of {to_text(written.made_us or 0)}")
    key = Path(f"{source}.key")
    if key.exists():
        click.echo(f"its secrets are encrypted with the key in {key}, which is not in the backup: store a copy of the key elsewhere")


def _dump(address: str, file: Path, as_json: bool) -> None:
    """Dump a PostgreSQL store, and print its contents."""
    from touchbase.storage import check_address
    from touchbase.storage.postgres.backup import dump

    check_address(address)
    began = now_us()
    dumped = run(dump(address, file))
    cells = said_of_cells(cell_names_of(address), NOT_IN_IT)
    if as_json:
        values = {"file": str(file), "bytes": dumped.bytes, "schema": dumped.schema, "made_time": to_text(began), "rows": dict(dumped.rows)}
        print_json({**values, **cells})
        return
    clients, contacts = dumped.rows.get("client", 0), dumped.rows.get("contact", 0)
    click.echo(f"backed up the store to {file}: {dumped.bytes} bytes, schema {dumped.schema}, as of {to_text(began)}")
    click.echo(f"it was read again: {sum(dumped.rows.values())} rows, of them {clients} clients and {contacts} contacts")


@click.command()
@setting_options("database")
@click.option("--erasures", multiple=True, metavar="ADDRESS", help="Another store that knows who was erased since the backup was taken.")
@click.option("--without-erasures", is_flag=True, help="Do not read from the replaced store who was erased.")
@json_option()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def restore(database: str | None, erasures: tuple[str, ...], without_erasures: bool, as_json: bool, file: Path) -> None:
    """Put the backup FILE in the place of a SQLite store. Stop the server first.

    The replaced store is moved aside. The backup is checked and brought up to date, and people erased since, in the replaced store
    and in those of --erasures, are erased again, all in a new file in the store's folder; then that file gets the store's name
    atomically. Until then nothing is changed. Other databases are left as they are.
    """
    from touchbase.storage.sqlite.backup import read_backup
    from touchbase.storage.sqlite.restore import replace_store, staged_backup

    target = _sqlite_file(database)
    sources = _sources(target, erasures, without_erasures)
    with staged_backup(file, target) as part:
        backup = read_backup(file)
        erased = run(_bring_up_to_date(part, target, sources))
        aside = target.with_name(f"{target.name}.before-{to_text(now_us() // SECOND * SECOND).replace(':', '')}")
        existed = replace_store(part, target, aside)
    cells = said_of_cells(cell_names_of(f"sqlite:///{target}"), STAY)
    if as_json:
        values = {"file": str(target), "from": str(file), "made_time": to_text(backup.made_us) if backup.made_us else None, **cells}
        print_json({**values, "checked": backup.checked, "erased": erased, "before": str(aside) if existed else None})
        return
    click.echo(f"restored {target} from {file}" + (f", as of {to_text(backup.made_us)}" if backup.made_us else ""))
    if not backup.checked:
        click.echo(f"there was no {file.name}.sha256 to compare it with; its pages were checked")
    if erased:
        click.echo(f"{erased} identities were erased after the backup was taken: they are erased again")
    if existed:
        click.echo(f"the replaced store is in {aside}; run `touchbase verify`, and remove it if there are no differences")


def _sources(target: Path, named: Sequence[str], without_target: bool) -> list[str]:
    """Return the addresses of the stores that say who was erased; fail if there is none, and for a store in use."""
    from touchbase.storage.sqlite.restore import is_readable, is_store

    for address in named:
        refuse_unless_store("--erasures", address)
    readable = is_readable(target)
    if without_target or not target.exists():
        return list(named)
    try:
        has_erasures = readable and is_store(target)
    except UnusableStore:
        readable = has_erasures = False
    if not readable and not named:
        raise click.ClickException(f"{target} cannot be read, so {UNKNOWN_ERASURES}")
    return [f"sqlite:///{target}", *named] if has_erasures else list(named)


async def _bring_up_to_date(part: Path, target: Path, sources: Sequence[str]) -> int:
    """Migrate the restored store and erase again; return the number of erased identities."""
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.objects.bodies import BodyLoader
    from touchbase.objects.bucket import bucket_of
    from touchbase.stores import open_store

    settings = read_settings()
    keys = replace(EncryptionKeys(settings.encryption_key, settings.encryption_key_old), file=Path(f"{target}.key"))
    bucket = bucket_of(settings.objects, now_us)
    restored = await open_store(  # it is a copy already
        f"sqlite:///{part}", encryption_keys=keys, copies=False, load_bodies=BodyLoader(bucket)
    )
    try:
        return await erase_again(restored, sources)
    finally:
        await restored.close()
        if bucket is not None:
            await bucket.close()


def _sqlite_file(database: str | None) -> Path:
    """Return the file of a SQLite store; fail for another store, with PostgreSQL's own tool as the next step."""
    from touchbase.storage import check_address
    from touchbase.storage.sqlite.connection import path_of

    settings = read_settings(database=database)
    check_address(settings.database)
    if not settings.on_sqlite:
        raise click.ClickException(f"this store is on PostgreSQL: use its own tool, {PG_RESTORE}; see docs/how-to/back-up.md")
    path = path_of(settings.database)
    if path is None:
        raise click.ClickException("a store in memory ends with its process: it has no file")
    return Path(path)


def _show_progress(done: int, total: int) -> None:
    if sys.stderr.isatty():
        click.echo(f"\r{done} of {total} pages", err=True, nl=done >= total)
