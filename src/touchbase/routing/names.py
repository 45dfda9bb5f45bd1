"""Writes that give out ids and keys: the directory has them before the cell writes, so that no two cells have one id.

The directory in memory: which client, id and key belongs to which cell. It is read again twice a second.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from touchbase.auth.api_key import ApiKey
from touchbase.auth.sql import find_key, revoke_key, rotate_key, store_key, store_key_uses
from touchbase.cells.models import HOME, ID_BITS, ClientPlace, Directory
from touchbase.cells.sql import confirm_place, find_key_place, find_place, forget_places, place_key, release_place, reserve_place
from touchbase.clients.models import Client, Removal
from touchbase.clients.service import SINCE_EVER
from touchbase.clients.sql.clients import create_client, ensure_client, find_client, rotate_client_id, set_client_settings
from touchbase.clients.sql.removal import remove_client_rows
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import Conflict, NotFound, OutcomeUnknown, TouchbaseError
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.sql import find_response
from touchbase.sql.operation import Command


class Placement:
    """Answers where a client lives: in the home store unless the directory has a cell."""

    def __init__(self) -> None:
        self.revision = 0
        self.home_clients = 0
        self._names: dict[str, ClientPlace] = {}
        self._cells: dict[int, int] = {}
        self._keys: dict[str, int] = {}

    def apply(self, changes: Directory) -> None:
        """Apply changes."""
        for place in changes.places:
            self.put(place)
        self._keys.update(changes.keys)
        if changes.revision > self.revision:
            self.revision, self.home_clients = changes.revision, changes.home_clients

    def put(self, place: ClientPlace) -> None:
        """Take over where one client lives."""
        former = self._names.get(place.client_id)
        if place.cell is None:
            self._names.pop(place.client_id, None)
            if former is not None and former.number is not None and not self._has_name(former.number):
                self._cells.pop(former.number, None)
                self._keys = {key_id: number for key_id, number in self._keys.items() if number != former.number}
            return
        self._names[place.client_id] = place
        if place.number is not None:
            self._cells[place.number] = place.cell

    def _has_name(self, number: int) -> bool:
        return any(place.number == number for place in self._names.values())

    def put_key(self, key_id: str, number: int) -> None:
        """Take over whose a key is."""
        self._keys[key_id] = number

    def cell_of(self, number: int) -> int:
        """Return the cell of the client of this number."""
        return self._cells.get(number, HOME)

    def is_copy(self, row: Any, cell: int) -> bool:
        """Whether a row of this cell is of a client that lives elsewhere: a move copies it, or has not removed it yet."""
        number = getattr(row, "client", getattr(row, "number", None))
        if not isinstance(number, int) or number <= 0:
            return False
        origin = HOME if cell == HOME else number >> ID_BITS  # of a client that the directory of this process does not have yet
        return self._cells.get(number, origin) != cell

    def place_of(self, client_id: str) -> ClientPlace | None:
        """Return the place of a client by a present or former id, if it has one."""
        return self._names.get(client_id)

    def cell_of_name(self, client_id: str) -> int:
        """Return the cell of the client of this id; the home store, if it has no place."""
        place = self._names.get(client_id)
        return HOME if place is None or place.cell is None else place.cell

    def cell_of_key(self, key_id: str) -> int | None:
        """Return the cell of the client of a key; None if the key has no place."""
        number = self._keys.get(key_id)
        return None if number is None else self.cell_of(number)

    def counts(self) -> dict[int, int]:
        """Return the number of clients of each cell that has any."""
        counted: dict[int, int] = {HOME: self.home_clients}
        for cell in self._cells.values():
            if cell != HOME:  # the home store counts its own, also clients without a place
                counted[cell] = counted.get(cell, 0) + 1
        return counted


class ClientCells(Protocol):
    """The router's interface to the writes here."""

    home: ProcessingStore
    placement: Placement

    def store(self, cell: int) -> ProcessingStore:
        """Return the store of a cell. Raises `StoreUnavailable`."""
        ...

    def stores(self) -> dict[int, ProcessingStore]:
        """Return the stores that are open, by the number of their cell."""
        ...

    def cell_for_new_client(self, name: str) -> int:
        """Return the cell of this name; for a blank name the cell with the fewest clients."""
        ...


async def place_of(cells: ClientCells, client_id: str) -> ClientPlace | None:
    """Return the place of a client; the directory is asked for an id that is not known here, which another process may have given out."""
    cached = cells.placement.place_of(client_id)
    if cached is not None and cached.number is not None:
        return cached
    place = await cells.home.read(find_place(client_id))
    if place is None or place.cell is None:
        return None
    cells.placement.put(place)
    return place


async def cell_of_key(cells: ClientCells, key_id: str) -> int:
    """Return the cell that has a key; the home store, if no cell is known to have it."""
    cached = cells.placement.cell_of_key(key_id)
    if cached is not None:
        return cached
    place = await cells.home.read(find_key_place(key_id))
    if place is None or place.number is None or place.cell is None:
        return HOME
    cells.placement.put(place)
    cells.placement.put_key(key_id, place.number)
    return place.cell


async def route_find_client(cells: ClientCells, query: Any) -> Any:
    """Find a client by its id, in its cell."""
    cached = cells.placement.place_of(query.client_id)
    if cached is None or cached.cell is None:
        client = await cells.home.read(query)
        if client is not None:
            return client
        cached = await place_of(cells, query.client_id)
    if cached is None or cached.cell is None:
        return None
    client = await cells.store(cached.cell).read(query)
    if client is None:  # it may have been moved, and the directory not been read since
        place = await cells.home.read(find_place(query.client_id))
        if place is not None and place.cell not in (None, cached.cell):
            cells.placement.put(place)
            return await cells.store(place.cell).read(query)
    return client


async def route_find_key(cells: ClientCells, query: Any) -> Any:
    """Find a key, in the cell of its client."""
    cached = cells.placement.cell_of_key(query.key_id)
    if cached is None:
        key = await cells.home.read(query)
        if key is not None:
            return key
        cell = await cell_of_key(cells, query.key_id)
        return None if cell == HOME else await cells.store(cell).read(query)
    return await cells.store(cached).read(query)


async def route_create_client(cells: ClientCells, command: Any, inner: Any) -> Any:
    """Create a client in the cell that it names, or in the one with the fewest."""
    if command.operation is execute_once.operation:
        for store in cells.stores().values():  # a repeated request may name no id, and would get another one
            if await store.read(find_response(command.request)) is not None:
                return await store.write(command)
    return await _create(cells, command, inner.client_id, cells.cell_for_new_client(inner.cell))


async def _create(cells: ClientCells, command: Command[Any], client_id: str, cell: int) -> Any:
    place = await cells.home.write(reserve_place(client_id, cell))
    assert place.cell is not None
    store = cells.store(place.cell)
    try:
        client = await store.write(command)
    except Conflict:
        # It was created before, and the process ended before it could say so.
        existing = await store.read(find_client(client_id))
        if existing is not None:
            await _confirm(cells, client_id, existing.number, place.cell)
        raise
    except OutcomeUnknown:
        raise  # the reservation stays: the next request for this id goes on in the same cell
    except TouchbaseError:
        await cells.home.write(release_place(client_id))
        raise
    if isinstance(client, Client):
        await _confirm(cells, client_id, client.number, place.cell)
    return client


async def _confirm(cells: ClientCells, client_id: str, number: int, cell: int) -> None:
    await cells.home.write(confirm_place(client_id, number))
    cells.placement.put(ClientPlace(client_id, number, cell))
    if cell == HOME:
        cells.placement.home_clients += 1  # until the directory counts them again


async def route_ensure_client(cells: ClientCells, command: Command[Any], inner: Any) -> Any:
    """Return a client, and create a missing one; not for a first request that names it: clients of several cells are made on purpose."""
    place = await place_of(cells, inner.client_id)
    if place is not None and place.number is not None and place.cell is not None:
        return await cells.store(place.cell).write(command)
    if place is None and await cells.home.read(find_client(inner.client_id, SINCE_EVER)) is not None:
        return await cells.home.write(command)
    if place is None and inner.first_use:
        raise NotFound(f"there is no client {inner.client_id!r}; with several databases only an administrator adds clients")
    return await _create(cells, command, inner.client_id, cells.cell_for_new_client(""))


async def route_rotate_client_id(cells: ClientCells, command: Command[Any], inner: Any) -> Any:
    """Change a client's id, unless another cell has a client of this id."""
    cell = cells.placement.cell_of(inner.client)
    place = await place_of(cells, inner.client_id)
    await cells.home.write(reserve_place(inner.client_id, cell, inner.client))
    try:
        changed = await cells.store(cell).write(command)
    except OutcomeUnknown:
        raise
    except TouchbaseError:
        if place is None:
            await cells.home.write(release_place(inner.client_id, inner.client))
        raise
    cells.placement.put(ClientPlace(inner.client_id, inner.client, cell))
    return changed


async def route_set_client_settings(cells: ClientCells, command: Command[Any], inner: Any) -> Any:
    """Replace the settings of a client, in its cell."""
    place = await place_of(cells, inner.client_id)
    return await cells.store(HOME if place is None or place.cell is None else place.cell).write(command)


async def route_store_key(cells: ClientCells, command: Command[Any], inner: Any) -> Any:
    """Store a key, in the cell of its client."""
    key: ApiKey = inner.key
    cell = HOME if key.client is None else cells.placement.cell_of(key.client)
    if key.client is not None and cell != HOME:
        await _place_key(cells, key.key_id, key.client)
    return await cells.store(cell).write(command)


async def _place_key(cells: ClientCells, key_id: str, number: int) -> None:
    await cells.home.write(place_key(key_id, number))
    cells.placement.put_key(key_id, number)


async def route_rotate_key(cells: ClientCells, command: Command[Any], inner: Any) -> Any:
    """Store the successor of a key, in the same cell."""
    cell = await cell_of_key(cells, inner.key_id)
    if cell != HOME:
        place = await cells.home.read(find_key_place(inner.key_id))
        if place is not None and place.number is not None:
            await _place_key(cells, inner.successor_id, place.number)
    return await cells.store(cell).write(command)


async def route_revoke_key(cells: ClientCells, command: Command[Any], inner: Any) -> Any:
    """Revoke a key, in its cell."""
    return await cells.store(await cell_of_key(cells, inner.key_id)).write(command)


async def route_store_key_uses(cells: ClientCells, command: Command[Any], inner: Any) -> None:
    """Store when keys were used, each in its cell; uses in a cell that is down are lost, which only a list of keys shows."""
    parts: dict[int, dict[str, int]] = {}
    for key_id, at in inner.uses.items():
        parts.setdefault(cells.placement.cell_of_key(key_id) or HOME, {})[key_id] = at
    for cell, uses in parts.items():
        try:
            await cells.store(cell).write(store_key_uses(uses))
        except TouchbaseError:
            if cell == HOME:
                raise


async def route_remove_client_rows(cells: ClientCells, command: Command[Any], inner: Any) -> Removal:
    """Remove rows of a client, and its places once all are removed."""
    removal: Removal = await cells.store(cells.placement.cell_of(inner.client)).write(command)
    if removal.done:
        await cells.home.write(forget_places(inner.client))
    return removal


WRITES: dict[Any, Callable[[ClientCells, Command[Any], Any], Awaitable[Any]]] = {
    create_client: route_create_client,
    ensure_client: route_ensure_client,
    rotate_client_id: route_rotate_client_id,
    set_client_settings: route_set_client_settings,
    store_key: route_store_key,
    rotate_key: route_rotate_key,
    revoke_key: route_revoke_key,
    store_key_uses: route_store_key_uses,
    remove_client_rows: route_remove_client_rows,
}
READS: dict[Any, Callable[[ClientCells, Any], Awaitable[Any]]] = {find_client: route_find_client, find_key: route_find_key}
