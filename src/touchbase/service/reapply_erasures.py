"""Carrying erasures over: whom a store has erased since a backup was taken must not come back with that backup."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from touchbase.domain.commands import Command
from touchbase.domain.ports import Store
from touchbase.domain.queries import ListClients, Query
from touchbase.domain.times import Micros

PAGE = 500


class ErasedPage(Protocol):
    """Some of a client's erasures, as keyed hashes, and the secret that they are made with."""

    secret: bytes | None
    keys: Sequence[Any]
    last: bytes | None


@dataclass(frozen=True, slots=True)
class ErasureWords:
    """How a store is asked for erasures (client, limit, after) and told of them (client, secret, keys, now)."""

    list: Callable[[int, int, bytes], Query[ErasedPage]]
    add: Callable[[int, bytes, Any, Micros], Command[int]]


ERASURES: ErasureWords | None = None
"""None: this version erases nobody."""


async def reapply_erasures(restored: Store, known: Store, now: Micros, words: ErasureWords | None = None) -> int:
    """Erase again in a restored store whom another store knows to be erased; answers how many identities were news to it.

    `known` is the store that is replaced, or any that was in use after the backup was taken. Clients that the restored store does not
    have are passed over.
    """
    words = words or ERASURES
    if words is None:
        return 0
    added = 0
    there = {client.client_id: client.number for client in await restored.read(ListClients())}
    for client in await known.read(ListClients()):
        if there.get(client.client_id) == client.number:
            added += await _carry(restored, known, client.number, now, words)
    return added


async def _carry(restored: Store, known: Store, client: int, now: Micros, words: ErasureWords) -> int:
    added, after = 0, b""
    while True:
        page = await known.read(words.list(client, PAGE, after))
        if page.secret is not None and page.keys:
            added += await restored.write(words.add(client, page.secret, page.keys, now))
        if page.last is None:
            return added
        after = page.last
