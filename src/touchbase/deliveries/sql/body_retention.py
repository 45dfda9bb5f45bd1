"""Removal of delivery bodies: for an erased person, after the retention period, or when unrecognised ones are too many."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import REMOVED_BY_ERASURE, REMOVED_BY_RETENTION, REMOVED_UNSEARCHABLE, UNSEARCHABLE
from touchbase.deliveries.sql.objects import DELETE_BODY, release_objects
from touchbase.erasure_marks import WHY_IGNORED, delivery_key
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement


@dataclass(slots=True)
class DroppedBodies:
    """How many bodies were removed, and their total size in bytes."""

    count: int
    size: int


_CLEAR: Columns = (*ROW_KEY, ("key", "bytea"), ("at", "bigint"), ("why", "text"), ("note", "text"))
_ITS_EVENTS = "SELECT 1 FROM event e WHERE e.client = t.client AND e.delivery_id = t.id"
_HAS_PARKED = f"EXISTS ({_ITS_EVENTS} AND e.record_kind = 3)"


def _by_remaining_events(waits: str, has_events: str, nothing: str) -> str:
    return f"CASE WHEN {_HAS_PARKED} THEN {waits} WHEN EXISTS ({_ITS_EVENTS}) THEN {has_events} ELSE {nothing} END"


# The remaining events are those of other people, and the state follows from them. A delivery in `received` is left alone: it is
# checked when it is applied, because removing its body now would lose the other people's events.
_STATE = _by_remaining_events("'parked'", "'applied'", "'ignored'")
_ERROR = _by_remaining_events("t.error", "NULL", "p.note")
_APPLIED = f"CASE WHEN {_HAS_PARKED} THEN t.applied_us ELSE COALESCE(t.applied_us, p.at) END"
_CLEARED = (
    "SET body_removed = COALESCE(t.body_removed, p.why), body_removed_us = COALESCE(t.body_removed_us, p.at), "
    "key = p.key, shape = NULL, trace = NULL, "
    f"state = {_STATE}, error = {_ERROR}, applied_us = {_APPLIED} "
    "FROM p WHERE t.client = p.client AND t.id = p.id AND t.state <> 'received'"
)
CLEAR_DELIVERY = Statement(
    "clear_delivery",
    _CLEAR,
    body=f"UPDATE delivery AS t {_CLEARED} RETURNING t.id, t.object",
)
FORGET_CLEARED = Statement(
    "forget_cleared",
    ROW_KEY,
    sqlite="DELETE FROM dedupe_key WHERE client = ?1 AND delivery_id = ?2 "
    "AND key = (SELECT key FROM delivery WHERE client = ?1 AND id = ?2 AND state <> 'received')",
    body="DELETE FROM dedupe_key t USING p JOIN delivery d ON d.client = p.client AND d.id = p.id "
    "WHERE d.state <> 'received' AND t.client = d.client AND t.key = d.key AND t.delivery_id = d.id",
)
_PRUNE: Columns = (*ROW_KEY, ("before_us", "bigint"), ("at", "bigint"))
DUE = "state IN ('applied', 'ignored') AND body_removed IS NULL"
_PRUNED = f"SET body_removed = '{REMOVED_BY_RETENTION}', body_removed_us = p.at FROM p WHERE t.client = p.client AND t.id = p.id"
PRUNE_DELIVERY = Statement(
    "retain_delivery",
    _PRUNE,
    body=f"UPDATE delivery AS t {_PRUNED} AND t.applied_us < p.before_us AND t.{DUE} RETURNING t.id, t.object",
)
# Must match the condition of the index `delivery_unproven` literally.
UNPROVEN = "state = 'unrecognised' AND body_removed IS NULL AND (verified IS NULL OR verified = 0)"
DROP_UNRECOGNISED = Statement(
    "drop_unrecognised",
    (*ROW_KEY, ("at", "bigint")),
    body=f"UPDATE delivery AS t {_PRUNED} AND t.state = 'unrecognised' AND t.body_removed IS NULL RETURNING t.id, t.object",
)
_OLD = f"FROM delivery WHERE client = ? AND applied_us IS NOT NULL AND applied_us < ? AND {DUE}"


def clear_deliveries(key: bytes, client: int, ids: Iterable[int], at: Micros, *, unsearchable: bool = False) -> Plan[int]:
    """Remove the bodies and dedupe keys of deliveries about an erased person, or `unsearchable` ones; return how many had a body."""
    numbers = sorted(set(ids))
    if not numbers:
        return 0
    yield Execute(FORGET_CLEARED, [(client, number) for number in numbers])
    cause = (REMOVED_UNSEARCHABLE, UNSEARCHABLE) if unsearchable else (REMOVED_BY_ERASURE, WHY_IGNORED)
    cleared = yield Execute(CLEAR_DELIVERY, [(client, number, delivery_key(key, client, number), at, *cause) for number in numbers])
    return (yield from _delete_bodies(client, cleared, at))


@command(background=True)
def prune_bodies(client: int, before_us: Micros, limit: int, at: Micros) -> Plan[int]:
    """Remove up to `limit` bodies of deliveries applied or ignored before `before_us`; return how many."""
    old = yield Select(f"SELECT id {_OLD} ORDER BY applied_us, id LIMIT ?", (client, before_us, limit))
    rows = [(client, row[0], before_us, at) for row in sorted(old)]
    pruned = (yield Execute(PRUNE_DELIVERY, rows)) if rows else []
    yield from _delete_bodies(client, pruned, at)
    return len(pruned)


@query
def count_prunable(client: int, before_us: Micros) -> Plan[int]:
    """Count the bodies that `prune_bodies` would remove without a limit."""
    rows = yield Select(f"SELECT count(*) {_OLD}", (client, before_us))
    total: int = rows[0][0]
    return total


@command(background=True)
def drop_unrecognised(client: int, before_us: Micros, excess: int, limit: int, at: Micros) -> Plan[DroppedBodies]:
    """Remove bodies of unrecognised, unverified deliveries, the oldest first, at most `limit`.

    These are the bodies received before `before_us`, and then as many as make up `excess` bytes.
    """
    rows = yield Select(f"SELECT id, size, received_us FROM delivery WHERE client = ? AND {UNPROVEN} ORDER BY id LIMIT ?", (client, limit))
    sizes: dict[int, int] = {}
    current_excess = excess
    for number, size, received_us in rows:
        if received_us >= before_us and current_excess <= 0:
            break
        sizes[number] = size
        current_excess -= size
    dropped = (yield Execute(DROP_UNRECOGNISED, [(client, number, at) for number in sizes])) if sizes else []
    yield from _delete_bodies(client, dropped, at)
    return DroppedBodies(len(dropped), sum(sizes[row[0]] for row in dropped))


@query
def size_unrecognised(client: int) -> Plan[int]:
    """Total size in bytes of the bodies that `drop_unrecognised` may remove."""
    rows = yield Select(f"SELECT CAST(COALESCE(sum(size), 0) AS bigint) FROM delivery WHERE client = ? AND {UNPROVEN}", (client,))
    total: int = rows[0][0]
    return total


def _delete_bodies(client: int, removed: Sequence[Row], at: Micros) -> Plan[int]:
    """Delete the bodies of these deliveries (id, `object`), or let their objects be removed; return how many had one."""
    objects = [(number, text) for number, text in removed if text is not None]
    deleted = (yield Execute(DELETE_BODY, [(client, number) for number, _ in removed])) if removed else []
    yield from release_objects(client, objects, at)
    return len(deleted) + len(objects)
