"""Answers to queries: what is flushed, read in as few steps as there are kinds of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from touchbase.domain import erasure as e
from touchbase.domain import queries as q
from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.delivery import Delivery
from touchbase.domain.events import COMPANY, CONTACT, StoredEvent
from touchbase.domain.ports import Sealer
from touchbase.domain.refusals import ListRefusals
from touchbase.domain.seals import CheckSeals
from touchbase.storage.sql import (
    audit,
    bodies,
    client_reads,
    connections,
    erase_reads,
    fetching,
    inbox_reads,
    kept_answers,
    key_reads,
    recent_calls,
    refusals,
    sealed,
)
from touchbase.storage.sql import rows as r
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.load import with_custom_fields
from touchbase.storage.sql.op import Ask, Plan, Row, Step
from touchbase.storage.sql.where import Where

T = TypeVar("T")

_CONTACT = r.names(r.CONTACT)
_COMPANY = r.names(r.COMPANY)
_EVENT = r.names(r.EVENT)
_DELIVERY = r.names(r.DELIVERY[:-1], "d.")


class Answers:
    """The plan that answers each query; those that open secrets have the store's sealer."""

    def __init__(self, sealer: Sealer) -> None:
        opening = {kind: partial(plan, sealer=sealer) for kind, plan in OPENING.items()}
        self._plans: dict[type, Callable[..., Plan[Any]]] = {**ANSWERS, **opening}

    def __call__(self, query: q.Query[T]) -> Plan[T]:
        """The plan that answers this query."""
        plan: Plan[T] = self._plans[type(query)](query)
        return plan


def _contact(query: q.GetContact) -> Plan[Contact | None]:
    return (yield from contacts([query]))[0]


def _company(query: q.GetCompany) -> Plan[Company | None]:
    return (yield from companies([query]))[0]


def contacts(queries: Sequence[q.GetContact]) -> Plan[list[Contact | None]]:
    """The contact that each asks for. Who asks for the same one gets the same object."""
    rows = yield Step(sql.CONTACT_TO_SHOW, sorted({(query.client, query.id) for query in queries}))
    found = yield from with_custom_fields(CONTACT, [r.contact_of(row) for row in rows])
    by_id = {(contact.client, contact.id): contact for contact in found}
    return [by_id.get((query.client, query.id)) for query in queries]


def companies(queries: Sequence[q.GetCompany]) -> Plan[list[Company | None]]:
    """The same for companies."""
    rows = yield Step(sql.COMPANY_TO_SHOW, sorted({(query.client, query.id) for query in queries}))
    found = yield from with_custom_fields(COMPANY, [r.company_of(row) for row in rows])
    by_id = {(company.client, company.id): company for company in found}
    return [by_id.get((query.client, query.id)) for query in queries]


def _contacts(query: q.ListContacts) -> Plan[list[Contact]]:
    return (yield from contact_pages([query]))[0]


def _companies(query: q.ListCompanies) -> Plan[list[Company]]:
    return (yield from company_pages([query]))[0]


def contact_pages(queries: Sequence[q.ListContacts]) -> Plan[list[list[Contact]]]:
    """The page that each asks for. Who is on several of them is the same object."""
    pages: list[list[Row]] = []
    for query in queries:
        where = Where("client = ?", query.client)
        where.equal("email_key", query.email_key)
        where.equal("linkedin_key", query.linkedin_key)
        where.equal("status", query.status)
        where.equal("company_id", query.company_id)
        order = where.page(query.updated_since_us, query.after)
        sql = f"SELECT {_CONTACT} FROM contact WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append((yield Ask(sql, (*where.params, query.limit))))
    found = {row[:2]: r.contact_of(row) for row in chain.from_iterable(pages)}
    yield from with_custom_fields(CONTACT, list(found.values()))
    return [[found[row[:2]] for row in page] for page in pages]


def company_pages(queries: Sequence[q.ListCompanies]) -> Plan[list[list[Company]]]:
    """The same for companies."""
    pages: list[list[Row]] = []
    for query in queries:
        where = Where("client = ?", query.client)
        where.equal("domain", query.domain)
        where.equal("status", query.status)
        order = where.page(query.updated_since_us, query.after)
        sql = f"SELECT {_COMPANY} FROM company WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append((yield Ask(sql, (*where.params, query.limit))))
    found = {row[:2]: r.company_of(row) for row in chain.from_iterable(pages)}
    yield from with_custom_fields(COMPANY, list(found.values()))
    return [[found[row[:2]] for row in page] for page in pages]


def _history(query: q.GetHistory) -> Plan[list[StoredEvent]]:
    sql = f"SELECT {_EVENT} FROM event WHERE client = ? AND record_kind = ? AND record_id = ? ORDER BY occurred_us, key"
    rows = yield Ask(sql, (query.client, query.record_kind, query.record_id))
    # The engines collate text each in its own way; Python's order is the one that folding uses.
    return sorted((r.event_of(row) for row in rows), key=lambda event: (event.occurred_us, event.key))


def _united(query: q.FindUnited) -> Plan[int | None]:
    sql = "SELECT record_id FROM link WHERE client = ? AND tool = '' AND object_type = ? AND object_id = ? AND record_kind = ?"
    rows = yield Ask(sql, (query.client, "contact" if query.kind == CONTACT else "company", str(query.id), query.kind))
    return rows[0][0] if rows else None


def _delivery(query: q.GetDelivery) -> Plan[Delivery | None]:
    where = Where("d.id = ?", query.id)
    where.equal("c.id", query.client)
    sql = (
        f"SELECT c.client_id, {_DELIVERY}, COALESCE(b.query, ''), b.headers, b.body, d.body_removed, d.body_removed_us FROM client c "
        "JOIN delivery d ON d.client = c.id LEFT JOIN delivery_body b ON b.client = d.client AND b.id = d.id "
        f"WHERE {where}"
    )
    rows = yield Ask(sql, where.params)
    return r.delivery_of(rows[0]) if rows else None


def _delivery_events(query: q.DeliveryEvents) -> Plan[list[StoredEvent]]:
    sql = f"SELECT {_EVENT} FROM event WHERE client = ? AND delivery_id = ? ORDER BY occurred_us, key"
    rows = yield Ask(sql, (query.client, query.delivery_id))
    return [r.event_of(row) for row in rows]


def _any_key(query: q.AnyKey) -> Plan[bool]:
    rows = yield Ask("SELECT 1 FROM api_key LIMIT 1", ())
    return bool(rows)


ANSWERS: dict[type, Callable[[Any], Plan[Any]]] = {
    q.GetContact: _contact,
    q.GetCompany: _company,
    q.ListContacts: _contacts,
    q.ListCompanies: _companies,
    q.GetHistory: _history,
    q.FindUnited: _united,
    q.ListDeliveries: inbox_reads.deliveries,
    q.CountDeliveries: inbox_reads.count,
    q.GroupDeliveries: inbox_reads.groups,
    q.GetDelivery: _delivery,
    q.DeliveryEvents: _delivery_events,
    q.FindClient: client_reads.find,
    q.ListClients: client_reads.every,
    q.DueFetches: fetching.due,
    q.ListFetching: fetching.fetching,
    q.BusyClients: inbox_reads.busy,
    q.FindKey: key_reads.find,
    q.AnyKey: _any_key,
    q.CountInbox: inbox_reads.counts,
    q.AuditRecords: audit.records,
    q.AuditWaiting: audit.waiting,
    q.AuditDeliveries: audit.deliveries,
    q.AuditBodies: audit.bodies,
    q.FindAnswer: kept_answers.find,
    q.ExpiredAnswers: kept_answers.expired,
    q.OldCalls: recent_calls.old_calls,
    ListRefusals: refusals.refusals,
    **client_reads.ANSWERS,
    **key_reads.ANSWERS,
    e.FindPerson: erase_reads.find_person,
    e.GetErasure: erase_reads.get_erasure,
    e.OpenErasures: erase_reads.open_erasures,
    e.FindErased: erase_reads.find_erased,
    e.ListErasures: erase_reads.list_erasures,
    e.ReadBodies: erase_reads.read_bodies,
    e.ReadLinks: erase_reads.read_links,
    e.CountRetained: bodies.count_retained,
    e.SizeUnrecognised: bodies.size_unrecognised,
}

TOGETHER: dict[type, Callable[[Sequence[Any]], Plan[list[Any]]]] = {
    q.GetContact: contacts,
    q.GetCompany: companies,
    q.ListContacts: contact_pages,
    q.ListCompanies: company_pages,
}
"""Plans that answer many queries of one type at once, each by its place."""
PAGES = frozenset({q.ListContacts, q.ListCompanies})
"""Those of them that take a step for each query."""

OPENING: dict[type, Callable[..., Plan[Any]]] = {
    q.ListConnections: connections.list_connections,
    CheckSeals: sealed.check_seals,
}
"""Plans that also take the store's sealer."""
