"""Saving a batch: new, folded and united records, links, and custom fields, of which the last writer by effective time wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from touchbase.common.field_limits import MAX_CUSTOM_FIELDS, exceeds_budget
from touchbase.common.timestamps import Micros
from touchbase.conversations.merged import merge_team_state
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.history.last_writer_wins import CLEARED, DELIBERATE, LEFT_OUT, NEVER, Stamp, beats
from touchbase.history.sql import event_of, link_row
from touchbase.idempotency.sql import MOVE_RESPONSES
from touchbase.identity.resolution import Resolver
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.companies import DELETE_CLAIMS_OF
from touchbase.records.models import Company, Contact, CustomField, Record
from touchbase.records.primary_keys import is_creation, keys_of, of_own_creation, own_creation, shown_values
from touchbase.records.projection import OF_ABSORBED
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.distinct_pairs import COPY_PAIRS
from touchbase.records.sql.rows import company_row, contact_row, custom_field_of, custom_field_row
from touchbase.records.sql.search_pending import NOTE_FOR_SEARCH, searched
from touchbase.records.sql.update import fold_of, fold_status_of
from touchbase.sql.builders import RECORD, RECORD_MATCH
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row, SerializationConflict, Statement

Slot = tuple[int, int, str]
"""Record kind, record id, field name."""
Saved = tuple[int, list[Record], list[Record]]
"""Record kind, changed records, new records."""

# Merges by request into a record that was united with another one are merges into that one.
MOVE_MERGES = Statement(
    "move_merges",
    (*RECORD, ("to_id", "bigint")),
    body=f"UPDATE record_merge t SET record_id = p.to_id FROM p WHERE {RECORD_MATCH}",
    by_row=True,
)


def save_records(batch: ApplyBatch) -> Plan[list[Saved]]:
    """Insert the new records and update the changed ones; return both."""
    saved: list[Saved] = []
    for kind, resolver in sorted(batch.resolvers.items(), reverse=True):  # companies first, as contacts refer to them
        changed = {number for (k, number), folded in batch.folded.items() if k == kind and folded.changed}
        resolver.touched |= {survivor.id for _, survivor in resolver.united}
        changed |= set(resolver.rekeyed) | resolver.touched
        old = [resolver.by_id[number] for number in sorted(changed - set(resolver.created)) if number in resolver.by_id]
        for record in old:
            if record.id in resolver.touched or shown_values(record) != resolver.shown[record.id]:
                record.updated_us = max(batch.now_us, record.updated_us + 1)
        new = [record for number, record in resolver.created.items() if number in resolver.by_id]
        noted = [record.id for record in old if record.id in resolver.touched or searched(record) != resolver.searched[record.id]]
        noted += [record.id for record in new]
        if noted:
            yield Execute(NOTE_FOR_SEARCH, [(batch.client, kind, number) for number in sorted(noted)])
        if kind == CONTACT:
            yield from _save_contacts(resolver, old, new)
        else:
            yield from _save_companies(resolver, old, new)
        if resolver.links.changed:
            yield from history_sql.save_links([link_row(batch.client, link) for link in resolver.links.changed.values()])
        saved.append((kind, old, new))
    return saved


def _save_contacts(resolver: Resolver, old: list[Record], new: list[Record]) -> Plan[None]:
    full_rows: list[tuple[Record, Row]] = []
    folded: list[Row] = []
    moved: list[Row] = []
    for record in old:
        assert isinstance(record, Contact)
        row = contact_row(record)
        if record.id in resolver.rekeyed or record.external_id != resolver.external_ids[record.id]:
            full_rows.append((record, row))
        elif (record.status, record.status_path) == (resolver.statuses[record.id], resolver.status_paths[record.id]):
            folded.append(fold_of(row))
        else:
            moved.append(fold_status_of(row))
    yield from _update_rows(records_sql.UPDATE_CONTACT, resolver, full_rows)
    for op, rows in ((records_sql.FOLD_CONTACT, folded), (records_sql.FOLD_CONTACT_STATUS, moved)):
        if rows:
            yield Execute(op, rows)
    yield from _insert(records_sql.INSERT_CONTACT, [contact_row(record) for record in new if isinstance(record, Contact)])


def _save_companies(resolver: Resolver, old: list[Record], new: list[Record]) -> Plan[None]:
    yield from _update_rows(
        records_sql.UPDATE_COMPANY, resolver, [(record, company_row(record)) for record in old if isinstance(record, Company)]
    )
    yield from _insert(records_sql.INSERT_COMPANY, [company_row(record) for record in new if isinstance(record, Company)])


def _update_rows(op: Statement, resolver: Resolver, rows: list[tuple[Record, Row]]) -> Plan[None]:
    """Update whole rows; rows that take an address which another of them still has in the store come last."""
    had = {key: number for number, keys in resolver.loaded_keys.items() for key in keys if key is not None}
    ids = {external_id: number for number, external_id in resolver.external_ids.items() if external_id is not None}
    taking = [
        ids.get(record.external_id or "", record.id) != record.id
        or any(had.get(key or "", record.id) != record.id for key in keys_of(record))
        for record, _ in rows
    ]
    for takes in (False, True):
        if part := [row for (_, row), is_taking in zip(rows, taking, strict=True) if is_taking == takes]:
            yield Execute(op, part)


def _insert(op: Statement, rows: list[Row]) -> Plan[None]:
    if not rows:
        return
    inserted_rows = yield Execute(op, rows)
    if len(inserted_rows) != len(rows):
        raise SerializationConflict("another process made one of these records at the same moment")


def _as_it_is(event: StoredEvent, absorbed: Record) -> None:
    """Move an event without a change."""


def unite_records(batch: ApplyBatch, change: Callable[[StoredEvent, Record], None] = _as_it_is) -> Plan[None]:
    """Move the history, custom fields and links of united records to the survivor, and delete the others; `change` may change an event."""
    for kind, resolver in batch.resolvers.items():
        for absorbed, survivor in resolver.united:
            yield from unite_record(batch, kind, absorbed, survivor, change)


def unite_record(
    batch: ApplyBatch, kind: int, absorbed: Record, survivor: Record, change: Callable[[StoredEvent, Record], None] = _as_it_is
) -> Plan[None]:
    """Do this for one record."""
    resolver = batch.resolvers[kind]
    if absorbed.id in resolver.created:
        return
    absorbed_key = (batch.client, kind, absorbed.id)
    owned = resolver.owned.get(absorbed.id, {}).items()
    periods = [(batch.client, *ref[1:], batch.now_us, kind, number, since or 0) for (ref, number), since in owned]
    if periods:
        yield Execute(history_sql.NOTE_MERGED_OWNERS, sorted(periods))
    rows = yield Execute(history_sql.EVENTS_OF, [absorbed_key])
    yield Execute(history_sql.DELETE_EVENTS_OF, [absorbed_key])
    for row in rows:
        event = event_of(row)
        event.record_id = survivor.id
        if is_creation(event):
            event.key = own_creation(absorbed.id)
        if absorbed.id in resolver.by_crm:
            event.detail = {OF_ABSORBED: absorbed.id, **event.detail}
        change(event, absorbed)
        batch.moved.append(event)
    yield from _unite_custom_fields(batch, kind, absorbed, survivor)
    yield Execute(history_sql.MOVE_LINKS, [(*absorbed_key, survivor.id)])
    yield Execute(MOVE_RESPONSES, [(*absorbed_key, survivor.id)])
    yield Execute(NOTE_FOR_SEARCH, [absorbed_key])
    yield Execute(MOVE_MERGES, [(*absorbed_key, survivor.id)])
    yield Execute(COPY_PAIRS, [(*absorbed_key, survivor.id)])
    yield Execute(DELETE_CLAIMS_OF, [absorbed_key])  # the moved events claim them again
    if kind == COMPANY:
        yield from _move_contacts(batch, absorbed.id, survivor.id)
        yield Execute(records_sql.DELETE_COMPANY, [(batch.client, absorbed.id)])
    else:
        yield from merge_team_state(batch.client, absorbed.id, survivor.id)
        yield Execute(records_sql.DELETE_CONTACT, [(batch.client, absorbed.id)])


def _move_contacts(batch: ApplyBatch, absorbed: int, survivor: int) -> Plan[None]:
    """Move the contacts of a removed company, in the table and in memory, because some are saved as whole rows later."""
    moved = yield Execute(records_sql.MOVE_CONTACTS_TO_COMPANY, [(batch.client, absorbed, survivor, batch.now_us)])
    for (number,) in moved:
        batch.moved_contacts[number] = (batch.moved_contacts[number][0] if number in batch.moved_contacts else absorbed, survivor)
    for contact in batch.resolvers[CONTACT].by_id.values():
        if isinstance(contact, Contact) and contact.company_id == absorbed:
            contact.company_id = survivor
            contact.updated_us = max(batch.now_us, contact.updated_us + 1)


def _unite_custom_fields(batch: ApplyBatch, kind: int, absorbed: Record, survivor: Record) -> Plan[None]:
    client = batch.client
    rows = yield Execute(records_sql.CUSTOM_FIELDS_OF, [(client, kind, absorbed.id), (client, kind, survivor.id)])
    best: dict[str, tuple[int, CustomField]] = {}
    for row in sorted(rows, key=lambda row: row[2] != survivor.id):
        custom_field = custom_field_of(row)
        if row[2] == absorbed.id:
            custom_field.stamp_key = of_own_creation(custom_field.stamp, absorbed)[2]
        winner = best.get(custom_field.name)
        if winner is None or beats(custom_field.stamp, winner[1].stamp):
            best[custom_field.name] = (row[2], custom_field)
    moved = {custom_field.name: custom_field for owner, custom_field in best.values() if owner == absorbed.id}
    cleared = survivor.stamps.get(CLEARED, NEVER)
    for _, custom_field in best.values():
        if not beats(cleared, custom_field.stamp):
            continue
        custom_field.value, (custom_field.priority, custom_field.stamped_us, custom_field.stamp_key) = None, cleared
        moved[custom_field.name] = custom_field
    yield Execute(records_sql.DELETE_CUSTOM_FIELDS_OF, [(client, kind, absorbed.id)])
    had = {row[3]: row[5] for row in rows if row[2] == survivor.id}
    for name, custom_field in moved.items():
        batch.note_custom((kind, survivor.id), name, had.get(name), custom_field.value)
    if moved:
        yield Execute(
            records_sql.SAVE_CUSTOM_FIELD, [custom_field_row(client, kind, survivor.id, custom_field) for custom_field in moved.values()]
        )
    if (
        LEFT_OUT in absorbed.stamps
        or LEFT_OUT in survivor.stamps
        or exceeds_budget({custom_field.name: custom_field.value for _, custom_field in best.values()})
    ):
        batch.over_budget.add((kind, survivor.id))


def fold_custom_fields(batch: ApplyBatch, new: Sequence[StoredEvent], ids: Ids) -> Plan[None]:
    """Write the custom fields in these events, where they win over the stored values."""
    client, resolvers, now_us = batch.client, batch.resolvers, batch.now_us
    with_fields = [event for event in new if event.detail.get("custom")]
    if not with_fields:
        return
    records = sorted({(client, event.record_kind, event.record_id) for event in with_fields})
    rows = yield Execute(records_sql.CUSTOM_FIELDS_OF, records)
    stored_fields: dict[Slot, CustomField] = {(row[1], row[2], row[3]): custom_field_of(row) for row in rows}
    had = {slot: custom_field.value for slot, custom_field in stored_fields.items()}
    counts = Counter(slot[:2] for slot in stored_fields)
    changed: dict[Slot, CustomField] = {}
    for event in with_fields:
        for name, value in event.detail["custom"].items():
            slot = (event.record_kind, event.record_id, name)
            cleared = resolvers[event.record_kind].by_id[event.record_id].stamps.get(CLEARED, NEVER)
            _write_custom_field(stored_fields, counts, changed, slot, value, (DELIBERATE, *event.effective_time), cleared, ids, now_us)
    values: dict[tuple[int, int], dict[str, str | None]] = {slot[:2]: {} for slot in stored_fields}
    for slot, custom_field in stored_fields.items():
        values[slot[:2]][slot[2]] = custom_field.value
    batch.over_budget |= {
        (kind, number)
        for (kind, number), named in values.items()
        if LEFT_OUT in resolvers[kind].by_id[number].stamps or exceeds_budget(named)
    }
    if changed:
        yield Execute(
            records_sql.SAVE_CUSTOM_FIELD,
            [custom_field_row(client, slot[0], slot[1], custom_field) for slot, custom_field in changed.items()],
        )
        for (kind, number, _), custom_field in changed.items():
            if custom_field.updated_us == now_us:  # the value changed, and not only its stamp
                resolvers[kind].touched.add(number)
        for slot, custom_field in changed.items():
            batch.note_custom(slot[:2], slot[2], had.get(slot), custom_field.value)


def _write_custom_field(
    stored_fields: dict[Slot, CustomField],
    counts: Counter[tuple[int, int]],
    changed: dict[Slot, CustomField],
    slot: Slot,
    value: str | None,
    stamp: Stamp,
    cleared: Stamp,
    ids: Ids,
    now_us: Micros,
) -> None:
    custom_field = stored_fields.get(slot)
    if beats(cleared, stamp):
        value, stamp = None, cleared  # all fields were cleared later, including unknown ones
    if not beats(stamp, NEVER if custom_field is None else custom_field.stamp):
        return
    if custom_field is None:
        if counts[slot[:2]] >= MAX_CUSTOM_FIELDS:
            return  # a CRM that sends a new name in every webhook must not grow a record without limit
        counts[slot[:2]] += 1
        custom_field = stored_fields[slot] = CustomField(ids.take("custom_field"), slot[2], None, now_us, created_us=now_us)
    if custom_field.value != value:
        custom_field.value, custom_field.updated_us = value, now_us
    custom_field.priority, custom_field.stamped_us, custom_field.stamp_key = stamp
    changed[slot] = custom_field
