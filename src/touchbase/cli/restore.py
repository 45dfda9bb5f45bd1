"""`touchbase restore`: a backup in the place of a SQLite store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from touchbase.cli.backup import sqlite_file
from touchbase.cli.common import json_option, print_json, read_settings, run, setting_options
from touchbase.cli.reapply_erasures import NOBODY_KNOWS, erase_again, refuse_unless_store
from touchbase.common.timestamps import to_text
from touchbase.errors import UnusableStore


@click.command()
@setting_options("database")
@click.option("--erasures", multiple=True, metavar="ADDRESS", help="Another store that knows who was erased since the backup was taken.")
@click.option("--without-erasures", is_flag=True, help="Do not ask the store that is replaced who was erased.")
@json_option()
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def restore(database: str | None, erasures: tuple[str, ...], without_erasures: bool, as_json: bool, file: Path) -> None:
    """Put the backup FILE into the place of the store, which is kept aside. Stop the server first.

    The backup is checked, brought up to date, and whoever was erased since it was taken is erased again, all in a file beside the
    store; then it takes the store's name at one stroke. Until then nothing is changed.
    """
    from touchbase.storage.sqlite.backup import read_backup
    from touchbase.storage.sqlite.restore import laid_out, put_in_place

    target = sqlite_file(database, "pg_restore --dbname=ADDRESS FILE")
    known = _known(target, erasures, without_erasures)
    with laid_out(file, target) as part:
        made = read_backup(file)
        erased = run(_bring_up_to_date(part, target, known))
        aside = target.with_name(f"{target.name}.before-{to_text(time.time_ns() // 1_000_000_000 * 1_000_000).replace(':', '')}")
        was_there = put_in_place(part, target, aside)
    if as_json:
        values = {"file": str(target), "from": str(file), "made_time": to_text(made.made_us) if made.made_us else None}
        print_json({**values, "checked": made.checked, "erased": erased, "before": str(aside) if was_there else None})
        return
    click.echo(f"restored {target} from {file}" + (f", as of {to_text(made.made_us)}" if made.made_us else ""))
    if not made.checked:
        click.echo(f"there was no {file.name}.sha256 to compare it with; its pages were checked")
    if erased:
        click.echo(f"{erased} identities were erased after the backup was taken: they are erased again")
    if was_there:
        click.echo(f"the store that was there is in {aside}; `touchbase verify` says whether everything is right, then remove it")


def _known(target: Path, named: Sequence[str], without: bool) -> list[str]:
    """The addresses of the stores that are asked who was erased since; refuses where nobody can be asked, and a store in use."""
    from touchbase.storage.sqlite.restore import is_readable, is_store

    for address in named:
        refuse_unless_store(address)
    readable = is_readable(target)
    if without or not target.exists():
        return list(named)
    try:
        asked = readable and is_store(target)
    except UnusableStore:
        readable = False
    if not readable and not named:
        raise click.ClickException(f"{target} cannot be read, so {NOBODY_KNOWS}")
    return [f"sqlite:///{target}", *named] if readable and asked else list(named)


async def _bring_up_to_date(part: Path, target: Path, known: Sequence[str]) -> int:
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.storage import open_store

    settings = read_settings()
    mine = replace(EncryptionKeys(settings.encryption_key, settings.encryption_key_old), file=Path(f"{target}.key"))
    restored = await open_store(f"sqlite:///{part}", encryption_keys=mine, copies=False)  # a copy itself
    try:
        return await erase_again(restored, known)
    finally:
        await restored.close()
