"""Sorting: `sort=-last_reply_received,email`, and the keyset cursor of its pages.

Records without a value come last in either direction. The id decides between equal values, so a page begins exactly after the
last record of the page before, whatever was written in between.
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from touchbase.common.field_limits import why_not_storable
from touchbase.errors import Fault
from touchbase.history.events import CONTACT
from touchbase.records.models import Record
from touchbase.search.fields import INDEXED_TIMES, OWN_FIELDS, FieldKind, SearchField, SearchFields, folded
from touchbase.search.tree import EVERY, Node, conjuncts, is_limit

MOST_KEYS = 4
_OF_LISTS = {"created_us": "creation", "updated_us": "time"}
Position = tuple[int | str | None, ...]
"""The values of the sort keys of a page's last record, then its id."""


_BEFORE, _AFTER = " before", " after"
"""Ends of the names of orders in cursors that have a rank."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where a page is: behind the record at `after`, or in front of it."""

    after: Position | None = None
    rank: int | None = None
    """Rank of that record, if it is known."""
    backward: bool = False


FIRST_PAGE = Cursor()


@dataclass(frozen=True, slots=True)
class SortKey:
    """One field to sort by."""

    field: SearchField
    descending: bool = False


def default_sort(kind: int, where: Node = EVERY) -> tuple[SortKey, ...]:
    """Return the order of a search that names none: by the first time that all records must have within limits, else by creation.

    Only times with an index count; the latest comes last. So a page reads no record outside of the limits.
    """
    for node in conjuncts(where):
        if is_limit(node) and not node.field.through_company and node.field.column in INDEXED_TIMES[kind]:
            return (SortKey(node.field),)
    return (SortKey(OWN_FIELDS[kind]["created_time"]),)


def parse_sort(text: str | None, fields: SearchFields, pointer: str, faults: list[Fault], where: Node = EVERY) -> tuple[SortKey, ...]:
    """Parse the parameter; None is the default order of this search."""
    if text is None:
        return default_sort(fields.kind, where)
    names = [name.strip() for name in text.split(",")]
    if not 0 < len(names) <= MOST_KEYS:
        faults.append(Fault(pointer, "range", f"must name 1 to {MOST_KEYS} fields, separated by commas"))
        return default_sort(fields.kind)
    keys: list[SortKey] = []
    for name in names:
        bare = name.removeprefix("-")
        field = OWN_FIELDS[fields.kind].get(bare)
        if field is None:
            near = fields.nearest(bare)
            hint = f"did you mean {near!r}?" if near in OWN_FIELDS[fields.kind] else f"there are {', '.join(OWN_FIELDS[fields.kind])}"
            faults.append(Fault(pointer, "unknown", f"cannot sort by {bare[:100]!r}; {hint}"))
        elif any(field == key.field for key in keys):
            faults.append(Fault(pointer, "repeated", f"{bare!r} is given twice"))
        else:
            keys.append(SortKey(field, name.startswith("-")))
    return tuple(keys) or default_sort(fields.kind)


def sort_value(record: Record, key: SortKey) -> int | str | None:
    """Return the value by which a record is sorted."""
    return _compared(getattr(record, key.field.column), key)


def _compared(value: int | str | None, key: SortKey) -> int | str | None:
    return folded(value) if key.field.kind is FieldKind.TEXT and isinstance(value, str) else value


def position_of(record: Record, sort: Sequence[SortKey]) -> Position:
    """Return the position of a record in this order."""
    return (*(sort_value(record, key) for key in sort), record.id)


def place_of(row: Sequence[Any], sort: Sequence[SortKey]) -> Position:
    """Return the position of a record of which a row has the sort keys and the id."""
    return (*(_compared(value, key) for value, key in zip(row, sort, strict=False)), row[-1])


def listing_of(sort: Sequence[SortKey]) -> str:
    """Return the name of an order: a cursor belongs to one. Two orders are the orders of lists without a search, with the same names."""
    kind = "contacts" if sort[0].field.record_kind == CONTACT else "companies"
    if len(sort) == 1 and not sort[0].descending and sort[0].field.column in _OF_LISTS:
        return f"{kind} by {_OF_LISTS[sort[0].field.column]}"
    return f"{kind} by {','.join(('-' if key.descending else '') + key.field.name for key in sort)}"


def cursor_of(position: Position, sort: Sequence[SortKey], rank: int | None = None, *, backward: bool = False) -> str:
    """Encode a position as an opaque text; with the rank of its record if that is known, and `backward` for the page before it."""
    listing = listing_of(sort) + ("" if rank is None else _BEFORE if backward else _AFTER)
    place = position if rank is None else (rank, *position)
    return urlsafe_b64encode(msgspec.json.encode((listing, place))).rstrip(b"=").decode("ascii")


def parse_cursor(text: str | None, sort: Sequence[SortKey], pointer: str, faults: list[Fault]) -> Cursor:
    """Decode a cursor of the same order; the first page for none, and after a fault."""
    if text is None or not text.strip():
        return FIRST_PAGE
    try:
        raw = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        listing, position = msgspec.json.decode(raw, type=tuple[str, tuple[int | str | None, ...]])
    except (ValueError, msgspec.DecodeError, RecursionError):
        listing, position = "", ()
    rank: int | str | None = None
    if (is_ranked := listing.endswith((_BEFORE, _AFTER))) and position:
        rank, *rest = position
        position = tuple(rest)
    if listing.removesuffix(_BEFORE).removesuffix(_AFTER) == listing_of(sort) and _fits(position, sort):
        if not is_ranked:
            return Cursor(position)
        if isinstance(rank, int) and 0 <= rank < 2**63:
            return Cursor(position, rank, listing.endswith(_BEFORE))
    faults.append(Fault(pointer, "cursor", "is not a cursor of this order; begin again without it"))
    return FIRST_PAGE


def _fits(position: Position, sort: Sequence[SortKey]) -> bool:
    """Return whether a store can compare with these values."""
    if len(position) != len(sort) + 1 or not isinstance(position[-1], int):
        return False
    for value, key in zip(position, sort, strict=False):
        if value is None:
            if not key.field.nullable:
                return False
        elif isinstance(value, str) != (key.field.kind in (FieldKind.TEXT, FieldKind.KEY)):
            return False
    return all(
        -(2**63) <= value < 2**63 if isinstance(value, int) else value is None or why_not_storable(value) is None for value in position
    )
