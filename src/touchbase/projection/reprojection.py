"""Reprojection: computes records from their whole history, where folding one event after the other is not enough."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from touchbase.common.field_limits import exceeds_budget
from touchbase.common.timestamps import Micros
from touchbase.history import sql as history_sql
from touchbase.history.events import StoredEvent
from touchbase.history.last_writer_wins import CARRIED, LEFT_OUT, NEVER, EffectiveTime, beats
from touchbase.history.sql import event_of
from touchbase.history.status import REPLY, SENT
from touchbase.identity.lookup import load_owners
from touchbase.identity.rekey import assign, current_key, leave_written_email, owner_of, release
from touchbase.projection.batch import ApplyBatch, Target
from touchbase.projection.companies import clear_company
from touchbase.records.custom_budget import fitting_fields, note_left_out
from touchbase.records.field_projection import (
    Objects,
    Written,
    has_several_objects,
    last_address,
    named_addresses,
    projected_custom_fields,
    projected_fields,
)
from touchbase.records.models import Contact, CustomField, Record
from touchbase.records.primary_keys import former_key_of
from touchbase.records.projection import Folded, object_of
from touchbase.records.record_type import RECORD_TYPES, RESOLVED_FIELDS, stamped_fields
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.rows import custom_field_of, custom_field_row
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan


def reproject(batch: ApplyBatch, new: Sequence[StoredEvent], ids: Ids) -> Plan[list[StoredEvent]]:
    """Project records that lost or moved events, or that have several objects or too long custom fields and new events.

    Return the events that name the company of such contacts, so that it is set again.
    """
    stale: dict[Target, set[EffectiveTime]] = {target: set(times) for target, times in batch.removed_times.items()}
    for (kind, number), time in batch.retimed:
        stale.setdefault((kind, batch.final(kind, number)), set()).add(time)
    several = yield from _of_several_objects(batch, new)
    over = {(kind, batch.final(kind, number)) for kind, number in batch.over_budget}
    targets = sorted(stale.keys() | several | over)
    company_events: list[StoredEvent] = []
    if not targets:
        return company_events
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, *target) for target in targets])
    histories: dict[Target, list[StoredEvent]] = {target: [] for target in targets}
    for row in rows:
        histories[row[1], row[2]].append(event_of(row))
    rows = yield Execute(records_sql.CUSTOM_FIELDS_OF, [(batch.client, *target) for target in targets])
    fields: dict[Target, list[CustomField]] = {target: [] for target in targets}
    for row in rows:
        fields[row[1], row[2]].append(custom_field_of(row))
    changed = []
    for target in targets:
        record = batch.resolvers[target[0]].by_id[target[1]]
        removed = stale.get(target, set())
        if removed:
            _project_dates(record, histories[target])
            yield from _project_addresses(batch, target, record, removed, histories[target])
            if isinstance(record, Contact):
                company_events += yield from clear_company(batch, record, removed, histories[target])
        is_projected = bool(removed) or has_several_objects(histories[target])
        if is_projected or target in over:
            objects = Objects.of_history(histories[target])
            if is_projected:
                _project_fields(record, histories[target], objects, removed)
            moved = _projected_custom(batch, record, fields[target], histories[target], objects, removed, target in over, ids)
            if any(custom_field.updated_us == batch.now_us for custom_field in moved):
                batch.resolvers[target[0]].touched.add(target[1])
            had = {field.name: field.value for field in fields[target]}
            for custom_field in moved:
                batch.note_custom(target, custom_field.name, had.get(custom_field.name), custom_field.value)
            left = yield from _delete_unset(batch, target, fields[target], moved)
            changed += [custom_field_row(batch.client, *target, custom_field) for custom_field in left]
            batch.folded.setdefault(target, Folded()).changed = True
    if changed:
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, changed)
    return company_events


def _of_several_objects(batch: ApplyBatch, new: Iterable[StoredEvent]) -> Plan[set[Target]]:
    named = {(event.record_kind, event.record_id) for event in new if object_of(event) is not None}
    if not named:
        return set()
    objects: dict[Target, set[tuple[str, str, str]]] = {target: set() for target in named}
    for row in (yield Execute(history_sql.LINKS_OF, [(batch.client, *target) for target in sorted(named)])):
        objects[row[5], row[6]].add(row[1:4])
    for kind, resolver in batch.resolvers.items():
        for ref, link in resolver.links.changed.items():
            if link.record_id is not None and (kind, link.record_id) in objects:
                objects[kind, link.record_id].add(ref)
    return {target for target, refs in objects.items() if sum(ref[0] != "" for ref in refs) > 1}


def _project_dates(record: Record, history: Sequence[StoredEvent]) -> None:
    if isinstance(record, Contact):
        sent = [event.occurred_us for event in history if event.effect == SENT]
        record.first_sent_us, record.last_sent_us = min(sent, default=None), max(sent, default=None)
        record.last_reply_us = max((event.occurred_us for event in history if event.effect == REPLY), default=None)


def _project_addresses(
    batch: ApplyBatch, target: Target, record: Record, removed: set[EffectiveTime], history: Sequence[StoredEvent]
) -> Plan[None]:
    """Replace an address whose event was moved, or is later than a carried one of which an earlier receipt arrived, by the winning one."""
    resolver = batch.resolvers[target[0]]
    for name in RECORD_TYPES[target[0]].identities:
        best, present = last_address(named_addresses(record, history, name, removed)), record.stamps.get(name, NEVER)
        is_removed = present[1:] in removed
        if not is_removed and (present[0] != CARRIED or not beats(best.stamp, present)):
            continue
        yield from load_owners(batch.client, target[0], resolver, name, [best.value])
        if not is_removed and (owner_of(resolver, name, best.value) or record) is not record:
            continue  # an address of another record stays there
        leave_written_email(resolver, record)
        old = current_key(record, name)
        release(resolver, record, name)
        assign(resolver, record, name, best.value, best.stamp)
        if old is not None and old != current_key(record, name):
            resolver.links.set_record(former_key_of(name, old), record.id, batch.now_us)


def _project_fields(record: Record, history: Sequence[StoredEvent], objects: Objects, removed: set[EffectiveTime]) -> None:
    for name in stamped_fields(record):
        if name not in RESOLVED_FIELDS and record.stamps.get(name, NEVER)[1:] in removed:
            setattr(record, name, None)
            del record.stamps[name]
    for name, stored, best in projected_fields(record, history, objects, removed):
        setattr(record, name, best.value)
        if best.stamp != stored.stamp:
            record.stamps[name] = best.stamp


def _project_custom(
    fields: Sequence[CustomField], history: Sequence[StoredEvent], objects: Objects, removed: set[EffectiveTime], now_us: Micros
) -> list[CustomField]:
    fields_by_name = {field.name: field for field in fields}
    best_of = {name: best for name, _, best in projected_custom_fields(fields, history, objects, removed)}
    changed = []
    for name, custom_field in fields_by_name.items():
        stored = Written(custom_field.value, custom_field.stamp)
        best = best_of.get(name, stored if stored.stamp[1:] not in removed else Written(None, NEVER))
        if (best.value, best.stamp) == (stored.value, stored.stamp):
            continue
        now = custom_field.updated_us if best.value == custom_field.value else now_us
        priority, at, key = best.stamp
        changed.append(replace(custom_field, value=best.value, updated_us=now, priority=priority, stamped_us=at, stamp_key=key))
    return changed


def _projected_custom(
    batch: ApplyBatch,
    record: Record,
    fields: Sequence[CustomField],
    history: Sequence[StoredEvent],
    objects: Objects,
    removed: set[EffectiveTime],
    is_over: bool,
    ids: Ids,
) -> list[CustomField]:
    """Return the changed custom fields of a record."""
    if not is_over and LEFT_OUT not in record.stamps:
        changed = _project_custom(fields, history, objects, removed, batch.now_us)
        if not exceeds_budget({custom_field.name: custom_field.value for custom_field in (*fields, *changed)}):
            return changed
    return _fit_custom(batch, record, fields, history, removed, ids)


def _fit_custom(
    batch: ApplyBatch, record: Record, fields: Sequence[CustomField], history: Sequence[StoredEvent], removed: set[EffectiveTime], ids: Ids
) -> list[CustomField]:
    """Return the changed custom fields of a record that cannot have all of its history; a field that does not fit has no stamp."""
    fitting, fields_by_name = fitting_fields(record, fields, history, removed), {field.name: field for field in fields}
    changed = []
    for name in sorted(fitting.writes.keys() | fields_by_name.keys()):
        best, custom_field = fitting.writes.get(name, Written(None, NEVER)), fields_by_name.get(name)
        if name in fitting.left_out:
            best = Written(None, NEVER)
        if custom_field is None:
            if name in fitting.left_out:
                continue
            custom_field = CustomField(ids.take("custom_field"), name, None, batch.now_us, *NEVER, batch.now_us)
        elif (best.value, best.stamp) == (custom_field.value, custom_field.stamp):
            continue
        priority, at, key = best.stamp
        updated_us = custom_field.updated_us if best.value == custom_field.value else batch.now_us
        changed.append(replace(custom_field, value=best.value, updated_us=updated_us, priority=priority, stamped_us=at, stamp_key=key))
    note_left_out(record, fitting)
    return changed


def _delete_unset(
    batch: ApplyBatch, target: Target, fields: Sequence[CustomField], moved: Sequence[CustomField]
) -> Plan[list[CustomField]]:
    """Delete the fields that no event sets; return the fields to save."""
    if all(custom_field.priority != NEVER[0] for custom_field in moved):
        return [*moved]
    yield Execute(records_sql.DELETE_CUSTOM_FIELDS_OF, [(batch.client, *target)])
    by_name = {field.name: field for field in fields} | {custom_field.name: custom_field for custom_field in moved}
    return [custom_field for custom_field in by_name.values() if custom_field.priority != NEVER[0]]
