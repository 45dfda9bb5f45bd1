"""Parts of the move of a client: comparisons, and plans for the moments at which it leaves and arrives."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from touchbase.cells.sql import NO_RANGE
from touchbase.clients import DELETING, Position
from touchbase.clients.sql.removal import DELETE_CLIENT, remove_some
from touchbase.encryption import Cipher
from touchbase.errors import UnusableStore, WrongState
from touchbase.sql.builders import new_key
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, T
from touchbase.storage.client_rows import ARRIVING, NOTING, ClientRows, MovedTable, check, forget, lost, passing, take
from touchbase.storage.store_copy import Table, are_alike

Removed = tuple[int, Position | None]


@asynccontextmanager
async def opened(
    open_rows: Callable[[int], Awaitable[tuple[ClientRows, Cipher]]], source: int, target: int
) -> AsyncIterator[tuple[tuple[ClientRows, Cipher], tuple[ClientRows, Cipher]]]:
    """Open the client's rows in both cells, and close them at the end."""
    async with AsyncExitStack() as ending:
        ours = await open_rows(source)
        ending.push_async_callback(ours[0].close)
        theirs = await open_rows(target)
        ending.push_async_callback(theirs[0].close)
        yield ours, theirs


def refuse_different(found: Mapping[str, Table], wanted: Mapping[str, Table]) -> None:
    """Raise `UnusableStore` unless both stores have the same tables."""
    if not are_alike(found, wanted):
        raise UnusableStore("the two cells have different tables: run `touchbase migrate` and `touchbase cells migrate`, then move")


def refuse_deleting(table: MovedTable, client: Sequence[Row]) -> None:
    """Raise `WrongState` for a client that was deleted, or is being deleted."""
    if not client or client[0][list(table.columns).index("state")] == DELETING:
        raise WrongState("the client is being deleted: undo the move with --undo")


def differing(table: MovedTable, found: Sequence[Row], wanted: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """Return the keys of rows that are missing, changed or too many, and the wanted rows of them."""
    there = {table.key_of(row): row for row in found}
    changed = [row for row in wanted if there.pop(table.key_of(row), None) != row]
    return [*there, *(table.key_of(row) for row in changed)], changed


def next_page(rows: Sequence[Row], smallest: int, largest: int, most_bytes: int) -> int:
    """Return how many rows like these make a page of at most so many bytes."""
    size = sum(len(value) for row in rows for value in row if isinstance(value, str | bytes))
    return min(largest, max(smallest, most_bytes * len(rows) // max(1, size)))


def after(first: Plan[object], then: Plan[T]) -> Plan[T]:
    """Run two plans in one transaction; return the result of the second."""
    yield from first
    return (yield from then)


def take_unless_arrived(number: int, token: str) -> Plan[None]:
    """Let this process write into the target, unless the client is complete there."""
    if not (yield Select("SELECT 1 FROM client WHERE id = ?", (number,))):
        yield from take(number, token, ARRIVING)


def arrive(table: MovedTable, number: int, token: str, client: Sequence[Row]) -> Plan[None]:
    """Give the target the client's own row, so that its workers know the client; free its jobs, which a worker of the source had.

    It may be repeated.
    """
    names = ", ".join(table.columns)
    if (yield Select("SELECT 1 FROM client WHERE id = ?", (number,))):
        return
    yield from check(number, token, (ARRIVING,))
    yield Select("UPDATE job SET token = '', lease_until_us = 0 WHERE client = ? AND token <> '' RETURNING id", (number,))
    yield Execute(
        Statement("arrive_client", table.typed, body=f"INSERT INTO client ({names}) SELECT * FROM p WHERE true{new_key('id')}"), client
    )
    yield from forget(number, token)


def highest_ids() -> Plan[list[int]]:
    """Return the next ids of a store, one for each kind of row."""
    rows = yield Select(f"SELECT next FROM id_block WHERE name NOT IN {NO_RANGE}", ())
    return [row[0] for row in rows]


def leave(number: int) -> Plan[None]:
    """Remove the client's own row from the source."""
    yield Execute(DELETE_CLIENT, [(number,)])


def stay(number: int, token: str) -> Plan[None]:
    """Forget the changes that were noted, and that the client moves."""
    yield from check(number, token, (NOTING,))
    yield Select("DELETE FROM moving_change WHERE number = ? RETURNING sequence", (number,))
    yield from forget(number, token)


def remove(number: int, token: str, position: Position | None, most: int, state: str) -> Plan[Removed]:
    """Remove some rows of the client from a store in which it has this state."""
    if state == ARRIVING:
        yield from check(number, token, (ARRIVING,))
        if (yield Select("SELECT 1 FROM client WHERE id = ?", (number,))):
            raise lost()  # it lives here
        return (yield from remove_some(number, position, most))
    return (yield from passing(remove_some(number, position, most), number, token))
