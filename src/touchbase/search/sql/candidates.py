"""Candidates of a search: the ids of records that may match, found by an index, as long as they are few."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.fields import TEXT
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.address_book import BOOK
from touchbase.records.sql.lookup import MOST_STATUSES, used_statuses
from touchbase.records.sql.rows import COMPANY as COMPANY_COLUMNS
from touchbase.records.sql.rows import CONTACT as CONTACT_COLUMNS
from touchbase.records.sql.rows import company_of, contact_of
from touchbase.records.sql.statements import with_custom_fields
from touchbase.search.fields import INDEXED_TIMES, FieldKind, SearchField, status_spellings
from touchbase.search.sorting import SortKey
from touchbase.search.sql.conditions import LISTED, POSTGRES, SQLITE, Dialect
from touchbase.search.tree import ORDERED, All, Any, Condition, Node, Op, conjuncts
from touchbase.search.words import field_mark, has_words, match_text, prefix, rowid, words_of
from touchbase.sql.rows import names
from touchbase.sql.statement import Plan, Row, Select

FEW = 3_000
"""Candidates that are read and sorted. With more, records are read in the order of the page."""
ENOUGH = 200
"""Candidates for which no better index is looked for."""
MOST_PENDING = 500
"""Records not indexed yet whose words a search reads itself."""
MOST_REQUESTS = 8
"""Searches of the full-text index for one search of records."""
NEWEST = 200
COMMON = 5
"""Matches among the `NEWEST` records that make a search of words a common one."""
_MATCHES = "s.words @@ CAST(replace(replace(replace(replace(?, ' AND ', '&'), ' OR ', '|'), ' ', '&'), '*', ':*') AS tsquery)"
SORTED_KEYS = frozenset({"email_key", "domain"})
"""Normal forms whose index is in the order of their characters."""
IN_INDEX = {
    number: frozenset(field.column for field in kind.members if field.has_words and not field.key and field.kind == TEXT)
    for number, kind in RECORD_TYPES.items()
}
"""Text columns whose words are in the full-text index."""
TABLES = {CONTACT: "contact", COMPANY: "company"}

_COSTS = {
    kind: cost
    for cost, kind in enumerate(
        (FieldKind.KEY, FieldKind.NUMBER, FieldKind.CUSTOM, FieldKind.TEXT, FieldKind.COUNTED, FieldKind.FLAG, FieldKind.TIME)
    )
}
"""By kind of field: the lower, the fewer candidates, as a rule."""
Ids = frozenset[int] | None
"""None: no index finds few of them."""


@dataclass(slots=True)
class Candidates:
    """Finds the candidates of one search."""

    client: int
    kind: int
    is_complete: bool = True
    """False: a full-text search found indexed records only, as too many are not indexed yet."""
    _requests: int = 0
    _pending: Ids = frozenset()
    _pending_read: bool = False
    _pending_hits: frozenset[int] = frozenset()
    _statuses: dict[Condition, list[str]] = field(default_factory=dict)

    def of_search(self, where: Node, words: Sequence[str]) -> Plan[Ids]:
        """Return the ids of all records that may match; None if no index finds few of them."""
        best: Ids = None
        nodes = [*conjuncts(where)]
        if words:
            best = yield from self._of_words(words, [text for node in nodes if (text := self._text(node))])
        candidates = yield from self._of_all(nodes, best)
        return candidates

    def exact(self, where: Node, sort: Sequence[SortKey]) -> Iterator[tuple[str, Row]]:
        """Yield conditions that let an index with the order of the page read matching records only."""
        if sort[0].field.column not in ("created_us", "updated_us"):
            return
        for node in conjuncts(where):  # a status within `any` need not hold
            statuses = self._statuses.get(node, []) if isinstance(node, Condition) else []
            if len(statuses) == 1:
                yield "t.status = ?", (statuses[0],)
                return

    def words_hold(self, words: Sequence[str], d: Dialect, params: list[object]) -> str:
        """Return the condition that a record has these words, and append its parameters."""
        first = prefix(self.client, self.kind)
        column = "s.rowid" if d is SQLITE else "s.client = t.client AND s.record"
        number = f"t.id * 2 + {rowid(self.kind, 0)}"
        condition = "instr(' ' || s.words, ?) > 0" if d is SQLITE else "s.words @@ CAST(ltrim(?) || ':*' AS tsquery)"
        params += [f" {first}{word}" for word in words]
        indexed = f"EXISTS (SELECT 1 FROM search_index s WHERE {column} = {number} AND {' AND '.join(condition for _ in words)})"
        if not self._pending:
            return indexed
        params += [_json(self._pending), _json(self._pending_hits)]
        listed = LISTED[d].format("t.id")
        return f"(({indexed} AND NOT {listed}) OR {listed})"

    def _of_words(self, words: Sequence[str], also: Sequence[str]) -> Plan[Ids]:
        """Return the records with all of these words, of any number not indexed yet; `also` are searches that must match too."""
        yield from self._read_pending()
        if self._pending is None:
            self.is_complete, self._pending = False, frozenset()
        hits = yield from self._matches([f"({match_text(self.client, self.kind, words, begin=len(words))})", *also])
        if self._pending:
            table, columns = TABLES[self.kind], CONTACT_COLUMNS if self.kind == CONTACT else COMPANY_COLUMNS
            sql = f"SELECT {names(columns)} FROM {table} WHERE client = ? AND {{}}"
            rows = yield _both(sql, "id", (self.client, _json(self._pending)))
            if self.kind == CONTACT:
                contacts = yield from with_custom_fields(CONTACT, [contact_of(row) for row in rows])
                self._pending_hits = frozenset(contact.id for contact in contacts if has_words(contact, words))
            else:
                companies = yield from with_custom_fields(COMPANY, [company_of(row) for row in rows])
                self._pending_hits = frozenset(company.id for company in companies if has_words(company, words))
        return None if hits is None else (hits - self._pending) | self._pending_hits

    def _of_all(self, nodes: Sequence[Node], best: Ids) -> Plan[Ids]:
        """Return the smallest set of candidates of nodes that must all hold; the sets of several are not intersected."""
        times: dict[SearchField, list[Condition]] = {}
        texts: list[str] = []
        for node in sorted(nodes, key=_cost):
            if (text := self._text(node)) is not None:
                texts.append(text)
            elif isinstance(node, Condition) and node.field.kind is FieldKind.TIME and not node.field.through_company:
                times.setdefault(node.field, []).append(node)
            elif best is None or len(best) > ENOUGH:
                best = _smaller(best, (yield from self._of(node)))
        if texts and (best is None or len(best) > ENOUGH):
            best = _smaller(best, (yield from self._of_texts(texts)))
        for conditions in times.values():
            if best is None or len(best) > ENOUGH:
                best = _smaller(best, (yield from self._of_times(conditions)))
        return best

    def _of(self, node: Node) -> Plan[Ids]:
        if isinstance(node, All):
            return (yield from self._of_all(node.nodes, None))
        if isinstance(node, Any):
            union: frozenset[int] = frozenset()
            for branch in node.nodes:
                candidates = yield from self._of_all([*conjuncts(branch)], None)
                if candidates is None or len(union | candidates) > FEW:
                    return None
                union |= candidates
            return union
        return (yield from self._of_condition(node)) if isinstance(node, Condition) else None

    def _of_condition(self, condition: Condition) -> Plan[Ids]:
        field, values = condition.field, condition.values
        if field.through_company:
            return (yield from self._of_company(condition))
        if condition.op in (Op.EQ, Op.IN) and field.kind in (FieldKind.KEY, FieldKind.NUMBER):
            marks = ", ".join("?" for _ in values)
            candidates = yield from self._ids(f"{field.column} IN ({marks})", values)
            has_further = field.column in BOOK[self.kind]
            return _union(candidates, (yield from self._having(field.column, values))) if has_further else candidates
        if field.counted is not None:
            where, params = field.counted.candidates()
            return (yield from self._few_of(f"SELECT DISTINCT e.record_id FROM event e WHERE e.client = ? AND {where}", params))
        if field.column == "status" and condition.op in (Op.EQ, Op.IN):
            return (yield from self._of_status(condition))
        if field.kind is FieldKind.KEY and field.column in SORTED_KEYS and condition.op is Op.STARTS_WITH:
            return (yield from self._ids(f"{field.column} >= ? AND {field.column} < ?", (values[0], f"{values[0]}\U0010ffff")))
        return None

    def _of_times(self, conditions: Sequence[Condition]) -> Plan[Ids]:
        column = conditions[0].field.column
        parts: list[str] = []
        params: list[object] = []
        for condition in conditions:
            if condition.op in ORDERED:
                parts.append(f"{column} {ORDERED[condition.op]} ?")
            elif condition.op is Op.IS_SET:
                if not condition.values[0]:
                    return None
                parts.append(f"{column} IS NOT NULL")
                continue
            else:
                parts.append(f"{column} IN ({', '.join('?' for _ in condition.values)})")
            params += condition.values
        if column not in INDEXED_TIMES[self.kind]:
            return None
        return (yield from self._ids(" AND ".join(parts), params, f" ORDER BY client, {column}"))

    def _of_status(self, condition: Condition) -> Plan[Ids]:
        """Look through the client's different statuses, by leaps in their index, for all spellings of these."""
        used = yield from used_statuses.plan(self.client, self.kind)
        if len(used) == MOST_STATUSES:
            return None
        statuses = list(dict.fromkeys(status for value in condition.values for status in status_spellings(str(value), used)))
        self._statuses[condition] = statuses
        return (yield from self._ids(f"status IN ({', '.join('?' for _ in statuses)})", statuses)) if statuses else frozenset()

    def _text(self, node: Node) -> str | None:
        """Return the full-text search for records that may meet a condition; None if the index does not help.

        The index knows words, and which custom fields a record has, not which words are of which field.
        """
        if not isinstance(node, Condition) or node.field.through_company:
            return None
        field, op = node.field, node.op
        if (op is Op.IS_SET and not node.values[0]) or not (field.is_custom or field.column in IN_INDEX[self.kind]):
            return None
        has = [field_mark(self.client, self.kind, field.column)] if field.is_custom else []
        texts = []
        for value in node.values if op in (Op.EQ, Op.IN, Op.STARTS_WITH) and not node.numeric else ():
            words = [*words_of(str(value))]
            text = match_text(self.client, self.kind, words, begin=int(op is Op.STARTS_WITH))
            # Several words are rare enough: the mark of a field that all records have would cost as much as they.
            texts.append(" ".join([*(has if len(words) < 2 else ()), text]).strip())
        if not texts or not all(texts):
            texts = has
        return f"({' OR '.join([*(f'({text})' for text in texts), prefix(self.client, self.kind)])})" if texts else None

    def _of_texts(self, texts: Sequence[str]) -> Plan[Ids]:
        """Find the records that may meet conditions on texts; they are compared later."""
        yield from self._read_pending()
        if self._pending is None or not self.is_complete:
            return None
        hits = yield from self._matches(texts)
        return None if hits is None else hits | self._pending

    def _of_company(self, condition: Condition) -> Plan[Ids]:
        """Find the companies that meet a condition, and then their contacts."""
        self._requests += 1
        finder = Candidates(self.client, COMPANY, _requests=self._requests)
        inner = replace(condition, field=replace(condition.field, through_company=False))
        companies = yield from finder._of_all([inner], None)
        if not companies:
            return companies
        rows = yield _both("SELECT id FROM contact WHERE client = ? AND {} LIMIT ?", "company_id", (self.client, _json(companies), FEW + 1))
        return _few(rows)

    def _ids(self, condition: str, params: Sequence[object], order: str = "") -> Plan[Ids]:
        return (yield from self._few_of(f"SELECT id FROM {TABLES[self.kind]} WHERE client = ? AND {condition}{order}", params))

    def _few_of(self, sql: str, params: Sequence[object]) -> Plan[Ids]:
        return _few((yield Select(f"{sql} LIMIT ?", (self.client, *params, FEW + 1))))

    def _having(self, column: str, keys: Sequence[object]) -> Plan[Ids]:
        """Return the records that have these keys as further ones."""
        marks = ", ".join("?" for _ in keys)
        sql = (
            f"SELECT record_id FROM link WHERE client = ? AND tool = '' AND object_type = ? AND object_id IN ({marks}) AND until_us IS NULL"
        )
        return (yield from self._few_of(sql, (BOOK[self.kind][column], *keys)))

    def _matches(self, texts: Sequence[str]) -> Plan[Ids]:
        """Return the records in the index that match all of these searches."""
        text = " AND ".join(texts)
        self._requests += 1
        if self._requests > MOST_REQUESTS or (yield from self._is_common(text)):
            return None
        rows = yield Select(
            "SELECT rowid FROM search_index WHERE search_index MATCH ? AND ? > 0 LIMIT ?",
            (text, self.client, FEW + 1),
            # The sum: not by the index of the client's records, of which there may be a million.
            f"SELECT record FROM search_index s WHERE {_MATCHES} AND s.client + 0 = ? LIMIT ?",
        )
        return _few([(row[0] // 2,) for row in rows])

    def _is_common(self, text: str) -> Plan[bool]:
        """Return whether many of the newest records match, so that PostgreSQL, which collects all matches, is not asked for them."""
        number = f"t.id * 2 + {rowid(self.kind, 0)}"
        newest = f"(SELECT client, id FROM {TABLES[self.kind]} WHERE client = ? ORDER BY created_us DESC, id DESC LIMIT {NEWEST})"
        rows = yield Select(
            "SELECT 0 FROM (SELECT ?, ?)",
            (self.client, text),
            f"SELECT count(*) FROM {newest} t JOIN search_index s ON s.client = t.client AND s.record = {number} WHERE {_MATCHES}",
        )
        return bool(rows[0][0] >= COMMON)

    def _read_pending(self) -> Plan[None]:
        if not self._pending_read:
            self._pending_read = True
            sql = "SELECT record_id FROM search_pending WHERE client = ? AND record_kind = ? LIMIT ?"
            rows = yield Select(sql, (self.client, self.kind, MOST_PENDING + 1))
            self._pending = frozenset(row[0] for row in rows) if len(rows) <= MOST_PENDING else None


def _cost(node: Node) -> float:
    """Order nodes so that usually the fewest candidates come first."""
    if not isinstance(node, Condition):
        return len(_COSTS)
    if node.field.through_company:
        return _COSTS[FieldKind.TEXT] + 0.5
    return _COSTS[node.field.kind]


def _union(ids: Ids, more_ids: Ids) -> Ids:
    return None if ids is None or more_ids is None or len(ids | more_ids) > FEW else ids | more_ids


def _smaller(ids: Ids, more_ids: Ids) -> Ids:
    return more_ids if ids is None or (more_ids is not None and len(more_ids) < len(ids)) else ids


def _few(rows: Sequence[Row]) -> Ids:
    return frozenset(row[0] for row in rows) if len(rows) <= FEW else None


def _both(sql: str, column: str, params: Row) -> Select:
    """A read of rows whose column is one of the ids in a JSON array."""
    return Select(sql.format(LISTED[SQLITE].format(column)), params, sql.format(LISTED[POSTGRES].format(column)))


def _json(ids: Collection[int]) -> str:
    return msgspec.json.encode(sorted(ids)).decode()
