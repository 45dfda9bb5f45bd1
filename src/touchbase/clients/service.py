"""Clients service: find clients by `client_id` or number, with a cache."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from secrets import token_hex

from touchbase.clients.commands import EnsureClient, FindClient, FindClientByNumber, ListClientPage, ListClients, SetClientSettings
from touchbase.clients.models import BY_ADMINISTRATOR, BY_CALL, DELETING, NO_CLIENT, Client, ClientSettings
from touchbase.common.field_limits import CLIENT_ID
from touchbase.common.single_flight import SingleFlight
from touchbase.common.timestamps import SECOND, Clock, Micros, has_passed
from touchbase.errors import NotFound, WrongState
from touchbase.sql.command import Command
from touchbase.sql.store import Store, Writes

LOG = logging.getLogger("touchbase.clients")
MADE_BY_CALL = (
    "a client was created by the first request that names it; `touchbase clients list` shows it as made by a call. "
    "Once you add a client yourself, webhooks for unknown clients are rejected"
)
"""Its id is a secret, and is not logged."""
FRESH: Micros = SECOND
"""How long another process's change of a client may stay unseen here."""

MAX_CACHED = 10_000
SINCE_EVER: Micros = 0
"""A moment at which every former id of a client was still honoured."""
_CLIENT_ID = re.compile(rf"(?!\.{{1,2}}\Z)[A-Za-z0-9._~\-]{{1,{CLIENT_ID}}}")


def is_client_id(text: str) -> bool:
    """Return whether a text is a valid `client_id`: 1 to 100 letters, digits and `.` `_` `~` `-`.

    Not `.` or `..`: HTTP clients resolve these as folders.
    """
    return _CLIENT_ID.fullmatch(text) is not None


def new_client_id() -> str:
    """Generate an unguessable id: 160 random bits, safe in URLs and on a command line."""
    return token_hex(20)


class Clients:
    """The clients of one store, each cached for `FRESH`; a change through this object is visible at once.

    A client is found by a former id too, while that is valid.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._known: dict[str, tuple[Client, Micros]] = {}
        self._numbered: dict[int, tuple[Client, Micros]] = {}
        self._changes = 0
        self._flights: SingleFlight[Client | None] = SingleFlight()

    def cached(self, client_id: str, now: Micros) -> Client | None:
        """Return the client if it is cached and fresh; None says nothing about its existence."""
        known = self._known.get(client_id)
        return known[0] if known is not None and not has_passed(FRESH, known[1], now) else None

    def cached_by_number(self, number: int, now: Micros) -> Client | None:
        """Return the client of this number, as `cached`."""
        known = self._numbered.get(number)
        return known[0] if known is not None and not has_passed(FRESH, known[1], now) else None

    async def find(self, client_id: str) -> Client | None:
        """Return the client of this `client_id`, or None."""
        found = self.cached(client_id, self._clock())
        if found is None and is_client_id(client_id):
            found = await self._flights.do(client_id, lambda: self._find(client_id))
        return found

    async def _find(self, client_id: str) -> Client | None:
        now = self._clock()
        found = await self._read(lambda: self._store.read(FindClient(client_id, now)))
        if found is not None:
            self._remember(client_id, found, now)
        return found

    async def get(self, client_id: str) -> Client:
        """Return the client of this `client_id`; raise `NotFound`."""
        found = await self.find(client_id)
        if found is None:
            raise NotFound(f"there is no client {client_id!r}")
        return found

    async def ensure(self, client_id: str, *, first_use: bool = False) -> Client:
        """Return the client of this `client_id`, created if there is none. The id must be valid; `NotFound` if it was another's.

        With `first_use` none is created, and it is `NotFound`, if an administrator has created any client.
        """
        found = await self.find(client_id)
        if found is None:
            now = self._clock()
            found = await self._store.write(EnsureClient(client_id, now, first_use=first_use))
            if found.created_us == now and found.made_by == BY_CALL:
                LOG.warning("%s", MADE_BY_CALL)
            if found.client_id == client_id:
                self._remember(client_id, found, now)
        return found

    async def find_or_placeholder(self, client_id: str) -> Client:
        """Return the client of this `client_id`; if there is none, an empty one that is not stored. `NotFound` as `ensure`."""
        found = await self.find(client_id)
        if found is not None:
            return found
        if await self._store.read(FindClient(client_id, SINCE_EVER)) is not None:
            raise NotFound(f"there is no client {client_id!r} any more: it has another id now")
        return Client(NO_CLIENT, client_id, self._clock(), ClientSettings())

    async def by_number(self, number: int) -> Client:
        """Return the client of this number; raise `NotFound`."""
        found = self.cached_by_number(number, self._clock())
        if found is None:
            found = await self._flights.do(number, lambda: self._by_number(number))
        if found is None:
            raise NotFound("this client no longer exists")
        return found

    async def _by_number(self, number: int) -> Client | None:
        now = self._clock()
        found = await self._read(lambda: self._store.read(FindClientByNumber(number)))
        if found is not None:
            self._remember(found.client_id, found, now)
        return found

    async def all(self) -> list[Client]:
        """Return all clients by `client_id`."""
        return await self._store.read(ListClients())

    async def page(
        self, limit: int, after: str | None, *, state: str | None = None, text: str | None = None, only: int | None = None
    ) -> tuple[list[Client], str | None]:
        """Return a page of clients by `client_id`, and the cursor of the next; see `ListClientPage`."""
        found = await self._store.read(ListClientPage(limit + 1, after, state, text, only))
        return found[:limit], found[limit - 1].client_id if len(found) > limit else None

    async def put(self, client_id: str, settings: ClientSettings, *, keep_limits: bool = False) -> tuple[Client, bool]:
        """Replace a client's settings; create a missing client, and then the second result is True.

        `WrongState` for one that is being deleted; `Forbidden` for other limits with `keep_limits`.
        """
        found = await self._store.read(FindClient(client_id, self._clock()))
        is_new = found is None
        if found is None:
            found = await self._store.write(EnsureClient(client_id, self._clock(), BY_ADMINISTRATOR))
        if found.state == DELETING:
            raise WrongState(f"client {client_id!r} is being deleted; nothing of it can be changed any more")
        return await self.change(SetClientSettings(found.client_id, settings, keep_limits)), is_new

    async def change(self, command: Command[Client], writes: Writes | None = None) -> Client:
        """Carry out a command that creates or changes one client, through `writes` if given, and evict it from the cache.

        Raises the errors of the command.
        """
        changed = await (writes or self._store).write(command)
        self._changes += 1
        for client_id in [name for name, known in self._known.items() if known[0].number == changed.number]:
            del self._known[client_id]
        self._numbered.pop(changed.number, None)
        return changed

    async def _read(self, ask: Callable[[], Awaitable[Client | None]]) -> Client | None:
        while True:
            changes = self._changes
            found = await ask()
            if changes == self._changes:  # else the result may be older than a change that was confirmed since
                return found

    def forget(self, client_id: str) -> None:
        """Evict a changed client from the cache."""
        # It may be cached under a former id, too.
        for name, known in [each for each in self._known.items() if client_id in (each[0], each[1][0].client_id)]:
            del self._known[name]
            self._numbered.pop(known[0].number, None)
        self._changes += 1

    def _remember(self, client_id: str, client: Client, now: Micros) -> None:
        if client.state == DELETING:
            return  # its state must be read each time
        if len(self._known) >= MAX_CACHED:
            self._known.clear()
            self._numbered.clear()
        at = now if client.until_us is None else min(now, client.until_us - FRESH)
        self._known[client_id] = (client, at)
        self._numbered[client.number] = (client, now)
