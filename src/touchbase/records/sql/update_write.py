"""One API write on one record in memory: its fields and custom fields, and the write's entry in the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.timestamps import Micros
from touchbase.history.events import VIA_API, Detail, StoredEvent
from touchbase.history.last_writer_wins import CLEARED, DELIBERATE, LAST_WRITE, NEVER, EffectiveTime, Stamp, beats
from touchbase.history.status import INITIAL, STATUS
from touchbase.records.custom_budget import fitting_fields, note_left_out
from touchbase.records.field_projection import Objects, projected_custom_fields, projected_fields
from touchbase.records.fields import Field
from touchbase.records.models import CustomField, Record
from touchbase.records.primary_keys import owned_since
from touchbase.records.projection import current_stamp, origin_write, write_field
from touchbase.records.record_type import IDENTITY_FIELDS, RECORD_TYPES
from touchbase.records.writes import RecordUpdate
from touchbase.sql.ids import Ids

_KEY_COLUMNS = frozenset(identity_field.key for identity_field in IDENTITY_FIELDS.values())


@dataclass(slots=True)
class Write:
    """The effect of one write on its record."""

    entry: StoredEvent
    custom: list[CustomField] = field(default_factory=list)
    """The custom fields whose value or stamp changed."""
    former: list[tuple[Field, str, str, Micros]] = field(default_factory=list)
    """Keys that the record does not have after it, their texts, and since when it had them: a late webhook that names one is about it."""
    shows: bool = False
    """Whether responses show other values than before."""
    replaced: set[EffectiveTime] = field(default_factory=set)
    """Times of the writes whose values it replaced."""


def is_write(command: RecordUpdate[Any]) -> bool:
    """Return whether a command writes anything; an empty patch does not."""
    return bool(command.changes or command.custom or command.clear_custom or command.creates) or command.further is not None


def write_record(kind: int, update: RecordUpdate[Any], record: Record, ids: Ids) -> Write:
    """Change the record, except its status, which is folded from the entry."""
    at = after_last_write(record, update.at, update.key)
    command = update if at == update.at else replace(update, at=at)
    stamp: Stamp = (DELIBERATE, command.at, command.key)
    write = Write(_entry(kind, command))
    _write_fields(command, record, stamp, write)
    _write_custom(command, record, stamp, write, ids)
    if command.creates:
        if (origin := origin_write(write.entry)) is not None:
            write.shows |= write_field(record, "origin", *origin)
        if not record.from_api:
            record.from_api, record.created_us = True, command.at
    record.stamps[LAST_WRITE] = stamp
    return write


def project_record(record: Record, history: Sequence[StoredEvent], write: Write) -> None:
    """Set the projected values of a record of several objects: events later than the write may have been applied before it."""
    objects = Objects.of_history(history)
    for name, _, best in projected_fields(record, history, objects):
        write.shows |= getattr(record, name) != best.value
        setattr(record, name, best.value)
        record.stamps[name] = best.stamp
    by_name = {custom_field.name: custom_field for custom_field in record.custom_fields}
    for name, present, best in projected_custom_fields(record.custom_fields, history, objects):
        custom_field = by_name[name]
        if custom_field.value != best.value:
            custom_field.value, custom_field.updated_us, write.shows = best.value, write.entry.occurred_us, True
        if (present.value, present.stamp) != (best.value, best.stamp):
            custom_field.priority, custom_field.stamped_us, custom_field.stamp_key = best.stamp
            write.custom.append(custom_field)


def fit_record(record: Record, history: Sequence[StoredEvent], write: Write, ids: Ids) -> None:
    """Set the custom fields that fit in a record which lacks some of its history: the write may have made room."""
    fitting, by_name = (
        fitting_fields(record, record.custom_fields, history),
        {custom_field.name: custom_field for custom_field in record.custom_fields},
    )
    at = write.entry.occurred_us
    for name, best in fitting.writes.items():
        value, custom_field = None if name in fitting.left_out else best.value, by_name.get(name)
        if custom_field is None:
            if name in fitting.left_out:
                continue
            custom_field = CustomField(ids.take("custom_field"), name, None, at, *NEVER, at)
            record.custom_fields.append(custom_field)
        if custom_field.value != value:
            custom_field.value, custom_field.updated_us, write.shows = value, at, True
        custom_field.priority, custom_field.stamped_us, custom_field.stamp_key = best.stamp
        write.custom.append(custom_field)
    note_left_out(record, fitting)


def after_last_write(record: Record, at: Micros, key: str) -> Micros:
    """Return a write's time: after the record's last API write, also when our clock was put back, as the last request must win."""
    last = _last_write(record)
    return at if (at, key) > last else last[0] + 1


def _last_write(record: Record) -> EffectiveTime:
    if (stamp := record.stamps.get(LAST_WRITE)) is not None:
        return stamp[1:]
    times = [stamp[1:] for stamp in record.stamps.values()]
    times += [(custom_field.stamped_us, custom_field.stamp_key) for custom_field in record.custom_fields]
    times.append((record.status_entry_us or 0, record.status_entry_key or ""))
    created = [(record.created_us, "")] if record.from_api else []
    return max([time for time in times if time[1].startswith("api:")] + created, default=(0, ""))


def _entry(kind: int, command: RecordUpdate[Any]) -> StoredEvent:
    name = RECORD_TYPES[kind].name
    detail: Detail = {"by": command.by} if any(command.by) else {}
    fields = {
        column: value
        for column, value in command.changes.items()
        if column in IDENTITY_FIELDS or (column != "status" and column not in _KEY_COLUMNS)
    }
    if fields:
        detail["fields"] = fields
    if command.custom:
        detail["custom"] = command.custom
    if command.clear_custom:
        detail["cleared"] = True
    effect, status = "", None
    if "status" in command.changes:
        effect, status = INITIAL if command.creates else STATUS, command.changes["status"]
    return StoredEvent(
        record_kind=kind, record_id=command.id, occurred_us=command.at, key=command.key,
        event=f"{name}.created" if command.creates else f"{name}.updated", effect=effect, status=None if status is None else str(status),
        tool="api", channel="api", campaign=None, delivery_id=None, received_us=command.at, via=VIA_API, detail=detail,
    )  # fmt: skip


def _write_fields(command: RecordUpdate[Any], record: Record, stamp: Stamp, write: Write) -> None:
    for name, value in write.entry.detail.get("fields", {}).items():
        wins = beats(stamp, current_stamp(record, name))
        write.shows |= wins and getattr(record, name) != value
        if (identity := IDENTITY_FIELDS.get(name)) is not None:
            old, new = getattr(record, identity.key), command.changes[identity.key]
            former = old if wins else new
            if former is not None and old != new:
                since = (owned_since(record, name) if wins else None) or 0
                write.former.append((identity, str(former), str(getattr(record, name) if wins else value), since))
            if wins:
                setattr(record, identity.key, new)
        if wins:
            write.replaced.add(record.stamps.get(name, NEVER)[1:])
            record.stamps[name] = stamp
            setattr(record, name, value)


def _write_custom(command: RecordUpdate[Any], record: Record, stamp: Stamp, write: Write, ids: Ids) -> None:
    by_name = {custom_field.name: custom_field for custom_field in record.custom_fields}
    values: dict[str, str | None] = {}
    if command.clear_custom:
        values = dict.fromkeys(by_name)
        if beats(stamp, record.stamps.get(CLEARED, NEVER)):
            record.stamps[CLEARED] = stamp
    values.update(command.custom)
    for name, value in values.items():
        custom_field = by_name.get(name)
        if custom_field is None:
            if value is None and len(record.custom_fields) >= MAX_CUSTOM_FIELDS:
                continue  # a name without a value must not make a full record grow
            custom_field = CustomField(ids.take("custom_field"), name, None, command.at, *NEVER, command.at)
            record.custom_fields.append(custom_field)
        if beats(stamp, (custom_field.priority, custom_field.stamped_us, custom_field.stamp_key)):
            write.replaced.add((custom_field.stamped_us, custom_field.stamp_key))
            custom_field.priority, custom_field.stamped_us, custom_field.stamp_key = stamp
            if custom_field.value != value:
                custom_field.value, custom_field.updated_us, write.shows = value, command.at, True
            write.custom.append(custom_field)
