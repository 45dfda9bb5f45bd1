"""Reading everything that is kept, page by page, for `touchbase verify`: ranges of ids, so that a page costs a few range reads."""

from __future__ import annotations

from collections import Counter

from touchbase.domain import queries as q
from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.events import CONTACT, EXTERNAL, StoredEvent
from touchbase.domain.text import LARGEST_ID
from touchbase.storage.sql import rows as r
from touchbase.storage.sql.op import Ask, Plan

_RANGE = "client = ? AND record_kind = ? AND record_id > ? AND record_id <= ?"
_EVENTS = f"SELECT {r.names(r.EVENT)} FROM event WHERE {_RANGE} ORDER BY record_id, occurred_us, key"
_CUSTOM = f"SELECT {r.names(r.CUSTOM_FIELD)} FROM custom_field WHERE {_RANGE} ORDER BY record_id, name"
_LINKS = f"SELECT DISTINCT record_id FROM link WHERE {_RANGE}"
_PLACES = "SELECT DISTINCT record_id FROM event WHERE client = ? AND record_kind = ? AND record_id > ? ORDER BY record_id LIMIT ?"
_ALONE = "SELECT id FROM link WHERE client = ? AND record_id IS NULL AND id > ? AND id <= ?"
_WAITING = f"SELECT record_id, count(*) FROM event WHERE {_RANGE} GROUP BY record_id"
_DELIVERIES = "SELECT id, state FROM delivery WHERE client = ? AND id > ? ORDER BY id LIMIT ?"
_CAUSED = (
    "SELECT delivery_id, record_kind, count(*) FROM event WHERE client = ? AND delivery_id > ? AND delivery_id <= ? "
    "GROUP BY delivery_id, record_kind"
)


def records(query: q.AuditRecords) -> Plan[q.RecordPage]:
    """A page of records with all that is kept about them."""
    is_contact = query.kind == CONTACT
    table, columns = ("contact", r.names(r.CONTACT)) if is_contact else ("company", r.names(r.COMPANY))
    sql = f"SELECT {columns} FROM {table} WHERE client = ? AND id > ? ORDER BY id LIMIT ?"
    rows = yield Ask(sql, (query.client, query.after, query.limit))
    found: dict[int, tuple[Contact | Company, list[StoredEvent]]] = {
        row[1]: (r.contact_of(row) if is_contact else r.company_of(row), []) for row in rows
    }
    last = rows[-1][1] if len(rows) == query.limit else None
    bounds = (query.client, query.kind, query.after, LARGEST_ID if last is None else last)
    strays: set[tuple[str, int]] = set()
    for row in (yield Ask(_EVENTS, bounds)):
        event = r.event_of(row)
        if event.record_id in found:
            found[event.record_id][1].append(event)
        else:
            strays.add(("event", event.record_id))
    for row in (yield Ask(_CUSTOM, bounds)):
        if row[2] in found:
            found[row[2]][0].custom_fields.append(r.custom_field_of(row))
        else:
            strays.add(("custom field", row[2]))
    linked = yield Ask(_LINKS, bounds)
    strays |= {("link", row[0]) for row in linked if row[0] not in found}
    return q.RecordPage(list(found.values()), sorted(strays), last)


def waiting(query: q.AuditWaiting) -> Plan[q.WaitingPage]:
    """A page of places where events wait."""
    rows = yield Ask(_PLACES, (query.client, EXTERNAL, query.after, query.limit))
    if not rows:
        return q.WaitingPage([], None)
    last = rows[-1][0]
    bounds = (query.client, EXTERNAL, query.after, last)
    alone = yield Ask(_ALONE, (query.client, query.after, last))
    together = yield Ask(_LINKS, bounds)
    led_to = {row[0] for row in (*alone, *together)}
    counted = yield Ask(_WAITING, bounds)
    places = sorted((place, count, place in led_to) for place, count in counted)
    return q.WaitingPage(places, last if len(rows) == query.limit else None)


def deliveries(query: q.AuditDeliveries) -> Plan[q.DeliveryPage]:
    """A page of deliveries with the counts of their events."""
    rows = yield Ask(_DELIVERIES, (query.client, query.after, query.limit))
    last = rows[-1][0] if len(rows) == query.limit else None
    events: Counter[int] = Counter()
    waits: Counter[int] = Counter()
    for number, kind, count in (yield Ask(_CAUSED, (query.client, query.after, LARGEST_ID if last is None else last))):
        events[number] += count
        waits[number] += count if kind == EXTERNAL else 0
    return q.DeliveryPage([(number, state, events[number], waits[number]) for number, state in rows], last)
