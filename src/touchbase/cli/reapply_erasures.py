"""`touchbase persons reapply-erasures`: erase in a restored store the people erased in other stores since the backup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from touchbase.cli.options import json_option, setting_options
from touchbase.cli.output import print_json
from touchbase.cli.store import is_missing, opened, run, without_password
from touchbase.errors import BadAddress, TouchbaseError, UnusableStore

if TYPE_CHECKING:
    from touchbase.deliveries.work import ProcessingStore

UNKNOWN_ERASURES = (
    "no store says who was erased since the backup was taken: name another store that knows with --erasures sqlite:///FILE, "
    "or restore --without-erasures and erase those people again yourself"
)


@click.command("reapply-erasures")
@setting_options("database")
@click.option(
    "--from", "sources", multiple=True, required=True, metavar="ADDRESS", help="A store that knows who was erased; it is not changed."
)
@json_option()
def reapply_erasures(database: str | None, sources: tuple[str, ...], as_json: bool) -> None:
    """Erase again, in a restored store, the people erased in another store since the backup was taken.

    For PostgreSQL, before servers use the restored database; --from is the address of the database before.
    `touchbase restore` does this itself. Running it again changes nothing more.

    \b
    touchbase persons reapply-erasures --database "$RESTORED" --from "$TOUCHBASE_DATABASE"
    """
    for address in sources:
        refuse_unless_store("--from", address)
    erased = run(_reapply(database, sources))
    if as_json:
        print_json({"erased": erased})
        return
    click.echo(
        f"{erased} identities were new in this store: they are erased now" if erased else "no new erasures: this store has all of them"
    )


async def _reapply(database: str | None, sources: Sequence[str]) -> int:
    async with opened(database) as restored:
        return await erase_again(restored, sources)


def refuse_unless_store(option: str, address: str) -> None:
    """Fail if an option that names a store with erasures does not."""
    from touchbase.storage import check_address
    from touchbase.storage.sqlite.restore import is_store

    try:
        check_address(address)
    except BadAddress as error:
        raise click.UsageError(f"{option} names no store: {error.detail}") from error
    if is_missing(address) or (address.startswith("sqlite:///") and not is_store(Path(address.removeprefix("sqlite:///")))):
        raise click.ClickException(f"{option}: there is no store at {without_password(address)}, so it does not say who was erased")


async def erase_again(restored: ProcessingStore, sources: Sequence[str]) -> int:
    """Erase the people erased in these stores; return how many identities were new to the store."""
    from touchbase.common.timestamps import clock
    from touchbase.connections.service import Connections
    from touchbase.erasure.reapply import finish_erasures
    from touchbase.erasure.service import Eraser
    from touchbase.inbox.translator_pool import TranslatorPool

    erased = 0
    for address in sources:
        erased += await _copy_erasures(restored, address)
    await finish_erasures(restored, Eraser(restored, TranslatorPool(), clock, Connections(restored, clock).of))
    return erased


async def _copy_erasures(restored: ProcessingStore, address: str) -> int:
    """Copy the erasures of another store, which is not changed: its version may differ, and its encryption key may be lost."""
    from touchbase.common.timestamps import clock
    from touchbase.erasure.reapply import reapply_erasures
    from touchbase.stores import open_store

    try:
        with _readable_copy(address) as copy:
            source = await open_store(copy, as_is=True)
            try:
                return await reapply_erasures(restored, source, clock())
            finally:
                await source.close()
    except UnusableStore as error:
        raise click.ClickException(f"{without_password(address)} cannot be read ({error.detail}), so {UNKNOWN_ERASURES}") from error
    except TouchbaseError:
        raise
    except Exception as error:  # an unknown schema
        why = f"{type(error).__name__}: {error}"
        raise click.ClickException(f"{without_password(address)} cannot be read ({why}), so {UNKNOWN_ERASURES}") from error


@contextmanager
def _readable_copy(address: str) -> Iterator[str]:
    """Yield an address at which the store can be read without changing it."""
    from touchbase.storage.sqlite.restore import readable_file

    if not address.startswith("sqlite:///"):
        yield address
        return
    with readable_file(Path(address.removeprefix("sqlite:///"))) as file:
        yield f"sqlite:///{file}"
