"""Finding duplicates: walk the records in the order of each block, and compare each with the next ones.

A page reads a bounded number of records, whatever the size of the client, so a page may have few pairs or none and still a cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from touchbase.common.threads import on_thread
from touchbase.history.events import CONTACT
from touchbase.history.problems import OTHER_PERSON
from touchbase.merging.similarity import NAMED_TOGETHER, TOGETHER, Similarity, similarity
from touchbase.records.models import Company, Contact, CustomField
from touchbase.records.sql import rows as records_rows
from touchbase.records.sql.statements import CONTACT_TO_SHOW, with_custom_fields_within
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Select, Statement
from touchbase.sql.store import Store

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


NEIGHBOURS = 20
"""Each record is compared with so many after it."""
SCANNED = 300
"""Most records of one page."""
Cursor = tuple[int, Place | None, int]
"""The block, the place of the last record that is done, and how many neighbours of the next one are done."""
Placed = tuple[Place, Contact | Company]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two records that may be one; the older id first."""

    first: Contact | Company
    second: Contact | Company
    similarity: Similarity
    after: Cursor
    """The cursor of a page that begins behind this pair."""


async def find_duplicates(
    store: Store, client: int, kind: int, limit: int, after: Cursor | None, least: float, page_bytes: int
) -> tuple[list[Pair], Cursor | None]:
    """Return a page of pairs with at least this score, and the cursor of the next page; None after the last one.

    It ends before the pair whose records would bring the custom fields to more than `page_bytes`. They are read for the records
    of pairs alone: the compared ones have hundreds of times as many.
    """
    number, place, done = after or (0, None, 0)
    blocks = BLOCKS[kind]
    pairs: list[Pair] = []
    left = SCANNED
    room = page_bytes
    while number < len(blocks) and left > 0 and len(pairs) < limit and room > 0:
        placed = await store.read(read_block(client, blocks[number], left + NEIGHBOURS, place))
        walk = _Walk(number, blocks[number], placed, limit - len(pairs), least, place)
        # Comparing takes some hundredths of a second, in which other requests must not wait.
        similar = await on_thread("duplicates", walk.pairs, left, done)
        complete, room = await _with_custom_fields(store, client, kind, similar, room, is_first=not pairs)
        pairs += complete
        if len(complete) < len(similar):
            return pairs, complete[-1].after if complete else (number, place, done)
        left -= max(1, walk.scanned)
        if walk.is_cut or (left <= 0 and walk.scanned < len(placed)):
            place = placed[walk.scanned - 1][0] if walk.scanned else place
            return pairs, (number, place, walk.done)
        if walk.scanned >= len(placed):
            number, place, done = number + 1, None, 0
        else:
            place, done = placed[walk.scanned - 1][0], 0
    if number < len(blocks) or kind != CONTACT:
        return pairs, (number, place, done) if number < len(blocks) else None
    cursor: Cursor = (number, place, done)
    if left <= 0 or len(pairs) >= limit or room <= 0:
        return pairs, cursor
    named, following = await _named_together(store, client, cursor, limit - len(pairs), least)
    complete, _ = await _with_custom_fields(store, client, kind, named, room, is_first=not pairs)
    if len(complete) < len(named):
        following = complete[-1].after if complete else cursor
    return pairs + complete, following


async def _named_together(store: Store, client: int, cursor: Cursor, limit: int, least: float) -> tuple[list[Pair], Cursor | None]:
    """Return contacts that a webhook named together: comparing names and addresses need not find them. The place has the delivery."""
    number, place, done = cursor
    named, last = await store.read(read_named(client, 0 if place is None else place[2], limit + done))
    pairs: list[Pair] = []
    counts = Counter({named[0][0]: done} if named else {})
    for delivery, first, second in named[done:]:
        counts[delivery] += 1
        score = similarity(first, second)
        score.score, score.reasons = max(score.score, TOGETHER), [*score.reasons, NAMED_TOGETHER]
        if score.score >= least:
            pairs.append(Pair(first, second, score, (number, ("", "", delivery - 1), counts[delivery])))
    if len(pairs) > limit:
        return pairs[:limit], pairs[limit - 1].after
    return pairs, None if last is None else (number, ("", "", last), 0)


async def _with_custom_fields(
    store: Store, client: int, kind: int, pairs: Sequence[Pair], room: int, *, is_first: bool
) -> tuple[list[Pair], int]:
    """Load the custom fields of pairs until these have `room` bytes; return the pairs that have theirs, and the bytes that are left.

    The first pair of a page has them in any case.
    """
    records = list({id(record): record for pair in pairs for record in (pair.first, pair.second)}.values())
    numbers = [record.id for record in records]
    fields = await store.read(custom_fields_of(client, kind, numbers, room))
    if is_first and len(fields) == 1:
        fields += await store.read(custom_fields_of(client, kind, numbers[1:2], 0))
    for record, custom_fields in zip(records, fields, strict=False):
        record.custom_fields = custom_fields
    loaded = {id(record) for record in records[: len(fields)]}
    complete: list[Pair] = []
    for pair in pairs:
        if not loaded.issuperset((id(pair.first), id(pair.second))) or (room <= 0 and (complete or not is_first)):
            break
        complete.append(pair)
        room -= _size(pair.first) + _size(pair.second)
    return complete, room


class _Walk:
    """Compares the records of one read with their neighbours."""

    def __init__(self, number: int, block: str, placed: Sequence[Placed], limit: int, least: float, place: Place | None) -> None:
        self._number, self._block, self._placed, self._limit, self._least = number, block, placed, limit, least
        self._place = place
        """The place of the last record that is done."""
        self.scanned = 0
        """Records of which all neighbours were compared."""
        self.done = 0
        """Neighbours of the next record that were compared."""
        self.is_cut = False
        """Whether the page became full before the end."""

    def pairs(self, most: int, done: int) -> list[Pair]:
        """Return the pairs of the first `most` records, without the first `done` neighbours of the first one."""
        pairs_: list[Pair] = []
        for index, (place, record) in enumerate(self._placed[:most]):
            neighbours = self._placed[index + 1 : index + 1 + NEIGHBOURS]
            for offset, (near, neighbour) in enumerate(neighbours[done:], done):
                if not self._is_in_block(place, near):
                    break
                if self._was_found_before(record, neighbour):
                    continue
                if (score := similarity(record, neighbour)).score >= self._least:
                    after = (self._number, self._placed[index - 1][0] if index else self._place, offset + 1)
                    first, second = (record, neighbour) if record.id < neighbour.id else (neighbour, record)
                    pairs_.append(Pair(first, second, score, after))
                    if len(pairs_) == self._limit:
                        self.done, self.is_cut = offset + 1, True
                        return pairs_
            done = 0
            self.scanned = index + 1
        return pairs_

    def _is_in_block(self, place: Place, near: Place) -> bool:
        if self._block == SURNAME:
            return place[0] == near[0] and place[1][:1] == near[1][:1]
        if self._block == NAME:
            return place[0][:1] == near[0][:1]
        return self._block == DOMAIN or place[0] == near[0]

    def _was_found_before(self, first: Contact | Company, second: Contact | Company) -> bool:
        """Whether two records are in one part of an earlier block, which has the pair already."""
        if self._block == ADDRESS and isinstance(first, Contact) and isinstance(second, Contact):
            return _surname(first) is not None and _surname(first) == _surname(second)
        if self._block == DOMAIN and isinstance(first, Company) and isinstance(second, Company):
            return bool(first.name and second.name and first.name.lower() == second.name.lower())
        return False


def _size(record: Contact | Company) -> int:
    return sum(len(custom_field.name) + len(custom_field.value or "") for custom_field in record.custom_fields)


def _surname(contact: Contact) -> tuple[str, str] | None:
    return None if contact.last_name is None else (contact.last_name.lower(), (contact.first_name or "").lower()[:1])
