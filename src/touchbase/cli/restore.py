"""`touchbase restore`: a backup in the place of a SQLite store."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.backup import sqlite_file
from touchbase.cli.common import must_exist, read_settings, run, setting_options, shown
from touchbase.domain.errors import TouchbaseError, UnusableStore
from touchbase.domain.times import to_text

if TYPE_CHECKING:
    from touchbase.domain.ports import Store

NOBODY_KNOWS = (
    "nobody can say who was erased since the backup was taken: name another store that knows with --erasures sqlite:///FILE, "
    "or restore --without-erasures and erase them again yourself"
)


@click.command()
@setting_options("database")
@click.option("--erasures", multiple=True, metavar="ADDRESS", help="Another store that knows who was erased since the backup was taken.")
@click.option("--without-erasures", is_flag=True, help="Do not ask the store that is replaced who was erased.")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
def restore(database: str | None, erasures: tuple[str, ...], without_erasures: bool, file: Path) -> None:
    """Put the backup FILE into the place of the store, which is kept aside. Stop the server first.

    The backup is checked, brought up to date, and whoever was erased since it was taken is erased again, all in a file beside the
    store; then it takes the store's name at one stroke. Until then nothing is changed.
    """
    from touchbase.storage.sqlite.backup import read_backup
    from touchbase.storage.sqlite.restore import laid_out, put_in_place

    target = sqlite_file(database, "pg_restore --dbname=ADDRESS FILE")
    known = _known(target, erasures, without_erasures)
    with laid_out(file, target) as part:
        erased = run(_bring_up_to_date(part, target, known))
        aside = target.with_name(f"{target.name}.before-{to_text(time.time_ns() // 1_000_000_000 * 1_000_000).replace(':', '')}")
        was_there = put_in_place(part, target, aside)
    made = read_backup(file)
    click.echo(f"restored {target} from {file}" + (f", as of {to_text(made.made_us)}" if made.made_us else ""))
    if not made.checked:
        click.echo(f"there was no {file.name}.sha256 to compare it with; its pages were checked")
    if erased:
        click.echo(f"{erased} identities were erased after the backup was taken: they are erased again")
    if was_there:
        click.echo(f"the store that was there is in {aside}; `touchbase verify` says whether everything is right, then remove it")


def _known(target: Path, named: Sequence[str], without: bool) -> list[str]:
    """The addresses of the stores that are asked who was erased since; refuses where nobody can be asked, and a store in use."""
    from touchbase.storage.sqlite.restore import is_readable, may_have_erased

    others = [address for address in named if _can_tell(address)]
    readable = is_readable(target)
    if without or not target.exists():
        return others
    try:
        asked = may_have_erased(target) if readable else None
    except UnusableStore:
        readable = False
    if not readable and not named:
        raise click.ClickException(f"{target} cannot be read, so {NOBODY_KNOWS}")
    return [f"sqlite:///{target}", *others] if readable and asked else others


def _can_tell(address: str) -> bool:
    """Whether anybody can have been erased in a store that was named; refuses what is none."""
    from touchbase.storage.sqlite.restore import may_have_erased

    must_exist(address)
    if not address.startswith("sqlite:///"):
        return True
    asked = may_have_erased(Path(address.removeprefix("sqlite:///")))
    if asked is None:
        raise click.ClickException(f"{address} is no store, so it cannot be asked who was erased: give --erasures the address of one")
    return asked


async def _bring_up_to_date(part: Path, target: Path, known: Sequence[str]) -> int:
    from touchbase.adapters import load_adapters
    from touchbase.service.connections import Connections
    from touchbase.service.erase import Eraser
    from touchbase.service.reapply_erasures import finish_erasures
    from touchbase.storage import open_store
    from touchbase.storage.sealing.keys import MasterKeys
    from touchbase.wiring import clock

    settings = read_settings()
    mine = replace(MasterKeys(settings.master_key, settings.master_key_old), file=Path(f"{target}.key"))
    restored, erased = await open_store(f"sqlite:///{part}", master_keys=mine), 0
    try:
        for address in known:
            erased += await _carry(restored, address)
        await finish_erasures(restored, Eraser(restored, load_adapters().translate, clock, Connections(restored, clock).of))
    finally:
        await restored.close()
    return erased


async def _carry(restored: Store, address: str) -> int:
    """Ask another store, which stays as it is: it may be of another version, and its master key may be gone."""
    from touchbase.service.reapply_erasures import reapply_erasures
    from touchbase.storage import open_store
    from touchbase.wiring import clock

    try:
        other = await open_store(address, as_is=True)
        try:
            return await reapply_erasures(restored, other, clock())
        finally:
            await other.close()
    except UnusableStore as error:
        raise click.ClickException(f"{shown(address)} cannot be asked ({error.detail}), so {NOBODY_KNOWS}") from error
    except TouchbaseError:
        raise
    except Exception as error:  # a schema that we do not know
        raise click.ClickException(f"{shown(address)} cannot be asked ({type(error).__name__}: {error}), so {NOBODY_KNOWS}") from error
