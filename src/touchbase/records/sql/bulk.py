"""Plans about all records that match the filters of a list."""

from __future__ import annotations

from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.records.commands import ListContacts, ListRecords
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.statement import Plan, Select


def conditions(listing: ListRecords[Any]) -> tuple[str, Where]:
    """Return the table and the conditions of a list. The one place where these plans read filters."""
    where = Where("client = ?", listing.client)
    for column, value in listing.filters():
        where.equal(column, value)
    return "contact" if isinstance(listing, ListContacts) else "company", where


@query
def count_matching(client: int, listing: ListRecords[Any]) -> Plan[int]:
    """The number of records that match the filters of a list."""
    table, where = conditions(listing)
    [(count,)] = yield Select(f"SELECT count(*) FROM {table} WHERE {where}", where.params)
    return int(count)


def matching(listing: ListRecords[Any]) -> Plan[list[tuple[int, Micros, Micros]]]:
    """Return `id`, `created_us` and `updated_us` of a page of records, in order of creation."""
    table, where = conditions(listing)
    order = where.page(None, listing.after)
    rows = yield Select(
        f"SELECT id, created_us, updated_us FROM {table} WHERE {where} ORDER BY {order} LIMIT ?", (*where.params, listing.limit)
    )
    return [(row[0], row[1], row[2]) for row in rows]
