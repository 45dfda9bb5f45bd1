"""Move a client to another database of the installation, while servers run: `touchbase clients move`.

Triggers refuse every write of the client, in whichever process, and creating them waits for the transactions that have begun. Then its
rows are copied and compared, and the directory names the other database. A move that was stopped or killed at any step is repeated:
before the switch the copy is made anew, behind it what is left is removed. After an error before the switch the client stays where it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, replace

from touchbase.cells.models import HOME, HOME_NAME
from touchbase.cells.sql import move_place
from touchbase.clients.models import ACTIVE, MOVING, Client, Position
from touchbase.clients.sql.clients import find_client, find_client_by_number
from touchbase.clients.sql.removal import CLIENT_TABLES, remove_moved_rows
from touchbase.deliveries.work import ProcessingStore
from touchbase.errors import NotFound, TouchbaseError, UnusableStore, WrongState
from touchbase.history.events import COMPANY, CONTACT
from touchbase.routing.router import POLL_SECONDS, CellRouter
from touchbase.storage.store_copy import ClientRows, Report, StoredTable, batches, checksum

_REMOVED_AT_ONCE = 2_000
_SWITCH_SECONDS = 2 * POLL_SECONDS
"""Time in which every process reads the directory: until then the fence refuses what an earlier one sends to the former database."""
_CHILDREN = {child: table.name for table in CLIENT_TABLES for child in table.children}
COLUMNS: Mapping[str, str] = {"client": "id"} | {table.name: "client" for table in CLIENT_TABLES} | dict.fromkeys(_CHILDREN, "client")
"""The tables with rows of clients, and the column that names the client."""
_FIRST = ("client", "company")
"""Tables that others refer to."""
OpenRows = Callable[[str], Awaitable[ClientRows]]


@dataclass(frozen=True, slots=True)
class Moved:
    """A finished move."""

    client_id: str
    source: str
    target: str
    """Names of databases."""
    rows: int
    """Number of copied rows; 0 if only the rest of an earlier move was done."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One database of the move."""

    number: int
    name: str
    store: ProcessingStore
    address: str


async def move_client(
    router: CellRouter, home_address: str, client_id: str, target_name: str, open_rows: OpenRows, report: Report
) -> Moved:
    """Move a client into the database of this name. It is served again when this returns.

    Raises `NotFound`, `WrongState` for a suspended or deleted client, and `UnusableStore` if the copy differs or a database cannot be used.
    """
    places = _places(router, home_address)
    target = next((place for place in places.values() if place.name == target_name), None)
    if target is None:
        raise NotFound(f"there is no database {target_name!r} that can be used; `touchbase databases list` shows all")
    client, source = await _client_of(router, places, client_id)
    async with AsyncExitStack() as opened:
        rows_of: dict[int, ClientRows] = {}
        for place in places.values():
            rows_of[place.number] = rows = await open_rows(place.address)
            opened.push_async_callback(rows.close)
            await rows.claim(client.number)
        await router.refresh()  # another command may have moved it before the claim
        client, source = await _client_of(router, places, client_id)
        if source.number == target.number:
            return await _finish(client, target, places, rows_of, report)
        if client.state not in (ACTIVE, MOVING):
            raise WrongState(f"client {client_id!r} is {client.state}: only an active client can be moved")
        copied = await _copy_or_undo(client, source, target, rows_of, report)
        names, keys = await _names_of(rows_of[target.number], client.number)
        await router.home.write(move_place(client.number, target.number, names, keys))
        await asyncio.sleep(_SWITCH_SECONDS)
        finished = await _finish(client, target, places, rows_of, report)
    return replace(finished, source=source.name, rows=copied)


def _places(router: CellRouter, home_address: str) -> dict[int, _Place]:
    places = {HOME: _Place(HOME, HOME_NAME, router.home, home_address)}
    for number, cell in router.cells.items():
        if cell.is_open:
            places[number] = _Place(number, cell.cell.name, cell.store, cell.cell.address)
    return places


async def _client_of(router: CellRouter, places: Mapping[int, _Place], client_id: str) -> tuple[Client, _Place]:
    """Return the client, and where the directory says that it lives."""
    client = await router.read(find_client(client_id, 0))
    if client is None:
        raise NotFound(f"there is no client {client_id!r}: `touchbase clients list` shows all")
    place = places.get(router.placement.cell_of(client.number))
    if place is None:
        raise UnusableStore("the database of this client cannot be used now: `touchbase databases list` says why")
    return client, place


async def _copy_or_undo(client: Client, source: _Place, target: _Place, rows_of: Mapping[int, ClientRows], report: Report) -> int:
    """Copy a client and return the number of rows; after an error it is served where it was."""
    former, future = rows_of[source.number], rows_of[target.number]
    await former.execute([f"UPDATE client SET state = '{MOVING}' WHERE id = {client.number:d} AND state = '{ACTIVE}'"])
    try:
        await former.fence(client.number, COLUMNS)
        await future.open_fence(client.number, COLUMNS, inserts=True)
        await _remove(client.number, target.store)  # what a move that was killed has left
        return await _copy(client.number, former, future, report)
    except Exception:
        await _serve(client.number, former)
        with suppress(TouchbaseError):  # a target that is down has the rest until the move is repeated
            await _remove(client.number, target.store)
        raise


async def _serve(client: int, rows: ClientRows) -> None:
    await rows.open_fence(client, COLUMNS, inserts=True)
    await rows.execute([f"UPDATE client SET state = '{ACTIVE}' WHERE id = {client:d} AND state = '{MOVING}'"])


async def _copy(client: int, former: ClientRows, future: ClientRows, report: Report) -> int:
    """Copy the rows of a client and compare them. Raises `UnusableStore` if they differ."""
    tables, others = await former.tables(), await future.tables()
    total = 0
    for name in sorted(COLUMNS, key=lambda name: (_FIRST.index(name) if name in _FIRST else len(_FIRST), name)):
        if set(tables[name].columns) != set(others[name].columns):
            raise UnusableStore(
                "the two databases have different tables: run `touchbase migrate` and `touchbase databases migrate`, then repeat"
            )
        table = _of_client(tables[name], client)
        expected, done = await former.count(table), 0
        async for batch in batches(former.rows(table, None)):
            await future.insert(table, batch)
            done += len(batch)
            report("copy", name, done, expected)
        total += done
        copies = [await _checksum(rows, table, expected, report) for rows in (former, future)]
        if copies[0] != copies[1]:
            raise UnusableStore(
                f"the copy differs in the table {name}: {copies[1][0]} rows, and {copies[0][0]} in the source; repeat the move"
            )
    pending = "INSERT INTO search_pending (client, record_kind, record_id) SELECT client, {}, id FROM {} WHERE client = {:d} "
    kinds = ((CONTACT, "contact"), (COMPANY, "company"))
    await future.execute([pending.format(*kind, client) + "ON CONFLICT DO NOTHING" for kind in kinds])
    return total


async def _checksum(rows: ClientRows, table: StoredTable, expected: int, report: Report) -> tuple[int, int]:
    return await checksum(rows.rows(table, None), lambda count: report("compare", table.name, count, expected))


def _of_client(table: StoredTable, client: int) -> StoredTable:
    condition = f"{COLUMNS[table.name]} = {client:d}"
    parent = _CHILDREN.get(table.name)
    if parent is not None:  # no index of such a table begins with the client on SQLite
        condition += f" AND id IN (SELECT id FROM {parent} WHERE {condition})"
    return replace(table, condition=condition)


async def _names_of(rows: ClientRows, client: int) -> tuple[list[str], list[str]]:
    """Return the ids of a client, with its former ones, and those of its keys."""
    tables = await rows.tables()
    names: list[str] = []
    keys: list[str] = []
    for name, column, values in (("client", "client_id", names), ("client_alias", "client_id", names), ("api_key", "key_id", keys)):
        table = _of_client(tables[name], client)
        position = list(table.columns).index(column)
        values.extend([row[position] async for row in rows.rows(table, None)])
    return names, keys


async def _finish(client: Client, target: _Place, places: Mapping[int, _Place], rows_of: Mapping[int, ClientRows], report: Report) -> Moved:
    """Serve a client where the directory names it, and remove what is left of it elsewhere."""
    await _serve(client.number, rows_of[target.number])
    left = [
        place
        for place in places.values()
        if place.number != target.number and await place.store.read(find_client_by_number(client.number)) is not None
    ]
    for place in left:
        rows = rows_of[place.number]
        await rows.open_fence(client.number, COLUMNS, inserts=False)
        await _remove(client.number, place.store, report)
        await rows.open_fence(client.number, COLUMNS, inserts=True)
    return Moved(client.client_id, left[0].name if left else target.name, target.name, 0)


async def _remove(client: int, store: ProcessingStore, report: Report | None = None) -> None:
    """Remove all rows of a client from a store that is not its home."""
    position: Position | None = None
    removed_rows = 0
    while await store.read(find_client_by_number(client)) is not None:
        removed, position = await store.write(remove_moved_rows(client, _REMOVED_AT_ONCE, position))
        removed_rows += removed
        if report is not None:
            report("remove", "all tables", removed_rows, removed_rows)
