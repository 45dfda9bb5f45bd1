"""Plans of exports: one statement for a page, with the custom fields of each record as one text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.sql.lookup import mark_records
from touchbase.exports.commands import EncodedPage, ExportRecords
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.commands import ListContacts
from touchbase.search.sql.conditions import LISTED, POSTGRES, SQLITE
from touchbase.sql.filters import Where
from touchbase.sql.operation import executes, query
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.statement import Plan, Row, Select

CONTACT_COLUMNS = (
    "id", "created_us", "updated_us", "email", "linkedin_url", "first_name", "last_name", "company_id", "origin", "external_id", "status",
    "previous_status", "status_changed_us", "first_sent_us", "last_sent_us", "last_reply_us",
)  # fmt: skip
COMPANY_COLUMNS = ("id", "created_us", "updated_us", "domain", "name", "external_id", "status", "previous_status", "status_changed_us")
# Each name and value with its length before it: both engines can do that, and it is unpacked faster than rows are joined.
_PACKED = "string_agg(length(f.name) || ':' || f.name || length(f.value) || ':' || f.value, '')"
_UPDATED = CONTACT_COLUMNS.index("updated_us")
_KEYS = {CONTACT: ("email_key", "linkedin_key", "company_id"), COMPANY: ("domain",)}
"""The columns by which suppressions are looked up."""


@dataclass(slots=True)
class _Addresses:
    """The addresses of a record of a page."""

    client: int
    email_key: str | None = None
    linkedin_key: str | None = None
    company_id: int | None = None
    domain: str | None = None
    suppressed: str | None = None


@executes(ExportRecords, clients=lambda call: (call.listing.client,))
def export_records(query: ExportRecords) -> Plan[EncodedPage]:
    """Return a page of records, encoded."""
    listing = query.listing
    kind, table, columns = (
        (CONTACT, "contact", CONTACT_COLUMNS) if isinstance(listing, ListContacts) else (COMPANY, "company", COMPANY_COLUMNS)
    )
    where = Where("client = ?", listing.client)
    for column, value in listing.filters():
        where.equal(column, value)
    order = where.page(listing.updated_since_us, listing.after)
    params = where.params if query.ids is None else (*where.params, msgspec.json.encode(query.ids).decode())
    custom = f"SELECT {_PACKED} FROM custom_field f WHERE f.client = t.client AND f.record_kind = {kind} AND f.record_id = t.id"
    keys = () if query.suppressed_at is None else _KEYS[kind]
    selected = ", ".join([*columns, f"({custom})", *keys])
    texts = [f"SELECT {selected} FROM {table} t WHERE {where}{each} ORDER BY {order} LIMIT ?" for each in _listed(query.ids)]
    budget = ByteBudget(listing.page_bytes, (len(columns),)) if listing.page_bytes else None
    rows = yield Select(texts[0], (*params, listing.limit + 1), texts[1], budget)
    page = rows[: listing.limit]
    has_more = len(rows) > listing.limit or (budget is not None and budget.is_spent)
    after = _place(page[-1], listing.updated_since_us is not None) if has_more else None
    if query.suppressed_at is None:
        return EncodedPage(query.encode(page, ()), len(page), after)
    width = len(columns) + 1
    reasons = yield from _reasons(listing.client, keys, [row[width:] for row in page], query.suppressed_at)
    found = [(row[:width], reason) for row, reason in zip(page, reasons, strict=True) if query.suppressed in (None, reason is not None)]
    return EncodedPage(query.encode([row for row, _ in found], [reason for _, reason in found]), len(found), after)


def _listed(ids: Sequence[int] | None) -> tuple[str, str]:
    """Return the condition that a record is one of these, for SQLite and PostgreSQL; nothing for None."""
    if ids is None:
        return "", ""
    return f" AND {LISTED[SQLITE].format('t.id')}", f" AND {LISTED[POSTGRES].format('t.id')}"


def _reasons(client: int, keys: Sequence[str], rows: Sequence[Row], at: Micros) -> Plan[list[str | None]]:
    """Return why each record must not be contacted; None if it may be."""
    records = [_Addresses(client, **dict(zip(keys, row, strict=True))) for row in rows]
    if records:
        yield from mark_records(records, at)
    return [record.suppressed for record in records]


def _place(row: Row, by_update: bool) -> tuple[int, int]:
    return row[_UPDATED if by_update else _UPDATED - 1], row[0]


def unpacked(packed: str | None) -> dict[str, str]:
    """Return the custom fields of a row, by name; removed ones are not in it."""
    found: dict[str, str] = {}
    at = 0
    while packed and at < len(packed):
        mark = packed.index(":", at)
        middle = mark + 1 + int(packed[at:mark])
        value = packed.index(":", middle)
        at = value + 1 + int(packed[middle:value])
        found[packed[mark + 1 : middle]] = packed[value + 1 : at]
    return found


@query
def custom_field_names(client: int, record_kind: int) -> Plan[list[str]]:
    """The names of all custom fields of a client's contacts or companies, in order."""
    rows = yield Select(
        "SELECT DISTINCT name FROM custom_field WHERE client = ? AND record_kind = ? AND value IS NOT NULL",
        (client, record_kind),
    )
    return sorted(row[0] for row in rows)
