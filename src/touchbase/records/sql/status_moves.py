"""Counts of how records went from one status to another, by quarter of an hour and by day (UTC), from which the report by status is made.

The days of every time zone begin with a quarter of an hour; the days of UTC save a report from adding up all quarters. Each transaction
that creates, changes or deletes records brings the counts up to date itself, once, at its end and in order: transactions wait for each
other and do not deadlock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.status import path_of
from touchbase.sql.builders import ROW_KEY, ROW_MATCH
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Savepoint, Select, Statement, follow_savepoints

T = TypeVar("T")

QUARTER: Micros = 900 * SECOND
NOWHERE, UNSET = " ", ""
"""In place of a status: before a record was created, and of a record without one. A status has no blanks at its ends."""
IN_DAY = 96
"""Quarters."""
DAYS = 1 << 40
"""Added to the number of a day, which makes it a span beside the numbers of quarters."""
PRESENT = -(1 << 31)
"""In place of a span: how many records have a status now."""

_KEY: Columns = (("client", "bigint"), ("record_kind", "bigint"), ("span", "bigint"), ("from_status", "text"), ("to_status", "text"))
_MOVE: Columns = (*_KEY, ("n", "bigint"), ("first_us", "bigint"), ("last_us", "bigint"))
_ADD = (
    f"ON CONFLICT ({names(_KEY)}) DO UPDATE SET n = status_move.n + excluded.n, "
    "first_us = CASE WHEN excluded.first_us < status_move.first_us THEN excluded.first_us ELSE status_move.first_us END, "
    "last_us = CASE WHEN excluded.last_us > status_move.last_us THEN excluded.last_us ELSE status_move.last_us END"
)
ADD_MOVES = Statement(
    "add_status_moves",
    _MOVE,
    body=f"INSERT INTO status_move ({names(_MOVE)}) SELECT * FROM p WHERE true {_ADD} RETURNING {names(_KEY)}, n",
)
FORGET_MOVES = Statement(
    "forget_status_moves",
    _KEY,
    body=f"DELETE FROM status_move t USING p WHERE {' AND '.join(f't.{name} = p.{name}' for name, _ in _KEY)} AND t.n = 0",
    by_row=True,
)
_TABLES = {CONTACT: "contact", COMPANY: "company"}
_BEFORE = {
    kind: Statement(
        f"{table}_status_before",
        ROW_KEY,
        body=f"SELECT t.client, t.id, t.created_us, t.status_path FROM p CROSS JOIN {table} t WHERE {ROW_MATCH}",
    )
    for kind, table in _TABLES.items()
}
_INSERTS = {"create_checked_contact": CONTACT}
_INSERTS |= {f"{verb}_{table}": kind for kind, table in _TABLES.items() for verb in ("create", "insert")}
_UPDATES = {"update_contact": CONTACT, "fold_contact_status": CONTACT, "update_company": COMPANY}
_DELETES = {f"delete_{table}": kind for kind, table in _TABLES.items()}

State = tuple[Micros, str | None]
"""A record's creation and status path."""
Change = tuple[int, int, State | None, State | None]
"""Client, kind, and a record's state before and after; None: there is no record."""
Move = tuple[Micros, str, str]
"""When a record went from one status to another."""


def count_present(client: int, kind: int) -> Plan[int]:
    """Return how many records of a kind a client has, without reading them."""
    where = "WHERE client = ? AND record_kind = ? AND span = ?"
    rows = yield Select(f"SELECT CAST(COALESCE(sum(n), 0) AS bigint) FROM status_move {where}", (client, kind, PRESENT))
    return int(rows[0][0])


def creation_moves(kind: int) -> str:
    """Return the common table expression by which a PostgreSQL statement counts the records that it creates.

    It reads them from `made` (client, created_us, status), and waits as `creation_log` does, which reads it before it locks its counter.
    """
    quarter, day = (f"(created_us - (created_us % {size} + {size}) % {size}) / {size}" for size in (QUARTER, QUARTER * IN_DAY))
    created = f"SELECT client, {kind}, {{}}, '{{}}', COALESCE(status, '{UNSET}') COLLATE \"C\", count(*), {{}}, {{}} FROM made"
    created += " WHERE (SELECT count(*) FROM held) >= 0 GROUP BY 1, 3, 5"
    moved = [created.format(span, NOWHERE, "min(created_us)", "max(created_us)") for span in (quarter, f"{DAYS} + {day}")]
    moves = " UNION ALL ".join([created.format(PRESENT, UNSET, 0, 0), *moved])
    return f"moved AS (INSERT INTO status_move ({names(_MOVE)}) SELECT * FROM ({moves}) AS moves ORDER BY 1, 2, 3, 4, 5 {_ADD} RETURNING 1)"


def with_status_moves(plan: Plan[T]) -> Plan[T]:
    """Return the plan of a whole transaction, which counts the moves of the records that it writes."""
    changes: list[Change] = []
    marks: list[int] = []
    try:
        step = next(plan)
        while True:
            if isinstance(step, Savepoint):
                follow_savepoints(step, changes, marks)
            if not isinstance(step, Execute):
                step = plan.send((yield step))
                continue
            name = step.statement.name
            if (kind := _INSERTS.get(name)) is not None:
                rows = yield step
                changes += _inserted(step, kind, {row[0] for row in rows})
            elif (kind := _UPDATES.get(name) or _DELETES.get(name)) is not None:
                before = {row[:2]: row[2:] for row in (yield Execute(_BEFORE[kind], [row[:2] for row in step.rows]))}
                rows = yield step
                after = {} if name in _DELETES else {row[:2]: _state_in(step.statement, row, before.get(row[:2])) for row in step.rows}
                changes += [(key[0], kind, state, after.get(key)) for key, state in before.items() if after.get(key) != state]
            else:
                rows = yield step
            step = plan.send(rows)
    except StopIteration as stop:
        result: T = stop.value
    if rows := counts_of(changes):
        yield from _add(rows)
    return result


def _inserted(step: Execute, kind: int, ids: set[int]) -> list[Change]:
    return [(row[0], kind, None, _state_in(step.statement, row, None)) for row in step.rows if row[1] in ids]


def _state_in(statement: Statement, row: Row, before: Row | None) -> State:
    created, path = _places(statement)
    return (row[created] if created is not None else before[0] if before else 0, row[path])


@lru_cache
def _places(statement: Statement) -> tuple[int | None, int]:
    columns = [name for name, _ in statement.columns]
    return (columns.index("created_us") if "created_us" in columns else None), columns.index("status_path")


def counts_of(changes: Iterable[Change]) -> list[Row]:
    """Return the rows of `ADD_MOVES`, in the order of their keys."""
    numbers: Counter[Row] = Counter()
    times: dict[Row, tuple[Micros, Micros]] = {}
    for client, kind, before, after in changes:
        old, new = ([] if state is None else moves_of(*state) for state in (before, after))
        present = [moves[-1][2] if moves else None for moves in (old, new)]
        if present[0] != present[1]:
            for status, sign in zip(present, (-1, 1), strict=True):
                if status is not None:
                    key: Row = (client, kind, PRESENT, UNSET, status)
                    numbers[key] += sign
                    times[key] = (0, 0)
        same = 0
        while same < min(len(old), len(new)) and old[same] == new[same]:
            same += 1
        for moves, sign in ((old, -1), (new, 1)):
            for at, from_status, to_status in moves[same:]:
                quarter = at // QUARTER
                for span in (quarter, DAYS + quarter // IN_DAY):
                    key = (client, kind, span, from_status, to_status)
                    numbers[key] += sign
                    first, last = times.get(key, (at, at))
                    times[key] = (min(first, at), max(last, at))
    return [(*key, number, *times[key]) for key, number in sorted(numbers.items()) if number]


@lru_cache(1_000)
def moves_of(created: Micros, path: str | None) -> Sequence[Move]:
    """Return a record's moves. What was before its creation is the status that it was created with."""
    moves: list[Move] = []
    before, present, since = NOWHERE, UNSET, created
    for at, status in path_of(path).items():
        if at > since:
            if present != before:
                moves.append((since, before, present))
            before, since = present, at
        present = status or UNSET
    if present != before:
        moves.append((since, before, present))
    return moves


class WrongCount(NamedTuple):
    """A count that is not the number of all records' moves."""

    span: int
    from_status: str
    to_status: str
    stored: int
    counted: int
    first_us: Micros
    last_us: Micros

    def __str__(self) -> str:
        return f"{self.from_status!r} to {self.to_status!r} in span {self.span}"


@query(long=True)
def audit_moves(client: int, kind: int) -> Plan[list[WrongCount]]:
    """Return the counts that are not those of all records."""
    stored: dict[Row, int] = {
        row[:3]: row[3]
        for row in (
            yield Select("SELECT span, from_status, to_status, n FROM status_move WHERE client = ? AND record_kind = ?", (client, kind))
        )
    }
    counted: Counter[Row] = Counter()
    times: dict[Row, tuple[Micros, Micros]] = {}
    after, page = 0, 2_000
    while True:
        rows = yield Select(
            f"SELECT id, created_us, status_path FROM {_TABLES[kind]} WHERE client = ? AND id > ? ORDER BY id LIMIT {page}", (client, after)
        )
        for _, _, *key, number, first, last in counts_of((client, kind, None, state[1:]) for state in rows):
            counted[tuple(key)] += number
            earliest, latest = times.get(tuple(key), (first, last))
            times[tuple(key)] = (min(first, earliest), max(last, latest))
        if len(rows) < page:
            break
        after = rows[-1][0]
    differing = sorted(key for key in {*stored, *counted} if stored.get(key, 0) != counted[key])
    # A count of moves that no record has is taken to 0, and goes: its times do not matter.
    return [WrongCount(key[0], key[1], key[2], stored.get(key, 0), counted[key], *times.get(key, (0, 0))) for key in differing]


@command(background=True)
def correct_moves(client: int, kind: int, wrong: Sequence[WrongCount]) -> Plan[None]:
    """Add what audited counts lack. Writes add to them too, so those that came since the audit are not lost."""
    rows = [(client, kind, *count[:3], count.counted - count.stored, count.first_us, count.last_us) for count in wrong]
    yield from _add(rows)


def _add(rows: Sequence[Row]) -> Plan[None]:
    gone = [row[:5] for row in (yield Execute(ADD_MOVES, rows)) if not row[5]]
    if gone:
        yield Execute(FORGET_MOVES, gone)
