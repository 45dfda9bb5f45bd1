"""Projecting records again from their whole history, where one event after the other does not give their values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from touchbase.domain import status as st
from touchbase.domain.contact import Contact
from touchbase.domain.custom_field import CustomField
from touchbase.domain.events import StoredEvent
from touchbase.domain.fold import Folded, Record
from touchbase.domain.projection import has_several_objects, object_of, projected_custom_fields, projected_fields
from touchbase.domain.stamps import Place, key_in
from touchbase.domain.times import Micros
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.apply_batch import Batch, Target
from touchbase.storage.sql.op import Plan, Step
from touchbase.storage.sql.rows import custom_field_of, custom_field_row, event_of


def project_again(batch: Batch, new: Sequence[StoredEvent]) -> Plan[None]:
    """Project the records with events that turned out to be older, and those of several objects that these new events change."""
    stale: dict[Target, set[Place]] = {}
    for (kind, number), place in batch.retimed:
        stale.setdefault((kind, batch.final(kind, number)), set()).add(place)
    several = yield from _of_several_objects(batch, new)
    targets = sorted(stale.keys() | several)
    if not targets:
        return
    rows = yield Step(sql.EVENTS_OF, [(batch.client, *target) for target in targets])
    histories: dict[Target, list[StoredEvent]] = {target: [] for target in targets}
    for row in rows:
        histories[row[1], row[2]].append(event_of(row))
    rows = yield Step(sql.CUSTOM_FIELDS_OF, [(batch.client, *target) for target in targets])
    fields: dict[Target, list[CustomField]] = {target: [] for target in targets}
    for row in rows:
        fields[row[1], row[2]].append(custom_field_of(row))
    changed = []
    for target in targets:
        record = batch.resolvers[target[0]].by_id[target[1]]
        gone = stale.get(target, set())
        if gone:
            _project_dates(record, histories[target])
            _restamp_identities(batch, target, record, gone, histories[target])
        if gone or has_several_objects(histories[target]):
            _project_fields(record, histories[target], gone)
            moved = _project_custom(fields[target], histories[target], gone, batch.now_us)
            changed += [custom_field_row(batch.client, *target, one) for one in moved]
            if any(one.updated_us == batch.now_us for one in moved):
                batch.resolvers[target[0]].touched.add(target[1])
            batch.folded.setdefault(target, Folded()).changed = True
    if changed:
        yield Step(sql.SAVE_CUSTOM_FIELD, changed)


def _of_several_objects(batch: Batch, new: Iterable[StoredEvent]) -> Plan[set[Target]]:
    told = {(event.record_kind, event.record_id) for event in new if object_of(event) is not None}
    if not told:
        return set()
    objects: dict[Target, set[tuple[str, str, str]]] = {target: set() for target in told}
    for row in (yield Step(sql.LINKS_OF, [(batch.client, *target) for target in sorted(told)])):
        objects[row[5], row[6]].add(row[1:4])
    for kind, resolver in batch.resolvers.items():
        for ref, link in resolver.links.changed.items():
            if link.record_id is not None and (kind, link.record_id) in objects:
                objects[kind, link.record_id].add(ref)
    return {target for target, refs in objects.items() if sum(ref[0] != "" for ref in refs) > 1}


def _project_dates(record: Record, history: Sequence[StoredEvent]) -> None:
    if isinstance(record, Contact):
        sent = [event.occurred_us for event in history if event.effect == st.SENT]
        record.first_sent_us, record.last_sent_us = min(sent, default=None), max(sent, default=None)
        record.last_reply_us = max((event.occurred_us for event in history if event.effect == st.REPLY), default=None)


def _restamp_identities(batch: Batch, target: Target, record: Record, gone: set[Place], history: Sequence[StoredEvent]) -> None:
    """An address that came with an event which is older now is as old as that event."""
    places = {event.key: event.place for event in history}
    for name in ("email", "linkedin_url", "domain", "company_id"):
        stamp = record.stamps.get(name)
        if stamp is not None and stamp[1:] in gone:
            record.stamps[name] = (stamp[0], *places.get(key_in(stamp[1:]), stamp[1:]))
            batch.resolvers[target[0]].rekeyed[record.id] = record


def _project_fields(record: Record, history: Sequence[StoredEvent], gone: set[Place]) -> None:
    for name, _, best in projected_fields(record, history, gone):
        setattr(record, name, best.value)
        record.stamps[name] = best.stamp


def _project_custom(fields: Sequence[CustomField], history: Sequence[StoredEvent], gone: set[Place], now_us: Micros) -> list[CustomField]:
    known = {one.name: one for one in fields}
    changed = []
    for name, held, best in projected_custom_fields(fields, history, gone):
        one = known[name]
        if (best.value, best.stamp) == (held.value, held.stamp):
            continue
        now = one.updated_us if best.value == one.value else now_us
        priority, at, key = best.stamp
        changed.append(replace(one, value=best.value, updated_us=now, priority=priority, stamped_us=at, stamp_key=key))
    return changed
