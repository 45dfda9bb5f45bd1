"""Search trees and orders as SQL, for each engine.

Each condition is true or not true (false or NULL); `Not` asks for "not true". Conditions on columns are written so that no index is
chosen for them: which index drives a search is decided in `plans.py`. Every subquery names the client.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from touchbase.history.events import COMPANY
from touchbase.records.sql.address_book import BOOK
from touchbase.search.fields import FieldKind, Flag, SearchField, spellings
from touchbase.search.sorting import Position, SortKey
from touchbase.search.tree import ORDERED, All, Condition, Node, Not, Op


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences between the engines' SQL. PostgreSQL's collation is named, because its default differs between databases."""

    collate: str
    position: str
    """The function that returns where a text contains another, from 1; 0 for nowhere."""
    number: str
    """A text as a number, NULL if it is none (`parse.number_of`)."""


SQLITE = Dialect(
    collate="",
    position="instr",
    # A JSON number without exponent.
    number="CASE WHEN length({0}) <= 15 AND {0} NOT GLOB '*[^0-9.-]*' AND json_valid({0}) THEN CAST({0} AS REAL) END",
)
POSTGRES = Dialect(
    collate=' COLLATE "C"',
    position="strpos",
    # No question marks, which stand for parameters.
    number=r"CASE WHEN length({0}) <= 15 AND {0} ~ '^-{{0,1}}(0|[1-9][0-9]*)(\.[0-9]+){{0,1}}$' THEN CAST({0} AS double precision) END",
)


LISTED = {
    SQLITE: "{0} IN (SELECT value FROM json_each(?))",
    # As an array, not as rows: a join with them would wait behind row-level security, whatever index there is.
    POSTGRES: "{0} = ANY(CAST(translate(?, '[]', '{{}}') AS bigint[]))",
}
"""The condition that a column is one of the ids in a JSON array."""


@dataclass(slots=True)
class Sql:
    """Conditions of one statement with their parameters."""

    ordered: str = ""
    """The column in whose order the statement reads its records: conditions on it bound the index."""
    params: list[object] = field(default_factory=list)

    def condition(self, node: Node, d: Dialect) -> str:
        """Return the condition of a tree on the record `t`, and append its parameters."""
        if isinstance(node, Condition):
            return self._field_condition(node, d)
        if isinstance(node, Not):
            return f"NOT COALESCE({self.condition(node.node, d)}, FALSE)"
        if not node.nodes:
            return "TRUE" if isinstance(node, All) else "FALSE"
        joined = (" AND " if isinstance(node, All) else " OR ").join(self.condition(branch, d) for branch in node.nodes)
        return f"({joined})"

    def _field_condition(self, condition: Condition, d: Dialect) -> str:
        field = condition.field
        if field.is_custom:
            return self._custom(condition, d)
        if field.flag is not None:
            return self._flag(condition, field.flag, d)
        if field.counted is not None:
            return field.counted.condition(self.params)
        if not field.through_company:
            return self._compare(condition, f"t.{field.column}", d)
        if condition.op is Op.IS_SET and not condition.values[0]:
            return f"NOT {self._field_condition(Condition(field, Op.IS_SET, (True,)), d)}"
        inner = self._compare(condition, f"c.{field.column}", d)
        return f"EXISTS (SELECT 1 FROM company c WHERE c.client = t.client AND c.id = t.company_id AND {inner})"

    def _flag(self, condition: Condition, flag: Flag, d: Dialect) -> str:
        text = flag.sqlite if d is SQLITE else flag.postgres
        wanted, now = condition.values
        test = f"COALESCE({text}, FALSE)"
        if condition.field.through_company:
            test = f"EXISTS (SELECT 1 FROM company c WHERE c.client = t.client AND c.id = t.company_id AND {text.replace('t.', 'c.')})"
        self.params += [now] * text.count("?")
        return test if wanted else f"NOT {test}"

    def _custom(self, condition: Condition, d: Dialect) -> str:
        field = condition.field
        if condition.op is Op.IS_SET and not condition.values[0]:
            return f"NOT {self._custom(Condition(field, Op.IS_SET, (True,)), d)}"
        kind, number = (COMPANY, "t.company_id") if field.through_company else (field.record_kind, "t.id")
        self.params.append(field.column)
        inner = "f.value <> ''" if condition.op is Op.IS_SET else self._compare(condition, "f.value", d)
        return (
            f"EXISTS (SELECT 1 FROM custom_field f WHERE f.client = t.client AND f.record_kind = {kind} AND f.record_id = {number} "
            f"AND f.name = ? AND {inner})"
        )

    def _compare(self, condition: Condition, column: str, d: Dialect) -> str:
        op, values = condition.op, condition.values
        if op is Op.IS_SET:
            if condition.field.name.endswith("domain"):  # blank: only the company's name is known
                column = f"NULLIF({column}, '')"
            return f"{column} IS {'NOT ' if values[0] else ''}NULL"
        value = expression(condition.field.kind, column, d)
        mark = "?"
        if condition.numeric:
            value, mark = f"({d.number.format(column)})", "CAST(? AS double precision)"
        elif not is_text(condition.field):
            value = column if column == f"t.{self.ordered}" else f"+{column}"
        if op in ORDERED:
            self.params.append(values[0])
            return f"{value} {ORDERED[op]} {mark}"
        if not is_text(condition.field) or condition.numeric:
            self.params += values
            return f"{value} IN ({', '.join(mark for _ in values)})"
        looked_for = [
            spelling for text in values for spelling in (spellings(str(text)) if condition.field.kind is not FieldKind.KEY else (text,))
        ]
        self.params += looked_for
        if op is Op.CONTAINS:
            return f"({' OR '.join(f'{d.position}({value}, ?) > 0' for _ in looked_for)})"
        if op is Op.STARTS_WITH:
            return f"({' OR '.join(f'substr({value}, 1, {len(str(text))}) = ?' for text in looked_for)})"
        is_one_of = f"IN ({', '.join('?' for _ in looked_for)})"
        return f"({value} {is_one_of}{self._further(condition, column[0], is_one_of)})"

    def _further(self, condition: Condition, row: str, is_one_of: str) -> str:
        """Return the alternative that a record has a key as a further one; blank for a field that is no key."""
        word = BOOK[condition.field.record_kind].get(condition.field.column)
        if condition.field.kind is not FieldKind.KEY or word is None:
            return ""
        self.params += condition.values
        further = f"l.client = {row}.client AND l.tool = '' AND l.object_type = '{word}' AND l.object_id {is_one_of} AND l.until_us IS NULL"
        return f" OR EXISTS (SELECT 1 FROM link l WHERE {further} AND l.record_id = {row}.id)"


def is_text(field: SearchField) -> bool:
    """Return whether values of a field are compared as text."""
    return field.kind in (FieldKind.TEXT, FieldKind.KEY, FieldKind.CUSTOM)


def expression(kind: FieldKind, column: str, d: Dialect) -> str:
    """Return the expression by which a column is compared and sorted."""
    if kind in (FieldKind.TEXT, FieldKind.CUSTOM):
        return f"lower({column}{d.collate})"
    return f"{column}{d.collate}" if kind is FieldKind.KEY else column


def order_by(sort: Sequence[SortKey], d: Dialect, first: bool | None, *, backward: bool = False) -> str:
    """Return the terms of ORDER BY, nulls last; `backward` reverses the whole order.

    `first` says whether all records have a value of the first key (True), or none (False); None for records of an unordered set,
    where no index is to be used.
    """
    terms: list[str] = []
    for number, key in enumerate(sort):
        column = f"t.{key.field.column}"
        if number == 0 and first is False:
            continue
        if key.field.nullable and (number > 0 or first is None):
            terms.append(f"({column} IS NULL){' DESC' if backward else ''}")
        shown = expression(key.field.kind, column, d)
        if first is None and not key.field.nullable:
            shown = f"{column} || ''{d.collate}" if is_text(key.field) else f"+{column}"
        terms.append(shown + (" DESC" if key.descending != backward else ""))
    return ", ".join([*terms, ("+t.id" if first is None else "t.id") + (" DESC" if sort[0].descending != backward else "")])


def after(
    sort: Sequence[SortKey], position: Position, d: Dialect, params: list[object], first: bool | None, *, backward: bool = False
) -> str:
    """Return the condition of the records after a position, and append its parameters; `first` and `backward` as in `order_by`."""
    chain: list[str] = []
    equal: list[tuple[str, list[object]]] = []
    bound = ""
    for number, (key, value) in enumerate(zip(sort, position, strict=False)):
        column = f"t.{key.field.column}"
        if number == 0 and first is False:
            continue
        shown = expression(key.field.kind, column, d)
        if value is None:
            if backward:  # nulls are last, so all values are before them
                _link(chain, equal, f"{column} IS NOT NULL", [], params)
            equal.append((f"{column} IS NULL", []))
            continue
        sign = "<" if key.descending != backward else ">"
        later = f"{shown} {sign} ?"
        if number == 0 and first:
            bound = f"{shown} {sign}= ? AND "
            params.append(value)
        elif key.field.nullable and not backward:
            later = f"({later} OR {column} IS NULL)"
        _link(chain, equal, later, [value], params)
        equal.append((f"{shown} = ?", [value]))
    _link(chain, equal, f"t.id {'<' if sort[0].descending != backward else '>'} ?", [position[-1]], params)
    return f"{bound}({' OR '.join(chain)})"


def _link(chain: list[str], equal: Sequence[tuple[str, list[object]]], later: str, of_later: list[object], params: list[object]) -> None:
    """Append the alternative that a record equals the position in the keys before, and is later in this one."""
    for _, values in equal:
        params += values
    params += of_later
    chain.append("(" + " AND ".join([*(text for text, _ in equal), later]) + ")")
