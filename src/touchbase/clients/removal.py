"""Removal of clients: delete all data of a client in small transactions, so that others are not blocked.

The progress is in the store: another process, or the same one after a restart, continues an interrupted removal.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from touchbase.clients.models import Client, Position, Removal
from touchbase.clients.sql.removal import count_client_rows, remove_client_rows
from touchbase.common.timestamps import Clock
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

BATCH = 500
"""Rows in one transaction: a few hundredths of a second, which delays requests that wait for it."""


async def removal_of(store: Store, clock: Clock, client: Client, batch: int = BATCH) -> AsyncGenerator[Removal, None]:
    """Remove all rows of a client that is being deleted; yield the progress after each batch.

    Once all rows are removed, `wait_us` says how long requests from before may still write: continue after it.
    """
    total = await _total(store, client)
    position: Position | None = None
    while True:
        removal = await store.write(remove_client_rows(client.number, clock(), batch, position, total))
        total, position = None, removal.position
        yield removal
        if removal.done:
            return


async def _total(store: Store, client: Client) -> int | None:
    if client.deletion is None or client.deletion.total is not None:
        return None
    try:
        return client.deletion.removed + await store.read(count_client_rows(client.number))
    except Overloaded:
        return None  # too many to count: the total stays unknown
