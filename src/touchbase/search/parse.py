"""Parser of searches, one for both faces: query parameters `name[op]=value`, and a JSON tree of the same names.

JSON: `{"all": [...], "any": [...], "not": {...}, "contact_status[in]": ["new", "won"]}`; members of one object must all hold.
Every fault of a search is appended, so that one response names them all.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace

from touchbase.common.field_limits import LARGEST_ID, NAME, InvalidText, why_not_storable
from touchbase.common.misspelt import LONGEST_COMPARED, suggest
from touchbase.common.timestamps import DAY, EARLIEST, SECOND, Micros, from_text, to_text
from touchbase.errors import COUNTED, MOST_FAULTS, Fault
from touchbase.search.counted import read_counted
from touchbase.search.fields import SEARCH_KEYS, FieldKind, SearchField, SearchFields, folded
from touchbase.search.tree import ORDERED, All, Any, Condition, Node, Not, Op, Value

MOST_CONDITIONS = 50
MOST_PARTS = 500
"""Members and items of all objects and arrays of a filter: 50 conditions, of which each may stand in `all`, `any` and `not`."""
DEEPEST = 8
"""Levels of `all`, `any` and `not`."""
MOST_VALUES = 200
"""Values of one `in` or `nin`."""
MOST_OF_ALL = 500
"""Values of all conditions of one search; an address takes up to a millisecond."""
LONGEST_VALUE = 1_000
"""Characters."""
_NAME = re.compile(r"(?P<field>.+?)(?:\[(?P<op>[^\[\]]*)\])?", re.DOTALL)
_RELATIVE = re.compile(r"([0-9]{1,6})([mhdw])")
_UNITS: dict[str, Micros] = {"m": 60 * SECOND, "h": 3_600 * SECOND, "d": DAY, "w": 7 * DAY}
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
LONGEST_NUMBER = 15
"""Characters of a number in a custom field; more digits would not be exact."""
TEXT_OPS = frozenset({Op.CONTAINS, Op.STARTS_WITH})
"""Operators for text only."""
_LISTS = frozenset({Op.IN, Op.NIN})
_SPECIAL = frozenset({FieldKind.FLAG, FieldKind.COUNTED})
_OPS = {op.value: op for op in Op}
_NEGATED = {Op.NE: Op.EQ, Op.NIN: Op.IN}
_JOINS: dict[str, Callable[[tuple[Node, ...]], Node]] = {"all": All, "any": Any}


@dataclass(slots=True)
class Parser:
    """The state of one pass."""

    fields: SearchFields
    now: Micros
    faults: list[Fault]
    also: Collection[str] = ()
    """Other names that are known at this place, for the nearest name: parameters such as `limit`."""
    conditions: int = 0
    parts: int = 0
    values: int = 0

    def query(self, parameters: Iterable[tuple[str, str]]) -> Node:
        """Parse query parameters, decoded; all must hold. One without operator or with `eq` or `in` may be given once."""
        nodes: list[Node] = []
        conditions: set[tuple[str, str]] = set()
        for name, text in parameters:
            field, op = self._named(name, f"?{name}")
            if field is None or op is None:
                continue
            if op in (Op.EQ, Op.IN, Op.IS_SET):
                if (field.name, op) in conditions:
                    self._fault(f"?{name}", "repeated", "is given more than once")
                    continue
                conditions.add((field.name, op))
            value: object = text.split(",") if op in _LISTS else text
            if field.kind is FieldKind.TIME or field.name == "email":
                # A plus sign that was not escaped arrives as a space, which neither of them contains.
                value = [part.strip().replace(" ", "+") for part in value] if isinstance(value, list) else text.strip().replace(" ", "+")
            nodes += self._condition(field, op, value, f"?{name}")
        return All(tuple(nodes))

    def json(self, body: object, pointer: str = "", depth: int = 1) -> Node:
        """Parse a JSON value as the standard library or msgspec decodes it."""
        if not isinstance(body, dict):
            self._fault(pointer, "type", 'must be an object, such as {"all": [{"contact_status": "new"}]}')
            return All()
        if depth > DEEPEST:
            self._fault(pointer, "too_deep", f"is nested more than {DEEPEST} levels deep")
            return All()
        if self._is_too_much(body, pointer):
            return All()
        nodes: list[Node] = []
        for name, value in body.items():
            place = f"{pointer}/{str(name)[:NAME].replace('~', '~0').replace('/', '~1')}"
            if name in _JOINS:
                if isinstance(value, list):
                    if self._is_too_much(value, place):
                        continue
                    nodes.append(_JOINS[name](tuple(self.json(item, f"{place}/{n}", depth + 1) for n, item in enumerate(value))))
                else:
                    self._fault(place, "type", "must be an array of objects")
            elif name == "not":
                nodes.append(Not(self.json(value, place, depth + 1)))
            else:
                field, op = self._named(str(name), place)
                if field is not None and op is not None:
                    nodes += self._condition(field, op, value, place)
        return nodes[0] if len(nodes) == 1 else All(tuple(nodes))

    def _is_too_much(self, parts: Collection[object], pointer: str) -> bool:
        """Count the parts of an object or array, and append a fault if the filter has too many; they are not looked at then."""
        self.parts += len(parts)
        too_many = self.parts > MOST_PARTS
        if too_many:
            self._fault(pointer, "too_many", f"has {len(parts)} members; a filter has at most {MOST_PARTS} members and items in all")
        return too_many

    def _named(self, name: str, pointer: str) -> tuple[SearchField | None, Op | None]:
        """Return field and operator of `name[op]`; None if there is none."""
        match = _NAME.fullmatch(name)
        field_name, op_name = (match["field"], match["op"]) if match else (name, None)
        field = self.fields.find(field_name)
        if len(self.faults) >= MOST_FAULTS and (field is None or (op_name or "eq") not in _OPS):
            self.faults.append(COUNTED)
            return None, None
        if field is None:
            near = self.fields.nearest(field_name, self.also)
            hint = f"did you mean {near!r}?" if near else "custom fields are named cf.<name>"
            self._fault(pointer, "unknown", f"there is no field {field_name[:100]!r}; {hint}")
        if op_name is None:
            return field, Op.EQ
        if op_name in _OPS:
            return field, _OPS[op_name]
        near = suggest(op_name[: 2 * LONGEST_COMPARED].lower(), _OPS, cutoff=0.4)
        hint = f"did you mean {near!r}?" if near else f"there are {', '.join(Op)}"
        self._fault(pointer, "unknown_operator", f"there is no operator {op_name[:100]!r}; {hint}")
        return field, None

    def _condition(self, field: SearchField, op: Op, value: object, pointer: str) -> list[Node]:
        """Return the condition as a list of one; none after a fault."""
        self.conditions += 1
        if self.conditions > MOST_CONDITIONS:
            if self.conditions == MOST_CONDITIONS + 1:
                self._fault(pointer, "too_many", f"a search has at most {MOST_CONDITIONS} conditions")
            return []
        try:
            node = _flag(field, value) if op is Op.IS_SET and field.kind not in _SPECIAL else self._comparison(field, op, value)
        except InvalidText as refused:
            self._fault(pointer, refused.code, refused.detail)
            return []
        return [Not(node) if op in _NEGATED else node]

    def _comparison(self, field: SearchField, op: Op, value: object) -> Condition:
        """Return the condition, not negated; `InvalidText` for a fault."""
        if field.kind is FieldKind.FLAG:
            if op not in (Op.EQ, Op.NE):
                raise InvalidText("operator", f"{field.name} is true or false; leave out the operator")
            return Condition(field, Op.EQ, (*_flag(field, value).values, self.now))
        if field.kind is FieldKind.COUNTED:
            if op not in (Op.EQ, Op.NE):
                raise InvalidText("operator", f"{field.name} has no operators but ne; send {field.name}=replied;since=30d")
            return Condition(replace(field, counted=read_counted(_text(value, field), self._time)), Op.EQ, ())
        if op in TEXT_OPS and field.kind in (FieldKind.NUMBER, FieldKind.TIME):
            raise InvalidText("operator", f"{op} is for text, and {field.name} is a {field.kind.value}; use gte and lte")
        if op in _LISTS and not isinstance(value, list):
            raise InvalidText("type", f"must be an array of values: {op} takes several")
        values = value if isinstance(value, list) and op in _LISTS else [value]
        if not 0 < len(values) <= MOST_VALUES:
            raise InvalidText("range", f"must have 1 to {MOST_VALUES} values")
        self.values += len(values)
        if self.values > MOST_OF_ALL:
            raise InvalidText("too_many", f"has {len(values)} values; the conditions of a search have at most {MOST_OF_ALL} together")
        texts = [_text(value, field) for value in values]
        # A custom field that is not declared is compared as a number where that is meant.
        numeric = field.declared == "number" or (not field.declared and op in ORDERED and number_of(texts[0]) is not None)
        numeric = numeric and field.is_custom and op not in TEXT_OPS
        compared = tuple(_as_number(text) if numeric else self._value(field, op, text) for text in texts)
        return Condition(field, _NEGATED.get(op, op), compared, numeric)

    def _value(self, field: SearchField, op: Op, text: str) -> Value:
        """Return a value as conditions have it."""
        if field.kind is FieldKind.TIME:
            return self._time(text)
        if field.kind is FieldKind.NUMBER:
            if text.isascii() and text.isdigit() and len(text) < 17 and int(text) <= LARGEST_ID:
                return int(text)
            raise InvalidText("range", f"must be an integer from 0 to {LARGEST_ID}")
        if field.kind is FieldKind.KEY:
            return self._key(field, op, text)
        if field.declared == "datetime" and op in ORDERED:
            return folded(to_text(self._time(text))[:19] + "Z")
        if field.declared == "date" and _RELATIVE.fullmatch(text.lower()):
            return to_text(self._time(text))[:10]
        return folded(text)

    def _key(self, field: SearchField, op: Op, text: str) -> str:
        normal = SEARCH_KEYS.get(field.name.rpartition(".")[2])
        if normal is None:
            return text.strip()  # the column has the text as it is
        return normal(text) if op not in TEXT_OPS and op not in ORDERED else text.lower()

    def _time(self, text: str) -> Micros:
        """Return a time; `30d` is 30 days ago."""
        if (span := _RELATIVE.fullmatch(text.lower())) is not None:
            return max(EARLIEST, self.now - int(span[1]) * _UNITS[span[2]])
        try:
            return from_text(text.upper())
        except (ValueError, OverflowError):
            raise InvalidText("time", "must be a time such as 2026-11-20T09:30:00Z, or a span until now such as 30d or 12h") from None

    def _fault(self, pointer: str, code: str, detail: str) -> None:
        self.faults.append(Fault(pointer, code, detail))


def _flag(field: SearchField, value: object) -> Condition:
    flag = value if isinstance(value, bool) else {"true": True, "false": False}.get(str(value).strip().lower())
    if flag is None:
        raise InvalidText("choice", "must be true or false")
    return Condition(field, Op.IS_SET, (flag,))


def _text(value: object, field: SearchField) -> str:
    """Return a value as text; numbers and flags have their JSON text."""
    if isinstance(value, bool):
        value = "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise InvalidText("type", "must be text, a number, true or false")
    text = str(value).strip()
    if (why := why_not_storable(text)) is not None:
        raise InvalidText("unusable_text", why)
    if not text:
        raise InvalidText("blank", f"must not be blank; records without a value are found with {field.name}[is_set]=false")
    if len(text) > LONGEST_VALUE:
        raise InvalidText("too_long", f"has {len(text)} characters, and at most {LONGEST_VALUE} are possible")
    return text


def _as_number(text: str) -> float:
    number = number_of(text)
    if number is None:
        raise InvalidText("number", f"must be a number of at most {LONGEST_NUMBER} characters, such as 12 or -3.5")
    return number


def number_of(value: object) -> float | None:
    """Return the number that the text of a custom field stands for; None for other text."""
    text = str(value).strip()
    if len(text) > LONGEST_NUMBER or _NUMBER.fullmatch(text) is None:
        return None
    number = float(text)
    return number if math.isfinite(number) else None
