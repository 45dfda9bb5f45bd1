"""Stores with extra test commands, to test groups, failures and retries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.operations import executed_by

from touchbase.sql.operation import Operation
from touchbase.stores.postgres import PostgresStore
from touchbase.stores.sqlite import SqliteStore

AnyStore = SqliteStore | PostgresStore
Opener = Callable[..., Awaitable[AnyStore]]


@pytest.fixture
async def open_with() -> AsyncIterator[Opener]:
    """Open a store with additional commands; it is closed after the test."""
    async with AsyncExitStack() as opened:

        async def open_it(url: str, commands: Mapping[type, Operation], **options: Any) -> AnyStore:
            engine = SqliteStore if url.startswith("sqlite") else PostgresStore
            opened.enter_context(executed_by(commands))
            store: AnyStore = await engine.open(url, **{"queue_limit": 4096, **options})
            opened.push_async_callback(store.close)
            return store

        yield open_it
