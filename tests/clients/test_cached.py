"""A client that was read before a change is not cached after it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from touchbase.clients.models import ClientSettings
from touchbase.clients.service import Clients
from touchbase.sql.store import Store

NOW = 1_790_000_000_000_000
CHANGED = ClientSettings(keep_bodies_days=7)


class OvertakenStore:
    """A store whose next answer of one kind arrives after something else has happened."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.meanwhile: dict[str, Callable[[], Awaitable[object]]] = {}

    async def write(self, command: Any) -> Any:
        return await self._late("write", await self._store.write(command))

    async def read(self, query: Any) -> Any:
        return await self._late("read", await self._store.read(query))

    async def _late(self, kind: str, answer: Any) -> Any:
        if meanwhile := self.meanwhile.pop(kind, None):
            await meanwhile()
        return answer


async def test_created_client__is_not_cached_as_it_was_before_a_change(store: Store) -> None:
    overtaken = OvertakenStore(store)
    clients = Clients(overtaken, lambda: NOW)  # type: ignore[arg-type]
    overtaken.meanwhile["write"] = lambda: clients.put("acme", CHANGED)

    made = await clients.ensure("acme")

    assert (await clients.get("acme")).settings == (await clients.by_number(made.number)).settings == CHANGED


async def test_client_of_a_list__is_not_cached_as_it_was_before_a_change(store: Store) -> None:
    overtaken = OvertakenStore(store)
    clients = Clients(overtaken, lambda: NOW)  # type: ignore[arg-type]
    number = (await Clients(store, lambda: NOW).ensure("acme")).number
    overtaken.meanwhile["read"] = lambda: clients.put("acme", CHANGED)

    await clients.of([number])

    assert (await clients.by_number(number)).settings == CHANGED
