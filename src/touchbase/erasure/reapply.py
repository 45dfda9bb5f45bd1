"""Reapply erasures to a restored backup: people erased after the backup was taken must not come back with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from touchbase.clients.sql.clients import list_clients
from touchbase.common.timestamps import Micros
from touchbase.erasure.models import ErasedKey
from touchbase.erasure.service import Eraser
from touchbase.erasure.sql.erasures import add_erasures
from touchbase.erasure.sql.persons import clients_with_erasures, list_erasures, open_erasures
from touchbase.sql.store import Store

PAGE = 500


async def reapply_erasures(restored: Store, source: Store, now: Micros) -> int:
    """Copy erased keys from another store to a restored one; return how many are new to it.

    `known`: the replaced store, or any that was in use after the backup was taken. Clients missing in the restored store are skipped.
    The people's data is removed by `finish_erasures`.
    """
    added = 0
    # Number and creation time identify a client: its id may have been rotated, and its number belong to another one in the restored store.
    restored_clients = {(client.number, client.created_us) for client in await restored.read(list_clients())}
    for number, created_us in await source.read(clients_with_erasures()):
        if (number, created_us) in restored_clients:
            added += await _copy(restored, source, number, now)
    return added


async def finish_erasures(restored: Store, eraser: Eraser) -> None:
    """Complete unfinished erasures: remove records first, then the bodies of all deliveries that name the person."""
    searched = []
    for erasure in await restored.read(open_erasures()):
        current = erasure
        while current.searched_us is None and not current.waits_for:
            current = await eraser.step(current)
        searched.append(current)
    await eraser.clean(searched)  # once for all erasures: it may rewrite the whole file


async def _copy(restored: Store, source: Store, client: int, now: Micros) -> int:
    added, secret = 0, b""
    after: bytes | None = b""
    erasures: dict[int, list[ErasedKey]] = {}
    while after is not None:
        page = await source.read(list_erasures(client, PAGE, after))
        secret, after = page.secret or secret, page.last
        for key in page.keys:
            erasures.setdefault(key.erasure, []).append(key)
    for keys in _batches(erasures.values()):
        added += await restored.write(add_erasures(client, secret, keys, now))
    return added


def _batches(erasures: Iterable[list[ErasedKey]]) -> Iterator[list[ErasedKey]]:
    """Yield the keys of whole erasures in batches of about a page."""
    batch: list[ErasedKey] = []
    for keys in erasures:
        batch += keys
        if len(batch) >= PAGE:
            yield batch
            batch = []
    if batch:
        yield batch
