"""Set up a cell: an empty store that hashes erased people as the home store does, before the directory names it; change its address."""

from __future__ import annotations

from dataclasses import replace

from touchbase.cells import sql as cells_sql
from touchbase.cells.models import HOME_NAME, Cell
from touchbase.cells.sql import adopt_erasure_key, cell_identity, raise_ids, read_directory, set_addresses, share_erasure_key
from touchbase.clients.sql.clients import list_clients
from touchbase.common.timestamps import Micros
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import NotFound, UnusableStore, WrongState
from touchbase.routing.cell_store import OpenStore
from touchbase.storage import part_of_database
from touchbase.storage.schema_state import schema_state


async def add_cell(home: ProcessingStore, name: str, address: str, open_store: OpenStore, at: Micros) -> Cell:
    """Add the PostgreSQL database at this address as a cell.

    Raises `UnusableStore` for what is no empty database, `Conflict` for a known name.

    It may be repeated after a stop at any moment: until the directory names the cell, nothing uses the store.
    """
    _refuse_part(address, "an empty database")
    store = await open_store(address)
    try:
        if await store.read(list_clients()):
            raise UnusableStore("this store has clients: name an empty database")
        if (await store.read(read_directory())).cells:
            raise UnusableStore("this is the home database of an installation; name an empty database")
        await store.write(adopt_erasure_key(await home.write(share_erasure_key())))
        cell = await home.write(cells_sql.add_cell(name, address, at))
        await store.write(raise_ids(cell.first_id))
        return cell
    finally:
        await store.close()


async def move_address(home: ProcessingStore, name: str, address: str, open_store: OpenStore) -> tuple[Cell, list[str]]:
    """Store that a cell answers at another address now; return it, and the clients that the directory has and the store lacks.

    Raises `NotFound`; `UnusableStore` for a store that is not this cell, or that cannot be written. Then nothing has changed.
    """
    if name == HOME_NAME:
        raise WrongState("the address of the home database is a setting of every server: change TOUCHBASE_DATABASE")
    directory = await home.read(read_directory())
    cell = next((cell for cell in directory.cells if cell.name == name), None)
    if cell is None:
        raise NotFound(f"there is no database {name!r}; `touchbase databases list` shows all")
    _refuse_part(address, f"the database {name}")
    if (await schema_state(address)).pending:
        raise UnusableStore(f"this database is empty, or has an older schema: name the one with the clients of {name}")
    store = await open_store(address)
    try:
        if await store.read(cell_identity()) != (cell.number, await home.write(share_erasure_key())):
            raise UnusableStore(f"this is another database, not {name}: name the one that has its clients, or a copy of it")
        # Changes nothing there; a standby, or a copy that a split has closed, refuses it.
        await store.write(raise_ids(cell.first_id))
        present = {client.number for client in await store.read(list_clients())}
    finally:
        await store.close()
    await home.write(set_addresses([(name, address)]))
    placed = [place for place in directory.places if place.cell == cell.number and place.number is not None]
    return replace(cell, address=address), sorted(place.client_id for place in placed if place.number not in present)


def _refuse_part(address: str, wanted: str) -> None:
    if kind := part_of_database(address):
        raise UnusableStore(
            f"clients live in PostgreSQL databases, and this address names {kind}: name {wanted}, postgresql://USER:PASSWORD@HOST/NAME"
        )
