"""Operations that read contacts and companies, one or a page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Generic, TypeVar

from touchbase.common.timestamps import Micros
from touchbase.erasure_marks import LINKEDIN
from touchbase.history.events import CONTACT
from touchbase.records.models import Company, Contact, Record
from touchbase.records.record_type import RecordType
from touchbase.records.sql.address_book import add_filters
from touchbase.records.sql.statements import TABLES, with_custom_fields, with_custom_fields_within
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.page_budget import Cut
from touchbase.sql.statement import Execute, Plan, Select

R = TypeVar("R", Contact, Company)

FEW_RECORDS = 16
"""Records that `get_records` reads quickly: as many as one endpoint of webhooks asks for at once."""


def _find_records(calls: Sequence[Any]) -> Plan[list[Record | None]]:
    """Return the record of each call. Calls for the same record get the same object."""
    records: dict[tuple[int, int, int], Record] = {}
    for kind in {call.kind.kind for call in calls} if len(calls) > 1 else (calls[0].kind.kind,):
        table = TABLES[kind]
        rows = yield Execute(table.to_show, sorted({(call.client, call.id) for call in calls if call.kind.kind == kind}))
        for record in (yield from with_custom_fields(kind, [*map(table.record_of, rows)])):
            records[kind, record.client, record.id] = record
    return [records.get((call.kind.kind, call.client, call.id)) for call in calls]


@query(batch=_find_records, quick=True)
def find_record(client: int, kind: RecordType[R], id: int) -> Plan[R | None]:
    """One record of one client, with its custom fields."""
    raise NotImplementedError


@query(quick=lambda call: len(call.ids) <= FEW_RECORDS)
def get_records(client: int, kind: int, ids: list[int], page_bytes: int = 0) -> Plan[dict[int, Record | None]]:
    """The contacts or companies with these ids, with their custom fields; an unknown id is left out.

    With `page_bytes` the ones after so many bytes of custom fields, in the order of `ids`, are not read: None.
    """
    table = TABLES[kind]
    places = {number: place for place, number in enumerate(dict.fromkeys(ids))}
    rows = (yield Execute(table.to_show, [(client, number) for number in places])) if places else []
    records = sorted(map(table.record_of, rows), key=lambda record: places[record.id])
    loaded = yield from with_custom_fields_within(kind, records, page_bytes)
    return {record.id: record if place < len(loaded) else None for place, record in enumerate(records)}


@dataclass(slots=True)
class Listing(Generic[R]):
    """A page of records in order of (created_us, id), newest last, or of (updated_us, id) when `updated_since_us` is given.

    `after` is the same pair of the last record of the previous page. The members after `page_bytes` are filters: columns that must have
    the value; None: no filter.
    """

    kind: RecordType[R]
    client: int
    limit: int
    after: tuple[Micros, int] | None = None
    updated_since_us: Micros | None = None
    page_bytes: int = 0
    """Bytes of custom fields after which the page ends, as a `Cut`; 0: no limit."""
    status: str | None = None
    external_id: str | None = None
    email_key: str | None = None
    linkedin_key: str | None = None
    company_id: int | None = None
    domain: str | None = None

    def where(self) -> Where:
        """Return the condition of the records of all pages."""
        where = Where("client = ?", self.client)
        add_filters(where, self.kind.kind, self.client, ((column, getattr(self, column)) for column in _FILTERS))
        return where


_FILTERS = Listing.__match_args__[Listing.__match_args__.index("status") :]


def _list_records(calls: Sequence[Any]) -> Plan[list[Sequence[Any]]]:
    """Return the page of each call. A record on several pages is the same object."""
    listings: list[Listing[Any]] = [call.listing for call in calls]
    pages: list[Sequence[Any]] = []
    for listing in listings:
        table, where = TABLES[listing.kind.kind], listing.where()
        order = where.page(listing.updated_since_us, listing.after)
        sql = f"SELECT {table.selected} FROM {listing.kind.name} WHERE {where} ORDER BY {order} LIMIT ?"
        pages.append([*map(table.record_of, (yield Select(sql, (*where.params, listing.limit))))])
    for kind in {listing.kind.kind for listing in listings}:
        indexes = [index for index, listing in enumerate(listings) if listing.kind.kind == kind]
        loaded = yield from _with_custom_fields(kind, [listings[index] for index in indexes], [pages[index] for index in indexes])
        for index, page in zip(indexes, loaded, strict=True):
            pages[index] = page
    return pages


def _with_custom_fields(kind: int, listings: Sequence[Listing[Any]], pages: Sequence[Sequence[Any]]) -> Plan[list[Sequence[Any]]]:
    """Load the custom fields of pages, each up to its bytes, usually all in one statement."""
    if len(pages) == 1:
        return [(yield from with_custom_fields_within(kind, pages[0], listings[0].page_bytes))]
    shared = {(record.client, record.id): record for page in pages for record in page}
    page_bytes = max(listing.page_bytes for listing in listings)
    loaded = yield from with_custom_fields_within(kind, [*shared.values()], page_bytes)
    if not isinstance(loaded, Cut):
        return [[shared[record.client, record.id] for record in page] for page in pages]
    # They are more than one page may have: each page by itself.
    for record in chain.from_iterable(pages):
        record.custom_fields.clear()
    cut: list[Sequence[Any]] = []
    for page, listing in zip(pages, listings, strict=True):
        cut.append((yield from with_custom_fields_within(kind, page, listing.page_bytes)))
    return cut


@query(batch=_list_records, client="listing.client", page=True)
def list_records(listing: Listing[R]) -> Plan[list[R]]:
    """A page of records; a `Cut` if its custom fields have too many bytes."""
    raise NotImplementedError


@query(client="listing.client")
def count_matching(listing: Listing[Any]) -> Plan[int]:
    """The number of records that match the filters of a list."""
    where = listing.where()
    [(count,)] = yield Select(f"SELECT count(*) FROM {listing.kind.name} WHERE {where}", where.params)
    return int(count)


def matching(listing: Listing[Any]) -> Plan[list[tuple[int, Micros, Micros]]]:
    """Return `id`, `created_us` and `updated_us` of a page of records, in order of creation."""
    where = listing.where()
    order = where.page(None, listing.after)
    sql = f"SELECT id, created_us, updated_us FROM {listing.kind.name} WHERE {where} ORDER BY {order} LIMIT ?"
    return [(row[0], row[1], row[2]) for row in (yield Select(sql, (*where.params, listing.limit)))]


@query
def find_united(client: int, kind: int, id: int) -> Plan[int | None]:
    """The id of the record that the record with this id was merged into."""
    sql = "SELECT record_id FROM link WHERE client = ? AND tool = '' AND object_type = ? AND object_id = ? AND record_kind = ?"
    rows = yield Select(sql, (client, "contact" if kind == CONTACT else "company", str(id), kind))
    return rows[0][0] if rows else None


@query
def list_profiles(client: int, contact: int) -> Plan[list[str]]:
    """The LinkedIn profiles, in normal form, by which events are about a contact besides its own one; replaced ones are left out."""
    sql = "SELECT object_id FROM link WHERE client = ? AND record_kind = ? AND record_id = ? AND tool = '' AND object_type = ?"
    rows = yield Select(f"{sql} AND until_us IS NULL ORDER BY object_id", (client, CONTACT, contact, LINKEDIN))
    return [row[0] for row in rows]


@query
def find_deleted(client: int, kind: int, id: int) -> Plan[int | None]:
    """When the record with this id was moved into the bin; None if it is not there."""
    sql = "SELECT deleted_us FROM deleted_record WHERE client = ? AND record_kind = ? AND record_id = ?"
    rows = yield Select(sql, (client, kind, id))
    return rows[0][0] if rows else None
