"""Budget of a record's custom fields: which values stay when all of them would be too long.

Requests are refused above it. Webhooks are applied, and then the record has the values that fit, chosen from its whole history: so the
same webhooks leave the same values, whatever the order in which they came.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from touchbase.common.field_limits import CUSTOM_FIELD_BYTES, MAX_CUSTOM_FIELDS, custom_bytes
from touchbase.history.events import StoredEvent
from touchbase.history.last_writer_wins import API_KEY, CLEARED, DELIBERATE, LEFT_OUT, NEVER, EffectiveTime, beats
from touchbase.records.field_projection import FieldWrites, Objects, Written
from touchbase.records.models import CustomField, Record


@dataclass(slots=True)
class FittingFields:
    """The winning writes of a history by field name, and the names of fields that do not fit."""

    writes: dict[str, Written] = field(default_factory=dict)
    left_out: set[str] = field(default_factory=set)


def fitting_fields(
    record: Record, fields: Sequence[CustomField], history: Sequence[StoredEvent], removed: Container[EffectiveTime] = ()
) -> FittingFields:
    """Return the values of a whole history that fit.

    Values that requests set come first, because they were promised; then fields in the order in which they first had a value.
    """
    result = FittingFields(_winning_writes(record, fields, history, removed))
    first: dict[str, EffectiveTime] = {}
    for event in history:
        for name, value in event.detail.get("custom", {}).items():
            if value is not None and (name not in first or event.effective_time < first[name]):
                first[name] = event.effective_time
    room = CUSTOM_FIELD_BYTES
    with_value = [(name, write) for name, write in result.writes.items() if write.value is not None]
    in_order = sorted(with_value, key=lambda pair: (not _is_by_request(pair[1]), first.get(pair[0], (0, "")), pair[0]))
    count = 0
    for name, write in in_order:
        size = custom_bytes([(name, write.value)])
        if size > room or count == MAX_CUSTOM_FIELDS:
            result.left_out.add(name)
        else:
            room, count = room - size, count + 1
    removed_names = sorted(name for name, write in result.writes.items() if write.value is None)
    result.left_out |= set(removed_names[MAX_CUSTOM_FIELDS - count :])
    return result


def note_left_out(record: Record, fitting: FittingFields) -> None:
    """Mark a record that lacks values of its history: each later write decides anew which of them fit."""
    if fitting.left_out:
        record.stamps[LEFT_OUT] = (DELIBERATE, 0, "")
    else:
        record.stamps.pop(LEFT_OUT, None)


def _winning_writes(
    record: Record, fields: Sequence[CustomField], history: Sequence[StoredEvent], removed: Container[EffectiveTime]
) -> dict[str, Written]:
    objects = Objects.of_history(history)
    writes: dict[str, list[Written]] = {}
    for event in history:
        for name, value in event.detail.get("custom", {}).items():
            writes.setdefault(name, []).append(objects.written(value, event))
    for stored in fields:
        stamp = (stored.priority, stored.stamped_us, stored.stamp_key)
        entries = writes.setdefault(stored.name, [])
        if stamp != NEVER and stamp[1:] not in removed and all(entry.stamp != stamp for entry in entries):
            entries.append(Written(stored.value, stamp))  # of a creation that is no entry, or of a removal of all fields
    cleared = record.stamps.get(CLEARED, NEVER)
    best: dict[str, Written] = {}
    for name, written in writes.items():
        of_field = FieldWrites()
        for write in written:
            of_field.add(write)
        if written:
            best[name] = of_field.winner(objects)
    return {name: Written(None, cleared) if beats(cleared, winner.stamp) else winner for name, winner in best.items()}


def _is_by_request(write: Written) -> bool:
    return write.stamp[2] == "" or write.stamp[2].startswith(API_KEY)
