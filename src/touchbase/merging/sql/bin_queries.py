"""Plans of the queries of the bin."""

from __future__ import annotations

from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.merging.bin import DeletedRecord, deleted_of
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.statement import Plan, Select


@query
def list_deleted(
    client: int, kind: int, limit: int, page_bytes: int, after: tuple[Micros, int] | None = None
) -> Plan[list[DeletedRecord[Any]]]:
    """Deleted records of one kind, the last deleted first; `after` is time and id of the last one of the previous page.

    A `Cut` if there are more than have `page_bytes`, at least one.
    """
    where = Where("client = ?", client)
    where.equal("record_kind", kind)
    if after is not None:
        where.add("(deleted_us, record_id) < (?, ?)", *after)
    sql = f"SELECT deleted_us, content FROM deleted_record WHERE {where} ORDER BY deleted_us DESC, record_id DESC LIMIT ?"
    budget = ByteBudget(page_bytes, (1,))
    rows = yield Select(sql, (*where.params, limit), budget=budget)
    found = [deleted_of(kind, *row) for row in rows]
    return Cut(found) if budget.is_spent else found


@query
def get_deleted(client: int, kind: int, id: int) -> Plan[DeletedRecord[Any] | None]:
    """One deleted record; None if it is not in the bin."""
    sql = "SELECT deleted_us, content FROM deleted_record WHERE client = ? AND record_kind = ? AND record_id = ?"
    rows = yield Select(sql, (client, kind, id))
    return deleted_of(kind, *rows[0]) if rows else None
