"""An installation of three cells on one engine: the home store, and the cells eu and us."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.conftest import Databases

from touchbase.encryption import EncryptionKeys, encode_key, new_key
from touchbase.routing import CellRouter, add_cell
from touchbase.sql.store import Store
from touchbase.storage import open_store

KEY = encode_key(new_key())
OPEN = partial(open_store, encryption_keys=EncryptionKeys(KEY))
NAMES = ("eu", "us")


def empty_stores(on_sqlite: bool, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Addresses of empty stores of one engine, dropped afterwards."""
    if on_sqlite:
        yield [f"sqlite:///{tmp_path}/{name}.db" for name in NAMES]
        return
    databases: Databases = request.getfixturevalue("databases")
    made = [databases.empty() for _ in NAMES]
    yield made
    for url in made:
        databases.drop(url)


@pytest.fixture
def cell_urls(engine_url: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[list[str]]:
    """Addresses of empty stores of the same engine."""
    yield from empty_stores(engine_url.startswith("sqlite"), tmp_path, request)


@pytest.fixture
async def router(store: Store, cell_urls: list[str]) -> AsyncIterator[CellRouter]:
    """The store of the installation; it does not follow changes by itself."""
    for name, url in zip(NAMES, cell_urls, strict=True):
        await add_cell(store, name, url, OPEN, 7)
    made = CellRouter(store, OPEN)
    await made.start(follow=False)
    yield made
    for cell in made.cells.values():
        await cell.close()
