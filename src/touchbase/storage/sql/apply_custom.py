"""Custom fields that CRM events bring: the last writer by event time wins, field by field."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from touchbase.domain.custom_field import CustomField
from touchbase.domain.events import StoredEvent
from touchbase.domain.resolve import Resolver
from touchbase.domain.stamps import CLEARED, DELIBERATE, NEVER, Stamp, beats
from touchbase.domain.text import MOST_HELD
from touchbase.domain.times import Micros
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.op import Plan, Step
from touchbase.storage.sql.rows import custom_field_of, custom_field_row

Slot = tuple[int, int, str]
"""Record kind, record id, field name."""


def fold_custom_fields(client: int, resolvers: Mapping[int, Resolver], new: Sequence[StoredEvent], ids: Ids, now_us: Micros) -> Plan[None]:
    """Write the custom fields that these events set, where they win over what is there."""
    bringing = [event for event in new if event.detail.get("custom")]
    if not bringing:
        return
    records = sorted({(client, event.record_kind, event.record_id) for event in bringing})
    rows = yield Step(sql.CUSTOM_FIELDS_OF, records)
    known: dict[Slot, CustomField] = {(row[1], row[2], row[3]): custom_field_of(row) for row in rows}
    held = Counter(slot[:2] for slot in known)
    changed: dict[Slot, CustomField] = {}
    for event in bringing:
        for name, value in event.detail["custom"].items():
            slot = (event.record_kind, event.record_id, name)
            cleared = resolvers[event.record_kind].by_id[event.record_id].stamps.get(CLEARED, NEVER)
            _write(known, held, changed, slot, value, (DELIBERATE, *event.place), cleared, ids, now_us)
    if changed:
        yield Step(sql.SAVE_CUSTOM_FIELD, [custom_field_row(client, slot[0], slot[1], one) for slot, one in changed.items()])
        for (kind, number, _), one in changed.items():
            if one.updated_us == now_us:  # its value changed, and not only its stamp
                resolvers[kind].touched.add(number)


def _write(
    known: dict[Slot, CustomField],
    held: Counter[tuple[int, int]],
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
        value, stamp = None, cleared  # all were taken away later, also those that nobody had heard of yet
    if not beats(stamp, NEVER if one is None else (one.priority, one.stamped_us, one.stamp_key)):
        return
    if one is None:
        if held[slot[:2]] >= MOST_HELD:
            return  # a CRM that sends a new name with every call must not make a record grow without end
        held[slot[:2]] += 1
        one = known[slot] = CustomField(ids.take("custom_field"), slot[2], None, now_us, created_us=now_us)
    if one.value != value:
        one.value, one.updated_us = value, now_us
    one.priority, one.stamped_us, one.stamp_key = stamp
    changed[slot] = one
