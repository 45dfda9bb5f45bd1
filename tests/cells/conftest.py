"""An installation of three cells: the home store on either engine, and the cells eu and us on PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest
from tests.conftest import Databases

from touchbase.encryption.keys import EncryptionKeys, encode_key, new_key
from touchbase.routing.router import CellRouter
from touchbase.routing.set_up import add_cell
from touchbase.sql.store import Store
from touchbase.stores import open_store

KEY = encode_key(new_key())
OPEN = partial(open_store, encryption_keys=EncryptionKeys(KEY))
NAMES = ("eu", "us")


@pytest.fixture
def cell_urls(databases: Databases) -> list[str]:
    """Addresses of PostgreSQL databases with nothing in them."""
    return databases.cells(len(NAMES))


@pytest.fixture
async def router(store: Store, cell_urls: list[str]) -> AsyncIterator[CellRouter]:
    """The store of the installation; it does not follow changes by itself."""
    for name, url in zip(NAMES, cell_urls, strict=True):
        await add_cell(store, name, url, OPEN, 7)
    cell_router = CellRouter(store, OPEN)
    await cell_router.start(follow=False)
    yield cell_router
    for cell in cell_router.cells.values():
        await cell.close()
