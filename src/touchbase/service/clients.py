"""Clients at hand: who a `client_id` is and what they have decided, without asking the store every time."""

from __future__ import annotations

import re

from touchbase.domain.client import Client, ClientSettings
from touchbase.domain.commands import EnsureClient, SetClientSettings
from touchbase.domain.errors import NotFound
from touchbase.domain.ports import Clock, Store
from touchbase.domain.queries import FindClient, ListClients
from touchbase.domain.text import CLIENT_ID
from touchbase.domain.times import SECOND, Micros

FRESH: Micros = SECOND
"""How long another process's change of a client's settings may stay unseen here."""

MOST_REMEMBERED = 10_000
_CLIENT_ID = re.compile(rf"[A-Za-z0-9._~\-]{{1,{CLIENT_ID}}}")


def is_client_id(text: str) -> bool:
    """Whether a text may name a client: 1 to 100 letters, digits and `.` `_` `~` `-`."""
    return _CLIENT_ID.fullmatch(text) is not None


class Clients:
    """The clients of one store, each remembered for `FRESH`; a change made through here is seen at once."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[Client, Micros]] = {}
        self._names: dict[int, str] = {}

    def at_hand(self, client_id: str, now: Micros) -> Client | None:
        """The client if it is remembered and fresh; None says nothing about whether there is one."""
        known = self._known.get(client_id)
        return known[0] if known is not None and now - known[1] < FRESH else None

    async def find(self, client_id: str) -> Client | None:
        """The client of this `client_id`, or None."""
        found = self.at_hand(client_id, self._clock())
        if found is None and is_client_id(client_id):
            found = await self._store.read(FindClient(client_id))
            if found is not None:
                self._remember(found)
        return found

    async def get(self, client_id: str) -> Client:
        """The client of this `client_id`; raises `NotFound`."""
        found = await self.find(client_id)
        if found is None:
            raise NotFound(f"there is no client {client_id!r}")
        return found

    async def ensure(self, client_id: str) -> Client:
        """The client of this `client_id`, made now if there is none. The id must be a valid one."""
        found = await self.find(client_id)
        if found is None:
            found = await self._store.write(EnsureClient(client_id, self._clock()))
            self._remember(found)
        return found

    async def by_number(self, number: int) -> Client:
        """The client of this number; raises `NotFound`."""
        if number not in self._names:
            for client in await self.all():
                self._names[client.number] = client.client_id
        if number not in self._names:
            raise NotFound("this client is no longer there")
        return await self.get(self._names[number])

    async def all(self) -> list[Client]:
        """All clients by `client_id`."""
        return await self._store.read(ListClients())

    async def put(self, client_id: str, settings: ClientSettings) -> tuple[Client, bool]:
        """Replace a client's settings; a client that is not there is made, and the second answer is True."""
        is_new = await self._store.read(FindClient(client_id)) is None
        if is_new:
            await self._store.write(EnsureClient(client_id, self._clock()))
        changed = await self._store.write(SetClientSettings(client_id, settings))
        self._remember(changed)
        return changed, is_new

    def forget(self, client_id: str) -> None:
        """Ask the store again the next time: something about this client has changed."""
        self._known.pop(client_id, None)

    def _remember(self, client: Client) -> None:
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[client.client_id] = (client, self._clock())
        self._names[client.number] = client.client_id
