"""Clients service: find clients by `client_id` or number, with a cache."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable
from secrets import token_hex

from touchbase.clients.models import BY_ADMINISTRATOR, BY_CALL, DELETING, HANDLE, NO_CLIENT, Client, ClientSettings, free_handle, handle_of
from touchbase.clients.sql.clients import (
    ensure_client,
    find_client,
    find_client_by_handle,
    find_client_by_number,
    find_clients,
    list_client_page,
    names_like,
    set_client_settings,
)
from touchbase.common.cache import FOREVER, Cache
from touchbase.common.field_limits import CLIENT_ID
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.errors import Conflict, NotFound, PreconditionFailed, WrongState
from touchbase.sql.operation import Command
from touchbase.sql.store import Store, Writes

LOG = logging.getLogger("touchbase.clients")
MADE_BY_CALL = (
    "a client was created by the first request that names it; `touchbase clients list` shows it as made by a call. "
    "Once you add a client yourself, webhooks for unknown clients are rejected"
)
"""Its id is a secret, and is not logged."""
FRESH: Micros = SECOND
"""How long another process's change of a client may stay unseen here."""
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
        self._by_id: Cache[str, Client] = Cache(clock, FRESH, valid_until=_valid_until)
        self._by_number: Cache[int, Client] = Cache(clock, FRESH, valid_until=_number_valid_until)
        self.cached: Callable[[str, Micros], Client | None] = self._by_id.get
        """Return the client if it is cached and fresh; None says nothing about its existence."""
        self.cached_by_number: Callable[[int, Micros], Client | None] = self._by_number.get
        """Return the client of this number, as `cached`."""

    async def find(self, client_id: str) -> Client | None:
        """Return the client of this `client_id`, or None."""
        now = self._clock()
        client = self._by_id.get(client_id, now)
        if client is None and is_client_id(client_id):
            client = await self._by_id.read(client_id, lambda: self._store.read(find_client(client_id, now)))
        return client

    async def named(self, text: str) -> Client | None:
        """Return the client with this `client_id` or handle, or None: for addresses of the console, not for requests on records."""
        found = await self.find(text)
        return await self._store.read(find_client_by_handle(text)) if found is None and HANDLE.fullmatch(text) else found

    async def id_of(self, text: str) -> str:
        """Return the `client_id` of the client that this names; a handle names one unless it is another's `client_id`."""
        if not HANDLE.fullmatch(text) or await self.find(text) is not None:
            return text
        client = await self._store.read(find_client_by_handle(text))
        return text if client is None else client.client_id

    async def new_handle(self, name: str, client_id: str, chosen: str | None = None) -> str:
        """Return the handle for a new client of this name, or the chosen one.

        `Conflict` if another client has the chosen one as handle or id, or has `client_id` as its handle.
        """
        if await self._store.read(find_client_by_handle(client_id)) is not None:
            raise Conflict(f"{client_id!r} is the handle of another client; choose another id, or leave it out to get a generated one")
        stem = chosen or handle_of(name)
        taken = {*(await self._store.read(names_like(stem)))} - {client_id} if stem else set()
        if chosen and chosen in taken:
            raise Conflict(
                f"{chosen!r} is the handle or id of another client; choose another handle, or leave it out to get one from the name"
            )
        handle = chosen or free_handle(name, taken)
        while (owner := await self.find(handle)) is not None and owner.client_id != client_id:  # a former id
            taken.add(handle)
            handle = free_handle(name, taken)
        return handle

    async def get(self, client_id: str) -> Client:
        """Return the client of this `client_id`; raise `NotFound`."""
        client = await self.find(client_id)
        if client is None:
            raise NotFound(f"there is no client {client_id!r}")
        return client

    async def ensure(self, client_id: str, *, first_use: bool = False) -> Client:
        """Return the client of this `client_id`, created if there is none. The id must be valid; `NotFound` if it was another's.

        With `first_use` none is created, and it is `NotFound`, if an administrator has created any client.
        """
        client = await self.find(client_id)
        if client is None:
            now, changes = self._clock(), self._by_id.changes
            client = await self._store.write(ensure_client(client_id, now, first_use=first_use))
            if client.created_us == now and client.made_by == BY_CALL:
                LOG.warning("%s", MADE_BY_CALL)
            if client.client_id == client_id and changes == self._by_id.changes:
                self._by_id.put(client_id, client, now)
                self._by_number.put(client.number, client, now)
        return client

    async def find_or_placeholder(self, client_id: str) -> Client:
        """Return the client of this `client_id`; if there is none, an empty client that is not stored. `NotFound` as `ensure`."""
        client = await self.find(client_id)
        if client is not None:
            return client
        if await self._store.read(find_client(client_id, SINCE_EVER)) is not None:
            raise NotFound(f"there is no client {client_id!r} any more: it has another id now")
        return Client(NO_CLIENT, client_id, self._clock(), ClientSettings())

    async def by_number(self, number: int) -> Client:
        """Return the client of this number; raise `NotFound`."""
        client = self._by_number.get(number, self._clock())
        if client is None:
            client = await self._by_number.read(number, lambda: self._store.read(find_client_by_number(number)))
        if client is None:
            raise NotFound("this client no longer exists")
        return client

    async def of(self, numbers: Iterable[int | None]) -> dict[int, Client]:
        """Return the clients of these numbers, as far as there are such."""
        now, wanted, changes = self._clock(), {*numbers} - {None}, self._by_number.changes
        clients = {number: client for number in wanted if number and (client := self._by_number.get(number, now)) is not None}
        missing = sorted(number for number in wanted if number and number not in clients)
        for client in (await self._store.read(find_clients(missing))) if missing else []:
            clients[client.number] = client
            if changes == self._by_number.changes:
                self._by_number.put(client.number, client, now)
        return clients

    async def page(
        self, limit: int, after: str | None, *, state: str | None = None, text: str | None = None, only: int | None = None
    ) -> tuple[list[Client], str | None]:
        """Return a page of clients by `client_id`, and the cursor of the next; see `list_client_page`."""
        clients = await self._store.read(list_client_page(limit + 1, after, state, text, only))
        return clients[:limit], clients[limit - 1].client_id if len(clients) > limit else None

    async def put(
        self, client_id: str, settings: ClientSettings, *, keep_limits: bool = False, if_versions: Collection[str] | None = None
    ) -> tuple[Client, bool]:
        """Replace a client's settings; create a missing client, and then the second result is True.

        `WrongState` for one that is being deleted; `Forbidden` for other limits with `keep_limits`; `PreconditionFailed` if it has none
        of `if_versions`.
        """
        client = await self._store.read(find_client(client_id, self._clock()))
        is_new = client is None
        if client is None:
            if if_versions is not None:
                raise PreconditionFailed(f"there is no client {client_id!r}, so that it has no ETag: leave If-Match out to create it")
            client = await self._store.write(ensure_client(client_id, self._clock(), BY_ADMINISTRATOR))
        if client.state == DELETING:
            raise WrongState(f"client {client_id!r} is being deleted; nothing of it can be changed any more")
        return await self.change(set_client_settings(client.client_id, settings, keep_limits, is_new, if_versions)), is_new

    async def change(self, command: Command[Client], writes: Writes | None = None) -> Client:
        """Carry out a command that creates or changes one client, through `writes` if given, and evict it from the cache.

        Raises the errors of the command.
        """
        changed = await (writes or self._store).write(command)
        self._by_id.forget_where(lambda _, client: client.number == changed.number)
        self._by_number.forget(changed.number)
        return changed

    def forget(self, client_id: str) -> None:
        """Evict a changed client from the cache."""
        # It may be cached under a former id, too.
        self._by_id.forget_where(lambda name, client: client_id in (name, client.client_id))
        self._by_number.forget_where(lambda _, client: client_id == client.client_id)


def _number_valid_until(client: Client, now: Micros) -> Micros:
    """Return until when a client may be cached by number: never while it is deleted, because its state must be read each time."""
    return now if client.state == DELETING else FOREVER


def _valid_until(client: Client, now: Micros) -> Micros:
    """Return until when a client may be cached by an id; a former id ends at its own time."""
    return _number_valid_until(client, now) if client.until_us is None else min(client.until_us, _number_valid_until(client, now))
