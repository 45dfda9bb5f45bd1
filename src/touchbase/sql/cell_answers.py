"""How the answers of several cells become one.

A page of a list that spans cells knows which row is of which cell, so that the next page goes on where this one ends in each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from itertools import chain
from typing import Any, TypeVar, cast

from msgspec.structs import replace

T = TypeVar("T")

Answers = Mapping[int, Any]
"""The answer of each cell, by its number."""
CellOf = Callable[[int], int]
"""Returns the number of the cell that a client is in."""


@dataclass(frozen=True, slots=True)
class AnswerMerge:
    """How the answers to a call that names no client, and is given to all cells, become one."""

    join: Callable[[Any, Answers], Any]
    in_cell: Callable[[Any, int], Any] | None = None
    """Returns the call as a cell gets it; None: all get the same."""
    needs_all: bool = False
    """Whether an answer None is known only once all cells have answered."""


@dataclass(frozen=True, slots=True)
class Division:
    """How a call that names several clients is divided among their cells, and the results joined."""

    parts: Callable[[Any, CellOf], dict[int, Any]]
    join: Callable[[Any, Answers], Any]
    partial: bool = False
    """Whether cells that do not answer are left out."""


Before = int | Mapping[int, int]
"""Where a list in the order of ids goes on: behind an id; over several cells behind one id in each."""


class MergedPage(list[T]):
    """A page of a list over several cells. `ends` has, for each row, the last id shown of each cell up to it."""

    def __init__(self) -> None:
        super().__init__()
        self.ends: list[dict[int, int]] = []


def merged(pages: Mapping[int, Sequence[T]], before: Before | None, newer: Callable[[T], Any], limit: int) -> MergedPage[T]:
    """Merge pages of cells, each in its own order, by the values of `newer`, the greatest first; rows have an `id`."""
    page: MergedPage[T] = MergedPage()
    last_ids = dict(before) if isinstance(before, Mapping) else {}
    # A cell's rows stay in the order of its ids, though a row may have been stored a little later than one with a higher id.
    streams = [[(cell, row) for row in rows] for cell, rows in sorted(pages.items())]
    for cell, row in merge(*streams, key=lambda pair: newer(pair[1]), reverse=True):
        if len(page) == limit:
            break
        last_ids[cell] = row.id  # type: ignore[attr-defined]
        page.append(row)
        page.ends.append(dict(last_ids))
    return page


def end_of(rows: Sequence[Any], index: int) -> Before:
    """Return where the list goes on behind the row at this index."""
    return rows.ends[index] if isinstance(rows, MergedPage) else int(rows[index].id)


def before_in(cell: int, before: Before | None) -> int | None:
    """Return where the list goes on in one cell; None: at its beginning."""
    return before.get(cell) if isinstance(before, Mapping) else before


def concatenated(call: Any, answers: Answers) -> list[Any]:
    """Return the rows of all cells."""
    return [*chain.from_iterable(answers.values())]


def union(call: Any, answers: Answers) -> dict[Any, Any]:
    """Return the dictionary with the keys of all."""
    return {key: value for answer in answers.values() for key, value in answer.items()}


def sum_of(call: Any, answers: Answers) -> dict[Any, int]:
    """Return the sums of the cells' counts, by their keys."""
    total: Counter[Any] = Counter()
    for answer in answers.values():
        total.update(answer)
    return dict(total)


CONCATENATED = AnswerMerge(concatenated)
"""The rows of all cells."""
UNITED = AnswerMerge(union)
"""A dictionary with the keys of all."""
SUMMED = AnswerMerge(sum_of)
"""Counts by key."""
FIRST = AnswerMerge(lambda call, answers: next((answer for answer in answers.values() if answer is not None), None), needs_all=True)
"""The answer of the first cell that has one."""


def sorted_page(key: Callable[[Any], Any], *, newest: bool = False) -> AnswerMerge:
    """Merge rows in the order of this key, up to the call's `limit`."""
    return AnswerMerge(lambda call, answers: sorted(concatenated(call, answers), key=key, reverse=newest)[: getattr(call, "limit", None)])


def page_by_id(newer: Callable[[Any], Any]) -> AnswerMerge:
    """Merge pages that go on below an id, `before`, by the values of `newer`."""
    return AnswerMerge(
        lambda call, answers: merged(answers, call.before, newer, call.limit),
        lambda call, cell: replace(call, before=before_in(cell, call.before)),
    )


def divided(values: Iterable[tuple[int, Any]], cell_of: CellOf) -> dict[int, list[tuple[int, Any]]]:
    """Return pairs that begin with a client, by the cell of the client."""
    parts: dict[int, list[tuple[int, Any]]] = {}
    for client, value in values:
        parts.setdefault(cell_of(client), []).append((client, value))
    return parts


def named_clients(call: Any) -> Iterable[int | None]:
    """Return the `clients` of a call, whose None stands for all active ones."""
    return (None,) if call.clients is None else cast("Iterable[int | None]", call.clients)


def divide_clients(call: Any, cell_of: CellOf) -> dict[int, Any]:
    """Divide a call that names `clients` among their cells."""
    parts: dict[int, list[int]] = {}
    for client in call.clients:
        parts.setdefault(cell_of(client), []).append(client)
    return {cell: replace(call, clients=clients) for cell, clients in parts.items()}


def clients_of_deliveries(call: Any) -> Iterable[int | None]:
    """Return the clients of a call by its `deliveries`, pairs of a client and an id."""
    return (client for client, _ in call.deliveries)


def divided_deliveries(join: Callable[[Any, Answers], Any]) -> Division:
    """Divide a call by its `deliveries`."""
    return Division(
        lambda call, cell_of: {cell: replace(call, deliveries=part) for cell, part in divided(call.deliveries, cell_of).items()}, join
    )
