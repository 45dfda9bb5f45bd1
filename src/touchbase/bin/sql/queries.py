"""Plans of the queries of the bin."""

from __future__ import annotations

from typing import Any

from touchbase.bin.commands import GetDeleted, ListDeleted
from touchbase.bin.models import DeletedRecord, deleted_of
from touchbase.sql.filters import Where
from touchbase.sql.statement import Plan, Select


def list_deleted(query: ListDeleted) -> Plan[list[DeletedRecord[Any]]]:
    """Run `ListDeleted`."""
    where = Where("client = ?", query.client)
    where.equal("record_kind", query.kind)
    if query.after is not None:
        where.add("(deleted_us, record_id) < (?, ?)", *query.after)
    sql = f"SELECT deleted_us, content FROM deleted_record WHERE {where} ORDER BY deleted_us DESC, record_id DESC LIMIT ?"
    rows = yield Select(sql, (*where.params, query.limit))
    return [deleted_of(query.kind, *row) for row in rows]


def get_deleted(query: GetDeleted) -> Plan[DeletedRecord[Any] | None]:
    """Run `GetDeleted`."""
    sql = "SELECT deleted_us, content FROM deleted_record WHERE client = ? AND record_kind = ? AND record_id = ?"
    rows = yield Select(sql, (query.client, query.kind, query.id))
    return deleted_of(query.kind, *rows[0]) if rows else None
