"""Finding duplicates: walk the records in the order of each block, and compare each with the next ones.

A page reads a bounded number of records, whatever the size of the client, so a page may have few pairs or none and still a cursor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.common.threads import on_thread
from touchbase.history.events import CONTACT
from touchbase.merging.similarity import NAMED_TOGETHER, TOGETHER, Similarity, similarity
from touchbase.merging.sql.duplicates import ADDRESS, BLOCKS, DOMAIN, NAME, SURNAME, Place, custom_fields_of, read_block, read_named
from touchbase.records.models import Company, Contact
from touchbase.sql.store import Store

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
