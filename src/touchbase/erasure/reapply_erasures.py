"""Carrying erasures over: whom a store has erased since a backup was taken must not come back with that backup."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from touchbase.clients.commands import ListClients
from touchbase.common.timestamps import Micros
from touchbase.erasure.commands import AddErasures, ErasedKey, ListErasures, OpenErasures
from touchbase.erasure.service import Eraser
from touchbase.sql.store import Store

PAGE = 500


async def reapply_erasures(restored: Store, known: Store, now: Micros) -> int:
    """Tell a restored store whom another store knows to be erased; answers how many identities were news to it.

    `known` is the store that is replaced, or any that was in use after the backup was taken. Clients that the restored store does not
    have are passed over. The people themselves are removed by `finish_erasures`.
    """
    added = 0
    # What never changes of a client; its id may have been rotated since, and its number be given to another in the restored store.
    there = {(client.number, client.created_us) for client in await restored.read(ListClients())}
    for client in await known.read(ListClients()):
        if (client.number, client.created_us) in there:
            added += await _carry(restored, known, client.number, now)
    return added


async def finish_erasures(restored: Store, eraser: Eraser) -> None:
    """Remove what erasures that are not at their end still look for: records first, then every call that names the person."""
    for erasure in await restored.read(OpenErasures()):
        left = erasure
        while left.done_us is None:
            left = await eraser.step(left)
    await restored.vacuum()  # once for all: it may write the whole file


async def _carry(restored: Store, known: Store, client: int, now: Micros) -> int:
    added, secret = 0, b""
    after: bytes | None = b""
    erasures: dict[int, list[ErasedKey]] = {}
    while after is not None:
        page = await known.read(ListErasures(client, PAGE, after))
        secret, after = page.secret or secret, page.last
        for key in page.keys:
            erasures.setdefault(key.erasure, []).append(key)
    for keys in _together(erasures.values()):
        added += await restored.write(AddErasures(client, secret, keys, now))
    return added


def _together(erasures: Iterable[list[ErasedKey]]) -> Iterator[list[ErasedKey]]:
    """Keys of whole erasures, about a page at a time."""
    some: list[ErasedKey] = []
    for keys in erasures:
        some += keys
        if len(some) >= PAGE:
            yield some
            some = []
    if some:
        yield some
