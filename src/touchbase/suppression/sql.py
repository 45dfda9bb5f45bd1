"""Erased keys: which identities were erased, and guarding what would bring them back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history.identity_links import Ref
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Statement, delete
from touchbase.suppression.suppression_keys import digest

_KEY: Columns = (("client", "bigint"), ("digest", "bytea"))
_ERASED: Columns = (*_KEY, ("erasure", "bigint"), ("derived", "bigint"), ("erased_us", "bigint"))
FIND_ERASED = Statement(
    "find_erased",
    _KEY,
    body="SELECT t.digest, t.erasure, t.derived FROM p CROSS JOIN erased t WHERE t.client = p.client AND t.digest = p.digest",
)
# What was only derived becomes erased outright, never the other way.
SAVE_ERASED = Statement(
    "save_erased",
    _ERASED,
    body="INSERT INTO erased (client, digest, erasure, derived, erased_us) SELECT * FROM p WHERE true ON CONFLICT (client, digest) "
    "DO UPDATE SET derived = CASE WHEN excluded.derived = 0 THEN 0 ELSE erased.derived END, "
    "erasure = CASE WHEN excluded.derived <= erased.derived THEN excluded.erasure ELSE erased.erasure END",
)
DELETE_ERASED = delete("delete_erased", "erased", _KEY)
DELETE_ERASURE = delete("delete_erasure", "erased", (("client", "bigint"), ("erasure", "bigint")), "digest")
# Several who create may hold it at once; an erasure, which locks the client's row for itself, waits for them, and they for it.
HOLD_CLIENT = Statement(
    "hold_client",
    (("id", "bigint"),),
    sqlite="SELECT id FROM client WHERE id = ?1",
    body="SELECT c.id FROM p JOIN client c ON c.id = p.id FOR SHARE OF c",
)


@dataclass(frozen=True, slots=True)
class Mark:
    """What is remembered of one erased identity: in which erasure, and whether it was only seen together with one."""

    erasure: int
    derived: bool


def marks_of(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[dict[Ref, Mark]]:
    """Those of these identities that were erased."""
    by_digest = {digest(key, client, ref): ref for ref in refs}
    if not by_digest:
        return {}
    rows = yield Execute(FIND_ERASED, [(client, each) for each in by_digest])
    return {by_digest[bytes(row[0])]: Mark(row[1], bool(row[2])) for row in rows}


def save_marks(key: bytes, client: int, marks: dict[Ref, Mark], at: Micros) -> Plan[None]:
    """Remember identities as erased."""
    rows = [(client, digest(key, client, ref), mark.erasure, int(mark.derived), at) for ref, mark in sorted(marks.items())]
    if rows:
        yield Execute(SAVE_ERASED, rows)


def lift_marks(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[None]:
    """Forget these identities."""
    rows = [(client, digest(key, client, ref)) for ref in sorted(refs)]
    if rows:
        yield Execute(DELETE_ERASED, rows)
