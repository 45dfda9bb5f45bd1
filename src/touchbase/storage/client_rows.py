"""The rows of one client, as a move copies them from one store to another: plans that both engines run.

A move reads a page of a table in the source, compares it with the same part of the target, and writes what differs. Triggers in the
source note each row that changes in between (`moving_change`); the move copies those again, until it freezes the client and copies the
last of them. So every row was compared once, and each later change is known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from touchbase.clients.sql.removal import CLIENT_TABLES
from touchbase.errors import Overloaded, WrongState
from touchbase.history import COMPANY, CONTACT
from touchbase.search.sql.index import forget_words
from touchbase.sql.builders import new_key
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, T, delete
from touchbase.storage.store_copy import FIRST, POSTGRES_TYPES, Table

NOTING, FROZEN, PASSING, ARRIVING = "noting", "frozen", "passing", "arriving"
"""States of a client in `moving_client`."""
NOT_MOVED = frozenset({"search_pending"})
"""Tables of clients that each store fills by itself."""
LATE = frozenset({"api_key", "erasure", "refusal"})
"""Tables whose rows are used without a look at the client: they are copied when nothing changes any more."""
CLIENT = "client"
_RECORDS = {"contact": CONTACT, "company": COMPANY}
_NOTE_FOR_SEARCH = Statement(
    "note_for_search",
    (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint")),
    body="INSERT INTO search_pending (client, record_kind, record_id) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
_FORGET = delete("forget_moving_changes", "moving_change", (("number", "bigint"), ("sequence", "bigint")))
_STORE_STATE = Statement(
    "store_moving_client",
    (("number", "bigint"), ("token", "text"), ("state", "text")),
    body="INSERT INTO moving_client (number, token, state) SELECT * FROM p WHERE true "
    "ON CONFLICT (number) DO UPDATE SET token = excluded.token, state = excluded.state",
)
_DELETE_STATE = delete("delete_moving_client", "moving_client", (("number", "bigint"), ("token", "text")))


def lost() -> WrongState:
    """Return the error for a process from which another one has taken the move over."""
    return WrongState("another process carries this move out now; its output says how far it is")


class Clash(Overloaded):
    """Rows contradict others that the target has of an earlier time; what was noted since then is to be copied first."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"another transaction was in the way ({detail}): run this again")


@dataclass(frozen=True, slots=True)
class MovedTable:
    """A table with rows of clients."""

    name: str
    columns: Mapping[str, str]
    """The type of each column: `integer`, `text` or `blob`."""
    client: str
    """The column with the client's number."""
    key: tuple[str, ...]
    """The columns that tell the client's rows apart."""
    heavy: bool = False
    """Whether a row may have megabytes."""
    unique: tuple[str, ...] = ()
    """The columns of the primary key."""
    parent: str = ""
    """For rows that belong to one of another table with the same key: that table, which has an index by client."""

    @property
    def typed(self) -> tuple[tuple[str, str], ...]:
        """The columns with the types of parameters."""
        return tuple((name, POSTGRES_TYPES[kind]) for name, kind in self.columns.items())

    def key_of(self, row: Row) -> Row:
        """Return the key of a row."""
        names = list(self.columns)
        return tuple(row[names.index(column)] for column in self.key)


class ClientRows(Protocol):
    """The rows of one client in one store, and the triggers that note their changes."""

    async def tables(self) -> dict[str, Table]:
        """Return all tables of the store by name."""
        ...

    async def read(self, plan: Plan[T]) -> T:
        """Run a plan that only reads. Raises `StoreUnavailable`."""
        ...

    async def write(self, plan: Plan[T]) -> T:
        """Run a plan in a transaction. Raises `Clash` when a constraint refuses it, and `StoreUnavailable`."""
        ...

    async def watches(self, tables: Sequence[MovedTable]) -> bool:
        """Return whether all triggers of the move are there."""
        ...

    async def watch(self, tables: Sequence[MovedTable], token: str) -> None:
        """Make the triggers that note changes of the client's rows, or refuse them while it is frozen."""
        ...

    async def unwatch(self, tables: Sequence[MovedTable], token: str) -> None:
        """Remove the triggers. Both raise `WrongState` when another process has the client in this store."""
        ...

    async def settle(self, tables: Sequence[MovedTable]) -> None:
        """Wait until every transaction that changed one of the tables, and may not have seen that the client is frozen, has ended."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


def moved_tables(found: Mapping[str, Table]) -> list[MovedTable]:
    """Return the tables to move, in the order of their removal; the client's own row is not among them."""
    made: list[MovedTable] = []
    for each in CLIENT_TABLES:
        if each.name in NOT_MOVED:
            continue
        heavy = bool(each.weight) and not each.children
        made.append(MovedTable(each.name, found[each.name].columns, "client", each.key, heavy, found[each.name].key))
        made += [MovedTable(child, found[child].columns, "client", ("id",), True, found[child].key, each.name) for child in each.children]
    return made


def client_table(found: Mapping[str, Table]) -> MovedTable:
    """Return the table of the client's own row."""
    return MovedTable(CLIENT, found[CLIENT].columns, "id", ("id",))


def in_order(tables: Iterable[MovedTable]) -> list[MovedTable]:
    """Return tables so that the ones that others refer to come first."""
    return sorted(tables, key=lambda table: table.name not in FIRST)


@cache
def _columns(table: str, columns: tuple[str, ...]) -> str:
    return ", ".join(f"{table}.{column}" for column in columns)


def _from(table: MovedTable) -> tuple[str, str]:
    """Return the FROM clause and the alias of the table with the index by client."""
    if not table.parent:
        return f"{table.name} t", "t"
    same = " AND ".join(f"t.{column} = k.{column}" for column in table.key)
    return f"{table.parent} k JOIN {table.name} t ON t.client = k.client AND {same}", "k"


def page(table: MovedTable, client: int, after: Row | None, most: int | None, last: Row | None = None) -> Plan[list[Row]]:
    """Return rows behind a key, in the order of keys: at most so many, and none behind `last`."""
    source, alias = _from(table)
    key, marks = _columns(alias, table.key), ", ".join("?" for _ in table.key)
    sql = f"SELECT {_columns('t', tuple(table.columns))} FROM {source} WHERE {alias}.{table.client} = ?"
    params: list[Any] = [client]
    for sign, bound in ((">", after), ("<=", last)):
        if bound is not None:
            sql += f" AND ({key}) {sign} ({marks})"
            params += bound
    sql += f" ORDER BY {key}"
    if most is not None:
        sql, params = f"{sql} LIMIT ?", [*params, most]
    return (yield Select(sql, tuple(params)))


def last_key(table: MovedTable, client: int) -> Plan[Row | None]:
    """Return the key of the client's last row; None if it has none."""
    source, alias = _from(table)
    parts = [f"{alias}.{column}" for column in table.key]
    order = ", ".join(f"{part} DESC" for part in parts)
    rows = yield Select(f"SELECT {', '.join(parts)} FROM {source} WHERE {alias}.{table.client} = ? ORDER BY {order} LIMIT 1", (client,))
    return rows[0] if rows else None


def counts(tables: Iterable[MovedTable], client: int) -> Plan[dict[str, int]]:
    """Return the number of the client's rows, by table."""
    found: dict[str, int] = {}
    for table in tables:
        source, alias = _from(table)
        rows = yield Select(f"SELECT count(*) FROM {source} WHERE {alias}.{table.client} = ?", (client,))
        found[table.name] = rows[0][0]
    return found


@cache
def _by_key(name: str, client: str, key: tuple[tuple[str, str], ...], columns: tuple[str, ...]) -> Statement:
    same = " AND ".join(f"t.{column} = p.key_{column}" for column, _ in key)
    return Statement(
        f"rows_of_{name}",
        (("owner", "bigint"), *((f"key_{column}", kind) for column, kind in key)),
        body=f"SELECT {_columns('t', columns)} FROM p CROSS JOIN {name} t WHERE t.{client} = p.owner AND {same}",
    )


def by_key(table: MovedTable, client: int, keys: Iterable[Row]) -> Plan[list[Row]]:
    """Return the rows with these keys."""
    typed = tuple((column, POSTGRES_TYPES[table.columns[column]]) for column in table.key)
    statement = _by_key(table.name, table.client, typed, tuple(table.columns))
    return (yield Execute(statement, [(client, *key) for key in keys]))


@cache
def _insert(name: str, columns: tuple[tuple[str, str], ...], unique: tuple[str, ...]) -> Statement:
    names = ", ".join(column for column, _ in columns)
    replace = ", ".join(f"{column} = excluded.{column}" for column, _ in columns)
    # Others refer to a company, so it cannot be removed and written again.
    conflict = f" ON CONFLICT (client, id) DO UPDATE SET {replace}" if name in FIRST else new_key(*unique)
    return Statement(f"arrive_{name}", columns, body=f"INSERT INTO {name} ({names}) SELECT * FROM p WHERE true{conflict}")


@cache
def _delete(name: str, client: str, key: tuple[tuple[str, str], ...]) -> Statement:
    # A key may be the column of the client itself.
    return delete(f"leave_{name}", name, key if (client, "bigint") in key else ((client, "bigint"), *key))


_RENAME_COMPANY = Statement(
    "rename_arriving_company",
    (("client", "bigint"), ("id", "bigint")),
    body="UPDATE company AS t SET domain = '~' || p.id, external_id = NULL FROM p WHERE t.client = p.client AND t.id = p.id",
)
"""Two companies may have exchanged their domains."""


def replace(
    tables: Sequence[MovedTable], client: int, token: str, keys: Mapping[str, Iterable[Row]], rows: Mapping[str, Sequence[Row]]
) -> Plan[None]:
    """Replace the rows with these keys, by table, by those; what is searched by words is noted.

    What belongs to a row that goes for good goes with it: nothing could find it afterwards.
    """
    yield from check(client, token, (ARRIVING,))
    stay = {table.name: {table.key_of(row) for row in rows.get(table.name, ())} for table in tables if table.name in keys}
    for table in tables:
        gone = set(keys.get(table.name, ())) | (set(keys.get(table.parent, ())) - stay.get(table.parent, set()))
        if table.name in FIRST and table.name in keys:
            gone -= stay[table.name]
            yield Execute(_RENAME_COMPANY, [(client, *key) for key in stay[table.name]])
        typed = tuple((column, POSTGRES_TYPES[table.columns[column]]) for column in table.key)
        statement = _delete(table.name, table.client, typed)
        whole = len(statement.columns) == len(typed)
        yield Execute(statement, [key if whole else (client, *key) for key in gone])
        if table.name in _RECORDS:
            # A worker of the target may have indexed them.
            yield from forget_words(client, [(_RECORDS[table.name], key[0]) for key in gone - stay.get(table.name, set())])
    for table in in_order(tables):
        yield Execute(_insert(table.name, table.typed, table.unique), rows.get(table.name, ()))
    noted = {(client, kind, key[0]) for name, kind in _RECORDS.items() for key in keys.get(name, ())}
    noted |= {(client, *key[:2]) for key in keys.get("custom_field", ())}
    yield Execute(_NOTE_FOR_SEARCH, sorted(noted))


def companies_of(tables: Mapping[str, MovedTable], rows: Mapping[str, Sequence[Row]]) -> set[Row]:
    """Return the keys of the companies that these contacts belong to."""
    at = list(tables["contact"].columns).index("company_id")
    return {(row[at],) for row in rows.get("contact", ()) if row[at] is not None}


def check(client: int, token: str, states: Sequence[str]) -> Plan[str]:
    """Return the client's state in this store, and hold it until the transaction ends. Raises `WrongState` when the move was lost."""
    sql = "SELECT state FROM moving_client WHERE number = ? AND token = ?"
    rows = yield Select(sql, (client, token), f"{sql} FOR UPDATE")
    if not rows or rows[0][0] not in states:
        raise lost()
    state: str = rows[0][0]
    return state


def set_state(client: int, token: str, state: str, former: Sequence[str]) -> Plan[None]:
    """Change the client's state in this store. Raises `WrongState` when the move was lost."""
    yield from check(client, token, former)
    yield Execute(_STORE_STATE, [(client, token, state)])


def take(client: int, token: str, state: str) -> Plan[str | None]:
    """Let this process move the client, whichever did before; return the state that the client had in this store, which it keeps.

    Raises `WrongState` when a process that took the move later was here already.
    """
    sql = "SELECT state, token FROM moving_client WHERE number = ?"
    rows = yield Select(sql, (client,), f"{sql} FOR UPDATE")
    if rows and rows[0][1] > token:
        raise lost()
    yield Execute(_STORE_STATE, [(client, token, rows[0][0] if rows else state)])
    return rows[0][0] if rows else None


def take_as(client: int, token: str, state: str) -> Plan[bool]:
    """Let this process move the client, in this state; return whether the client had none before."""
    former = yield from take(client, token, state)
    if former is not None and former != state:
        yield from set_state(client, token, state, (former,))
    return former is None


def forget(client: int, token: str) -> Plan[None]:
    """Forget that this process moves the client."""
    yield Execute(_DELETE_STATE, [(client, token)])


@dataclass(frozen=True, slots=True)
class Noted:
    """Changes that were noted."""

    sequences: Sequence[int]
    keys: Mapping[str, set[Row]]
    """The keys of the rows, by table."""


def noted(tables: Mapping[str, MovedTable], client: int, most: int) -> Plan[Noted]:
    """Return the changes that were noted first. Those of tables that are not named are returned without their keys."""
    rows = yield Select(
        "SELECT sequence, table_name, row_key FROM moving_change WHERE number = ? ORDER BY number, sequence LIMIT ?", (client, most)
    )
    keys: dict[str, set[Row]] = {}
    for _, name, text in rows:
        if name in tables:
            keys.setdefault(name, set()).add(_key(tables[name], text))
    return Noted([row[0] for row in rows], keys)


def _key(table: MovedTable, text: str) -> Row:
    kinds = [table.columns[column] for column in table.key]
    return tuple(bytes.fromhex(value) if kind == "blob" else value for kind, value in zip(kinds, json.loads(text), strict=True))


def forget_noted(client: int, token: str, sequences: Iterable[int]) -> Plan[None]:
    """Forget changes that were copied."""
    yield from check(client, token, (NOTING, FROZEN))
    yield Execute(_FORGET, [(client, sequence) for sequence in sequences])


def passing(plan: Plan[T], client: int, token: str) -> Plan[T]:
    """Run a plan that changes rows of a frozen client in the source."""
    yield from set_state(client, token, PASSING, (FROZEN,))
    result = yield from plan
    yield from set_state(client, token, FROZEN, (PASSING,))
    return result
