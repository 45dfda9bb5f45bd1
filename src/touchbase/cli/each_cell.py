"""Commands on an installation with cells: the stores in turn, and notes of a command about one store on the others."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import click

from touchbase.cli.options import read_settings
from touchbase.cli.store import opened, run
from touchbase.errors import TouchbaseError

if TYPE_CHECKING:
    from touchbase.cells.models import Cell, ClientPlace
    from touchbase.deliveries.work import ProcessingStore
    from touchbase.encryption.keys import EncryptionKeys
    from touchbase.sql.store import Store


def keys_at_hand() -> EncryptionKeys:
    """Return the encryption keys of the settings."""
    from touchbase.encryption.keys import EncryptionKeys

    settings = read_settings()
    return EncryptionKeys(settings.encryption_key, settings.encryption_key_old)


@dataclass(slots=True)
class Cells:
    """The cells of a home store, each opened as it is."""

    stores: dict[str, tuple[Cell, ProcessingStore]] = field(default_factory=dict)
    down: dict[str, str] = field(default_factory=dict)
    """Why a cell cannot be used, by its name."""
    places: Sequence[ClientPlace] = ()
    """Which clients live where."""

    def refuse_down(self, what: str) -> None:
        """Fail if a cell cannot be used."""
        if self.down:
            raise click.ClickException("; ".join(f"database {name} cannot be used: {why}" for name, why in self.down.items()) + f"; {what}")


@asynccontextmanager
async def cells_as_they_are(home: Store) -> AsyncIterator[Cells]:
    """Open the cells of a home store without changing their schema, also one whose encryption key is missing, and close them at the end."""
    from touchbase.cells.models import REMOVED
    from touchbase.cells.sql import read_directory
    from touchbase.routing.cell_store import refuse_former_kind
    from touchbase.stores import open_store

    directory = await home.read(read_directory())
    cells = Cells(places=directory.places)
    async with AsyncExitStack() as stack:
        for cell in directory.cells:
            if cell.state == REMOVED:
                continue
            try:
                refuse_former_kind(cell)
                store = await open_store(cell.address, as_is=True, encryption_keys=keys_at_hand())
            except TouchbaseError as error:
                cells.down[cell.name] = error.detail
            else:
                stack.push_async_callback(store.close)
                cells.stores[cell.name] = cell, store
        yield cells


def address_of_cell(database: str | None, name: str) -> str:
    """Return the address of a cell; fail if there is none of this name."""
    return run(_address_of_cell(database, name))


async def _address_of_cell(database: str | None, name: str) -> str:
    from touchbase.cells.models import REMOVED
    from touchbase.cells.sql import read_directory

    async with opened(database, as_is=True) as home:
        for cell in (await home.read(read_directory())).cells:
            if cell.name == name and cell.state != REMOVED:
                return cell.address
    raise click.ClickException(f"there is no database {name!r}: `touchbase databases list` shows all")


def cell_names_of(address: str) -> list[str]:
    """Return the names of the cells of the store at this address."""
    from touchbase.storage.cell_names import cell_names

    return run(cell_names(address))


def said_of_cells(names: Sequence[str], what: str) -> Mapping[str, object]:
    """Print a note about the cells, if there are any; return them as values for JSON."""
    if names:
        click.echo(f"the other databases ({', '.join(names)}) {what}", err=True)
    return {"other_databases": list(names)} if names else {}
