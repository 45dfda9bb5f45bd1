"""Removing clients: all the data of those that are being deleted, piece by piece, with rests for everybody else.

How far it has come is kept in the store: whoever is stopped, another goes on, or the same after its next start.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator

from touchbase.clients.commands import CountClientRows, Place, Removal, RemoveClientRows
from touchbase.clients.models import Client
from touchbase.common.timestamps import Clock
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

BATCH = 500
"""Rows in one transaction: a few hundredths of a second, which is what a caller may have to wait."""


async def removal_of(store: Store, clock: Clock, client: Client, batch: int = BATCH) -> AsyncGenerator[Removal, None]:
    """Remove all that there is of a client that is being deleted; answers after each piece how far it is.

    Once all that there was is gone, `wait_us` says how long calls from before may still write: come back then.
    """
    total = await _total(store, client)
    place: Place | None = None
    while True:
        removal = await store.write(RemoveClientRows(client.number, clock(), batch, place, total))
        total, place = None, removal.place
        yield removal
        if removal.done:
            return


async def _total(store: Store, client: Client) -> int | None:
    if client.deletion is None or client.deletion.total is not None:
        return None
    try:
        return client.deletion.removed + await store.read(CountClientRows(client.number))
    except Overloaded:
        return None  # too many to be counted: then nobody is told how many there are
