"""Plans that remove all rows of a client in batches, and the list of tables that hold a client's data.

A test compares the list with the schema of both engines: a table with a column `client` that is not listed fails it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from touchbase.clients.models import DELETION_DELAY, Position, Removal
from touchbase.clients.sql.clients import locked
from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import WrongState
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.operation import command, query
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete


@dataclass(frozen=True, slots=True)
class ClientTable:
    """One table with a column `client`."""

    name: str
    key: tuple[str, ...]
    """The columns that identify a row within the client; an index begins with the client and these."""
    children: tuple[str, ...] = ()
    """Tables with a row of the same (client, id) for each row here, removed with it; they need no further index."""
    words: int | None = None
    """For a table of records: its rows' numbers in the full-text index are twice their ids plus this."""
    weight: str = ""
    """The column with the bytes of a row's children."""
    has_object: bool = False
    """Whether a row may name an object in object storage, which is removed with it."""
    is_waited_for: bool = False
    """Whether a worker removes the rows, and the client stays until it has."""


CLIENT_TABLES = (
    ClientTable("contact", ("id",), words=0),  # before companies, because of its foreign key
    ClientTable("company", ("id",), words=1),
    ClientTable("search_pending", ("record_kind", "record_id")),
    ClientTable("custom_field", ("record_kind", "record_id", "name")),
    ClientTable("custom_field_part", ("record_kind", "chunk")),
    ClientTable("event", ("record_kind", "record_id", "occurred_us", "key")),
    ClientTable("event_hour", ("hour",)),
    ClientTable("report_part", ("begin_us", "end_us")),
    ClientTable("status_move", ("record_kind", "span", "from_status", "to_status")),
    ClientTable("message", ("id",)),
    ClientTable("answer", ("id",)),
    ClientTable("note", ("id",)),
    ClientTable("task", ("id",)),
    ClientTable("saved_view", ("id",)),
    ClientTable("default_view", ("person", "kind")),
    ClientTable("attention_snooze", ("item",)),
    ClientTable("conversation", ("contact_id",)),
    ClientTable("conversation_read", ("contact_id", "user_id")),
    ClientTable("notification", ("id",)),
    ClientTable("notification_position", ("client",)),
    ClientTable("answer_draft", ("contact_id", "user_id")),
    ClientTable("link", ("tool", "object_type", "object_id")),
    ClientTable("former_owner", ("object_type", "object_id", "until_us", "record_id")),
    ClientTable("deleted_record", ("record_kind", "record_id")),
    ClientTable("deleted_link", ("tool", "object_type", "object_id", "record_kind", "record_id")),
    ClientTable("record_merge", ("id",)),
    ClientTable("delivery", ("id",), children=("delivery_body",), weight="size", has_object=True),
    ClientTable("event_file", ("id",), has_object=True),
    ClientTable("event_file_erasure", ("record_kind", "record_id", "created_us")),
    ClientTable("object_removal", ("place",), is_waited_for=True),
    ClientTable("object_key", ("client",)),
    ClientTable("webhook_endpoint", ("id",)),
    ClientTable("webhook_position", ("endpoint_id",)),
    ClientTable("pending_webhook", ("endpoint_id", "sequence")),
    ClientTable("webhook_attempt", ("id",)),
    ClientTable("announced_suppression", ("endpoint_id", "suppression_id")),
    ClientTable("connection", ("channel", "tool")),
    ClientTable("connection_calls", ("channel", "tool", "hour")),
    ClientTable("connection_rhythm", ("channel", "tool")),
    ClientTable("ignore_rule", ("channel", "tool", "rule")),
    ClientTable("connection_silence", ("channel", "tool", "noticed_us")),
    ClientTable("logged_event", ("sequence",)),
    ClientTable("event_counter", ("client",)),
    ClientTable("client_storage", ("client",)),
    ClientTable("fetch_state", ("tool",)),
    ClientTable("fetch_queue", ("tool", "object_type", "object_id")),
    ClientTable("pending_company_link", ("tool", "object_type", "object_id", "record_kind", "record_id")),
    ClientTable("pending_domain_link", ("record_kind", "record_id")),
    ClientTable("company_linking", ("client",)),
    ClientTable("dedupe_key", ("key",)),
    ClientTable("refusal", ("received_us", "id")),
    ClientTable("refused_body", ("digest",), weight="size"),
    ClientTable("idempotency_key", ("key",)),
    ClientTable("job_file", ("job_id", "name", "number"), weight="length(body)"),
    ClientTable("job", ("id",)),
    ClientTable("change", ("id",)),
    ClientTable("distinct_pair", ("record_kind", "first_id", "second_id")),
    ClientTable("mapping_delivery", ("job_id", "id")),
    ClientTable("import_mapping", ("record", "name")),
    ClientTable("erasure", ("id",)),
    ClientTable("erased", ("digest",)),
    ClientTable("suppression", ("kind", "value")),
    ClientTable("suppression_cause", ("kind", "value", "key")),
    ClientTable("api_key", ("key_id",)),
    ClientTable("client_alias", ("client_id",)),
)
"""In order of removal. The client's own row is removed last."""


OBJECTS_WAIT: Micros = SECOND
"""Pause while objects in object storage are to be removed."""
MAX_BODY_BYTES = 16 * 1024 * 1024
"""Bytes of webhook bodies removed in one transaction: a store frees them page by page."""
COUNT_REMOVED = Statement(
    "note_removed",
    (("id", "bigint"), ("count", "bigint"), ("total", "bigint")),
    body="UPDATE client AS t SET removed = t.removed + p.count, rows_total = COALESCE(p.total, t.rows_total) FROM p WHERE t.id = p.id",
    by_row=True,
)
DELETE_WORDS = Statement(
    "remove_search_words",
    (("client", "bigint"), ("record", "bigint")),
    sqlite="DELETE FROM search_words WHERE record = ?2",
    body="DELETE FROM search_index t USING p WHERE t.client = p.client AND t.record = p.record",
)
REMOVE_OBJECT = Statement(
    "remove_object",
    (("client", "bigint"), ("place", "text"), ("at", "bigint")),
    body="INSERT INTO object_removal (client, place, is_removing, created_us, due_us) SELECT p.client, p.place, 1, p.at, p.at FROM p "
    "WHERE true ON CONFLICT DO NOTHING",
)
OBJECTS_LEFT = Statement(
    "objects_left",
    (("client", "bigint"),),
    body="SELECT p.client FROM p WHERE EXISTS (SELECT 1 FROM object_removal t WHERE t.client = p.client)",
)
FORGET_GRANTS = Statement(
    "forget_grants",
    (("granted_client", "bigint"),),
    body="DELETE FROM user_grant t USING p WHERE t.granted_client = p.granted_client",
    by_row=True,
)
"""Rights of people, which are in the home store also for a client of a cell (`cells/sql.py`)."""
DELETE_CLIENT = delete("delete_client", "client", (("id", "bigint"),))


@command
def remove_client_rows(
    client: int, at: Micros, most: int, position: Position | None = None, total: int | None = None
) -> Plan[Removal | WrongState]:
    """Remove up to `most` rows of a client that is being deleted; the client's own row goes last.

    It goes once a scan of every table from the beginning (`place` None) finds no row, `DELETION_DELAY` after the start. A client that does
    not exist is done. `WrongState` when the client is not being deleted.

    `total`: The number of rows, to show the progress; None: unknown, or stored before.
    """
    current_client = yield from locked(client)
    if current_client is None:
        return Removal(done=True)
    deletion = current_client.deletion
    if deletion is None:
        return WrongState(f"client {current_client.client_id!r} is not being deleted")
    removed, current_position = yield from _remove_batch(client, position, most, at)
    wait = max(0, deletion.started_us + DELETION_DELAY - at)
    nothing_left = position is None and current_position is None and not removed
    if nothing_left and (yield Execute(OBJECTS_LEFT, [(client,)])):
        wait = max(wait, OBJECTS_WAIT)
    if nothing_left and not wait:
        yield Execute(FORGET_GRANTS, [(client,)])
        yield Execute(DELETE_CLIENT, [(client,)])
        return Removal(True, deletion.removed, deletion.total)
    yield Execute(COUNT_REMOVED, [(client, removed, total)])
    current_total = deletion.total if total is None else total
    return Removal(False, deletion.removed + removed, current_total, current_position, wait if nothing_left else 0)


@command
def remove_moved_rows(client: int, most: int, position: Position | None = None) -> Plan[tuple[int, Position | None]]:
    """Remove up to `most` rows of a client that lives in another database; return their number, and where to continue.

    Without a position and a row the client's own row goes. Its rights and its place in the directory stay.
    """
    removed, current_position = yield from _remove_batch(client, position, most, None)
    if position is None and current_position is None and not removed:
        yield Execute(DELETE_CLIENT, [(client,)])
    return removed, current_position


def _remove_batch(client: int, position: Position | None, most: int, at: Micros | None) -> Plan[tuple[int, Position | None]]:
    """Remove rows of a client table by table until the batch is full; return their number, and where to continue.

    The client's own row stays. With `at` objects in object storage are removed too; without it they belong to another database now.
    """
    start, after = position or (0, ())
    removed = 0
    for number, table in list(enumerate(CLIENT_TABLES))[start:]:
        if table.is_waited_for and at is not None:
            continue
        while keys := (yield from _next_keys(table, client, after, most - removed)):
            gone = yield from _remove_keys(table, client, after, keys, at)
            removed, after = removed + gone, keys[-1]
            if removed >= most or table.weight:
                return removed, (number, after)
        after = ()
    return removed, None


def _next_keys(table: ClientTable, client: int, after: Row, most: int) -> Plan[list[Row]]:
    """Return the keys of the next rows, in order. Continuing after the last key avoids a scan over removed rows."""
    rows = yield Select(_keys_sql(table, bool(after)), (client, *after, most))
    if not table.weight:
        return rows
    weight = 0
    light: list[Row] = []
    for *key, size in rows:
        weight += size
        if light and weight > MAX_BODY_BYTES:
            break
        light.append(tuple(key))
    return light


def _remove_keys(table: ClientTable, client: int, after: Row, keys: Sequence[Row], at: Micros | None) -> Plan[int]:
    """Remove the rows up to the last of these keys, also rows inserted among them since, and their children."""
    gone = yield Select(_delete_sql(table, bool(after)), (client, *after, *keys[-1]))
    for name in table.children:
        yield Execute(_delete_child(name), sorted((client, row[0]) for row in gone))
    objects = [row[1] for row in gone if row[1] is not None] if at is not None and table.has_object else []
    if objects:
        yield Execute(REMOVE_OBJECT, [(client, text.partition(" ")[0], at) for text in sorted(objects)])
    if table.words is not None and gone:
        yield Execute(DELETE_WORDS, sorted((client, 2 * key[0] + table.words) for key in gone))
    return len(gone)


@cache
def _keys_sql(table: ClientTable, continues: bool) -> str:
    key = ", ".join(table.key)
    columns = f"{key}, {table.weight}" if table.weight else key
    return f"SELECT {columns} FROM {table.name} WHERE {_after(table, continues)} ORDER BY {key} LIMIT ?"


@cache
def _delete_sql(table: ClientTable, continues: bool) -> str:
    key = ", ".join(table.key)
    return f"DELETE FROM {table.name} WHERE {_after(table, continues)} AND ({key}) <= ({_marks(table)}) RETURNING {key}" + (
        ", object" if table.has_object else ""
    )


def _after(table: ClientTable, continues: bool) -> str:
    return "client = ?" + (f" AND ({', '.join(table.key)}) > ({_marks(table)})" if continues else "")


def _marks(table: ClientTable) -> str:
    return ", ".join("?" for _ in table.key)


@cache
def _delete_child(name: str) -> Statement:
    return delete(f"remove_{name}", name, ROW_KEY)


@query
def count_client_rows(client: int) -> Plan[int]:
    """The number of a client's rows in all tables, without those that a worker removes."""
    total = 0
    for table in CLIENT_TABLES:
        if table.is_waited_for:
            continue
        rows = yield Select(f"SELECT count(*) FROM {table.name} WHERE client = ?", (client,))
        total += rows[0][0]
    return total
