"""Carrying erasures over: whom a store has erased since a backup was taken must not come back with that backup."""

from __future__ import annotations

from touchbase.domain.erasure import AddErasures, ListErasures, OpenErasures
from touchbase.domain.ports import Store
from touchbase.domain.queries import ListClients
from touchbase.domain.times import Micros
from touchbase.service.erase import Eraser

PAGE = 500


async def reapply_erasures(restored: Store, known: Store, now: Micros) -> int:
    """Tell a restored store whom another store knows to be erased; answers how many identities were news to it.

    `known` is the store that is replaced, or any that was in use after the backup was taken. Clients that the restored store does not
    have are passed over. The people themselves are removed by `finish_erasures`.
    """
    added = 0
    there = {client.client_id: client.number for client in await restored.read(ListClients())}
    for client in await known.read(ListClients()):
        if there.get(client.client_id) == client.number:
            added += await _carry(restored, known, client.number, now)
    return added


async def finish_erasures(restored: Store, eraser: Eraser) -> None:
    """Remove what erasures that are not at their end still look for: records first, then every call that names the person."""
    for erasure in await restored.read(OpenErasures()):
        await eraser.search(erasure)


async def _carry(restored: Store, known: Store, client: int, now: Micros) -> int:
    added, after = 0, b""
    while True:
        page = await known.read(ListErasures(client, PAGE, after))
        if page.secret is not None and page.keys:
            added += await restored.write(AddErasures(client, page.secret, page.keys, now))
        if page.last is None:
            return added
        after = page.last
