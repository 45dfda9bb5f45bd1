"""The typed tree of a search: conditions joined by All, Any and Not.

The logic has two values: a condition on an unset field is false, except `is_set=false`. `ne` and `nin` are the complement of `eq`
and `in`, so an unset field matches them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, TypeGuard

from touchbase.search.fields import FieldKind, SearchField

Value: TypeAlias = str | int | float | bool


class Op(StrEnum):
    """The operators; JSON and query parameters name them alike."""

    EQ = "eq"
    NE = "ne"
    IN = "in"
    NIN = "nin"
    CONTAINS = "contains"
    STARTS_WITH = "starts_with"
    GT = "gt"
    GTE = "gte"
    LT = "lt"
    LTE = "lte"
    IS_SET = "is_set"


ORDERED = {Op.GT: ">", Op.GTE: ">=", Op.LT: "<", Op.LTE: "<="}
"""Operators that compare by order, as SQL writes them."""


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition. `op` is never `ne` or `nin`, which the parser writes as `Not` of the others."""

    field: SearchField
    op: Op
    values: tuple[Value, ...]
    """Several for `in`, else one: a bool for `is_set`; microseconds for times; normal forms for keys with `eq` and `in`."""
    numeric: bool = False
    """Whether the text of a custom field is compared as a number; text that is no number does not match."""


@dataclass(frozen=True, slots=True)
class All:
    """True if all of its nodes are; true without nodes."""

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Any:
    """True if one of its nodes is; false without nodes."""

    nodes: tuple[Node, ...] = ()


@dataclass(frozen=True, slots=True)
class Not:
    """True if its node is false."""

    node: Node


Node: TypeAlias = Condition | All | Any | Not
EVERY = All()
"""The tree that is true of every record."""


def is_limit(node: Node) -> TypeGuard[Condition]:
    """Return whether a node is a limit of a time: a record without a value does not match."""
    return isinstance(node, Condition) and node.op in ORDERED and node.field.kind is FieldKind.TIME


def conjuncts(node: Node) -> Iterator[Node]:
    """Yield the nodes that must all be true for the tree to be true."""
    if isinstance(node, All):
        for branch in node.nodes:
            yield from conjuncts(branch)
    else:
        yield node
