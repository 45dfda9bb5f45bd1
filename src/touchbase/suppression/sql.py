"""Find, store and delete the marks of erased identities."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history.identity_links import Ref
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Statement, delete, lock
from touchbase.suppression.suppression_keys import digest

_KEY: Columns = (("client", "bigint"), ("digest", "bytea"))
_ERASED: Columns = (*_KEY, ("erasure", "bigint"), ("derived", "bigint"), ("erased_us", "bigint"))
FIND_ERASED = Statement(
    "find_erased",
    _KEY,
    body="SELECT t.digest, t.erasure, t.derived FROM p CROSS JOIN erased t WHERE t.client = p.client AND t.digest = p.digest",
)
# A derived mark can become a direct one, but not the reverse.
SAVE_ERASED = Statement(
    "save_erased",
    _ERASED,
    body="INSERT INTO erased (client, digest, erasure, derived, erased_us) SELECT * FROM p WHERE true ON CONFLICT (client, digest) "
    "DO UPDATE SET derived = CASE WHEN excluded.derived = 0 THEN 0 ELSE erased.derived END, "
    "erasure = CASE WHEN excluded.derived <= erased.derived THEN excluded.erasure ELSE erased.erasure END",
)
DELETE_ERASED = delete("delete_erased", "erased", _KEY)
DELETE_ERASURE = delete("delete_erasure", "erased", (("client", "bigint"), ("erasure", "bigint")), "digest")
# A shared lock: several creations may have it at once. An erasure locks the client's row exclusively, so the two wait for each other.
LOCK_CLIENT = lock("lock_client", (("id", "bigint"),), "SELECT c.id FROM p JOIN client c ON c.id = p.id ORDER BY c.id FOR SHARE OF c")


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of one erased identity: its erasure, and whether it was only derived from an event that names an erased identity."""

    erasure: int
    derived: bool


def find_marks(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[dict[Ref, Mark]]:
    """Return the marks of those identities that were erased."""
    by_digest = {digest(key, client, ref): ref for ref in refs}
    if not by_digest:
        return {}
    rows = yield Execute(FIND_ERASED, [(client, mark) for mark in by_digest])
    return {by_digest[bytes(row[0])]: Mark(row[1], bool(row[2])) for row in rows}


def save_marks(key: bytes, client: int, marks: dict[Ref, Mark], at: Micros) -> Plan[None]:
    """Mark identities as erased."""
    rows = [(client, digest(key, client, ref), mark.erasure, int(mark.derived), at) for ref, mark in sorted(marks.items())]
    if rows:
        yield Execute(SAVE_ERASED, rows)


def delete_marks(key: bytes, client: int, refs: Iterable[Ref]) -> Plan[None]:
    """Delete the marks of these identities."""
    rows = [(client, digest(key, client, ref)) for ref in sorted(refs)]
    if rows:
        yield Execute(DELETE_ERASED, rows)
