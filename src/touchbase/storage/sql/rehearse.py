"""Rehearsing: deliveries applied again inside a transaction that the engine then gives up, to see what would change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from touchbase.domain.budget import MOST_EVENTS
from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.delivery import FAILED, Delivery
from touchbase.domain.events import COMPANY, CONTACT, EXTERNAL
from touchbase.domain.fold import Record
from touchbase.domain.ports import Rehearsal, Rehearsed, TooManyEvents
from touchbase.domain.text import LARGEST_ID
from touchbase.domain.times import Micros
from touchbase.storage.sql import claims
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.apply import ANY, apply_batch, apply_needs
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.load import with_custom_fields
from touchbase.storage.sql.op import Plan, Step
from touchbase.storage.sql.rows import company_of, contact_of, delivery_of
from touchbase.storage.sql.turn import Turn, weight

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
class Rehearsing:
    """What the deliveries came to, and the records as they would be."""

    endings: dict[int, tuple[str, str | None]]
    events: dict[int, int]
    after: Seen


def load_deliveries(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Deliveries with their bodies; one whose body is gone is left out."""
    rows = yield Step(claims.DELIVERIES_WITH_BODIES, [(client, number) for number in sorted(set(ids))])
    return sorted((delivery_of(row) for row in rows), key=lambda delivery: delivery.id)


def rehearse(client: int, turn: Turn, now_us: Micros) -> Plan[Rehearsing]:
    """Apply deliveries again, whatever became of them, and look at what that changes; the engine must not commit it."""
    if sum(weight(seen) for seen in turn.claimed) > MOST_REHEARSED:
        raise TooManyEvents(f"more than {MOST_REHEARSED} events, which is more than is tried out at once; replay it to see what it changes")
    ids = Ids()
    for name in apply_needs(turn.claimed):
        ids.fill(name, LARGEST_ID - PLENTY, PLENTY)  # of nobody, as nothing of this is kept
    keys = [(client, seen.delivery.id) for seen in turn.claimed]
    yield Step(sql.REPLAY_DELIVERY, [(*key, 0) for key in keys])
    yield from apply_batch(client, turn.claimed, ids, now_us, ANY)
    rows = yield Step(sql.DELIVERY_ENDINGS, keys)
    caused = yield Step(sql.TARGETS_OF_DELIVERIES, keys)
    events: dict[int, int] = {}
    for row in caused:
        events[row[0]] = events.get(row[0], 0) + row[3]
    after = yield from look(client, {(row[1], row[2]) for row in caused if row[1] != EXTERNAL})
    return Rehearsing({row[0]: (row[1], row[2]) for row in rows}, events, after)


def look(client: int, targets: Iterable[Target]) -> Plan[Seen]:
    """The values of these records, as far as they are there."""
    contacts = [(client, number) for kind, number in sorted(targets) if kind == CONTACT]
    companies = [(client, number) for kind, number in sorted(targets) if kind != CONTACT]
    seen: Seen = {}
    if contacts:
        rows = yield Step(sql.CONTACT_BY_ID, contacts)
        found: list[Contact] = yield from with_custom_fields(CONTACT, [contact_of(row) for row in rows])
        seen |= {(CONTACT, record.id): _values(record) for record in found}
    if companies:
        rows = yield Step(sql.COMPANY_BY_ID, companies)
        others: list[Company] = yield from with_custom_fields(COMPANY, [company_of(row) for row in rows])
        seen |= {(COMPANY, record.id): _values(record) for record in others}
    return seen


def _values(record: Record) -> dict[str, object]:
    shown = _SHOWN["contact" if isinstance(record, Contact) else "company"]
    values: dict[str, object] = {name: getattr(record, field) for field, name in shown.items()}
    custom = {f"custom field {one.name}": one.value for one in record.custom_fields}
    return values | custom


def compared(turn: Turn, rehearsing: Rehearsing, before: Seen) -> Rehearsal:
    """What would change, from the records as they are and as they would be."""
    told = Rehearsal()
    for delivery in (seen.delivery for seen in turn.claimed):
        state, error = rehearsing.endings.get(delivery.id, (delivery.state, delivery.error))
        told.deliveries.append(Rehearsed(delivery.id, delivery.state, state, rehearsing.events.get(delivery.id, 0), error))
    for broken in turn.broken:
        told.deliveries.append(Rehearsed(broken.delivery.id, broken.delivery.state, FAILED, 0, broken.why))
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
