"""Dry run: apply deliveries again in a transaction that the engine rolls back, and report the changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros, to_text_or_none
from touchbase.deliveries import claiming
from touchbase.deliveries.delivery import APPLIED, FAILED, UNRECOGNISED, Delivery
from touchbase.deliveries.limits import MAX_EVENTS
from touchbase.deliveries.sql import statements as inbox_sql
from touchbase.deliveries.sql.rows import delivery_of
from touchbase.deliveries.work import (
    CHANGES,
    KNOWN,
    NO_EFFECT,
    NOT_RECOGNISED,
    TIMELINE,
    DryRunDelivery,
    DryRunRecord,
    DryRunResult,
    TooManyEvents,
)
from touchbase.history.events import EXTERNAL
from touchbase.projection.apply import ANY_STATE, apply_batch, apply_needs
from touchbase.projection.delivery_outcomes import ALL_REPEATED
from touchbase.projection.inbox_batch import InboxBatch
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.records.fields import ID, TIME, UPDATED, Field
from touchbase.records.models import Record
from touchbase.records.record_type import type_of
from touchbase.records.sql.statements import TABLES, lock_records, with_custom_fields
from touchbase.sql.ids import Ids
from touchbase.sql.operation import query
from touchbase.sql.statement import Execute, Plan

IDS_PER_KIND = 2**40
"""Ids of each kind that a dry run may use."""
MAX_DRY_RUN_EVENTS = 4 * MAX_EVENTS
"""Limit for one transaction, because all writers wait for it."""
Target = tuple[int, int]
"""Record kind and id."""
Snapshot = dict[Target, dict[str, object]]
"""The values of records as the API shows them."""
NEW = "(new)"
"""In place of the id of a company that the same dry run would create."""
_HIDDEN = (ID, UPDATED)


@dataclass(slots=True)
class DryRun:
    """The outcomes of the deliveries, and the records as they would be."""

    endings: dict[int, tuple[str, str | None]]
    events: dict[int, int]
    targets: dict[int, list[Target]]
    """By delivery, the records that its events are about."""
    after: Snapshot


@query(bodies=list)
def load_deliveries(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Load deliveries with their bodies; skip a delivery whose body was deleted."""
    rows = yield Execute(claiming.DELIVERIES_WITH_BODIES, [(client, number) for number in sorted(set(ids))])
    deliveries = sorted((delivery_of(row) for row in rows), key=lambda delivery: delivery.id)
    for delivery in deliveries:
        delivery.guarded = True  # whether the client has erased people is not known here
    return deliveries


def dry_run(client: int, batch: InboxBatch, now_us: Micros) -> Plan[DryRun]:
    """Apply deliveries again, in any state, and read the changes; the engine must not commit the transaction."""
    if sum(normalized.cost for normalized in batch.claimed) > MAX_DRY_RUN_EVENTS:
        raise TooManyEvents(f"more than {MAX_DRY_RUN_EVENTS} events, the limit of a dry run; replay the delivery to see its changes")
    ids = Ids()
    for name in apply_needs(batch.claimed):
        ids.fill(name, LARGEST_ID - IDS_PER_KIND, IDS_PER_KIND)  # never stored, so they need no reservation
    keys = [(client, normalized.delivery.id) for normalized in batch.claimed]
    yield Execute(inbox_sql.REPLAY_DELIVERY, [(*key, 0) for key in keys])
    yield from apply_batch(client, batch.claimed, ids, now_us, ANY_STATE)
    rows = yield Execute(inbox_sql.DELIVERY_ENDINGS, keys)
    caused = yield Execute(inbox_sql.TARGETS_OF_DELIVERIES, keys)
    events: dict[int, int] = {}
    targets: dict[int, list[Target]] = {}
    for row in caused:
        events[row[0]] = events.get(row[0], 0) + row[3]
        if row[1] != EXTERNAL:
            targets.setdefault(row[0], []).append((row[1], row[2]))
    after = yield from snapshot(client, {target for several in targets.values() for target in several})
    return DryRun({row[0]: (row[1], row[2]) for row in rows}, events, targets, after)


def snapshot(client: int, targets: Iterable[Target]) -> Plan[Snapshot]:
    """Return the values of these records; skip records that do not exist."""
    values: Snapshot = {}
    for kind, table in TABLES.items():
        rows = yield from lock_records(client, kind, [number for of, number in sorted(targets) if of == kind])
        records: list[Record] = yield from with_custom_fields(kind, [*map(table.record_of, rows)])
        values |= {(kind, record.id): _values(record) for record in records}
    return values


def _values(record: Record) -> dict[str, object]:
    shown = (field for field in type_of(record).members if field not in _HIDDEN)
    values: dict[str, object] = {field.name: _shown(field, getattr(record, field.column)) for field in shown}
    custom = {f"custom field {custom_field.name}": custom_field.value for custom_field in record.custom_fields}
    return values | custom


def _shown(field: Field, value: object) -> object:
    """Return a value as the API shows it; the id of a record that the dry run made has no meaning."""
    if field.kind == TIME:
        return to_text_or_none(value) if isinstance(value, int) else None
    return NEW if isinstance(value, int) and value > LARGEST_ID - IDS_PER_KIND else value


def compare(batch: InboxBatch, outcome: DryRun, before: Snapshot) -> DryRunResult:
    """Return the differences between the records before and after."""
    result = DryRunResult()
    records: dict[Target, DryRunRecord] = {}
    for target, values in outcome.after.items():
        earlier = before.get(target)
        changed = _differences(earlier or {}, values)
        records[target] = DryRunRecord(target[0], None if earlier is None else target[1], changed)
        if earlier is None:
            result.created += 1
            continue
        result.changed += bool(changed)
        for name in changed:
            result.fields[name] = result.fields.get(name, 0) + 1
    for normalized in batch.claimed:
        delivery = normalized.delivery
        state, error = outcome.endings.get(delivery.id, (delivery.state, delivery.error))
        touched = [records[target] for target in sorted(outcome.targets.get(delivery.id, ())) if target in records]
        shown = [record for record in touched if record.id is None or record.changed]
        effect = CHANGES if shown else _effect_of_none(normalized, state, error)
        events = outcome.events.get(delivery.id, 0)
        result.deliveries.append(DryRunDelivery(delivery.id, delivery.state, state, events, error, shown, effect, _inferred(normalized)))
    for broken in batch.broken:
        result.deliveries.append(DryRunDelivery(broken.delivery.id, broken.delivery.state, FAILED, 0, broken.why))
    result.deliveries.sort(key=lambda record: record.id)
    return result


def _inferred(normalized: NormalizedDelivery) -> dict[str, str]:
    return next((subject.event.inferred for subject in normalized.subjects), {})


def _effect_of_none(normalized: NormalizedDelivery, state: str, error: str | None) -> str:
    """Return the effect of a delivery that changes no record."""
    if state in (UNRECOGNISED, FAILED):
        return NOT_RECOGNISED
    if state != APPLIED:
        return KNOWN if error == ALL_REPEATED else NO_EFFECT
    events = (subject.event for subject in normalized.subjects)
    has_values = any(event.status or event.fields or event.custom or event.emails or event.first_name for event in events)
    return KNOWN if has_values or normalized.delivery.state == APPLIED else TIMELINE


def _differences(earlier: Mapping[str, object], now: Mapping[str, object]) -> dict[str, tuple[object, object]]:
    names = sorted(now.keys() | earlier.keys())
    return {name: (earlier.get(name), now.get(name)) for name in names if earlier.get(name) != now.get(name)}
