"""`touchbase persons reapply-erasures`: whom one store has erased is erased in another, which was restored from before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.common import json_option, must_exist, opened, print_json, run, setting_options, shown
from touchbase.errors import BadAddress, TouchbaseError, UnusableStore

if TYPE_CHECKING:
    from touchbase.events.work import ProcessingStore

NOBODY_KNOWS = (
    "nobody can say who was erased since the backup was taken: name another store that knows with --erasures sqlite:///FILE, "
    "or restore --without-erasures and erase them again yourself"
)


@click.command("reapply-erasures")
@setting_options("database")
@click.option(
    "--from", "known", multiple=True, required=True, metavar="ADDRESS", help="A store that knows who was erased; it stays as it is."
)
@json_option()
def reapply_erasures(database: str | None, known: tuple[str, ...], as_json: bool) -> None:
    """Erase again, in a restored store, whom another store has erased since the backup was taken.

    For PostgreSQL, before servers are pointed at the restored database; the address given with --from is that of the database before.
    `touchbase restore` does this itself. Given again it changes nothing more.
    """
    for address in known:
        refuse_unless_store(address)
    erased = run(_reapplied(database, known))
    if as_json:
        print_json({"erased": erased})
        return
    click.echo(f"{erased} identities were news here: they are erased now" if erased else "nobody was erased there who was not erased here")


async def _reapplied(database: str | None, known: Sequence[str]) -> int:
    async with opened(database) as restored:
        return await erase_again(restored, known)


def refuse_unless_store(address: str) -> None:
    """Refuse an address that was named and is of no store, as that cannot be asked who was erased."""
    from touchbase.storage.sqlite.restore import is_store

    _check(address)
    must_exist(address)
    if address.startswith("sqlite:///") and not is_store(Path(address.removeprefix("sqlite:///"))):
        raise click.ClickException(f"{address} is no store, so it cannot be asked who was erased: give the address of one")


def _check(address: str) -> None:
    """Refuse, as any wrong option, an address that names no store."""
    from touchbase.storage import check_address

    try:
        check_address(address)
    except BadAddress as error:
        raise click.UsageError(f"the address of another store names none: {error.detail}") from error


async def erase_again(restored: ProcessingStore, known: Sequence[str]) -> int:
    """Carry over what these stores know, and remove those people; answers how many identities were news to the store."""
    from touchbase.app import clock
    from touchbase.connections.service import Connections
    from touchbase.erasure.reapply_erasures import finish_erasures
    from touchbase.erasure.service import Eraser
    from touchbase.events.translator_pool import TranslatorPool

    erased = 0
    for address in known:
        erased += await _carry(restored, address)
    await finish_erasures(restored, Eraser(restored, TranslatorPool(), clock, Connections(restored, clock).of))
    return erased


async def _carry(restored: ProcessingStore, address: str) -> int:
    """Ask another store, which stays as it is: it may be of another version, and its encryption key may be gone."""
    from touchbase.app import clock
    from touchbase.erasure.reapply_erasures import reapply_erasures
    from touchbase.storage import open_store

    try:
        with _to_be_asked(address) as asked:
            other = await open_store(asked, as_is=True)
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


@contextmanager
def _to_be_asked(address: str) -> Iterator[str]:
    """The address to open in place of this one, so that what is there stays as it is."""
    from touchbase.storage.sqlite.restore import to_be_asked

    if not address.startswith("sqlite:///"):
        yield address
        return
    with to_be_asked(Path(address.removeprefix("sqlite:///"))) as file:
        yield f"sqlite:///{file}"
