"""Plans of exports: one statement for a page, with the custom fields of each record as one text."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.sql.lookup import mark_records
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.reads import Listing
from touchbase.search.sql.conditions import LISTED, POSTGRES, SQLITE
from touchbase.sql.operation import query
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.statement import Plan, Row, Select

COLUMNS = {kind: ("created_us", *(field.column for field in record_type.members)) for kind, record_type in RECORD_TYPES.items()}
"""The columns of a row, which ends with the custom fields."""


@dataclass(slots=True)
class EncodedPage:
    """Records of a page as they are sent."""

    body: bytes
    rows: int
    after: tuple[Micros, int] | None
    """Where the next page begins; None: there is none."""


# Each name and value with its length before it: both engines can do that, and it is unpacked faster than rows are joined.
_PACKED = "string_agg(length(f.name) || ':' || f.name || length(f.value) || ':' || f.value, '')"
_CREATED, _ID, _UPDATED = (COLUMNS[CONTACT].index(column) for column in ("created_us", "id", "updated_us"))
_KEYS = {CONTACT: ("id", "email_key", "linkedin_key", "linkedin_url", "company_id", "status"), COMPANY: ("domain",)}
"""The columns by which suppressions are looked up."""


@dataclass(slots=True)
class _CompanyAddress:
    """The address of a company of a page."""

    client: int
    domain: str
    suppressed: str | None = None


@dataclass(slots=True)
class _ContactAddresses:
    """The addresses of a contact of a page, and its status."""

    client: int
    id: int
    email_key: str | None
    linkedin_key: str | None
    linkedin_url: str | None
    company_id: int | None
    status: str | None
    suppressed: str | None = None


@query(client="listing.client", standby=True)
def export_records(
    listing: Listing[Any],
    encode: Callable[[Sequence[tuple[Any, ...]], Sequence[str | None]], bytes],
    suppressed_at: Micros | None = None,
    suppressed: bool | None = None,
    ids: list[int] | None = None,
) -> Plan[EncodedPage]:
    """A page of the list that `listing` is (its filters, order, place and limit), encoded where it is read.

    `encode`: Rows of `exports.sql`, and why each must not be contacted (empty if that is not looked up) -> bytes; on a reading thread.
    `suppressed_at`: The time for which suppressions are looked up; None: they are not.
    `suppressed`: Only records that are suppressed then, or are not.
    `ids`: The records of the page, which a search has found; None: the ones of the list's filters.
    """
    kind, table = listing.kind.kind, listing.kind.name
    columns, where = COLUMNS[kind], listing.where()
    order = where.page(listing.updated_since_us, listing.after)
    params = where.params if ids is None else (*where.params, msgspec.json.encode(ids).decode())
    custom = f"SELECT {_PACKED} FROM custom_field f WHERE f.client = t.client AND f.record_kind = {kind} AND f.record_id = t.id"
    keys = () if suppressed_at is None else _KEYS[kind]
    selected = ", ".join([*columns, f"({custom})", *keys])
    texts = [f"SELECT {selected} FROM {table} t WHERE {where}{entry} ORDER BY {order} LIMIT ?" for entry in _listed(ids)]
    budget = ByteBudget(listing.page_bytes, (len(columns),)) if listing.page_bytes else None
    rows = yield Select(texts[0], (*params, listing.limit + 1), texts[1], budget)
    page = rows[: listing.limit]
    has_more = len(rows) > listing.limit or (budget is not None and budget.is_spent)
    after = _place(page[-1], listing.updated_since_us is not None) if has_more else None
    if suppressed_at is None:
        return EncodedPage(encode(page, ()), len(page), after)
    width = len(columns) + 1
    reasons = yield from _reasons(listing.client, kind, [row[width:] for row in page], suppressed_at)
    records = [(row[:width], reason) for row, reason in zip(page, reasons, strict=True) if suppressed in (None, reason is not None)]
    return EncodedPage(encode([row for row, _ in records], [reason for _, reason in records]), len(records), after)


def _listed(ids: Sequence[int] | None) -> tuple[str, str]:
    """Return the condition that a record is one of these, for SQLite and PostgreSQL; nothing for None."""
    if ids is None:
        return "", ""
    return f" AND {LISTED[SQLITE].format('t.id')}", f" AND {LISTED[POSTGRES].format('t.id')}"


def _reasons(client: int, kind: int, rows: Sequence[Row], at: Micros) -> Plan[list[str | None]]:
    """Return why each record must not be contacted; None if it may be."""
    addresses = _ContactAddresses if kind == CONTACT else _CompanyAddress
    records = [addresses(client, *row) for row in rows]
    if records:
        yield from mark_records(records, at)
    return [record.suppressed for record in records]


def _place(row: Row, by_update: bool) -> tuple[int, int]:
    return row[_UPDATED if by_update else _CREATED], row[_ID]


def unpacked(packed: str | None) -> dict[str, str]:
    """Return the custom fields of a row, by name; removed ones are not in it."""
    fields: dict[str, str] = {}
    at = 0
    while packed and at < len(packed):
        mark = packed.index(":", at)
        middle = mark + 1 + int(packed[at:mark])
        value = packed.index(":", middle)
        at = value + 1 + int(packed[middle:value])
        fields[packed[mark + 1 : middle]] = packed[value + 1 : at]
    return fields


@query(standby=True)
def custom_field_names(client: int, record_kind: int, most: int) -> Plan[list[str]]:
    """The names of all custom fields of a client's contacts or companies, in order; of more than `most`, any `most` of them."""
    rows = yield Select(
        "SELECT DISTINCT name FROM custom_field WHERE client = ? AND record_kind = ? AND value IS NOT NULL LIMIT ?",
        (client, record_kind, most),
    )
    return sorted(row[0] for row in rows)
