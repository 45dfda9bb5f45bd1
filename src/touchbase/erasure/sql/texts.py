"""Texts outside of the records in which a person can be named: read for the search of an erasure, and struck.

Rows that belong to a contact are deleted by `pii_tables.py`, and bodies of deliveries by the search of the inbox. A table that can name
a person and is in neither is an entry here; docs/explanation/privacy.md has the list of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from touchbase.erasure.models import StoredTexts
from touchbase.erasure.sql.pii_tables import PII_TABLES
from touchbase.sql.operation import command, query
from touchbase.sql.statement import Plan, Select


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table: its key columns without the client, and its text columns."""

    table: str
    key: tuple[str, ...]
    texts: tuple[str, ...]
    json: frozenset[str] = frozenset()
    """The columns with JSON, which stays JSON: only strings in it are replaced."""
    is_deleted: bool = False
    """Whether the whole row is deleted: nothing needs it, or the key itself may name the person."""
    where: str = ""
    """A condition that most rows of a large table do not meet."""


def _table(table: str, key: Sequence[str], texts: Sequence[str] = (), json: Sequence[str] = (), **more: object) -> TextTable:
    return TextTable(table, tuple(key), (*texts, *json), frozenset(json), **more)  # type: ignore[arg-type]


TEXT_TABLES = {
    text_table.table: text_table
    for text_table in (
        _table("job", ["id"], ["error"], ["settings", "position", "progress"]),
        _table("import_mapping", ["record", "name"], ["mapping"], is_deleted=True),
        _table("idempotency_key", ["key"], ["response"], is_deleted=True),
        _table("webhook_attempt", ["id"], ["response", "error"], where="(response <> '' OR error <> '')"),
        _table("webhook_endpoint", ["id"], ["description", "reason"], ["filter"]),
        _table("refusal", ["received_us", "id"], [], ["headers"]),
        _table(
            "delivery", ["id"], ["error", "shape"], ["problems"], where="(error IS NOT NULL OR shape IS NOT NULL OR problems IS NOT NULL)"
        ),
        _table("logged_event", ["sequence"], [], ["cause", "data"], where="data <> '{}'"),
        _table(
            "message",
            ["id"],
            ["subject", "text", "html", "thread_url"],
            ["custom", "reply_ref"],
            where="(has_body = 1 OR custom <> '{}' OR reply_ref IS NOT NULL)",
        ),
        _table("answer", ["id"], ["text", "reason"], where="(text <> '' OR reason <> '')"),
        _table("note", ["id"], ["text"]),
        _table("task", ["id"], ["text"]),
        _table("saved_view", ["id"], ["name"], ["content"]),
        _table("answer_draft", ["contact_id", "user_id"], ["text"]),
        _table("suppression", ["kind", "value"], ["note"], where="note <> ''"),
        _table("suppression_cause", ["kind", "value", "key"], ["note"], where="note <> ''"),
        _table("fetch_state", ["tool"], ["error"], where="error IS NOT NULL"),
    )
}

ERASED_TABLES = tuple(
    sorted(
        {
            "contact",
            "delivery_body",
            "job_file",
            "suppression",
            "announced_suppression",
            "pending_webhook",
            *TEXT_TABLES,
            *(pii_table.table for pii_table in PII_TABLES),
        }
    )
)
"""Tables in which an erasure deletes or changes rows."""


@cache
def _reading(table: TextTable, *, continues: bool) -> str:
    keys = ", ".join(table.key)
    behind = f" AND ({keys}) > ({', '.join('?' * len(table.key))})" if continues else ""
    where = f" AND {table.where}" if table.where else ""
    return f"SELECT {', '.join(table.key + table.texts)} FROM {table.table} WHERE client = ?{behind}{where} ORDER BY {keys} LIMIT ?"


@query
def read_texts(client: int, table: str, limit: int, after: list[int | str] | None = None) -> Plan[list[StoredTexts]]:
    """Read the texts of a table of `TEXT_TABLES`, row by row in the order of their keys, behind the key `after`."""
    current_table = TEXT_TABLES[table]
    current_after = after or ()
    rows = yield Select(_reading(current_table, continues=bool(current_after)), (client, *current_after, limit))
    width = len(current_table.key)
    return [StoredTexts(tuple(row[:width]), dict(zip(current_table.texts, row[width:], strict=True))) for row in rows]


@command(large=True)
def strike_texts(client: int, table: str, changes: list[tuple[StoredTexts, dict[str, str | bytes] | None]]) -> Plan[int]:
    """Replace texts that name an erased person; return the number of rows changed.

    Each change is a row as it was read, and the new values of columns; None deletes the row. A row that has changed since it was read stays
    as it is.
    """
    current_table, changed = TEXT_TABLES[table], 0
    matching = "client = ?" + "".join(f" AND {column} = ?" for column in current_table.key)
    for row, values in changes:
        key = (client, *row.key)
        if values is None:
            changed += len((yield Select(f"DELETE FROM {current_table.table} WHERE {matching} RETURNING {current_table.key[0]}", key)))
            continue
        columns = [*values]
        unchanged = "".join(f" AND {column} = ?" for column in columns)
        setting = ", ".join(f"{column} = ?" for column in columns)
        params = (*values.values(), *key, *(row.values[column] for column in columns))
        sql = f"UPDATE {current_table.table} SET {setting} WHERE {matching}{unchanged} RETURNING {current_table.key[0]}"
        changed += len((yield Select(sql, params)))
    return changed
