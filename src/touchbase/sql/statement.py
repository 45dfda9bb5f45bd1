"""Statements over sets of rows, and plans made of them; every SQL engine runs these.

A `Statement` is a named statement over a parameter table `p`, whose rows `Execute` supplies. A *plan* is a generator
that yields `Execute`s and is sent their result rows. It does no I/O, so one plan runs on a synchronous engine (SQLite:
a few rows per execution, as there are no round trips to save) and on an asynchronous one (PostgreSQL: one round trip
per step, rows passed as arrays to `unnest`).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Generator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from touchbase.sql.dialect import by_row, parameter_table
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.rows import Columns

Row = tuple[Any, ...]
T = TypeVar("T")
_WRITE = re.compile(r"\b(?:INSERT INTO|DELETE FROM|UPDATE \w+ )(?<!UPDATE OF )(?<!UPDATE SKIP )")
"""Keywords of a text that writes; `FOR UPDATE OF` and `FOR UPDATE SKIP LOCKED` only lock."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement. `body` reads its rows from the table `p`, on both engines.

    `columns` are the columns of p as (name, PostgreSQL type). Where rewriting (`sql/dialect.py`) does not do, an engine has another text
    in place of `body`: `sqlite` (numbered parameters ?1, ?2..., run row by row), `sqlite_set` (a body for SQLite alone), or `postgres`
    (the whole statement, with columns $1, $2...).

    A statement with `more_columns` has a second parameter table `q`. SQLite runs `sqlite_set` for the rows of p,
    then `more_set` for those of q; `postgres` takes the columns of both (those of q numbered after those of p).

    A statement with `last_columns` has a third table `r` in the same way, with `last_set`, and then `end_set` for the same rows.

    `inserted_ids` is for inserts of rows with new ids: it selects, over the same p, the ids of the rows that were inserted.
    SQLite runs it only if some rows were not; else the result is each row's id (its second column).

    One with a text for PostgreSQL alone only locks (`lock`): SQLite, which has one writer, does not run it.

    `first_set` is for inserts that depend on an insert into another table: SQLite runs `first_set` first, and then
    `sqlite_set` for the rows that `first_set` inserted, as `inserted_ids` reports them.
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
    end_set: str = ""
    inserted_ids: str = ""
    first_set: str = ""
    logged: Statement | None = None
    """For an insert that is a transaction by itself: the same, with the events of the inserted rows (`Execute.logs`)."""
    lock: str = ""
    """How PostgreSQL's text ends: row locks, in an order in which two batches that share rows wait instead of deadlocking."""
    by_row: bool = False
    """Whether SQLite runs `body` row by row (`dialect.by_row`): it has no DELETE with a second table."""
    writes: bool = field(init=False)
    returns: bool = field(init=False)
    """Whether a statement that writes returns a row for each that it has changed."""

    def __post_init__(self) -> None:
        texts = (self.body, self.sqlite, self.sqlite_set, self.postgres)
        object.__setattr__(self, "writes", any(map(_WRITE.search, texts)))
        object.__setattr__(self, "returns", bool(self.inserted_ids) or any("RETURNING" in text for text in texts))
        if self.by_row:
            object.__setattr__(self, "sqlite", by_row(self.columns, self.body))


@dataclass(slots=True)
class Execute:
    """Run a statement for these rows (and, with several parameter tables, for the rows of q and r)."""

    statement: Statement
    rows: Sequence[Row]
    more: Sequence[Row] = ()
    last: Sequence[Row] = ()
    logs: Sequence[Any] = ()
    """For an insert of records: the event of each row, which is logged if the row is inserted (`event_log`)."""
    budget: ByteBudget | None = None
    """For a statement that reads: where reading stops, in the order of `rows`; PostgreSQL needs an ORDER BY for it."""


@dataclass(slots=True)
class Select:
    """Run one read whose text depends on the filters; `?` stands for each parameter."""

    sql: str
    params: Row
    postgres: str = ""
    """The text for PostgreSQL where it differs, with the same parameters in the same order."""
    budget: ByteBudget | None = None
    """Where reading stops."""


@dataclass(frozen=True, slots=True)
class Savepoint:
    """Control the innermost savepoint of the transaction: `SAVEPOINT`, `ROLLBACK TO` or `RELEASE`. It has no rows."""

    sql: str


SAVE, ROLL_BACK, RELEASE = (Savepoint(f"{verb} write_batch") for verb in ("SAVEPOINT", "ROLLBACK TO", "RELEASE"))


def follow_savepoints(step: Savepoint, noted: list[Any], marks: list[int]) -> None:
    """Drop notes since a savepoint to which the transaction is rolled back; `marks` has the numbers at open savepoints."""
    if step is SAVE:
        marks.append(len(noted))
    elif step is ROLL_BACK:
        del noted[marks[-1] :]
    elif step is RELEASE:
        marks.pop()


@dataclass(slots=True)
class Log:
    """Hand over events to be stored at the end of the transaction (`event_log`). No engine runs it, and it has no rows."""

    events: Sequence[Any]
    forget: Collection[tuple[int, int, int]] = ()
    """Records (client, kind, id) whose events of this transaction lose their changes."""


Step = Execute | Select | Savepoint | Log
Plan = Generator[Step, list[Row], T]


def has_written(step: Step, rows: Sequence[Row]) -> bool:
    """Return whether a step with this result may have changed something."""
    if isinstance(step, Execute):
        return step.statement.writes and bool(step.rows or step.more) and bool(rows or not step.statement.returns)
    return isinstance(step, Log) or (isinstance(step, Select) and _WRITE.search(step.sql) is not None)


def delete(name: str, table: str, key: Columns, returning: str = "") -> Statement:
    """Build a deletion of rows by key; it returns the column `returning` of each deleted row, if given."""
    same = " AND ".join(f"t.{column} = p.{column}" for column, _ in key)
    body = f"DELETE FROM {table} t USING p WHERE {same}" + (f" RETURNING t.{returning}" if returning else "")
    return Statement(name, key, body=body, by_row=True)


def lock(name: str, columns: Columns, body: str) -> Statement:
    """Build a statement that only locks something, for which SQLite has no need."""
    return Statement(name, columns, postgres=f"WITH {parameter_table('p', columns)} {body}")


class SerializationConflict(Exception):
    """The plan conflicts with a concurrent write; run the whole transaction again."""


def for_postgres(statement: Statement) -> str:
    """Return the statement's text for PostgreSQL: run once for all rows, with one parameter per column (`array`)."""
    if statement.postgres:
        return statement.postgres
    return f"WITH {parameter_table('p', statement.columns)} {statement.body}{statement.lock}"
