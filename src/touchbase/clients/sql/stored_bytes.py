"""SQL of stored bytes: which clients are due, the pages of a count, and its result."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.clients.models import DELETING, LARGEST_STORED_BYTES
from touchbase.clients.sql.clients import locked
from touchbase.clients.stored_bytes import (
    CLIENTS_AT_ONCE,
    COUNT_INTERVAL,
    LEASE,
    PAGE,
    UNLIMITED_INTERVAL,
    WARNING_PERCENT,
    MeasuredPage,
    Place,
    StorageShare,
    StoredTotals,
    is_above,
    limit_of,
    percent_of,
)
from touchbase.common.timestamps import Micros, to_text
from touchbase.event_log.models import SERVICE, EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.sql.cell_answers import CONCATENATED, AnswerMerge
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

STORAGE: Columns = (
    ("client", "bigint"), ("stored_bytes", "bigint"), ("counted_us", "bigint"), ("due_us", "bigint"), ("limit_bytes", "bigint"),
    ("is_warned", "bigint"),
)  # fmt: skip
CLAIM_COUNT = Statement(
    "claim_count",
    (("client", "bigint"), ("due_us", "bigint")),
    body=f"INSERT INTO client_storage ({names(STORAGE)}) SELECT p.client, 0, 0, p.due_us, 0, 0 FROM p "
    f"WHERE EXISTS (SELECT 1 FROM client c WHERE c.id = p.client AND c.state <> '{DELETING}') "
    f"ON CONFLICT (client) DO UPDATE SET due_us = excluded.due_us WHERE client_storage.due_us <= excluded.due_us - {LEASE} "
    "RETURNING client",
)
STORE_COUNT = Statement(
    "store_count",
    STORAGE,
    body=f"INSERT INTO client_storage ({names(STORAGE)}) SELECT * FROM p WHERE true ON CONFLICT (client) DO UPDATE SET "
    + ", ".join(f"{name} = excluded.{name}" for name, _ in STORAGE[1:]),
)


@dataclass(frozen=True, slots=True)
class MeasuredTable:
    """A table whose bytes count."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    weight: int = 1
    """How many rows of a page one row takes up."""
    child: str = ""
    """The table that has the columns, with a row of the same (client, id), if it is another."""


MEASURED = (
    MeasuredTable("delivery", ("id",), ("query", "headers", "body"), child="delivery_body"),
    MeasuredTable("refused_body", ("digest",), ("content",)),
    MeasuredTable("message", ("id",), ("subject", "text", "html", "custom"), weight=10),
    MeasuredTable("event", ("record_kind", "record_id", "occurred_us", "key"), ("key", "detail")),
    MeasuredTable("logged_event", ("sequence",), ("changed", "cause", "data")),
    MeasuredTable("custom_field", ("record_kind", "record_id", "name"), ("name", "value")),
    MeasuredTable("job_file", ("job_id", "name", "number"), ("body",)),
    MeasuredTable("answer", ("id",), ("text",)),
    MeasuredTable("note", ("id",), ("text",)),
    MeasuredTable("task", ("id",), ("text",)),
    MeasuredTable("saved_view", ("id",), ("content",)),
    MeasuredTable("answer_draft", ("contact_id", "user_id"), ("text",)),
)
"""The tables that grow with a client's data; rows' overhead, indexes and short columns do not count."""


@query(scope=ALL_CLIENTS)
def due_counts(at: Micros, most: int = CLIENTS_AT_ONCE) -> Plan[list[int]]:
    """Return the clients whose stored bytes are due to be counted, the longest waiting first."""
    rows = yield Select(
        "SELECT c.id FROM client c LEFT JOIN client_storage s ON s.client = c.id "
        f"WHERE c.state <> '{DELETING}' AND COALESCE(s.due_us, 0) <= ? ORDER BY COALESCE(s.due_us, 0), c.id LIMIT ?",
        (at, most),
    )
    return [number for (number,) in rows]


@command(background=True)
def claim_count(client: int, at: Micros) -> Plan[bool]:
    """Claim the count of a client for `LEASE`; False if it is not due, or the client is being deleted."""
    return bool((yield Execute(CLAIM_COUNT, [(client, at + LEASE)])))


@query
def measure_page(client: int, place: Place = (0, None), most: int = PAGE) -> Plan[MeasuredPage]:
    """Add up the bytes of the next rows of a client."""
    index, after = place
    size, left = 0, most
    while index < len(MEASURED):
        if left <= 0:
            return MeasuredPage(size, (index, after))
        table = MEASURED[index]
        current_most = max(1, left // table.weight)
        rows = yield _page(table, client, after, current_most)
        size += sum(row[-1] for row in rows)
        left -= len(rows) * table.weight
        index, after = (index, rows[-1][:-1]) if len(rows) == current_most else (index + 1, None)
    return MeasuredPage(size, None)


def _page(table: MeasuredTable, client: int, after: Row | None, most: int) -> Select:
    key, values = ", ".join(f"k.{column}" for column in table.key), "t" if table.child else "k"
    size = " + ".join(f"COALESCE(octet_length({values}.{column}), 0)" for column in table.columns)
    source = f"{table.name} k"
    if table.child:
        # LEFT: rows without a body count for the page too, so that it stays short.
        source += f" LEFT JOIN {table.child} t ON t.client = k.client AND t.id = k.id"
    more = f" AND ({key}) > ({', '.join('?' for _ in table.key)})" if after is not None else ""
    return Select(f"SELECT {key}, {size} FROM {source} WHERE k.client = ?{more} ORDER BY {key} LIMIT ?", (client, *(after or ()), most))


@command(background=True)
def store_count(client: int, stored_bytes: int, at: Micros, default_limit: int) -> Plan[bool]:
    """Store a completed count; return whether it logged an event, because the client came above `WARNING_PERCENT` of its limit.

    `default_limit`: The limit of clients without one of their own; 0: none.
    """
    current_client = yield from locked(client)
    if current_client is None or current_client.state == DELETING:
        return False
    rows = yield Select("SELECT is_warned FROM client_storage WHERE client = ?", (current_client.number,))
    limit = limit_of(current_client, default_limit)
    is_near = is_above(WARNING_PERCENT, stored_bytes, limit)
    due_us = at + (COUNT_INTERVAL if limit else UNLIMITED_INTERVAL)
    stored = min(stored_bytes, LARGEST_STORED_BYTES)
    yield Execute(STORE_COUNT, [(current_client.number, stored, at, due_us, limit, int(is_near))])
    if not is_near or (rows and rows[0][0]):
        return False
    data = {
        "stored_bytes": stored, "limit_bytes": limit, "percent": percent_of(stored, limit), "counted_at": to_text(at),
    }  # fmt: skip
    yield from log_events([LoggedEvent(current_client.number, EventType.CLIENT_STORAGE_WARNING, at, cause={"origin": SERVICE}, data=data)])
    return True


def _above(percent: int) -> str:
    """Return the condition as `is_above`; in floating point, because the products may exceed 64 bits."""
    return f"limit_bytes > 0 AND stored_bytes * 100.0 > limit_bytes * {percent}.0"


@query(scope=ALL_CLIENTS, merge=AnswerMerge(lambda query, answers: sum(answers.values(), StoredTotals())))
def count_stored() -> Plan[StoredTotals]:
    """Stored bytes of all clients."""
    near, over = (f"sum(CASE WHEN {_above(percent)} THEN 1 ELSE 0 END)" for percent in (WARNING_PERCENT, 100))
    rows = yield Select(f"SELECT sum(stored_bytes), max(stored_bytes), {near}, {over} FROM client_storage", ())
    return StoredTotals(*(int(value or 0) for value in rows[0]))


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def list_near_limit() -> Plan[list[StorageShare]]:
    """The clients above `WARNING_PERCENT` of their limit, by number."""
    sql = f"SELECT client, stored_bytes, limit_bytes FROM client_storage WHERE {_above(WARNING_PERCENT)} ORDER BY client"
    return [StorageShare(*row) for row in (yield Select(sql, ()))]
