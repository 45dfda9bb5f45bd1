"""Custom fields from CRM events: the last writer by effective time wins, per field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.timestamps import Micros
from touchbase.events.identity_resolution import Resolver
from touchbase.history import CLEARED, DELIBERATE, NEVER, Stamp, StoredEvent, beats
from touchbase.records import CustomField
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.rows import custom_field_of, custom_field_row
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan

Slot = tuple[int, int, str]
"""Record kind, record id, field name."""


def fold_custom_fields(client: int, resolvers: Mapping[int, Resolver], new: Sequence[StoredEvent], ids: Ids, now_us: Micros) -> Plan[None]:
    """Write the custom fields in these events, where they win over the stored values."""
    with_fields = [event for event in new if event.detail.get("custom")]
    if not with_fields:
        return
    records = sorted({(client, event.record_kind, event.record_id) for event in with_fields})
    rows = yield Execute(records_sql.CUSTOM_FIELDS_OF, records)
    known: dict[Slot, CustomField] = {(row[1], row[2], row[3]): custom_field_of(row) for row in rows}
    counts = Counter(slot[:2] for slot in known)
    changed: dict[Slot, CustomField] = {}
    for event in with_fields:
        for name, value in event.detail["custom"].items():
            slot = (event.record_kind, event.record_id, name)
            cleared = resolvers[event.record_kind].by_id[event.record_id].stamps.get(CLEARED, NEVER)
            _write(known, counts, changed, slot, value, (DELIBERATE, *event.effective_time), cleared, ids, now_us)
    if changed:
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, [custom_field_row(client, slot[0], slot[1], one) for slot, one in changed.items()])
        for (kind, number, _), one in changed.items():
            if one.updated_us == now_us:  # the value changed, and not only its stamp
                resolvers[kind].touched.add(number)


def _write(
    known: dict[Slot, CustomField],
    counts: Counter[tuple[int, int]],
    changed: dict[Slot, CustomField],
    slot: Slot,
    value: str | None,
    stamp: Stamp,
    cleared: Stamp,
    ids: Ids,
    now_us: Micros,
) -> None:
    one = known.get(slot)
    if beats(cleared, stamp):
        value, stamp = None, cleared  # all fields were cleared later, including unknown ones
    if not beats(stamp, NEVER if one is None else (one.priority, one.stamped_us, one.stamp_key)):
        return
    if one is None:
        if counts[slot[:2]] >= MAX_CUSTOM_FIELDS:
            return  # a CRM that sends a new name in every webhook must not grow a record without limit
        counts[slot[:2]] += 1
        one = known[slot] = CustomField(ids.take("custom_field"), slot[2], None, now_us, created_us=now_us)
    if one.value != value:
        one.value, one.updated_us = value, now_us
    one.priority, one.stamped_us, one.stamp_key = stamp
    changed[slot] = one
