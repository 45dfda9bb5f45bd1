"""Worlds on both engines: with A in it, or without."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.conftest import ENCRYPTION_KEYS, ByHand, Databases
from tests.isolation.probe import TRYING
from tests.isolation.trial import Opened
from tests.isolation.world import Tokens, World

from touchbase.domain.ports import Store
from touchbase.service import api_keys, clients
from touchbase.storage.postgres.engine import PostgresStore
from touchbase.storage.sealing.keys import GivenKeys
from touchbase.storage.sealing.sealer import MasterSealer
from touchbase.storage.sql import server_secret
from touchbase.storage.sql.handlers import COMMANDS
from touchbase.storage.sqlite.engine import SqliteStore


@pytest.fixture
def world(by_hand: ByHand, monkeypatch: pytest.MonkeyPatch) -> World:
    tokens = Tokens()
    monkeypatch.setattr(api_keys, "token_hex", tokens.hex)
    monkeypatch.setattr(clients, "token_hex", tokens.hex)
    monkeypatch.setattr(server_secret, "token_bytes", tokens.bytes)
    return World(by_hand, tokens)


@pytest.fixture
async def opened(engine_url: str) -> AsyncIterator[Opened]:
    """Opens the world's store, anew when it is open already."""
    async with AsyncExitStack() as open_ones:

        async def open_it() -> Store:
            await open_ones.aclose()
            engine = SqliteStore if engine_url.startswith("sqlite") else PostgresStore
            sealer = MasterSealer(GivenKeys(ENCRYPTION_KEYS.read()))
            store: Store = await engine.open(engine_url, queue_limit=4096, commands={**COMMANDS, **TRYING}, sealer=sealer)
            open_ones.push_async_callback(store.close)
            return store

        yield open_it


@pytest.fixture
def emptied(request: pytest.FixtureRequest, engine_url: str) -> Callable[[], None]:
    """Makes the world empty; its store must be closed, or is opened anew afterwards."""

    def empty() -> None:
        if engine_url.startswith("sqlite"):
            path = Path(engine_url.removeprefix("sqlite:///"))
            for each in path.parent.glob(f"{path.name}*"):
                each.unlink()
        else:
            databases: Databases = request.getfixturevalue("databases")
            databases.clean()

    return empty
