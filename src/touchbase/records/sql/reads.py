"""Plans that read contacts and companies, one or a page of each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.commands import GetCompany, GetContact, ListCompanies, ListContacts, ListRecords
from touchbase.records.models import Company, Contact, Record
from touchbase.records.sql import rows as records_rows
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.statements import with_custom_fields, with_custom_fields_within
from touchbase.sql import rows as sql_rows
from touchbase.sql.filters import Where
from touchbase.sql.operation import executes, query
from touchbase.sql.page_budget import Cut
from touchbase.sql.statement import Execute, Plan, Row, Select

_CONTACT = sql_rows.names(records_rows.CONTACT)
_COMPANY = sql_rows.names(records_rows.COMPANY)
FEW_RECORDS = 16
"""Records that `get_records` reads quickly: as many as one endpoint of webhooks asks for at once."""


@executes(GetContact, batch=True, quick=True)
def contacts(queries: Sequence[GetContact]) -> Plan[list[Contact | None]]:
    """Return the contact of each query. Queries for the same contact get the same object."""
    rows = yield Execute(records_sql.CONTACT_TO_SHOW, sorted({(query.client, query.id) for query in queries}))
    found = yield from with_custom_fields(CONTACT, [records_rows.contact_of(row) for row in rows])
    by_id = {(contact.client, contact.id): contact for contact in found}
    return [by_id.get((query.client, query.id)) for query in queries]


@executes(GetCompany, batch=True, quick=True)
def companies(queries: Sequence[GetCompany]) -> Plan[list[Company | None]]:
    """Return the company of each query. Queries for the same company get the same object."""
    rows = yield Execute(records_sql.COMPANY_TO_SHOW, sorted({(query.client, query.id) for query in queries}))
    found = yield from with_custom_fields(COMPANY, [records_rows.company_of(row) for row in rows])
    by_id = {(company.client, company.id): company for company in found}
    return [by_id.get((query.client, query.id)) for query in queries]


@query(quick=lambda call: len(call.ids) <= FEW_RECORDS)
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


@executes(ListContacts, batch=True, page=True)
def contact_pages(queries: Sequence[ListContacts]) -> Plan[list[Sequence[Contact]]]:
    """Return the page of each query. A contact on several pages is the same object."""
    pages: list[list[Row]] = []
    for listing in queries:
        where = Where("client = ?", listing.client)
        for column, value in listing.filters():
            where.equal(column, value)
        order = where.page(listing.updated_since_us, listing.after)
        sql = f"SELECT {_CONTACT} FROM contact WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append((yield Select(sql, (*where.params, listing.limit))))
    return (yield from _with_custom_fields(CONTACT, queries, [[records_rows.contact_of(row) for row in page] for page in pages]))


@executes(ListCompanies, batch=True, page=True)
def company_pages(queries: Sequence[ListCompanies]) -> Plan[list[Sequence[Company]]]:
    """Return the page of each query. A company on several pages is the same object."""
    pages: list[list[Row]] = []
    for listing in queries:
        where = Where("client = ?", listing.client)
        for column, value in listing.filters():
            where.equal(column, value)
        order = where.page(listing.updated_since_us, listing.after)
        sql = f"SELECT {_COMPANY} FROM company WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append((yield Select(sql, (*where.params, listing.limit))))
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
    for page, listing in zip(pages, queries, strict=True):
        made.append((yield from with_custom_fields_within(kind, page, listing.page_bytes)))
    return made


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
