"""Build the statements that several tables need: insert, find, update."""

from __future__ import annotations

from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement, array

ONE: Columns = (("client", "bigint"), ("id", "bigint"))
RECORD: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"))


def numbered(columns: Columns, first: int = 1) -> str:
    """Return the placeholders of these columns for SQLite: `?1, ?2`."""
    return ", ".join(f"?{n}" for n in range(first, first + len(columns)))


def arrays(columns: Columns, first: int = 1) -> str:
    """Return the array parameters of these columns for PostgreSQL: `$1::text::bigint[]`."""
    return ", ".join(array(n, kind) for n, (_, kind) in enumerate(columns, first))


def parameter_table(name: str, columns: Columns, first: int = 1) -> str:
    """Return a named parameter table for PostgreSQL."""
    return f"{name}({names(columns)}) AS (SELECT * FROM unnest({arrays(columns, first)}))"


def insert(table: str, columns: Columns, returning: str = "") -> Statement:
    """Build an insert that skips rows whose key exists."""
    tail = "ON CONFLICT DO NOTHING" + (f" RETURNING {returning}" if returning else "")
    return Statement(f"insert_{table}", columns, body=f"INSERT INTO {table} ({names(columns)}) SELECT * FROM p WHERE true {tail}")


ONE_MATCH = "t.client = p.client AND t.id = p.id"
RECORD_MATCH = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"


def find(name: str, table: str, columns: Columns, key: Columns, match: str, *, lock: bool = False) -> Statement:
    """Build a query for rows by key; `lock` locks them on PostgreSQL."""
    body = f"SELECT {names(columns, 't.')} FROM p CROSS JOIN {table} t WHERE {match}"
    # Locked in the order of ids, so that two batches that share records wait instead of deadlocking. SQLite needs
    # no locks, and keeps the order of a CROSS JOIN: for each row of p it searches the table's index.
    return (
        Statement(name, key, body=body + " ORDER BY t.client, t.id FOR UPDATE OF t", sqlite_set=body)
        if lock
        else Statement(name, key, body=body)
    )


def key_columns(column: str) -> Columns:
    """Return the key columns of a lookup by one text column of a client."""
    return (("client", "bigint"), (column, "text"))


def update(name: str, table: str, columns: Columns) -> Statement:
    """Build an update of the columns after client and id."""
    pairs = ", ".join(f"{column} = p.{column}" for column, _ in columns[2:])
    return Statement(name, columns, body=f"UPDATE {table} AS t SET {pairs} FROM p WHERE {ONE_MATCH}")


RESERVE_IDS = Statement(
    "reserve_ids",
    (("name", "text"), ("count", "bigint"), ("unused", "bigint"), ("unused_end", "bigint")),
    sqlite="UPDATE id_block SET next = CASE next WHEN ?4 THEN ?3 ELSE next END + ?2 WHERE name = ?1 RETURNING next - ?2",
    body="UPDATE id_block t SET next = CASE t.next WHEN p.unused_end THEN p.unused ELSE t.next END + p.count FROM p WHERE t.name = p.name"
    " RETURNING t.next - p.count",
)
