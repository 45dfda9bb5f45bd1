"""The plan of a search: find the few candidates by an index, or else read records in the order of the page until it is full.

Which of the two is decided by looking: an index is asked for at most `FEW` candidates. Fewer than that are read and sorted; if there
are more, one record in some hundred matches, and a page is full soon. So neither engine's planner has to estimate.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from touchbase.errors import Fault, Invalid
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.statements import TABLES, RecordTable, with_custom_fields_within
from touchbase.records.sql.status_moves import count_present
from touchbase.search.fields import INDEXED_TIMES
from touchbase.search.queries import EXACT, Count, RecordSearch, SearchPage
from touchbase.search.sorting import Position, place_of, position_of
from touchbase.search.sql.candidates import Candidates
from touchbase.search.sql.conditions import LISTED, POSTGRES, SQLITE, Dialect, Sql, after, order_by
from touchbase.search.tree import Node, conjuncts, is_limit
from touchbase.sql.cell_answers import Division, concatenated, divide_clients, union
from touchbase.sql.filters import among
from touchbase.sql.operation import query
from touchbase.sql.page_budget import Cut
from touchbase.sql.rows import names
from touchbase.sql.statement import Plan, Row, Select

R = TypeVar("R", Contact, Company)

SAMPLE = 10_000
"""Records in which matches are counted for an estimate."""
MOST_UNINDEXED = 50_000
"""Matches of an order without an index among which a page may be chosen by its place."""
IN_ORDER = {kind: times | {"id"} for kind, times in INDEXED_TIMES.items()}
"""By kind of record, the columns with an index in the order of a search."""
_TOO_MANY = (
    f"finds its place among at most {MOST_UNINDEXED:,} records in this order; narrow the search by a filter, sort by updated_time or "
    "created_time without other filters than contact_status or company_status and limits of that time, or go on with next_cursor"
)


@query(client="search.client", standby=True)
def search_page(search: RecordSearch[R]) -> Plan[SearchPage[R]]:
    """A page of records that match."""
    finder = Candidates(search.client, search.kind.kind)
    ids = yield from finder.of_search(search.where, search.words)
    counts: tuple[int, ...] | None = None
    if search.share is not None:
        counts, begin, position = yield from _place(search, ids, finder)
        search = replace(search, after=position, rank=begin - 1)
    limit = search.limit + 1
    rows: list[Row] = []
    for first in (None,) if ids is not None else _parts(search):
        if len(rows) < limit and (ids is None or ids):
            rows += yield _select(search, ids, first, limit - len(rows), finder)
    table: RecordTable[R] = TABLES[search.kind.kind]
    page: Sequence[R] = [table.record_of(row) for row in rows[: search.limit]]
    if search.custom_fields:
        page = yield from with_custom_fields_within(search.kind.kind, page, search.page_bytes)
    count = (yield from _count(search, ids, finder)) if search.count else None
    has_more = len(rows) > search.limit or isinstance(page, Cut)
    following = position_of(page[-1], search.sort) if has_more else None
    rank = search.rank
    if rank is not None:
        rank = rank + 1 if not search.backward else max(0, rank - len(page)) if has_more else 0
    return SearchPage(list(page)[:: -1 if search.backward else 1], following, rank, counts, count, finder.is_complete)


def _place(
    search: RecordSearch[Any], ids: Collection[int] | None, finder: Candidates
) -> Plan[tuple[tuple[int, ...], int, Position | None]]:
    """Return the matches in each part of the order, the rank at which the page at `share` begins, and the position before it.

    The position is None for the first page. Raises `Invalid` if the order has no index and too many records match.
    """
    parts = (None,) if ids is not None else _parts(search)
    counts = search.counts if len(search.counts) == len(parts) else ()
    of_all = ids is None and not counts and not search.words and not any(conjuncts(search.where))
    total = (yield from count_present(search.client, search.kind.kind)) if of_all else None
    for first in () if counts else parts:
        is_indexed = ids is not None or (first and _is_in_index(search, finder))
        if total is not None and len(counts) == len(parts) - 1:  # what is left: counting a million rows takes 0.1 s
            counts = (*counts, max(0, total - sum(counts)))
        else:
            rows = yield _select(search, ids, first, None if is_indexed else MOST_UNINDEXED + 1, finder, count=True)
            counts = (*counts, rows[0][0])
        if not is_indexed and counts[-1] > MOST_UNINDEXED:
            raise Invalid([Fault("?at", "order", _TOO_MANY)])
    total = sum(counts)
    share = search.share or 0
    rank = max(0, total - search.limit) if share == 1 else min(round(share * total), max(0, total - 1))
    skip = rank - 1
    for first, count in zip(parts, counts, strict=True):
        if 0 <= skip < count:
            backward = skip > count // 2
            columns = f"{''.join(f't.{key.field.column}, ' for key in search.sort)}t.id"
            skipped = replace(search, backward=backward)
            rows = yield _select(skipped, ids, first, 1, finder, columns, count - 1 - skip if backward else skip)
            if rows:  # else records left since they were counted
                return counts, rank, place_of(rows[0], search.sort)
        skip -= count
    return counts, 0, None


def _is_in_index(search: RecordSearch[Any], finder: Candidates) -> bool:
    """Return whether one index has all matches in the order of the page, so that skipping them reads no record."""
    column = search.sort[0].field.column
    if len(search.sort) > 1 or search.words or column not in IN_ORDER[search.kind.kind]:
        return False
    exact = sum(1 for _ in finder.exact(search.where, search.sort))
    return sum(not (is_limit(node) and node.field.column == column) for node in conjuncts(search.where)) == exact


@query(client="search.client", standby=True)
def count_matches(search: RecordSearch[Any]) -> Plan[int]:
    """The exact number of records that match a search; its position does not matter."""
    finder = Candidates(search.client, search.kind.kind)
    ids = yield from finder.of_search(search.where, search.words)
    return (yield from _count(replace(search, count=EXACT), ids, finder)).value


@query(clients=lambda call: call.clients, divide=Division(divide_clients, union))
def count_matches_of(search: RecordSearch[Any], clients: Sequence[int]) -> Plan[dict[int, int]]:
    """The number of records of these clients that match a search without words, by client; clients without any are left out.

    It reads all their records, and is quicker than `count_matches` of many clients.
    """
    condition, numbers = among(clients)
    sql = f"SELECT t.client, count(*) FROM {search.kind.name} t WHERE t.client {condition} AND {{}} GROUP BY t.client"
    return dict((yield _of_clients(search, sql, numbers)))


@query(clients=lambda call: call.clients, divide=Division(divide_clients, concatenated))
def clients_with_matches(search: RecordSearch[Any], clients: Sequence[int], limit: int) -> Plan[list[int]]:
    """The first of these clients that have a record which matches a search without words."""
    condition, numbers = among(clients)
    matching = f"EXISTS (SELECT 1 FROM {search.kind.name} t WHERE t.client = o.id AND {{}})"
    sql = f"SELECT o.id FROM client o WHERE o.id {condition} AND {matching} ORDER BY o.id LIMIT ?"
    return [row[0] for row in (yield _of_clients(search, sql, numbers, limit))]


def _of_clients(search: RecordSearch[Any], text: str, clients: Row, *more: object) -> Select:
    """Return a statement about the records of several clients, with the condition of the search in place of the braces."""
    assert not search.words  # the full-text index has each client's words apart
    texts: list[str] = []
    params: list[object] = []
    for d in (SQLITE, POSTGRES):
        sql = Sql()
        texts.append(text.format(sql.condition(search.where, d)))
        params = [*clients, *sql.params, *more]
    return Select(texts[0], tuple(params), texts[1])


@query(standby=True)
def find_position(client: int, search: RecordSearch[Any], skip: int) -> Plan[Position | None]:
    """The position of the `skip`th record that a search finds after its own position; None if it finds fewer.

    The search is in the order of creation: then its index is enough to skip records.
    """
    assert [key.field.column for key in search.sort] == ["created_us"]
    finder = Candidates(client, search.kind.kind)
    ids = yield from finder.of_search(search.where, search.words)
    rows = yield _select(search, ids, True if ids is None else None, 1, finder, "t.created_us, t.id", skip - 1)
    return (rows[0][0], rows[0][1]) if rows else None


@query
def matches_filter(client: int, kind: int, id: int, where: Node) -> Plan[bool]:
    """Whether a record matches a filter; also if there is no such record."""
    name = RECORD_TYPES[kind].name
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
    name = RECORD_TYPES[kind].name
    texts: list[str] = []
    params: list[object] = []
    for d in (SQLITE, POSTGRES):
        sql = Sql()
        condition = sql.condition(where, d)
        texts.append(f"SELECT 1 FROM {name} t WHERE t.client = l.client AND t.id = l.record_id AND NOT COALESCE({condition}, FALSE)")
        params = sql.params
    return texts[0], texts[1], params


def _parts(search: RecordSearch[Any]) -> tuple[bool, ...]:
    """Return the parts of the order that are left: the records with a value of the first key, and those without."""
    first = search.sort[0].field
    if not first.nullable or any(is_limit(node) and node.field == first for node in conjuncts(search.where)):
        return (True,)
    if search.after is None:
        return (False, True) if search.backward else (True, False)
    if search.after[0] is None:
        return (False, True) if search.backward else (False,)
    return (True,) if search.backward else (True, False)


def _select(
    search: RecordSearch[Any],
    ids: Collection[int] | None,
    first: bool | None,
    limit: int | None,
    finder: Candidates,
    columns: str = "",
    skip: int = 0,
    *,
    count: bool = False,
) -> Select:
    """Return the statement that reads records, or only these columns of them, in the order of the page; or that counts them."""
    columns = columns or names(TABLES[search.kind.kind].columns, "t.")
    texts: list[str] = []
    params: list[object] = []
    for d in (SQLITE, POSTGRES):
        where, params = _where(search, ids, d, finder, first)
        if first is not None and search.sort[0].field.nullable:
            where += f" AND t.{search.sort[0].field.column} IS {'NOT ' if first else ''}NULL"
        if count:
            rows = f"FROM {search.kind.name} t WHERE {where}"
            texts.append(f"SELECT count(*) {rows}" if limit is None else f"SELECT count(*) FROM (SELECT 1 {rows} LIMIT ?) s")
            continue
        if search.after is not None and (first is None or (search.after[0] is None) == (first is False)):
            where += f" AND {after(search.sort, search.after, d, params, first, backward=search.backward)}"
        order = order_by(search.sort, d, first, backward=search.backward)
        texts.append(f"SELECT {columns} FROM {search.kind.name} t WHERE {where} ORDER BY {order} LIMIT ?{' OFFSET ?' if skip else ''}")
    limits = [] if limit is None else [limit, skip] if skip else [limit]
    return Select(texts[0], (*params, *limits), texts[1])


def _where(
    search: RecordSearch[Any], ids: Collection[int] | None, d: Dialect, finder: Candidates, first: bool | None = None
) -> tuple[str, list[object]]:
    """Return the condition of all records that match, and its parameters."""
    sql = Sql(search.sort[0].field.column if first else "", [search.client])
    where = "t.client = ?"
    if ids is not None:
        sql.params.append(msgspec.json.encode(sorted(ids)).decode())
        where += f" AND {LISTED[d].format('t.id')}"
    elif search.words:
        where += f" AND {finder.words_hold(search.words, d, sql.params)}"
    for text, values in finder.exact(search.where, search.sort) if first else ():
        sql.params += values
        where += f" AND {text}"
    return f"{where} AND {sql.condition(search.where, d)}", sql.params


def _count(search: RecordSearch[Any], ids: Collection[int] | None, finder: Candidates) -> Plan[Count]:
    """Count the records that match; an estimate is the share of matches in some records, times all of them."""
    texts: list[str] = []
    params: list[object] = []
    exact = search.count == EXACT or ids is not None
    for d in (SQLITE, POSTGRES):
        where, params = _where(search, ids, d, finder)
        source = search.kind.name
        if not exact:
            source = f"(SELECT * FROM {search.kind.name} WHERE client = ? ORDER BY id LIMIT {SAMPLE})"
            params = [search.client, *params]
        texts.append(f"SELECT count(*) FROM {source} t WHERE {where}")
    count: int = (yield Select(texts[0], tuple(params), texts[1]))[0][0]
    if exact:
        return Count(count, is_exact=True)
    total = yield from count_present(search.client, search.kind.kind)
    return Count(count if total <= SAMPLE else count * total // SAMPLE, is_exact=total <= SAMPLE)
