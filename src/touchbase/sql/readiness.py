"""Readiness: whether a store shows in time that it can write."""

from __future__ import annotations

import asyncio

from touchbase.errors import Overloaded
from touchbase.sql.store import Store

READY_SECONDS = 3.0
"""How long the store may take to show that it can write."""


async def check_in_time(store: Store) -> None:
    """Raise `Overloaded` unless the store shows within `READY_SECONDS` that it can write."""
    try:
        async with asyncio.timeout(READY_SECONDS):
            await store.check()
    except TimeoutError as error:
        raise Overloaded(f"The store did not show within {READY_SECONDS:g} seconds that it can write.") from error
