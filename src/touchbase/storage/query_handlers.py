"""The handler of each query: it reads flushed data, with one statement per type of row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, TypeVar

from touchbase.auth import sql as auth_sql
from touchbase.auth.commands import AnyKey, FindKey
from touchbase.bin.commands import GetDeleted, ListDeleted
from touchbase.bin.sql import queries as bin_queries
from touchbase.cells import sql as cells_sql
from touchbase.clients.commands import FindClient, ListClients
from touchbase.clients.sql import queries as clients_sql_queries
from touchbase.clients.sql import stored_bytes as stored_bytes_sql
from touchbase.company_links.sql import follow as company_links_sql
from touchbase.connections.commands import DueFetches, ListConnections, ListFetching
from touchbase.connections.sql import commands as connections_sql
from touchbase.connections.sql import encrypted_columns
from touchbase.connections.sql import fetching as fetch_sql
from touchbase.connections.sql import silence as silence_sql
from touchbase.consistency import sql as consistency_sql
from touchbase.consistency.queries import AuditBodies, AuditDeliveries, AuditRecords, AuditWaiting
from touchbase.custom_fields import sql as custom_fields_sql
from touchbase.do_not_contact.commands import FindEntries, FindSuppressed, GetEntry, ListClearAddresses, ListEntries
from touchbase.do_not_contact.sql import copies as do_not_contact_copies
from touchbase.do_not_contact.sql import lookup as do_not_contact_sql
from touchbase.duplicates.commands import ReadBlock
from touchbase.duplicates.sql import read_block
from touchbase.encryption.cipher import Cipher
from touchbase.encryption.commands import CheckEncryption
from touchbase.erasure.commands import (
    ClientsWithErasures,
    FindErased,
    FindPerson,
    FindSources,
    GetErasure,
    ListErasures,
    ListRequests,
    OpenErasures,
    ReadBodies,
    ReadLinks,
    ReadTexts,
)
from touchbase.erasure.sql import queries as erasure_sql_queries
from touchbase.erasure.sql import texts as erasure_sql_texts
from touchbase.event_log.sql import queries as event_log_sql
from touchbase.exports import sql as exports_sql
from touchbase.exports.commands import CustomFieldNames, ExportRecords
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.idempotency import sql as idempotency_sql
from touchbase.idempotency.commands import ExpiredResponses, FindResponse
from touchbase.imports import sql as imports_sql
from touchbase.imports.commands import ListMappings
from touchbase.inbox.commands import CountPrunable, SizeUnrecognised
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.queries import (
    BusyClients,
    CountDeliveries,
    CountInbox,
    CountStates,
    DeliveryEvents,
    FindTraces,
    GetDelivery,
    GroupDeliveries,
    ListDeliveries,
    OldDedupeKeys,
)
from touchbase.inbox.refused import ListRefusals
from touchbase.inbox.refused_bodies import SizeRefused
from touchbase.inbox.search_queries import FindSoughtPerson, GetEffects, StepThroughDeliveries
from touchbase.inbox.sql import body_retention
from touchbase.inbox.sql import queries as inbox_sql_queries
from touchbase.inbox.sql import refused as refused_sql
from touchbase.inbox.sql import refused_bodies as refused_bodies_sql
from touchbase.inbox.sql import rows as inbox_rows
from touchbase.inbox.sql import search as inbox_search
from touchbase.jobs import sql as jobs_sql
from touchbase.merging.commands import PreviewMerge
from touchbase.merging.sql.merge import preview_merge
from touchbase.messages.commands import GetMessages, ListMessages, MessagesOfContact, MessagesOfEvents
from touchbase.messages.sql import plans as messages_sql
from touchbase.outgoing.sql import dispatch as outgoing_dispatch
from touchbase.outgoing.sql import endpoints as outgoing_endpoints
from touchbase.presence import ListServers, list_servers
from touchbase.records.bulk import CountMatching
from touchbase.records.commands import (
    FindCompanies,
    FindDeleted,
    FindOwner,
    FindUnited,
    GetCompany,
    GetContact,
    GetHistory,
    GetRecords,
    ListCompanies,
    ListContacts,
    ListRecords,
)
from touchbase.records.match import MatchEverywhere, MatchRecords
from touchbase.records.models import Company, Contact, Record
from touchbase.records.sql import bulk as records_bulk
from touchbase.records.sql import lookup as records_lookup
from touchbase.records.sql import rows as records_rows
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.statements import with_custom_fields, with_custom_fields_within
from touchbase.reports.queries import ReportCampaigns, ReportStatuses
from touchbase.reports.sql.parts import report_campaigns
from touchbase.reports.sql.statuses import report_statuses
from touchbase.search.commands import NextToIndex
from touchbase.search.queries import CountFound, FindPosition, MatchesFilter, SearchCompanies, SearchContacts
from touchbase.search.sql import plans as search_plans
from touchbase.search.sql.index import next_to_index
from touchbase.sql import rows as sql_rows
from touchbase.sql.filters import Where
from touchbase.sql.operation import Query
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


def _records(query: GetRecords) -> Plan[dict[int, Record | None]]:
    statement = records_sql.CONTACT_TO_SHOW if query.kind == CONTACT else records_sql.COMPANY_TO_SHOW
    record_of: Callable[[Row], Any] = records_rows.contact_of if query.kind == CONTACT else records_rows.company_of
    places = {number: place for place, number in enumerate(dict.fromkeys(query.ids))}
    rows = (yield Execute(statement, [(query.client, number) for number in places])) if places else []
    records = sorted(map(record_of, rows), key=lambda record: places[record.id])
    loaded = yield from with_custom_fields_within(query.kind, records, query.page_bytes)
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


def _history(query: GetHistory) -> Plan[list[StoredEvent]]:
    where = Where("client = ? AND record_kind = ? AND record_id = ?", query.client, query.record_kind, query.record_id)
    where.less("occurred_us", query.before_us)
    budget = None
    if query.limit is None:
        rows = yield Select(f"SELECT {_EVENT} FROM event WHERE {where} ORDER BY occurred_us, key", where.params)
    else:
        newest = f"SELECT {_EVENT} FROM event WHERE {where} ORDER BY occurred_us DESC, key DESC LIMIT ?"
        budget = ByteBudget(query.history_bytes, (history_sql.DETAIL,), FIRST_EVENTS) if query.history_bytes else None
        rows = yield Select(newest, (*where.params, query.limit), budget=budget)
    # The engines collate text differently; the projection uses Python's order.
    events = sorted((history_sql.event_of(row) for row in rows), key=lambda event: (event.occurred_us, event.key))
    return Cut(events) if budget is not None and budget.is_spent else events


def _united(query: FindUnited) -> Plan[int | None]:
    sql = "SELECT record_id FROM link WHERE client = ? AND tool = '' AND object_type = ? AND object_id = ? AND record_kind = ?"
    rows = yield Select(sql, (query.client, "contact" if query.kind == CONTACT else "company", str(query.id), query.kind))
    return rows[0][0] if rows else None


def _deleted(query: FindDeleted) -> Plan[int | None]:
    sql = "SELECT deleted_us FROM deleted_record WHERE client = ? AND record_kind = ? AND record_id = ?"
    rows = yield Select(sql, (query.client, query.kind, query.id))
    return rows[0][0] if rows else None


def _delivery(query: GetDelivery) -> Plan[Delivery | None]:
    where = Where("d.id = ?", query.id)
    where.equal("c.id", query.client)
    sql = (
        f"SELECT c.client_id, {_DELIVERY}, COALESCE(b.query, ''), b.headers, b.body, d.body_removed, d.body_removed_us FROM client c "
        "JOIN delivery d ON d.client = c.id LEFT JOIN delivery_body b ON b.client = d.client AND b.id = d.id "
        f"WHERE {where}"
    )
    rows = yield Select(sql, where.params)
    return inbox_rows.delivery_of(rows[0]) if rows else None


def _delivery_events(query: DeliveryEvents) -> Plan[list[StoredEvent]]:
    where = "FROM event WHERE client = ? AND delivery_id = ? ORDER BY occurred_us, key"
    if query.limit:
        shown = _EVENT.replace(", detail,", ", '{}',")
        rows = yield Select(f"SELECT {shown} {where} LIMIT ?", (query.client, query.delivery_id, query.limit))
    else:
        rows = yield Select(f"SELECT {_EVENT} {where}", (query.client, query.delivery_id))
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
    MatchesFilter: search_plans.matches_filter,
    NextToIndex: next_to_index,
    GetHistory: _history,
    GetRecords: _records,
    FindUnited: _united,
    FindDeleted: _deleted,
    FindCompanies: records_lookup.find_companies,
    FindOwner: records_lookup.find_owner,
    MatchRecords: records_lookup.match_records,
    CountMatching: records_bulk.count_matching,
    MatchEverywhere: records_lookup.match_everywhere,
    ListDeliveries: inbox_sql_queries.list_deliveries,
    CountDeliveries: inbox_sql_queries.count_deliveries,
    CountStates: inbox_sql_queries.count_states,
    GroupDeliveries: inbox_sql_queries.group_deliveries,
    GetDelivery: _delivery,
    FindTraces: inbox_sql_queries.find_traces,
    FindSoughtPerson: inbox_search.find_sought_person,
    StepThroughDeliveries: inbox_search.step_through_deliveries,
    GetEffects: inbox_search.get_effects,
    DeliveryEvents: _delivery_events,
    FindClient: clients_sql_queries.find,
    ListClients: clients_sql_queries.every,
    DueFetches: fetch_sql.due_fetches,
    ListFetching: fetch_sql.fetch_states,
    **stored_bytes_sql.ANSWERS,
    **silence_sql.ANSWERS,
    **event_log_sql.ANSWERS,
    **company_links_sql.ANSWERS,
    BusyClients: inbox_sql_queries.busy_clients,
    FindKey: auth_sql.find,
    AnyKey: _any_key,
    CountInbox: inbox_sql_queries.count_inbox,
    AuditRecords: consistency_sql.records,
    AuditWaiting: consistency_sql.waiting,
    AuditDeliveries: consistency_sql.deliveries,
    AuditBodies: consistency_sql.bodies,
    FindResponse: idempotency_sql.find,
    ExpiredResponses: idempotency_sql.expired,
    OldDedupeKeys: inbox_sql_queries.old_dedupe_keys,
    ListRefusals: refused_sql.list_refusals,
    SizeRefused: refused_bodies_sql.size_refused,
    ListServers: list_servers,
    **clients_sql_queries.ANSWERS,
    **auth_sql.ANSWERS,
    **jobs_sql.ANSWERS,
    **statuses_sql.ANSWERS,
    **outgoing_dispatch.ANSWERS,
    **custom_fields_sql.ANSWERS,
    ExportRecords: exports_sql.export_records,
    CustomFieldNames: exports_sql.custom_field_names,
    ListMappings: imports_sql.list_mappings,
    FindPerson: erasure_sql_queries.find_person,
    GetErasure: erasure_sql_queries.get_erasure,
    OpenErasures: erasure_sql_queries.open_erasures,
    FindErased: erasure_sql_queries.find_erased,
    ClientsWithErasures: erasure_sql_queries.clients_with_erasures,
    ListErasures: erasure_sql_queries.list_erasures,
    ListRequests: erasure_sql_queries.list_requests,
    FindSources: erasure_sql_queries.find_sources,
    ReadBodies: erasure_sql_queries.read_bodies,
    ReadLinks: erasure_sql_queries.read_links,
    ReadTexts: erasure_sql_texts.read_texts,
    GetMessages: messages_sql.get_messages,
    ListMessages: messages_sql.list_messages,
    MessagesOfContact: messages_sql.messages_of_contact,
    MessagesOfEvents: messages_sql.messages_of_events,
    FindSuppressed: do_not_contact_sql.find_suppressed,
    FindEntries: do_not_contact_sql.find_entries,
    GetEntry: do_not_contact_sql.get_entry,
    ListEntries: do_not_contact_sql.list_entries,
    ListClearAddresses: do_not_contact_sql.list_clear_addresses,
    CountPrunable: body_retention.count_prunable,
    SizeUnrecognised: body_retention.size_unrecognised,
    ListDeleted: bin_queries.list_deleted,
    GetDeleted: bin_queries.get_deleted,
    PreviewMerge: preview_merge,
    ReadBlock: read_block,
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
    CheckEncryption: encrypted_columns.check_encryption,
    **outgoing_dispatch.CIPHER_ANSWERS,
    **outgoing_endpoints.CIPHER_ANSWERS,
    **cells_sql.CIPHER_ANSWERS,
    **refused_bodies_sql.CIPHER_ANSWERS,
}
"""Plans that also take the store's cipher."""
