"""The handler of each query: it reads flushed data, with one statement per type of row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from touchbase.auth import sql as auth_sql
from touchbase.auth.commands import AnyKey, FindKey
from touchbase.cells import sql as cells_sql
from touchbase.clients.commands import FindClient
from touchbase.clients.sql import queries as clients_sql_queries
from touchbase.clients.sql import stored_bytes as stored_bytes_sql
from touchbase.common.timestamps import Micros
from touchbase.company_links.sql import follow as company_links_sql
from touchbase.connections.commands import DueFetches, ListConnections
from touchbase.connections.sql import commands as connections_sql
from touchbase.connections.sql import fetching as fetch_sql
from touchbase.connections.sql import silence as silence_sql
from touchbase.consistency import sql as consistency_sql
from touchbase.consistency.queries import AuditRecords
from touchbase.custom_fields import sql as custom_fields_sql
from touchbase.do_not_contact.commands import ListEntries
from touchbase.do_not_contact.sql import copies as do_not_contact_copies
from touchbase.do_not_contact.sql import lookup as do_not_contact_sql
from touchbase.encryption.cipher import Cipher
from touchbase.erasure.commands import FindPerson, ReadLinks
from touchbase.erasure.sql import queries as erasure_sql_queries
from touchbase.event_log.sql import queries as event_log_sql
from touchbase.exports import sql as exports_sql
from touchbase.exports.commands import ExportRecords
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.idempotency import sql as idempotency_sql
from touchbase.idempotency.commands import FindResponse
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.queries import BusyClients, CountDeliveries, CountInbox, GroupDeliveries, ListDeliveries
from touchbase.inbox.refused import ListRefusals
from touchbase.inbox.search_queries import GetEffects, StepThroughDeliveries
from touchbase.inbox.sql import queries as inbox_sql_queries
from touchbase.inbox.sql import refused as refused_sql
from touchbase.inbox.sql import refused_bodies as refused_bodies_sql
from touchbase.inbox.sql import rows as inbox_rows
from touchbase.inbox.sql import search as inbox_search
from touchbase.jobs import sql as jobs_sql
from touchbase.messages.commands import ListMessages
from touchbase.messages.sql import plans as messages_sql
from touchbase.outgoing.sql import dispatch as outgoing_dispatch
from touchbase.outgoing.sql import endpoints as outgoing_endpoints
from touchbase.records.commands import GetCompany, GetContact, ListCompanies, ListContacts, ListRecords
from touchbase.records.match import MatchEverywhere
from touchbase.records.models import Company, Contact, Record
from touchbase.records.sql import lookup as records_lookup
from touchbase.records.sql import rows as records_rows
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.statements import with_custom_fields, with_custom_fields_within
from touchbase.reports.queries import ReportCampaigns, ReportStatuses
from touchbase.reports.sql.parts import report_campaigns
from touchbase.reports.sql.statuses import report_statuses
from touchbase.search.queries import CountFound, FindPosition, SearchCompanies, SearchContacts
from touchbase.search.sql import plans as search_plans
from touchbase.sql import rows as sql_rows
from touchbase.sql.filters import Where
from touchbase.sql.operation import Query, query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.statement import Execute, Plan, Row, Select
from touchbase.statuses.sql import renames as statuses_sql

T = TypeVar("T")

_CONTACT = sql_rows.names(records_rows.CONTACT)
_COMPANY = sql_rows.names(records_rows.COMPANY)
_EVENT = sql_rows.names(history_sql.EVENT)
FIRST_EVENTS = 64
"""Events of a history that are read before their bytes are looked at."""
_DELIVERY = sql_rows.names(inbox_rows.DELIVERY[:-1], "d.")


class QueryHandlers:
    """The plan of each query; the store's cipher is bound to the plans that decrypt secrets."""

    def __init__(self, cipher: Cipher) -> None:
        decrypting = {kind: partial(plan, cipher=cipher) for kind, plan in CIPHER_HANDLERS.items()}
        self._plans: dict[type, Callable[..., Plan[Any]]] = {**HANDLERS, **decrypting}

    def __call__(self, query: Query[T]) -> Plan[T]:
        """Return the plan of this query."""
        plan: Plan[T] = self._plans[type(query)](query)
        return plan


def _contact(query: GetContact) -> Plan[Contact | None]:
    return (yield from contacts([query]))[0]


def _company(query: GetCompany) -> Plan[Company | None]:
    return (yield from companies([query]))[0]


def contacts(queries: Sequence[GetContact]) -> Plan[list[Contact | None]]:
    """Return the contact of each query. Queries for the same contact get the same object."""
    rows = yield Execute(records_sql.CONTACT_TO_SHOW, sorted({(query.client, query.id) for query in queries}))
    found = yield from with_custom_fields(CONTACT, [records_rows.contact_of(row) for row in rows])
    by_id = {(contact.client, contact.id): contact for contact in found}
    return [by_id.get((query.client, query.id)) for query in queries]


def companies(queries: Sequence[GetCompany]) -> Plan[list[Company | None]]:
    """Return the company of each query. Queries for the same company get the same object."""
    rows = yield Execute(records_sql.COMPANY_TO_SHOW, sorted({(query.client, query.id) for query in queries}))
    found = yield from with_custom_fields(COMPANY, [records_rows.company_of(row) for row in rows])
    by_id = {(company.client, company.id): company for company in found}
    return [by_id.get((query.client, query.id)) for query in queries]


@query
def get_records(client: int, kind: int, ids: list[int], page_bytes: int = 0) -> Plan[dict[int, Record | None]]:
    """The contacts or companies with these ids, with their custom fields; an unknown id is left out.

    With `page_bytes` the ones after so many bytes of custom fields, in the order of `ids`, are not read: None.
    """
    statement = records_sql.CONTACT_TO_SHOW if kind == CONTACT else records_sql.COMPANY_TO_SHOW
    record_of: Callable[[Row], Any] = records_rows.contact_of if kind == CONTACT else records_rows.company_of
    places = {number: place for place, number in enumerate(dict.fromkeys(ids))}
    rows = (yield Execute(statement, [(client, number) for number in places])) if places else []
    records = sorted(map(record_of, rows), key=lambda record: places[record.id])
    loaded = yield from with_custom_fields_within(kind, records, page_bytes)
    return {record.id: record if place < len(loaded) else None for place, record in enumerate(records)}


def _contacts(query: ListContacts) -> Plan[Sequence[Contact]]:
    return (yield from contact_pages([query]))[0]


def _companies(query: ListCompanies) -> Plan[Sequence[Company]]:
    return (yield from company_pages([query]))[0]


def contact_pages(queries: Sequence[ListContacts]) -> Plan[list[Sequence[Contact]]]:
    """Return the page of each query. A contact on several pages is the same object."""
    pages: list[list[Row]] = []
    for query in queries:
        where = Where("client = ?", query.client)
        for column, value in query.filters():
            where.equal(column, value)
        order = where.page(query.updated_since_us, query.after)
        sql = f"SELECT {_CONTACT} FROM contact WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append((yield Select(sql, (*where.params, query.limit))))
    return (yield from _with_custom_fields(CONTACT, queries, [[records_rows.contact_of(row) for row in page] for page in pages]))


def company_pages(queries: Sequence[ListCompanies]) -> Plan[list[Sequence[Company]]]:
    """Return the page of each query. A company on several pages is the same object."""
    pages: list[list[Row]] = []
    for query in queries:
        where = Where("client = ?", query.client)
        for column, value in query.filters():
            where.equal(column, value)
        order = where.page(query.updated_since_us, query.after)
        sql = f"SELECT {_COMPANY} FROM company WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append((yield Select(sql, (*where.params, query.limit))))
    return (yield from _with_custom_fields(COMPANY, queries, [[records_rows.company_of(row) for row in page] for page in pages]))


def _with_custom_fields(kind: int, queries: Sequence[ListRecords[Any]], pages: Sequence[Sequence[Any]]) -> Plan[list[Sequence[Any]]]:
    """Load the custom fields of pages, each up to its bytes, usually all in one statement."""
    if len(pages) == 1:
        return [(yield from with_custom_fields_within(kind, pages[0], queries[0].page_bytes))]
    shared = {(record.client, record.id): record for page in pages for record in page}
    page_bytes = max(query.page_bytes for query in queries)
    loaded = yield from with_custom_fields_within(kind, [*shared.values()], page_bytes)
    if not isinstance(loaded, Cut):
        return [[shared[record.client, record.id] for record in page] for page in pages]
    # They are more than one page may have: each page by itself.
    for record in chain.from_iterable(pages):
        record.custom_fields.clear()
    made: list[Sequence[Any]] = []
    for page, query in zip(pages, queries, strict=True):
        made.append((yield from with_custom_fields_within(kind, page, query.page_bytes)))
    return made


@query
def get_history(
    client: int, record_kind: int, record_id: int, limit: int | None = None, before_us: Micros | None = None, history_bytes: int = 0
) -> Plan[list[StoredEvent]]:
    """Events of one record, oldest first, by (occurred_us, key): all, or the newest `limit` of those before a time.

    With `history_bytes` the newest ones that have so many bytes, at least one, as a `Cut` if there are earlier ones.
    """
    where = Where("client = ? AND record_kind = ? AND record_id = ?", client, record_kind, record_id)
    where.less("occurred_us", before_us)
    budget = None
    if limit is None:
        rows = yield Select(f"SELECT {_EVENT} FROM event WHERE {where} ORDER BY occurred_us, key", where.params)
    else:
        newest = f"SELECT {_EVENT} FROM event WHERE {where} ORDER BY occurred_us DESC, key DESC LIMIT ?"
        budget = ByteBudget(history_bytes, (history_sql.DETAIL,), FIRST_EVENTS) if history_bytes else None
        rows = yield Select(newest, (*where.params, limit), budget=budget)
    # The engines collate text differently; the projection uses Python's order.
    events = sorted((history_sql.event_of(row) for row in rows), key=lambda event: (event.occurred_us, event.key))
    return Cut(events) if budget is not None and budget.is_spent else events


@query
def find_united(client: int, kind: int, id: int) -> Plan[int | None]:
    """The id of the record that the record with this id was merged into."""
    sql = "SELECT record_id FROM link WHERE client = ? AND tool = '' AND object_type = ? AND object_id = ? AND record_kind = ?"
    rows = yield Select(sql, (client, "contact" if kind == CONTACT else "company", str(id), kind))
    return rows[0][0] if rows else None


@query
def find_deleted(client: int, kind: int, id: int) -> Plan[int | None]:
    """When the record with this id was moved into the bin; None if it is not there."""
    sql = "SELECT deleted_us FROM deleted_record WHERE client = ? AND record_kind = ? AND record_id = ?"
    rows = yield Select(sql, (client, kind, id))
    return rows[0][0] if rows else None


@query
def get_delivery(id: int, client: int | None = None) -> Plan[Delivery | None]:
    """Get one delivery with headers and body; of any client when `client` is None."""
    where = Where("d.id = ?", id)
    where.equal("c.id", client)
    sql = (
        f"SELECT c.client_id, {_DELIVERY}, COALESCE(b.query, ''), b.headers, b.body, d.body_removed, d.body_removed_us FROM client c "
        "JOIN delivery d ON d.client = c.id LEFT JOIN delivery_body b ON b.client = d.client AND b.id = d.id "
        f"WHERE {where}"
    )
    rows = yield Select(sql, where.params)
    return inbox_rows.delivery_of(rows[0]) if rows else None


@query
def delivery_events(client: int, delivery_id: int, limit: int = 0) -> Plan[list[StoredEvent]]:
    """List the stored events that one delivery caused; with `limit` the first so many, without their details."""
    where = "FROM event WHERE client = ? AND delivery_id = ? ORDER BY occurred_us, key"
    if limit:
        shown = _EVENT.replace(", detail,", ", '{}',")
        rows = yield Select(f"SELECT {shown} {where} LIMIT ?", (client, delivery_id, limit))
    else:
        rows = yield Select(f"SELECT {_EVENT} {where}", (client, delivery_id))
    return [history_sql.event_of(row) for row in rows]


def _any_key(query: AnyKey) -> Plan[bool]:
    rows = yield Select("SELECT 1 FROM api_key LIMIT 1", ())
    return bool(rows)


HANDLERS: dict[type, Callable[[Any], Plan[Any]]] = {
    GetContact: _contact,
    GetCompany: _company,
    ListContacts: _contacts,
    ListCompanies: _companies,
    SearchContacts: search_plans.search_contacts,
    SearchCompanies: search_plans.search_companies,
    CountFound: search_plans.count_found,
    FindPosition: search_plans.find_position,
    MatchEverywhere: records_lookup.match_everywhere,
    ListDeliveries: inbox_sql_queries.list_deliveries,
    CountDeliveries: inbox_sql_queries.count_deliveries,
    GroupDeliveries: inbox_sql_queries.group_deliveries,
    StepThroughDeliveries: inbox_search.step_through_deliveries,
    GetEffects: inbox_search.get_effects,
    FindClient: clients_sql_queries.find,
    DueFetches: fetch_sql.due_fetches,
    **stored_bytes_sql.ANSWERS,
    **silence_sql.ANSWERS,
    **event_log_sql.ANSWERS,
    **company_links_sql.ANSWERS,
    BusyClients: inbox_sql_queries.busy_clients,
    FindKey: auth_sql.find,
    AnyKey: _any_key,
    CountInbox: inbox_sql_queries.count_inbox,
    AuditRecords: consistency_sql.records,
    FindResponse: idempotency_sql.find,
    ListRefusals: refused_sql.list_refusals,
    **clients_sql_queries.ANSWERS,
    **auth_sql.ANSWERS,
    **jobs_sql.ANSWERS,
    **statuses_sql.ANSWERS,
    **outgoing_dispatch.ANSWERS,
    **custom_fields_sql.ANSWERS,
    ExportRecords: exports_sql.export_records,
    FindPerson: erasure_sql_queries.find_person,
    ReadLinks: erasure_sql_queries.read_links,
    ListMessages: messages_sql.list_messages,
    ListEntries: do_not_contact_sql.list_entries,
    ReportStatuses: report_statuses,
    ReportCampaigns: report_campaigns,
    **cells_sql.ANSWERS,
    **do_not_contact_copies.ANSWERS,
}

BATCH_HANDLERS: dict[type, Callable[[Sequence[Any]], Plan[list[Any]]]] = {
    GetContact: contacts,
    GetCompany: companies,
    ListContacts: contact_pages,
    ListCompanies: company_pages,
}
"""Plans that execute many queries of one type at once; one result for each, in their order."""
PAGE_QUERIES = frozenset({ListContacts, ListCompanies})
"""Batched queries that run one statement each."""

CIPHER_HANDLERS: dict[type, Callable[..., Plan[Any]]] = {
    ListConnections: connections_sql.list_connections,
    **outgoing_dispatch.CIPHER_ANSWERS,
    **outgoing_endpoints.CIPHER_ANSWERS,
    **cells_sql.CIPHER_ANSWERS,
    **refused_bodies_sql.CIPHER_ANSWERS,
}
"""Plans that also take the store's cipher."""
