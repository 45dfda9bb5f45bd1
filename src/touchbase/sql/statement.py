"""Statements over sets of rows, and plans made of them: what every SQL engine here runs.

An `Statement` is one named statement over a parameter table `p` whose rows the caller supplies. A *plan* is a
generator that yields `Execute`s and is sent their rows; it is plain code without I/O, so one text serves
a synchronous engine (SQLite: one execution for some rows, no round trips to save) and an asynchronous one
(PostgreSQL: one round trip per step, rows as columns to `unnest`).
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Row = tuple[Any, ...]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `body` reads its rows from the table `p`; both engines understand it.

    `columns` are p's columns as (name, PostgreSQL type). Where one engine says it in another way, another
    text takes its place: `sqlite` (numbered parameters ?1, ?2..., run row by row), `sqlite_set` (a body for
    SQLite alone), or `postgres` (columns $1, $2..., the whole statement).

    An op with `more_columns` has a second parameter table `q`. SQLite runs `sqlite_set` for the rows of p,
    then `more_set` for those of q; `postgres` takes the columns of both in one statement (those of q
    numbered after those of p).

    An op with `last_columns` has a third, `r`, in the same way: `last_set`.

    `made` is for inserts of rows with new ids: SQLite then asks this, over the same p, which of them went
    in, but only when not all did; where all did the answer is each row's id (its second column).

    `first_set` is for inserts that another table decides: SQLite puts the rows in there first, and `sqlite_set` runs
    for those that went in, which `made` tells of the first.
    """

    name: str
    columns: tuple[tuple[str, str], ...]
    body: str = ""
    sqlite: str = ""
    sqlite_set: str = ""
    postgres: str = ""
    more_columns: tuple[tuple[str, str], ...] = ()
    more_set: str = ""
    last_columns: tuple[tuple[str, str], ...] = ()
    last_set: str = ""
    made: str = ""
    first_set: str = ""


@dataclass(slots=True)
class Execute:
    """Run one op for these rows (and, for an op of several tables, those of q and r)."""

    op: Statement
    rows: Sequence[Row]
    more: Sequence[Row] = ()
    last: Sequence[Row] = ()


@dataclass(slots=True)
class Select:
    """Run one read whose text depends on the filters given; `?` stands for each parameter."""

    sql: str
    params: Row


Plan = Generator[Execute | Select, list[Row], T]


def delete(name: str, table: str, key: tuple[tuple[str, str], ...], returning: str = "") -> Statement:
    """Delete the rows of these keys; answers this column of each that went, where one is named."""
    numbered = " AND ".join(f"{column} = ?{n}" for n, (column, _) in enumerate(key, 1))
    same = " AND ".join(f"t.{column} = p.{column}" for column, _ in key)
    return Statement(
        name,
        key,
        sqlite=f"DELETE FROM {table} WHERE {numbered}" + (f" RETURNING {returning}" if returning else ""),
        body=f"DELETE FROM {table} t USING p WHERE {same}" + (f" RETURNING t.{returning}" if returning else ""),
    )


class SerializationConflict(Exception):
    """The plan met a write of somebody else's; run the whole transaction again."""


def for_sqlite(columns: Sequence[tuple[str, str]], body: str, count: int, table: str = "p") -> str:
    """A body for SQLite, over a parameter table of so many rows, their values bound one after the other."""
    names = ", ".join(name for name, _ in columns)
    width = len(columns)
    rows = (", ".join(f"?{row * width + n}" for n in range(1, width + 1)) for row in range(count))
    return f"WITH {table}({names}) AS (VALUES {', '.join(f'({row})' for row in rows)}) {body}"


def array(number: int, kind: str) -> str:
    """How a statement for PostgreSQL takes a parameter table's column: bytes as an array, all else as the text of one."""
    return f"${number}::bytea[]" if kind == "bytea" else f"${number}::text::{kind}[]"


def only_row(columns: Sequence[tuple[str, str]]) -> list[str]:
    """The columns of the one row that a statement for PostgreSQL is given."""
    return [f"({array(n, kind)})[1]" for n, (_, kind) in enumerate(columns, 1)]


def for_postgres(op: Statement) -> str:
    """The op's text for PostgreSQL, run once for all rows with one parameter per column bound in order (`array`)."""
    if op.postgres:
        return op.postgres
    names = ", ".join(name for name, _ in op.columns)
    arrays = ", ".join(array(n, kind) for n, (_, kind) in enumerate(op.columns, 1))
    return f"WITH p({names}) AS (SELECT * FROM unnest({arrays})) {op.body}"
