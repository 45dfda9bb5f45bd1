"""Answers to queries: what is flushed, read in as few steps as there are kinds of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec

from touchbase.domain import erasure as e
from touchbase.domain import queries as q
from touchbase.domain.client import Client
from touchbase.domain.company import Company
from touchbase.domain.connection import Connection
from touchbase.domain.contact import Contact
from touchbase.domain.delivery import Delivery
from touchbase.domain.events import COMPANY, CONTACT, StoredEvent
from touchbase.storage.sql import audit, bodies, erase_reads, inbox_reads
from touchbase.storage.sql import rows as r
from touchbase.storage.sql.load import with_custom_fields
from touchbase.storage.sql.op import Ask, Plan
from touchbase.storage.sql.where import Where

T = TypeVar("T")

_CONTACT = r.names(r.CONTACT)
_COMPANY = r.names(r.COMPANY)
_EVENT = r.names(r.EVENT)
_DELIVERY = r.names(r.DELIVERY[:-1], "d.")


def answer(query: q.Query[T]) -> Plan[T]:
    """The plan that answers a query."""
    return ANSWERS[type(query)](query)


def _contact(query: q.GetContact) -> Plan[Contact | None]:
    rows = yield Ask(f"SELECT {_CONTACT} FROM contact WHERE client = ? AND id = ?", (query.client, query.id))
    found = yield from with_custom_fields(CONTACT, [r.contact_of(row) for row in rows])
    return found[0] if found else None


def _company(query: q.GetCompany) -> Plan[Company | None]:
    rows = yield Ask(f"SELECT {_COMPANY} FROM company WHERE client = ? AND id = ?", (query.client, query.id))
    found = yield from with_custom_fields(COMPANY, [r.company_of(row) for row in rows])
    return found[0] if found else None


def _contacts(query: q.ListContacts) -> Plan[list[Contact]]:
    where = Where("client = ?", query.client)
    where.equal("email_key", query.email_key)
    where.equal("linkedin_key", query.linkedin_key)
    where.equal("status", query.status)
    where.equal("company_id", query.company_id)
    order = where.page(query.updated_since_us, query.after)
    rows = yield Ask(f"SELECT {_CONTACT} FROM contact WHERE {where} ORDER BY {order} LIMIT ?", (*where.params, query.limit))
    return (yield from with_custom_fields(CONTACT, [r.contact_of(row) for row in rows]))


def _companies(query: q.ListCompanies) -> Plan[list[Company]]:
    where = Where("client = ?", query.client)
    where.equal("domain", query.domain)
    where.equal("status", query.status)
    order = where.page(query.updated_since_us, query.after)
    rows = yield Ask(f"SELECT {_COMPANY} FROM company WHERE {where} ORDER BY {order} LIMIT ?", (*where.params, query.limit))
    return (yield from with_custom_fields(COMPANY, [r.company_of(row) for row in rows]))


def _history(query: q.GetHistory) -> Plan[list[StoredEvent]]:
    sql = f"SELECT {_EVENT} FROM event WHERE client = ? AND record_kind = ? AND record_id = ? ORDER BY occurred_us, key"
    rows = yield Ask(sql, (query.client, query.record_kind, query.record_id))
    # The engines collate text each in its own way; Python's order is the one that folding uses.
    return sorted((r.event_of(row) for row in rows), key=lambda event: (event.occurred_us, event.key))


def _delivery(query: q.GetDelivery) -> Plan[Delivery | None]:
    where = Where("d.id = ?", query.id)
    where.equal("c.id", query.client)
    sql = (
        f"SELECT c.client_id, {_DELIVERY}, COALESCE(b.query, ''), b.headers, b.body, d.body_gone, d.body_gone_us FROM client c "
        "JOIN delivery d ON d.client = c.id LEFT JOIN delivery_body b ON b.client = d.client AND b.id = d.id "
        f"WHERE {where}"
    )
    rows = yield Ask(sql, where.params)
    return r.delivery_of(rows[0]) if rows else None


def _delivery_events(query: q.DeliveryEvents) -> Plan[list[StoredEvent]]:
    sql = f"SELECT {_EVENT} FROM event WHERE client = ? AND delivery_id = ? ORDER BY occurred_us, key"
    rows = yield Ask(sql, (query.client, query.delivery_id))
    return [r.event_of(row) for row in rows]


def _client(query: q.FindClient) -> Plan[Client | None]:
    rows = yield Ask(f"SELECT {r.CLIENT} FROM client WHERE client_id = ?", (query.client_id,))
    return r.client_of(rows[0]) if rows else None


def _clients(query: q.ListClients) -> Plan[list[Client]]:
    rows = yield Ask(f"SELECT {r.CLIENT} FROM client", ())
    return sorted((r.client_of(row) for row in rows), key=lambda client: client.client_id)


def _connections(query: q.ListConnections) -> Plan[list[Connection]]:
    rows = yield Ask(f"SELECT {r.names(r.CONNECTION)} FROM connection WHERE client = ?", (query.client,))
    return sorted((r.connection_of(row) for row in rows), key=lambda one: (one.channel, one.tool))


def _key(query: q.FindKey) -> Plan[q.ApiKey | None]:
    rows = yield Ask("SELECT key_id, digest, scopes, client, name FROM api_key WHERE key_id = ?", (query.key_id,))
    if not rows:
        return None
    key_id, digest, scopes, client, name = rows[0]
    return q.ApiKey(key_id, bytes(digest), tuple(msgspec.json.decode(scopes, type=list[str])), client, name)


def _any_key(query: q.AnyKey) -> Plan[bool]:
    rows = yield Ask("SELECT 1 FROM api_key LIMIT 1", ())
    return bool(rows)


ANSWERS: dict[type, Callable[[Any], Plan[Any]]] = {
    q.GetContact: _contact,
    q.GetCompany: _company,
    q.ListContacts: _contacts,
    q.ListCompanies: _companies,
    q.GetHistory: _history,
    q.ListDeliveries: inbox_reads.deliveries,
    q.CountDeliveries: inbox_reads.count,
    q.GroupDeliveries: inbox_reads.groups,
    q.GetDelivery: _delivery,
    q.DeliveryEvents: _delivery_events,
    q.FindClient: _client,
    q.ListClients: _clients,
    q.ListConnections: _connections,
    q.BusyClients: inbox_reads.busy,
    q.FindKey: _key,
    q.AnyKey: _any_key,
    q.CountInbox: inbox_reads.counts,
    q.AuditRecords: audit.records,
    q.AuditWaiting: audit.waiting,
    q.AuditDeliveries: audit.deliveries,
    e.FindPerson: erase_reads.find_person,
    e.GetErasure: erase_reads.get_erasure,
    e.OpenErasures: erase_reads.open_erasures,
    e.FindErased: erase_reads.find_erased,
    e.ListErasures: erase_reads.list_erasures,
    e.ReadBodies: erase_reads.read_bodies,
    e.ReadLinks: erase_reads.read_links,
    e.CountRetained: bodies.count_retained,
}
