"""Rehearsing: deliveries applied again inside a transaction that the engine then gives up, to see what would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros
from touchbase.events import claim_statements
from touchbase.events.inbox_batch import InboxBatch, weight
from touchbase.events.projection import ANY, apply_batch, apply_needs
from touchbase.events.work import DryRunDelivery, DryRunResult, TooManyEvents
from touchbase.history.events import COMPANY, CONTACT, EXTERNAL
from touchbase.inbox import statements as inbox_sql
from touchbase.inbox.budget import MOST_EVENTS
from touchbase.inbox.delivery import FAILED, Delivery
from touchbase.inbox.rows import delivery_of
from touchbase.records import statements as records_sql
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.projection import Record
from touchbase.records.rows import company_of, contact_of
from touchbase.records.sql_custom_fields import with_custom_fields
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan

PLENTY = 2**40
"""Ids of each kind that a rehearsal may take."""
MOST_REHEARSED = 4 * MOST_EVENTS
"""Events that are tried out in one transaction, for which everybody else waits."""
Target = tuple[int, int]
"""Record kind and id."""
Seen = dict[Target, dict[str, object]]
"""The values that the interface shows of records."""

_SHOWN = {
    "contact": {
        "email": "email", "linkedin_url": "linkedin_url", "first_name": "first_name", "last_name": "last_name",
        "company_id": "company_id", "origin": "origin", "status": "contact_status", "previous_status": "previous_status",
        "status_changed_us": "status_changed_at", "first_sent_us": "first_campaign_email_sent",
        "last_sent_us": "last_campaign_email_sent", "last_reply_us": "last_reply_received",
    },
    "company": {
        "domain": "domain", "name": "name", "status": "company_status", "previous_status": "previous_status",
        "status_changed_us": "status_changed_at",
    },
}  # fmt: skip


@dataclass(slots=True)
class DryRun:
    """What the deliveries came to, and the records as they would be."""

    endings: dict[int, tuple[str, str | None]]
    events: dict[int, int]
    after: Seen


def load_deliveries(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Deliveries with their bodies; one whose body is gone is left out."""
    rows = yield Execute(claim_statements.DELIVERIES_WITH_BODIES, [(client, number) for number in sorted(set(ids))])
    return sorted((delivery_of(row) for row in rows), key=lambda delivery: delivery.id)


def dry_run(client: int, turn: InboxBatch, now_us: Micros) -> Plan[DryRun]:
    """Apply deliveries again, whatever became of them, and look at what that changes; the engine must not commit it."""
    if sum(weight(seen) for seen in turn.claimed) > MOST_REHEARSED:
        raise TooManyEvents(f"more than {MOST_REHEARSED} events, which is more than is tried out at once; replay it to see what it changes")
    ids = Ids()
    for name in apply_needs(turn.claimed):
        ids.fill(name, LARGEST_ID - PLENTY, PLENTY)  # of nobody, as nothing of this is kept
    keys = [(client, seen.delivery.id) for seen in turn.claimed]
    yield Execute(inbox_sql.REPLAY_DELIVERY, [(*key, 0) for key in keys])
    yield from apply_batch(client, turn.claimed, ids, now_us, ANY)
    rows = yield Execute(inbox_sql.DELIVERY_ENDINGS, keys)
    caused = yield Execute(inbox_sql.TARGETS_OF_DELIVERIES, keys)
    events: dict[int, int] = {}
    for row in caused:
        events[row[0]] = events.get(row[0], 0) + row[3]
    after = yield from look(client, {(row[1], row[2]) for row in caused if row[1] != EXTERNAL})
    return DryRun({row[0]: (row[1], row[2]) for row in rows}, events, after)


def look(client: int, targets: Iterable[Target]) -> Plan[Seen]:
    """The values of these records, as far as they are there."""
    contacts = [(client, number) for kind, number in sorted(targets) if kind == CONTACT]
    companies = [(client, number) for kind, number in sorted(targets) if kind != CONTACT]
    seen: Seen = {}
    if contacts:
        rows = yield Execute(records_sql.CONTACT_BY_ID, contacts)
        found: list[Contact] = yield from with_custom_fields(CONTACT, [contact_of(row) for row in rows])
        seen |= {(CONTACT, record.id): _values(record) for record in found}
    if companies:
        rows = yield Execute(records_sql.COMPANY_BY_ID, companies)
        others: list[Company] = yield from with_custom_fields(COMPANY, [company_of(row) for row in rows])
        seen |= {(COMPANY, record.id): _values(record) for record in others}
    return seen


def _values(record: Record) -> dict[str, object]:
    shown = _SHOWN["contact" if isinstance(record, Contact) else "company"]
    values: dict[str, object] = {name: getattr(record, field) for field, name in shown.items()}
    custom = {f"custom field {one.name}": one.value for one in record.custom_fields}
    return values | custom


def compared(turn: InboxBatch, rehearsing: DryRun, before: Seen) -> DryRunResult:
    """What would change, from the records as they are and as they would be."""
    told = DryRunResult()
    for delivery in (seen.delivery for seen in turn.claimed):
        state, error = rehearsing.endings.get(delivery.id, (delivery.state, delivery.error))
        told.deliveries.append(DryRunDelivery(delivery.id, delivery.state, state, rehearsing.events.get(delivery.id, 0), error))
    for broken in turn.broken:
        told.deliveries.append(DryRunDelivery(broken.delivery.id, broken.delivery.state, FAILED, 0, broken.why))
    told.deliveries.sort(key=lambda one: one.id)
    for target, values in rehearsing.after.items():
        known = before.get(target)
        if known is None:
            told.created += 1
            continue
        changed = [name for name in values.keys() | known.keys() if values.get(name) != known.get(name)]
        told.changed += bool(changed)
        for name in changed:
            told.fields[name] = told.fields.get(name, 0) + 1
    return told
