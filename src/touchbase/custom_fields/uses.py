"""Which custom fields records use, with counts: kept in parts, because a count of all values of a million records takes a second.

A part has the counts of `1 << BITS` record ids. Writes do not touch parts. Each change of a value notes its record for the full-text
index in its own transaction; the step that takes the note outdates the record's part in its own. So a part is right if no note of its
records waits, and its version is the one that it was counted at.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from touchbase.custom_fields.changes import FieldUse
from touchbase.sql.filters import Where
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement

BITS = 14
MOST_NOTES = 20_000
"""Notes of a client from which on all values are counted."""
MOST_NAMES = 20_000
"""Names of fields in one part, and in all parts together, from which on the database counts the wanted page of names alone."""
MOST_EMPTY = 1_000
"""Parts side by side of which also the empty ones are stored; ids of two databases lie a thousand million parts apart."""
FEW_VALUES = 5_000
"""Values that are counted again each time: parts of fewer are not stored."""

_KEY: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("chunk", "bigint"))
_PART: Columns = (*_KEY, ("version", "bigint"), ("content", "bytea"))
OUTDATE = Statement(
    "outdate_field_uses",
    _KEY,
    body=f"INSERT INTO custom_field_part ({names(_PART)}) SELECT p.client, p.record_kind, p.chunk, 1, NULL FROM p WHERE true "
    "ON CONFLICT (client, record_kind, chunk) DO UPDATE SET version = custom_field_part.version + 1, content = NULL",
)
STORE = Statement(
    "store_field_uses",
    _PART,
    body=f"INSERT INTO custom_field_part ({names(_PART)}) SELECT * FROM p WHERE true ON CONFLICT (client, record_kind, chunk) "
    "DO UPDATE SET content = excluded.content WHERE custom_field_part.version = excluded.version",
)
_USES = "count(*), min(created_us), max(updated_us) FROM custom_field"


Content = dict[str, tuple[int, int, int]]
"""By name of the field: records with a value, and when the first was set and the last changed, in microseconds."""
_decode = msgspec.msgpack.Decoder(Content).decode


class Uses(msgspec.Struct):
    """The fields that records have a value of, by name, and the parts that were counted for the answer."""

    fields: dict[str, FieldUse]
    counted: dict[int, tuple[int, bytes]] = {}
    """By chunk: its version, and the content of the part."""


def outdate_parts(client: int, records: Iterable[tuple[int, int]]) -> Plan[None]:
    """Have the parts of changed records, by kind and id, counted again; in the transaction that takes the notes of the changes."""
    yield Execute(OUTDATE, sorted({(client, kind, number >> BITS) for kind, number in records}))


@command(background=True)
def store_parts(client: int, kind: int, parts: Mapping[int, tuple[int, bytes]]) -> Plan[None]:
    """Store counted parts; one that was outdated meanwhile is left out."""
    yield Execute(STORE, [(client, kind, chunk, *part) for chunk, part in sorted(parts.items())])


@query(long=True)
def find_uses(client: int, kind: int, name: str | None = None, after: str = "", limit: int = 0, part: str = "") -> Plan[Uses]:
    """The custom fields that records of one kind have a value of; of one field, if `name` is given.

    With `limit` the first so many in the order of their characters, behind the name `after`, whose names contain `part`: that is in
    lower case, and finds ASCII letters of either case.
    """
    if (uses := (yield from _unite(client, kind))) is None:
        return Uses((yield from _count_names(client, kind, name, after, limit, part)))
    if name is not None:
        uses.fields = {name: uses.fields[name]} if name in uses.fields else {}
    elif limit:
        first = sorted(field for field in uses.fields if field > after and part in in_lower_case(field))[:limit]
        uses.fields = {field: uses.fields[field] for field in first}
    return uses


def in_lower_case(name: str) -> str:
    """Return the name with its ASCII letters in lower case, as both engines do it."""
    return name.encode().lower().decode()


def values_of(client: int, kind: int) -> Where:
    """Return the condition of the values that records of one kind have."""
    where = Where("client = ?", client)
    where.add("record_kind = ?", kind)
    where.add("value IS NOT NULL")
    return where


def _count_names(
    client: int, kind: int, name: str | None = None, after: str = "", limit: int = 0, part: str = ""
) -> Plan[dict[str, FieldUse]]:
    where = values_of(client, kind)
    where.equal("name", name)
    params = where.params
    some, page = "", ""
    if limit:
        some, page, params = " AND name{0} > ? AND {1}(lower(name{0}), ?) > 0", " ORDER BY name{0} LIMIT ?", (*params, after, part, limit)
    text = f"SELECT name, {_USES} WHERE {where}{some} GROUP BY name{page}"
    rows = yield Select(text.format("", "instr"), params, text.format(' COLLATE "C"', "strpos"))
    return {row[0]: FieldUse(*row[1:]) for row in rows}


def _unite(client: int, kind: int) -> Plan[Uses | None]:
    """Unite stored parts with those that are counted now; None if there are too many notes or names."""
    noted = f"SELECT record_id >> {BITS} AS chunk FROM search_pending WHERE client = ? AND record_kind = ? LIMIT {MOST_NOTES}"
    notes: dict[int, int] = dict((yield Select(f"SELECT chunk, count(*) FROM ({noted}) AS noted GROUP BY chunk", (client, kind))))
    if sum(notes.values()) == MOST_NOTES:
        return None
    stored = yield Select("SELECT chunk, version, content FROM custom_field_part WHERE client = ? AND record_kind = ?", (client, kind))
    lowest, highest = (
        f"(SELECT record_id FROM custom_field WHERE client = ? AND record_kind = ? ORDER BY record_id{order} LIMIT 1)"
        for order in ("", " DESC")
    )
    [(begin, end)] = yield Select(f"SELECT {lowest}, {highest}", (client, kind, client, kind))
    uses, versions = Uses(fields={}), {chunk: version for chunk, version, _ in stored}
    contents: dict[int, Content] = {}
    left = MOST_NAMES
    for chunk, _, content in stored:
        if content is not None and chunk not in notes:
            contents[chunk] = _decode(content)
            left -= len(contents[chunk])
            if left < 0:
                return None
    gaps = [] if begin is None else [*_gaps(contents, begin >> BITS, (end >> BITS) + 1)]
    counted = yield from _count(client, kind, gaps, left)
    if counted is None:
        return None
    if sum(use[0] for content in counted.values() for use in content.values()) >= FEW_VALUES:
        uses.counted = {
            chunk: (versions.get(chunk, 0), msgspec.msgpack.encode(content)) for chunk, content in counted.items() if chunk not in notes
        }
    for content in (*contents.values(), *counted.values()):
        for name, (records, first, last) in content.items():
            total = uses.fields.get(name, FieldUse(0, first, last))
            uses.fields[name] = FieldUse(total.records + records, min(total.first_us, first), max(total.last_us, last))
    return uses


def _gaps(chunks: Iterable[int], first: int, end: int) -> Iterator[range]:
    """Yield the runs of chunks from `first` to before `end` that are not among these."""
    for chunk in sorted(chunk for chunk in chunks if first <= chunk < end):
        if first < chunk:
            yield range(first, chunk)
        first = chunk + 1
    if first < end:
        yield range(first, end)


def _count(client: int, kind: int, gaps: list[range], left: int) -> Plan[dict[int, Content] | None]:
    """Count the values of these chunks; None if they have more than `left` names."""
    counted: dict[int, Content] = {chunk: {} for gap in gaps if len(gap) <= MOST_EMPTY for chunk in gap}
    where = values_of(client, kind)
    for gap in gaps:
        rows = yield Select(
            f"SELECT record_id >> {BITS}, name, {_USES} WHERE {where} AND record_id >= ? AND record_id < ? GROUP BY 1, 2 LIMIT ?",
            (*where.params, gap.start << BITS, gap.stop << BITS, left + 1),
        )
        left -= len(rows)
        if left < 0:
            return None
        for chunk, name, *use in rows:
            counted.setdefault(chunk, {})[name] = (use[0], use[1], use[2])
    return counted


@query(long=True)
def audit_uses(client: int, kind: int) -> Plan[list[tuple[str, FieldUse | None, FieldUse | None]]]:
    """Names of fields whose use by parts is not the one that a count of all values has: name, by parts, and counted."""
    united, counted = (yield from _unite(client, kind)), (yield from _count_names(client, kind))
    found = counted if united is None else united.fields
    return [(name, found.get(name), counted.get(name)) for name in sorted({*found, *counted}) if found.get(name) != counted.get(name)]
