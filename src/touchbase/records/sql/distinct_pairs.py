"""Pairs of records that a person said are not the same; they are not listed as duplicates any more.

A merge copies the pairs of a merged record to the survivor. Its own stay too, for an undo: they count while both records exist.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.audit import audited
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.statements import lock_records
from touchbase.sql.builders import RECORD
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement, delete

_KEY: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("first_id", "bigint"), ("second_id", "bigint"))
_PAIR: Columns = (*_KEY, ("author", "text"), ("created_us", "bigint"))
_INSERT = Statement(
    "insert_distinct_pair",
    _PAIR,
    body=f"INSERT INTO distinct_pair ({names(_PAIR)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
)
_DELETE = delete("delete_distinct_pair", "distinct_pair", _KEY, "client")
_KNOWN = Statement(
    "known_distinct_pairs",
    _KEY,
    body="SELECT t.first_id, t.second_id FROM p CROSS JOIN distinct_pair t WHERE t.client = p.client AND t.record_kind = p.record_kind "
    "AND t.first_id = p.first_id AND t.second_id = p.second_id",
)
_OF = "t.client = p.client AND t.record_kind = p.record_kind AND t.{} = p.record_id"
_OTHERS = " UNION ".join(
    f"SELECT t.client, t.record_kind, t.{other} AS other_id, p.to_id, t.author, t.created_us FROM p CROSS JOIN distinct_pair t "
    f"WHERE {_OF.format(own)} AND t.{other} <> p.to_id"
    for own, other in (("first_id", "second_id"), ("second_id", "first_id"))
)
COPY_PAIRS = Statement(
    "copy_distinct_pairs",
    (*RECORD, ("to_id", "bigint")),
    body=f"INSERT INTO distinct_pair ({names(_PAIR)}) SELECT o.client, o.record_kind, CASE WHEN o.other_id < o.to_id THEN o.other_id "
    "ELSE o.to_id END, CASE WHEN o.other_id < o.to_id THEN o.to_id ELSE o.other_id END, o.author, o.created_us "
    f"FROM ({_OTHERS}) o WHERE true ON CONFLICT DO NOTHING",
)
"""For a record that is merged into another one."""
COUNT_PAIRS = Statement(
    "count_distinct_pairs",
    RECORD,
    body="SELECT count(*) FROM p CROSS JOIN distinct_pair t WHERE t.client = p.client AND t.record_kind = p.record_kind "
    "AND (t.first_id = p.record_id OR t.second_id = p.record_id)",
)
DELETE_PAIRS = Statement(
    "delete_distinct_pairs_of",
    RECORD,
    sqlite="DELETE FROM distinct_pair WHERE client = ?1 AND record_kind = ?2 AND (first_id = ?3 OR second_id = ?3)",
    body="DELETE FROM distinct_pair t USING p WHERE t.client = p.client AND t.record_kind = p.record_kind "
    "AND (t.first_id = p.record_id OR t.second_id = p.record_id)",
)
Pair = tuple[int, int]
"""Ids of two records, the smaller one first."""


@dataclass(frozen=True, slots=True)
class DistinctPair:
    """Two records that are not the same, who said so, and when."""

    first_id: int
    second_id: int
    author: str
    """Id of the user or key; blank for a request without a key."""
    created_us: Micros


def _about(call: object, _: object) -> str:
    return f"{RECORD_TYPES[call.kind].name} {call.pair[0]} {call.pair[1]}"  # type: ignore[attr-defined]


@command(follow_up=audited("duplicate.refused", "pair", _about))
def add_distinct_pair(client: int, kind: int, pair: Pair, author: str, at: Micros) -> Plan[NotFound | None]:
    """Store that two records are not the same; a repetition changes nothing. `NotFound` unless both exist."""
    rows = yield from lock_records(client, kind, pair)
    if len(rows) < len(pair):
        return NotFound(f"there are no two {RECORD_TYPES[kind].plural} with the ids {pair[0]} and {pair[1]}")
    yield Execute(_INSERT, [(client, kind, *pair, author, at)])
    return None


@command(follow_up=audited("duplicate.allowed", "pair", _about))
def remove_distinct_pair(client: int, kind: int, pair: Pair) -> Plan[NotFound | None]:
    """Let two records be listed as duplicates again. `NotFound` if nobody said that they are not the same."""
    if not (yield Execute(_DELETE, [(client, kind, *pair)])):
        return NotFound(f"nobody said that the {RECORD_TYPES[kind].plural} {pair[0]} and {pair[1]} are not the same")
    return None


@query
def known_pairs(client: int, kind: int, pairs: Sequence[Pair]) -> Plan[set[Pair]]:
    """Those of the pairs that are not the same."""
    rows = (yield Execute(_KNOWN, sorted((client, kind, *pair) for pair in pairs))) if pairs else ()
    return {(row[0], row[1]) for row in rows}


@query
def list_distinct_pairs(client: int, kind: int, limit: int, after: Pair | None = None) -> Plan[list[DistinctPair]]:
    """Pairs of existing records that are not the same, by their ids."""
    name = RECORD_TYPES[kind].name
    exists = " AND ".join(
        f"EXISTS (SELECT 1 FROM {name} r WHERE r.client = t.client AND r.id = t.{column})" for column in ("first_id", "second_id")
    )
    rows = yield Select(
        "SELECT t.first_id, t.second_id, t.author, t.created_us FROM distinct_pair t WHERE t.client = ? AND t.record_kind = ? "
        f"AND (t.first_id, t.second_id) > (?, ?) AND {exists} ORDER BY t.first_id, t.second_id LIMIT ?",
        (client, kind, *(after or (0, 0)), limit),
    )
    return [DistinctPair(*row) for row in rows]
