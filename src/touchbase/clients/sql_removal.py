"""Removing all that there is of a client, a bounded number of rows at a time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from touchbase.clients.commands import Place, Removal, RemoveClientRows
from touchbase.clients.models import LAST_CALLS
from touchbase.clients.sql_commands import locked
from touchbase.clients.tenant_tables import CLIENT_TABLES, ClientTable
from touchbase.errors import WrongState
from touchbase.sql.builders import ONE
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

HEAVY = 16 * 1024 * 1024
"""Bytes of webhook bodies that go at once: a store frees them page by page."""
NOTE_REMOVED = Statement(
    "note_removed",
    (("id", "bigint"), ("count", "bigint"), ("total", "bigint")),
    sqlite="UPDATE client SET removed = removed + ?2, rows_total = COALESCE(?3, rows_total) WHERE id = ?1",
    body="UPDATE client AS t SET removed = t.removed + p.count, rows_total = COALESCE(p.total, t.rows_total) FROM p WHERE t.id = p.id",
)
DELETE_CLIENT = delete("delete_client", "client", (("id", "bigint"),))


def remove_rows(command: RemoveClientRows) -> Plan[Removal | WrongState]:
    """Remove some rows of a client."""
    client = yield from locked(command.client)
    if client is None:
        return Removal(done=True)
    known = client.deletion
    if known is None:
        return WrongState(f"client {client.client_id!r} is not being deleted")
    removed, place = yield from _empty(command)
    wait = max(0, known.started_us + LAST_CALLS - command.at)
    nothing_left = command.place is None and place is None and not removed
    if nothing_left and not wait:
        yield Execute(DELETE_CLIENT, [(command.client,)])
        return Removal(True, known.removed, known.total)
    yield Execute(NOTE_REMOVED, [(command.client, removed, command.total)])
    total = known.total if command.total is None else command.total
    return Removal(False, known.removed + removed, total, place, wait if nothing_left else 0)


def _empty(command: RemoveClientRows) -> Plan[tuple[int, Place | None]]:
    """Walk the tables until enough rows are gone; answers how many are, and where to go on."""
    start, after = command.place or (0, ())
    removed = 0
    for number, table in list(enumerate(CLIENT_TABLES))[start:]:
        while keys := (yield from _some_keys(table, command.client, after, command.most - removed)):
            gone = yield from _remove_keys(table, command.client, after, keys)
            removed, after = removed + gone, keys[-1]
            if removed >= command.most or table.weight:
                return removed, (number, after)
        after = ()
    return removed, None


def _some_keys(table: ClientTable, client: int, after: Row, most: int) -> Plan[list[Row]]:
    """The keys of the rows to go, in their order. Going on behind the last one spares a walk over what is gone."""
    rows = yield Select(_keys_sql(table, bool(after)), (client, *after, most))
    if not table.weight:
        return rows
    weight = 0
    light: list[Row] = []
    for *key, bytes_beside in rows:
        weight += bytes_beside
        if light and weight > HEAVY:
            break
        light.append(tuple(key))
    return light


def _remove_keys(table: ClientTable, client: int, after: Row, keys: Sequence[Row]) -> Plan[int]:
    """Remove the rows up to the last of these keys, and what lies beside each: also of a row that came among them meanwhile."""
    gone = yield Select(_delete_sql(table, bool(after)), (client, *after, *keys[-1]))
    for name in table.beside:
        yield Execute(_beside(name), [(client, *key) for key in sorted(gone)])
    return len(gone)


@cache
def _keys_sql(table: ClientTable, goes_on: bool) -> str:
    key = ", ".join(table.key)
    columns = f"{key}, {table.weight}" if table.weight else key
    return f"SELECT {columns} FROM {table.name} WHERE {_behind(table, goes_on)} ORDER BY {key} LIMIT ?"


@cache
def _delete_sql(table: ClientTable, goes_on: bool) -> str:
    key = ", ".join(table.key)
    return f"DELETE FROM {table.name} WHERE {_behind(table, goes_on)} AND ({key}) <= ({_marks(table)}) RETURNING {key}"


def _behind(table: ClientTable, goes_on: bool) -> str:
    return "client = ?" + (f" AND ({', '.join(table.key)}) > ({_marks(table)})" if goes_on else "")


def _marks(table: ClientTable) -> str:
    return ", ".join("?" for _ in table.key)


@cache
def _beside(name: str) -> Statement:
    return delete(f"remove_{name}", name, ONE)
