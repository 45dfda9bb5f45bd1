"""The plan of a search: find the few candidates by an index, or else read records in the order of the page until it is full.

Which of the two is decided by looking: an index is asked for at most `FEW` candidates. Fewer than that are read and sorted; if there
are more, one record in some hundred matches, and a page is full soon. So neither engine's planner has to estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec

from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.models import Company, Contact
from touchbase.records.sql.rows import COMPANY as COMPANY_COLUMNS
from touchbase.records.sql.rows import CONTACT as CONTACT_COLUMNS
from touchbase.records.sql.rows import company_of, contact_of
from touchbase.records.sql.statements import with_custom_fields_within
from touchbase.search.queries import EXACT, Count, CountFound, Found, SearchCompanies, SearchContacts, SearchRecords
from touchbase.search.sorting import Position, position_of
from touchbase.search.sql.candidates import Candidates
from touchbase.search.sql.conditions import LISTED, POSTGRES, SQLITE, Dialect, Sql, after, order_by
from touchbase.search.tree import Node, conjuncts, is_limit
from touchbase.sql.operation import executes, query
from touchbase.sql.page_budget import Cut
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Plan, Row, Select

R = TypeVar("R", Contact, Company)

SAMPLE = 10_000
"""Records in which matches are counted for an estimate."""


@dataclass(frozen=True, slots=True)
class _Table(Generic[R]):
    name: str
    kind: int
    columns: Columns
    record_of: Callable[[Row], R]


_CONTACTS = _Table("contact", CONTACT, CONTACT_COLUMNS, contact_of)
_COMPANIES = _Table("company", COMPANY, COMPANY_COLUMNS, company_of)


@executes(SearchContacts)
def search_contacts(query: SearchContacts) -> Plan[Found[Contact]]:
    """Return a page of contacts."""
    return _search(_CONTACTS, query)


@executes(SearchCompanies)
def search_companies(query: SearchCompanies) -> Plan[Found[Company]]:
    """Return a page of companies."""
    return _search(_COMPANIES, query)


@executes(CountFound)
def count_found(query: CountFound) -> Plan[int]:
    """Return the number of records that match."""
    search, table = replace(query.search, count=EXACT), _table_of(query.search)
    finder = Candidates(query.client, table.kind)
    ids = yield from finder.of_search(search.where, search.words)
    return (yield from _count(table, search, ids, finder)).value


@query
def find_position(client: int, search: SearchRecords[Any], skip: int) -> Plan[Position | None]:
    """The position of the `skip`th record that a search finds after its own position; None if it finds fewer.

    The search is in the order of creation: then its index is enough to skip records.
    """
    table = _table_of(search)
    assert [key.field.column for key in search.sort] == ["created_us"]
    finder = Candidates(client, table.kind)
    ids = yield from finder.of_search(search.where, search.words)
    rows = yield _select(table, search, ids, True if ids is None else None, 1, finder, "t.created_us, t.id", skip - 1)
    return (rows[0][0], rows[0][1]) if rows else None


@query
def matches_filter(client: int, kind: int, id: int, where: Node) -> Plan[bool]:
    """Whether a record matches a filter; also if there is no such record."""
    name = _CONTACTS.name if kind == CONTACT else _COMPANIES.name
    texts: list[str] = []
    params: list[object] = []
    for d in (SQLITE, POSTGRES):
        sql = Sql()
        texts.append(f"SELECT {sql.condition(where, d)} FROM {name} t WHERE t.client = ? AND t.id = ?")
        params = [*sql.params, client, id]
    rows = yield Select(texts[0], tuple(params), texts[1])
    return not rows or bool(rows[0][0])


def without_match(kind: int, where: Node) -> tuple[str, str, list[object]]:
    """Return a query of the record of a row `l` if it does not match, for SQLite and for PostgreSQL, and its parameters."""
    name = _CONTACTS.name if kind == CONTACT else _COMPANIES.name
    texts: list[str] = []
    params: list[object] = []
    for d in (SQLITE, POSTGRES):
        sql = Sql()
        condition = sql.condition(where, d)
        texts.append(f"SELECT 1 FROM {name} t WHERE t.client = l.client AND t.id = l.record_id AND NOT COALESCE({condition}, FALSE)")
        params = sql.params
    return texts[0], texts[1], params


def _table_of(search: SearchRecords[Any]) -> _Table[Any]:
    return _CONTACTS if isinstance(search, SearchContacts) else _COMPANIES


def _search(table: _Table[R], query: SearchRecords[R]) -> Plan[Found[R]]:
    finder = Candidates(query.client, table.kind)
    ids = yield from finder.of_search(query.where, query.words)
    limit = query.limit + 1
    rows: list[Row] = []
    for first in (None,) if ids is not None else _parts(query):
        if len(rows) < limit and (ids is None or ids):
            rows += yield _select(table, query, ids, first, limit - len(rows), finder)
    page: Sequence[R] = [table.record_of(row) for row in rows[: query.limit]]
    if query.custom_fields:
        page = yield from with_custom_fields_within(table.kind, page, query.page_bytes)
    count = (yield from _count(table, query, ids, finder)) if query.count else None
    has_more = len(rows) > query.limit or isinstance(page, Cut)
    return Found(list(page), position_of(page[-1], query.sort) if has_more else None, count, finder.is_complete)


def _parts(query: SearchRecords[Any]) -> tuple[bool, ...]:
    """Return the parts of the order that are left: the records with a value of the first key, and those without."""
    first = query.sort[0].field
    if not first.nullable or any(is_limit(node) and node.field == first for node in conjuncts(query.where)):
        return (True,)
    return (False,) if query.after is not None and query.after[0] is None else (True, False)


def _select(
    table: _Table[Any],
    query: SearchRecords[Any],
    ids: Collection[int] | None,
    first: bool | None,
    limit: int,
    finder: Candidates,
    columns: str = "",
    skip: int = 0,
) -> Select:
    """Return the statement that reads records, or only these columns of them, in the order of the page."""
    columns = columns or names(table.columns, "t.")
    texts: list[str] = []
    params: list[object] = []
    for d in (SQLITE, POSTGRES):
        where, params = _where(query, ids, d, finder, first)
        if first is not None and query.sort[0].field.nullable:
            where += f" AND t.{query.sort[0].field.column} IS {'NOT ' if first else ''}NULL"
        if query.after is not None and not (first is False and query.after[0] is not None):
            where += f" AND {after(query.sort, query.after, d, params, first)}"
        order = order_by(query.sort, d, first)
        texts.append(f"SELECT {columns} FROM {table.name} t WHERE {where} ORDER BY {order} LIMIT ?{' OFFSET ?' if skip else ''}")
    return Select(texts[0], (*params, limit, *([skip] if skip else ())), texts[1])


def _where(
    query: SearchRecords[Any], ids: Collection[int] | None, d: Dialect, finder: Candidates, first: bool | None = None
) -> tuple[str, list[object]]:
    """Return the condition of all records that match, and its parameters."""
    sql = Sql(query.sort[0].field.column if first else "", [query.client])
    where = "t.client = ?"
    if ids is not None:
        sql.params.append(msgspec.json.encode(sorted(ids)).decode())
        where += f" AND {LISTED[d].format('t.id')}"
    elif query.words:
        where += f" AND {finder.words_hold(query.words, d, sql.params)}"
    for text, values in finder.exact(query.where, query.sort) if first else ():
        sql.params += values
        where += f" AND {text}"
    return f"{where} AND {sql.condition(query.where, d)}", sql.params


def _count(table: _Table[Any], query: SearchRecords[Any], ids: Collection[int] | None, finder: Candidates) -> Plan[Count]:
    """Count the records that match; an estimate is the share of matches in some records, times all of them."""
    texts: list[str] = []
    params: list[object] = []
    exact = query.count == EXACT or ids is not None
    for d in (SQLITE, POSTGRES):
        where, params = _where(query, ids, d, finder)
        source = table.name
        if not exact:
            source = f"(SELECT * FROM {table.name} WHERE client = ? ORDER BY id LIMIT {SAMPLE})"
            params = [query.client, *params]
        texts.append(f"SELECT count(*) FROM {source} t WHERE {where}")
    found: int = (yield Select(texts[0], tuple(params), texts[1]))[0][0]
    if exact:
        return Count(found, is_exact=True)
    total: int = (yield Select(f"SELECT count(*) FROM {table.name} WHERE client = ?", (query.client,)))[0][0]
    return Count(found if total <= SAMPLE else found * total // SAMPLE, is_exact=total <= SAMPLE)
