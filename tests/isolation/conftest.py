"""Worlds on both engines: with A in it, or without."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from tests.conftest import ENCRYPTION_KEYS, Databases, ExecuteSql
from tests.isolation.probe import TRYING
from tests.isolation.trial import Opened
from tests.isolation.world import Tokens, World
from tests.operations import executed_by

from touchbase import erasure_marks
from touchbase.auth import service as auth_service
from touchbase.clients import service as clients_service
from touchbase.encryption.cipher import AesGcmCipher
from touchbase.encryption.keys import StaticKeys
from touchbase.outgoing import signatures as outgoing_signatures
from touchbase.sql.store import Store
from touchbase.stores.postgres import PostgresStore
from touchbase.stores.sqlite import SqliteStore


@pytest.fixture
def world(execute_sql: ExecuteSql, monkeypatch: pytest.MonkeyPatch) -> World:
    tokens = Tokens()
    monkeypatch.setattr(auth_service, "token_hex", tokens.hex)
    monkeypatch.setattr(clients_service, "token_hex", tokens.hex)
    monkeypatch.setattr(erasure_marks, "token_bytes", tokens.bytes)
    monkeypatch.setattr(outgoing_signatures, "token_bytes", tokens.bytes)
    return World(execute_sql, tokens)


@pytest.fixture
async def opened(engine_url: str) -> AsyncIterator[Opened]:
    """Opens the world's store, anew when it is open already."""
    async with AsyncExitStack() as open_ones:

        async def open_it() -> Store:
            await open_ones.aclose()
            engine = SqliteStore if engine_url.startswith("sqlite") else PostgresStore
            cipher = AesGcmCipher(StaticKeys(ENCRYPTION_KEYS.read()))
            open_ones.enter_context(executed_by(TRYING))
            store: Store = await engine.open(engine_url, queue_limit=4096, cipher=cipher)
            open_ones.push_async_callback(store.close)
            return store

        yield open_it


@pytest.fixture
def emptied(request: pytest.FixtureRequest, engine_url: str) -> Callable[[], None]:
    """Makes the world empty; its store must be closed, or is opened anew afterwards."""

    def empty() -> None:
        if engine_url.startswith("sqlite"):
            path = Path(engine_url.removeprefix("sqlite:///"))
            for item in path.parent.glob(f"{path.name}*"):
                item.unlink()
        else:
            databases: Databases = request.getfixturevalue("databases")
            databases.clean()

    return empty
