"""What a search means, in plain Python: the tree and the order over records in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cmp_to_key

from touchbase.records.models import Company, Contact, Record
from touchbase.search.fields import FieldKind, folded, spellings
from touchbase.search.parse import number_of
from touchbase.search.sorting import SortKey, sort_value
from touchbase.search.tree import All, Any, Condition, Node, Not, Op

Companies = Mapping[int, Company]


def holds(node: Node, record: Record, companies: Companies) -> bool:
    """Return whether a tree is true of a record."""
    if isinstance(node, All):
        return all(holds(item, record, companies) for item in node.nodes)
    if isinstance(node, Any):
        return any(holds(item, record, companies) for item in node.nodes)
    if isinstance(node, Not):
        return not holds(node.node, record, companies)
    return compare(node, value_of(node, record, companies))


def value_of(condition: Condition, record: Record, companies: Companies) -> str | int | None:
    """Return the value of the condition's field."""
    response: Record | None = record
    if condition.field.through_company:
        assert isinstance(record, Contact)
        response = companies.get(record.company_id or 0)
    if response is None:
        return None
    if condition.field.is_custom:
        return next((custom_field.value for custom_field in response.custom_fields if custom_field.name == condition.field.column), None)
    value: str | int | None = getattr(response, condition.field.column)
    return value


def compare(condition: Condition, value: str | int | None) -> bool:
    """Return whether a value meets the condition."""
    if condition.op is Op.IS_SET:
        return condition.values[0] == (value is not None and not (condition.field.is_custom and value == ""))
    if value is None:
        return False
    if condition.numeric:
        number = number_of(value)
        return number is not None and ordered(condition.op, number, condition.values)
    if isinstance(value, int):
        return ordered(condition.op, value, condition.values)
    return compare_text(condition, value)


def compare_text(condition: Condition, value: str) -> bool:
    """Return whether a text meets the condition."""
    is_key = condition.field.kind is FieldKind.KEY
    have = value if is_key else folded(value)
    wanted = [item for text in condition.values for item in ((str(text),) if is_key else spellings(str(text)))]
    if condition.op is Op.CONTAINS:
        return any(item in have for item in wanted)
    if condition.op is Op.STARTS_WITH:
        return any(have.startswith(item) for item in wanted)
    return have in wanted if condition.op in (Op.EQ, Op.IN) else ordered(condition.op, have, condition.values)


def ordered(op: Op, value: object, values: Sequence[object]) -> bool:
    """Compare by order, or look the value up."""
    if op in (Op.EQ, Op.IN):
        return value in values
    other_value: object = values[0]
    meets: Mapping[Op, bool] = {
        Op.GT: value > other_value, Op.GTE: value >= other_value, Op.LT: value < other_value, Op.LTE: value <= other_value,  # type: ignore[operator]
    }  # fmt: skip
    return meets[op]


def in_order(records: Sequence[Record], sort: Sequence[SortKey]) -> list[Record]:
    """Return the records sorted, those without a value last, and by id between equal ones."""

    def before(record: Record, other_record: Record) -> int:
        for key in sort:
            mine, theirs = sort_value(record, key), sort_value(other_record, key)
            if mine == theirs:
                continue
            if mine is None or theirs is None:
                return 1 if mine is None else -1
            return (1 if mine > theirs else -1) * (-1 if key.descending else 1)  # type: ignore[operator]
        return (record.id - other_record.id) * (-1 if sort[0].descending else 1)

    return sorted(records, key=cmp_to_key(before))
