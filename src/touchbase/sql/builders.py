"""Build the statements that several tables need: insert, find, update."""

from __future__ import annotations

from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement

ROW_KEY: Columns = (("client", "bigint"), ("id", "bigint"))
RECORD: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"))


def insert(table: str, columns: Columns, returning: str = "") -> Statement:
    """Build an insert that skips rows whose key exists."""
    tail = "ON CONFLICT DO NOTHING" + (f" RETURNING {returning}" if returning else "")
    return Statement(f"insert_{table}", columns, body=f"INSERT INTO {table} ({names(columns)}) SELECT * FROM p WHERE true {tail}")


ROW_MATCH = "t.client = p.client AND t.id = p.id"
RECORD_MATCH = "t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id"


def find(name: str, table: str, columns: Columns, key: Columns, match: str, *, lock: bool = False) -> Statement:
    """Build a query for rows by key; `lock` locks them on PostgreSQL."""
    body = f"SELECT {names(columns, 't.')} FROM p CROSS JOIN {table} t WHERE {match}"
    # SQLite keeps the order of a CROSS JOIN: for each row of p it searches the table's index.
    return Statement(name, key, body=body, lock=" ORDER BY t.client, t.id FOR UPDATE OF t" if lock else "")


def key_columns(column: str) -> Columns:
    """Return the key columns of a lookup by one text column of a client."""
    return (("client", "bigint"), (column, "text"))


def update(name: str, table: str, columns: Columns) -> Statement:
    """Build an update of the columns after client and id."""
    pairs = ", ".join(f"{column} = p.{column}" for column, _ in columns[2:])
    return Statement(name, columns, body=f"UPDATE {table} AS t SET {pairs} FROM p WHERE {ROW_MATCH}")


RESERVE_IDS = Statement(
    "reserve_ids",
    (("name", "text"), ("count", "bigint"), ("unused", "bigint"), ("unused_end", "bigint")),
    body="UPDATE id_block t SET next = CASE t.next WHEN p.unused_end THEN p.unused ELSE t.next END + p.count FROM p WHERE t.name = p.name"
    " RETURNING t.next - p.count",
    by_row=True,
)
