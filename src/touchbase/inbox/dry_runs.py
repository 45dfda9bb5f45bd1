"""Dry run: apply deliveries again in a transaction that the engine rolls back, and report what would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros
from touchbase.deliveries import claiming
from touchbase.deliveries.delivery import FAILED, Delivery
from touchbase.deliveries.limits import MAX_EVENTS
from touchbase.deliveries.sql import statements as inbox_sql
from touchbase.deliveries.sql.rows import delivery_of
from touchbase.deliveries.work import DryRunDelivery, DryRunResult, TooManyEvents
from touchbase.history.events import EXTERNAL
from touchbase.projection.apply import ANY_STATE, apply_batch, apply_needs
from touchbase.projection.inbox_batch import InboxBatch
from touchbase.records.fields import ID, UPDATED
from touchbase.records.models import Record
from touchbase.records.record_type import type_of
from touchbase.records.sql.statements import TABLES, lock_records, with_custom_fields
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan

IDS_PER_KIND = 2**40
"""Ids of each kind that a dry run may use."""
MAX_DRY_RUN_EVENTS = 4 * MAX_EVENTS
"""Limit for one transaction, because all writers wait for it."""
Target = tuple[int, int]
"""Record kind and id."""
Snapshot = dict[Target, dict[str, object]]
"""The values of records as the API shows them."""
_HIDDEN = (ID, UPDATED)


@dataclass(slots=True)
class DryRun:
    """The outcomes of the deliveries, and the records as they would be."""

    endings: dict[int, tuple[str, str | None]]
    events: dict[int, int]
    after: Snapshot


def load_deliveries(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Load deliveries with their bodies; skip a delivery whose body was deleted."""
    rows = yield Execute(claiming.DELIVERIES_WITH_BODIES, [(client, number) for number in sorted(set(ids))])
    deliveries = sorted((delivery_of(row) for row in rows), key=lambda delivery: delivery.id)
    for delivery in deliveries:
        delivery.guarded = True  # whether the client has erased people is not known here
    return deliveries


def dry_run(client: int, batch: InboxBatch, now_us: Micros) -> Plan[DryRun]:
    """Apply deliveries again, in any state, and read what changes; the engine must not commit the transaction."""
    if sum(normalized.cost for normalized in batch.claimed) > MAX_DRY_RUN_EVENTS:
        raise TooManyEvents(f"more than {MAX_DRY_RUN_EVENTS} events, the limit of a dry run; replay the delivery to see what it changes")
    ids = Ids()
    for name in apply_needs(batch.claimed):
        ids.fill(name, LARGEST_ID - IDS_PER_KIND, IDS_PER_KIND)  # never stored, so they need no reservation
    keys = [(client, normalized.delivery.id) for normalized in batch.claimed]
    yield Execute(inbox_sql.REPLAY_DELIVERY, [(*key, 0) for key in keys])
    yield from apply_batch(client, batch.claimed, ids, now_us, ANY_STATE)
    rows = yield Execute(inbox_sql.DELIVERY_ENDINGS, keys)
    caused = yield Execute(inbox_sql.TARGETS_OF_DELIVERIES, keys)
    events: dict[int, int] = {}
    for row in caused:
        events[row[0]] = events.get(row[0], 0) + row[3]
    after = yield from snapshot(client, {(row[1], row[2]) for row in caused if row[1] != EXTERNAL})
    return DryRun({row[0]: (row[1], row[2]) for row in rows}, events, after)


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
    values: dict[str, object] = {field.name: getattr(record, field.column) for field in shown}
    custom = {f"custom field {custom_field.name}": custom_field.value for custom_field in record.custom_fields}
    return values | custom


def compare(batch: InboxBatch, outcome: DryRun, before: Snapshot) -> DryRunResult:
    """Compare the records before and after, and return what would change."""
    result = DryRunResult()
    for delivery in (normalized.delivery for normalized in batch.claimed):
        state, error = outcome.endings.get(delivery.id, (delivery.state, delivery.error))
        result.deliveries.append(DryRunDelivery(delivery.id, delivery.state, state, outcome.events.get(delivery.id, 0), error))
    for broken in batch.broken:
        result.deliveries.append(DryRunDelivery(broken.delivery.id, broken.delivery.state, FAILED, 0, broken.why))
    result.deliveries.sort(key=lambda record: record.id)
    for target, values in outcome.after.items():
        earlier = before.get(target)
        if earlier is None:
            result.created += 1
            continue
        changed = [name for name in values.keys() | earlier.keys() if values.get(name) != earlier.get(name)]
        result.changed += bool(changed)
        for name in changed:
            result.fields[name] = result.fields.get(name, 0) + 1
    return result
