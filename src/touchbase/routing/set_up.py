"""Set up a cell: an empty store that hashes erased people as the home store does, before the directory names it."""

from __future__ import annotations

from touchbase.cells import sql as cells_sql
from touchbase.cells.models import Cell
from touchbase.cells.sql import adopt_erasure_key, raise_ids, read_directory, share_erasure_key
from touchbase.clients.sql.clients import list_clients
from touchbase.common.timestamps import Micros
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import UnusableStore
from touchbase.routing.cell_store import OpenStore
from touchbase.storage import part_of_database


async def add_cell(home: ProcessingStore, name: str, address: str, open_store: OpenStore, at: Micros) -> Cell:
    """Add the PostgreSQL database at this address as a cell.

    Raises `UnusableStore` for what is no empty database, `Conflict` for a known name.

    It may be repeated after a stop at any moment: until the directory names the cell, nothing uses the store.
    """
    if kind := part_of_database(address):
        raise UnusableStore(
            f"clients live in PostgreSQL databases, and this address names {kind}: name an empty database, postgresql://USER:PASSWORD@HOST/NAME"
        )
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
