"""Statements on deleted records and their identities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.history.events import COMPANY, CONTACT
from touchbase.projection.bin import DeletedRecord, deleted_of
from touchbase.projection.deleted_records import DELETED_LINK
from touchbase.records.sql import statements as records_sql
from touchbase.sql.builders import RECORD, RECORD_MATCH, find
from touchbase.sql.cell_answers import CONCATENATED, AnswerMerge, Answers, Division, divide_clients, named_clients
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.operation import query
from touchbase.sql.page_budget import ByteBudget, Cut, newest_of
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Plan, Select, Statement, delete

DELETED: Columns = (*RECORD, ("deleted_us", "bigint"), ("content", "text"))
INSERT_DELETED = Statement(
    "insert_deleted_record",
    DELETED,
    body=f"INSERT INTO deleted_record ({names(DELETED)}) SELECT * FROM p WHERE true",
)
REPLACE_DELETED = Statement(
    "replace_deleted_record",
    DELETED,
    body=f"UPDATE deleted_record AS t SET deleted_us = p.deleted_us, content = p.content FROM p WHERE {RECORD_MATCH}",
)
INSERT_DELETED_LINK = Statement(
    "insert_deleted_link",
    DELETED_LINK,
    body=f"INSERT INTO deleted_link ({names(DELETED_LINK)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
FIND_DELETED = find("find_deleted_record", "deleted_record", DELETED, RECORD, RECORD_MATCH)
DELETED_LINKS_OF = find("deleted_links_of", "deleted_link", DELETED_LINK, RECORD, RECORD_MATCH)
TAKE_DELETED = delete("take_deleted_record", "deleted_record", RECORD)
TAKE_DELETED_LINKS = delete("take_deleted_links", "deleted_link", RECORD)
DELETE_LINKS_OF = delete("delete_links_of", "link", RECORD)
REMOVE = {CONTACT: records_sql.DELETE_CONTACT, COMPANY: records_sql.DELETE_COMPANY}
"""Delete a record's row."""


@query
def list_deleted(
    client: int, kind: int, limit: int, page_bytes: int, after: tuple[Micros, int] | None = None, to_erase: bool = False
) -> Plan[list[DeletedRecord[Any]]]:
    """Deleted records of one kind, the last deleted first; `after` is time and id of the last one of the previous page.

    `to_erase`: only contacts that a CRM asked to erase. A `Cut` if there are more than have `page_bytes`, at least one.
    """
    where = Where("client = ?", client)
    where.equal("record_kind", kind)
    if after is not None:
        where.add("(deleted_us, record_id) < (?, ?)", *after)
    if to_erase:
        where.add("erasure_asked_us IS NOT NULL")
    sql = f"SELECT deleted_us, content, erasure_asked_us FROM deleted_record WHERE {where} ORDER BY deleted_us DESC, record_id DESC LIMIT ?"
    budget = ByteBudget(page_bytes, (1,))
    rows = yield Select(sql, (*where.params, limit), budget=budget)
    deleted = [deleted_of(kind, *row) for row in rows]
    return Cut(deleted) if budget.is_spent else deleted


def _newest_of_all(call: Any, answers: Answers) -> list[DeletedRecord[Any]]:
    return newest_of(answers.values(), _place_of, call.limit)


def _place_of(deleted: DeletedRecord[Any]) -> tuple[Micros, int, int]:
    return deleted.deleted_us, deleted.record.client, deleted.record.id


@query(
    clients=named_clients,
    unnamed=ALL_CLIENTS,
    divide=Division(divide_clients, _newest_of_all, partial=True),
    merge=AnswerMerge(_newest_of_all),
)
def list_all_deleted(
    clients: Sequence[int] | None,
    kind: int,
    limit: int,
    page_bytes: int,
    before: tuple[Micros, int, int] | None = None,
    to_erase: bool = False,
) -> Plan[list[DeletedRecord[Any]]]:
    """Deleted records of these clients (None: of all active ones) as in `list_deleted`; `before` has the client between time and id."""
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    where = Where(f"client {condition}", *numbers)
    where.equal("record_kind", kind)
    if before is not None:
        where.add("(deleted_us, client, record_id) < (?, ?, ?)", *before)
    if to_erase:
        where.add("erasure_asked_us IS NOT NULL")
    order = "ORDER BY deleted_us DESC, client DESC, record_id DESC LIMIT ?"
    budget = ByteBudget(page_bytes, (1,))
    sql = f"SELECT deleted_us, content, erasure_asked_us FROM deleted_record WHERE {where} {order}"
    deleted = [deleted_of(kind, *row) for row in (yield Select(sql, (*where.params, limit), budget=budget))]
    return Cut(deleted) if budget.is_spent else deleted


@query
def get_deleted(client: int, kind: int, id: int) -> Plan[DeletedRecord[Any] | None]:
    """One deleted record; None if it is not in the bin."""
    sql = "SELECT deleted_us, content, erasure_asked_us FROM deleted_record WHERE client = ? AND record_kind = ? AND record_id = ?"
    rows = yield Select(sql, (client, kind, id))
    return deleted_of(kind, *rows[0]) if rows else None


@query(scope=ALL_CLIENTS, merge=CONCATENATED)
def asked_erasures() -> Plan[list[tuple[int, int, Micros]]]:
    """List client, contact and time of each request of a CRM to erase a person that no person has decided, the oldest first."""
    rows = yield Select("SELECT client, record_id, erasure_asked_us FROM deleted_record WHERE erasure_asked_us IS NOT NULL", ())
    return sorted(((row[0], row[1], row[2]) for row in rows), key=lambda request: request[2])
