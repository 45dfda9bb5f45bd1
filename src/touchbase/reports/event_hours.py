"""Versions of the hours of events, by which reports know whether a stored part is still current.

A transaction that adds, moves or removes events that reports count, or the mark of a deleted record, raises the versions of their
hours. It does so once, at its end and in order, so that transactions wait for each other and do not deadlock. No clock takes part.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from touchbase.history.events import CONTACT
from touchbase.reports.parts import COUNTED, HOUR
from touchbase.sql.builders import RECORD, RECORD_MATCH
from touchbase.sql.statement import Execute, Plan, Row, Savepoint, Statement, follow_savepoints

T = TypeVar("T")
Hours = Iterable[tuple[int, int]]
"""Clients and hours."""

_COUNTED = " OR ".join(f"t.effect = '{effect}'" for effect in sorted(COUNTED))
HOURS_OF_RECORDS = Statement(
    "hours_of_records", RECORD, body=f"SELECT t.client, t.occurred_us FROM p CROSS JOIN event t WHERE {RECORD_MATCH} AND ({_COUNTED})"
)
RAISE_HOURS = Statement(
    "raise_hours",
    (("client", "bigint"), ("hour", "bigint")),
    body="INSERT INTO event_hour (client, hour, version) SELECT client, hour, 1 FROM p WHERE true "
    "ON CONFLICT (client, hour) DO UPDATE SET version = event_hour.version + 1",
)


def _inserted(rows: Sequence[Row], inserted: Sequence[Row]) -> Hours:
    """Return the hours of the counted events among `EVENT` rows that were inserted; `inserted` has their keys."""
    counted = [row for row in rows if row[1] == CONTACT and row[6] in COUNTED]
    if counted and len(inserted) < len(rows):
        new = set(inserted)
        counted = [row for row in counted if row[1:5] in new]
    return [(row[0], row[3] // HOUR) for row in counted]


def _retimed(rows: Sequence[Row], retimed: Sequence[Row]) -> Hours:
    return [(row[0], at // HOUR) for row in rows if row[1] == CONTACT for at in (row[4], row[5])]


def _removed(rows: Sequence[Row], removed: Sequence[Row]) -> Hours:
    return [(row[0], row[3] // HOUR) for row in rows if row[1] == CONTACT]


BY_EVENT: dict[str, Callable[[Sequence[Row], Sequence[Row]], Hours]] = {
    "insert_event": _inserted,
    "retime_event": _retimed,
    "take_event_out": _removed,
}
"""Statements whose parameters have the times of the events, by name."""
BY_RECORD = frozenset({"delete_events_of", "erase_event", "insert_deleted_record", "take_deleted_record", "erase_deleted_record"})
"""Statements that concern all events of the records in their first columns."""


def with_event_hours(plan: Plan[T]) -> Plan[T]:
    """Return the plan of a whole transaction, which raises the versions of the hours whose counted events it changes."""
    hours: list[tuple[int, int]] = []
    marks: list[int] = []
    try:
        step = next(plan)
        while True:
            if isinstance(step, Savepoint):
                follow_savepoints(step, hours, marks)
            if not isinstance(step, Execute):
                step = plan.send((yield step))
                continue
            name = step.statement.name
            if name in BY_RECORD and (records := sorted({row[:3] for row in step.rows if row[1] == CONTACT})):
                hours += [(client, at // HOUR) for client, at in (yield Execute(HOURS_OF_RECORDS, records))]
            rows = yield step
            if name in BY_EVENT:
                hours += BY_EVENT[name](step.rows, rows)
            step = plan.send(rows)
    except StopIteration as stop:
        result: T = stop.value
    if hours:
        yield Execute(RAISE_HOURS, sorted({*hours}))
    return result
