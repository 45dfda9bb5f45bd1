"""SQL of duplicates: records in the order of an index."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from touchbase.history.events import CONTACT
from touchbase.history.problems import OTHER_PERSON
from touchbase.records.models import Company, Contact, CustomField
from touchbase.records.sql import rows as records_rows
from touchbase.records.sql.statements import CONTACT_TO_SHOW, with_custom_fields_within
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Select, Statement

Place = tuple[str, str, int]
"""The place of a record in a block's order: its two sort keys and its id."""

SURNAME = "surname"
ADDRESS = "address"
NAME = "name"
DOMAIN = "domain"
BLOCKS = {1: (SURNAME, ADDRESS), 2: (NAME, DOMAIN)}
"""The orders in which records of a kind are walked; duplicates are near each other in one of them."""


@dataclass(frozen=True, slots=True)
class _Order:
    """The order of a block: the expressions of its index, and the rows that the index has."""

    keys: tuple[str, ...]
    where: str = ""


_DOMAIN = "replace(email_key, rtrim(email_key, replace(email_key, '@', '')), '')"
# Literally as in the indexes of migration 0003.
_ORDERS = {
    SURNAME: _Order(("lower(last_name)", "lower(COALESCE(first_name, ''))"), "last_name IS NOT NULL"),
    ADDRESS: _Order((_DOMAIN, "email_key"), "email_key IS NOT NULL"),
    NAME: _Order(("lower(name)",), "name IS NOT NULL"),
    DOMAIN: _Order(("domain",), "domain > ''"),
}


@query
def read_block(client: int, block: str, limit: int, after: Place | None = None) -> Plan[list[tuple[Place, Contact | Company]]]:
    """Records in the order of a block, each with its place, without custom fields, from a place on (without it)."""
    order, is_contact = _ORDERS[block], block in BLOCKS[CONTACT]
    keys = order.keys
    where = Where("client = ?", client)
    if order.where:
        where.add(order.where)
    if after is not None:
        current_after = (*after[: len(keys)], after[2])
        where.add(f"({', '.join((*keys, 'id'))}) > ({', '.join('?' for _ in current_after)})", *current_after)
    columns = records_rows.CONTACT if is_contact else records_rows.COMPANY
    shown = [*keys, *(["''"] if len(keys) == 1 else []), names(columns)]
    sql = (
        f"SELECT {', '.join(shown)} FROM {'contact' if is_contact else 'company'} WHERE {where} ORDER BY {', '.join((*keys, 'id'))} LIMIT ?"
    )
    rows = yield Select(sql, (*where.params, limit))
    records = [records_rows.contact_of(row[2:]) if is_contact else records_rows.company_of(row[2:]) for row in rows]
    return [((row[0], row[1], row[3]), record) for row, record in zip(rows, records, strict=True)]


_NAMED = (
    "SELECT e.delivery_id, e.record_id, e.detail FROM (SELECT client, id FROM delivery WHERE client = ? AND problems IS NOT NULL "
    "AND id > ? ORDER BY id LIMIT ?) d JOIN event e ON e.client = d.client AND e.delivery_id = d.id WHERE e.record_kind = 1 "
    f"AND e.detail LIKE '%\"{OTHER_PERSON}\"%' ORDER BY e.delivery_id, e.record_id"
)
NAMED_BEFORE = Statement(
    "named_before",
    (("client", "bigint"), ("record_id", "bigint"), ("delivery_id", "bigint")),
    body="SELECT p.delivery_id, t.record_id, t.detail FROM p CROSS JOIN event t WHERE t.client = p.client AND t.record_kind = 1 "
    f"AND t.record_id = p.record_id AND t.delivery_id < p.delivery_id AND t.detail LIKE '%\"{OTHER_PERSON}\"%'",
)
_LAST_OF_NAMED = "SELECT id FROM delivery WHERE client = ? AND problems IS NOT NULL AND id > ? ORDER BY id LIMIT ?"


@query
def read_named(client: int, after: int, limit: int) -> Plan[tuple[list[tuple[int, Contact, Contact]], int | None]]:
    """Contacts that webhooks named together, by the first delivery that did, of so many deliveries with problems after the id `after`.

    Each with the delivery's id; and the last id that was read, None on the last page.
    """
    last = yield Select(_LAST_OF_NAMED, (client, after, limit))
    named: dict[tuple[int, int], int] = {}
    for delivery, number, detail in (yield Select(_NAMED, (client, after, limit))):
        if (pair := _pair(number, detail)) is not None:
            named.setdefault(pair, delivery)
    places = sorted({(client, number, delivery) for pair, delivery in named.items() for number in pair})
    for delivery, number, detail in (yield Execute(NAMED_BEFORE, places)) if places else ():
        if (pair := _pair(number, detail)) is not None and named.get(pair) == delivery:
            del named[pair]
    numbers = sorted({(client, number) for pair in named for number in pair})
    contacts = {row[1]: records_rows.contact_of(row) for row in ((yield Execute(CONTACT_TO_SHOW, numbers)) if numbers else ())}
    pairs = [(delivery, *pair) for pair, delivery in named.items() if contacts.keys() >= set(pair)]
    named_contacts = [(delivery, contacts[first], contacts[second]) for delivery, first, second in pairs]
    return named_contacts, last[-1][0] if len(last) == limit else None


def _pair(number: int, detail: str) -> tuple[int, int] | None:
    """Return the contacts that an event names together, the lower id first."""
    second = msgspec.json.decode(detail).get("other")
    return None if second is None or second == number else (min(number, second), max(number, second))


@query
def custom_fields_of(client: int, kind: int, ids: Sequence[int], page_bytes: int) -> Plan[list[list[CustomField]]]:
    """The custom fields of these records, in their order, until they have so many bytes; at least the first record's."""
    records = [Contact(client, number, 0, 0) for number in ids]  # of companies too: only their ids matter
    return [record.custom_fields for record in (yield from with_custom_fields_within(kind, records, page_bytes))]
