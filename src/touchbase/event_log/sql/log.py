"""Writing the log: plans hand over events while they run, and one statement at the end of the transaction stores them.

Statements that number, write and read events.

A client's sequence has no gaps and follows the order of commits: the statement that takes the numbers is the last one of its
transaction and locks the client's counter until the commit, so no later number is visible before an earlier one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import Any, TypeVar

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.event_log.models import LoggedEvent
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.files import erase_in_files, merges_in_files
from touchbase.sql.builders import RECORD, RECORD_MATCH, ROW_KEY, ROW_MATCH
from touchbase.sql.dialect import parameter_table
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Log, Plan, Row, Savepoint, Select, Statement, follow_savepoints

LOGGED_EVENT: Columns = (
    ("client", "bigint"), ("sequence", "bigint"), ("type", "text"), ("at", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"),
    ("changed", "text"), ("cause", "text"), ("data", "text"),
)  # fmt: skip
NEW: Columns = (LOGGED_EVENT[0], ("back", "bigint"), *LOGGED_EVENT[2:])
"""The columns of an event that has no sequence yet; `back` is its distance to the end of the client's log, 1 for the last event."""
_COUNT: Columns = (("client", "bigint"), ("count", "bigint"))
# Locked in the order of clients, so that two transactions that share clients wait for each other instead of deadlocking.
_TAKE = (
    "INSERT INTO event_counter (client, next) SELECT p.client, p.count + 1 FROM p WHERE true ORDER BY p.client "
    "ON CONFLICT (client) DO UPDATE SET next = event_counter.next + excluded.next - 1"
)
_INSERT = f"INSERT INTO logged_event ({names(LOGGED_EVENT)}) SELECT q.client, c.next - q.back, {names(NEW[2:], 'q.')}"
LOG_EVENTS = Statement(
    "log_events",
    _COUNT,
    more_columns=NEW,
    sqlite_set=_TAKE,
    more_set=f"{_INSERT} FROM q CROSS JOIN event_counter c WHERE c.client = q.client",
    postgres=(
        f"WITH {parameter_table('p', _COUNT)}, {parameter_table('q', NEW, len(_COUNT) + 1)}, "
        f"c AS ({_TAKE} RETURNING client, next) {_INSERT} FROM q JOIN c ON c.client = q.client"
    ),
)
NEWEST_OF = Statement(
    "newest_events_of",
    (("client", "bigint"),),
    body="SELECT t.client, t.next - 1 FROM p CROSS JOIN event_counter t WHERE t.client = p.client",
)
FORGET_CHANGES = Statement(
    "forget_changes", RECORD, body=f"UPDATE logged_event t SET changed = '{{}}' FROM p WHERE {RECORD_MATCH}", by_row=True
)
EVENTS_OF = Statement(
    "logged_events_of_client",
    (("client", "bigint"), ("sequence", "bigint")),
    body=f"SELECT {names(LOGGED_EVENT, 't.')} FROM p CROSS JOIN logged_event t WHERE t.client = p.client AND t.sequence = p.sequence",
)
SUPPRESSIONS_OF = Statement(
    "suppressions_of_events",
    ROW_KEY,
    body=f"SELECT t.id, t.kind, t.value, t.hashed FROM p CROSS JOIN suppression t WHERE {ROW_MATCH} UNION ALL "
    "SELECT s.id, s.kind, s.value, 0 FROM p CROSS JOIN installation_suppression s WHERE s.id = p.id",
)
DELIVERIES_OF = Statement(
    "deliveries_of_events", ROW_KEY, body=f"SELECT t.id, t.state, t.error FROM p CROSS JOIN delivery t WHERE {ROW_MATCH}"
)
TRIM = Statement(
    "trim_log",
    (("client", "bigint"), ("sequence", "bigint")),
    body="DELETE FROM logged_event t USING p WHERE t.client = p.client AND t.sequence <= p.sequence",
    by_row=True,
)
CREATION: Columns = (("changed", "text"), ("cause", "text"))
"""Columns that a statement which creates records takes for the event of each, next to the columns of `creation_log`."""


def creation_log(table: str, kind: int) -> str:
    """Return the common table expressions by which a PostgreSQL statement logs the records that it creates.

    It reads their keys from `made` (client, id), and from `r` (client, id, at, changed, cause) their events. The counter is locked
    after all records were inserted, after their statuses were counted (`moved`), and, for the foreign key, after `held` has locked the
    rows to which they refer.
    """
    return (
        "counts AS (SELECT client, count(*) AS n FROM made WHERE (SELECT count(*) FROM held) + (SELECT count(*) FROM moved) >= 0 "
        "GROUP BY client), "
        "counter AS (INSERT INTO event_counter (client, next) SELECT client, n + 1 FROM counts ORDER BY client "
        "ON CONFLICT (client) DO UPDATE SET next = event_counter.next + excluded.next - 1 RETURNING client, next), "
        f"logged AS (INSERT INTO logged_event ({names(LOGGED_EVENT)}) SELECT r.client, counter.next - counts.n - 1 "
        f"+ row_number() OVER (PARTITION BY r.client ORDER BY r.id), '{table}.created', r.at, {kind}, r.id, r.changed, r.cause, '{{}}' "
        "FROM r JOIN made ON made.client = r.client AND made.id = r.id JOIN counts ON counts.client = r.client "
        f"JOIN counter ON counter.client = r.client)"
    )


_decode: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


def new_row(event: LoggedEvent, back: int, cause: str) -> Row:
    """Return the row of a new event with this cause, encoded, in the order of `NEW`."""
    changed, data = encode(event.changed) if event.changed else "{}", encode(event.data) if event.data else "{}"
    return (event.client, back, event.type, event.at, event.record_kind, event.record_id, changed, cause, data)


def event_of(row: Row) -> LoggedEvent:
    """Return the event of a `LOGGED_EVENT` row."""
    changed = {name: (before, after) for name, (before, after) in _decode(row[6]).items()}
    client, sequence, name, at, kind, number, _, cause, data = row
    return LoggedEvent(client, name, at, kind, number, changed, _decode(cause), _decode(data), sequence)


T = TypeVar("T")


def log_events(events: Sequence[LoggedEvent]) -> Plan[None]:
    """Log these events when the transaction commits, in this order; none if it is rolled back, also to a savepoint before them."""
    if events:
        yield Log(events)


def with_cause(plan: Plan[T], cause_of: Callable[[LoggedEvent], LoggedEvent]) -> Plan[T]:
    """Return the plan with its events changed by `cause_of`."""
    try:
        step = next(plan)
        while True:
            if isinstance(step, Log):
                step = Log([cause_of(event) for event in step.events], step.forget)
            elif isinstance(step, Execute) and step.logs:
                step = replace(step, logs=[cause_of(event) for event in step.logs])
            step = plan.send((yield step))
    except StopIteration as stop:
        result: T = stop.value
        return result


@dataclass(slots=True)
class Noted:
    """Whether a transaction stores events; `announce` it after the commit."""

    any: bool = False

    def announce(self) -> None:
        """Signal to this process that events were stored, if any were."""
        if self.any:
            LOGGED.notify()


def with_log(plan: Plan[T], noted: Noted | None = None, *, keep: bool = True) -> Plan[T]:
    """Return the plan of a whole transaction, which stores the events of the plan as its last statement; without `keep` it drops them."""
    events: list[LoggedEvent] = []
    marks: list[int] = []
    try:
        step = next(plan)
        while True:
            if isinstance(step, Log):
                _forget(events, {*step.forget})
                events += step.events
                step = plan.send([])
                continue
            if isinstance(step, Savepoint):
                follow_savepoints(step, events, marks)
            rows = yield step
            if isinstance(step, Execute) and step.logs:
                logged = {row[0] for row in rows}
                events += [event for event in step.logs if event.record_id in logged]
            step = plan.send(rows)
    except StopIteration as stop:
        result: T = stop.value
    if events and keep:
        if noted is not None:
            noted.any = True
        yield _store(events)
    return result


def with_log_alone(plan: Plan[T], noted: Noted) -> Plan[T]:
    """Return a plan that runs outside of a transaction: its only statement that writes stores the events too."""
    try:
        step = next(plan)
        while True:
            if isinstance(step, Execute) and step.logs and step.statement.logged is not None:
                last = [(*row, encode(event.changed), encode(event.cause)) for row, event in zip(step.last, step.logs, strict=True)]
                noted.any = True
                step = Execute(step.statement.logged, step.rows, step.more, last)
            step = plan.send((yield step))
    except StopIteration as stop:
        result: T = stop.value
        return result


def _forget(events: list[LoggedEvent], records: set[tuple[int | None, ...]]) -> None:
    """Remove the changes from events that are not stored yet."""
    if not records:
        return
    merges = [
        {(event.client, event.record_kind, number) for number in (event.record_id, *event.data["merged"])}
        for event in events
        if "merged" in event.data
    ]
    while joined := [merge for merge in merges if not records.isdisjoint(merge)]:
        records |= {record for merge in joined for record in merge}
        merges = [merge for merge in merges if merge not in joined]
    for event in events:
        if (event.client, event.record_kind, event.record_id) in records:
            event.changed = {}


def _store(events: Sequence[LoggedEvent]) -> Execute:
    counts = Counter(event.client for event in events)
    causes = {id(event.cause): event.cause for event in events}  # of an import all records have the same one
    texts = {number: encode(cause) for number, cause in causes.items()}
    rows: list[Row] = []
    for client, client_events in groupby(sorted(events, key=attrgetter("client")), key=attrgetter("client")):
        rows += [new_row(event, counts[client] - position, texts[id(event.cause)]) for position, event in enumerate(client_events)]
    return Execute(LOG_EVENTS, sorted(counts.items()), rows)


_MERGES = (
    "SELECT record_kind, record_id, data FROM logged_event WHERE client = ? AND type IN ('contact.merged', 'company.merged') "
    "ORDER BY sequence"
)


class _Merged(msgspec.Struct):
    merged: list[int]


_merged = msgspec.json.Decoder(_Merged).decode
_merges = msgspec.json.Decoder(list[tuple[int, int, list[int]]]).decode


def forget_changes(client: int, records: Sequence[Row], at: Micros) -> Plan[list[Row]]:
    """Remove the changes from the events of these records (kind and id), and of records that a merge has ever joined with them.

    The events of a merge have values of all its records, also after it was undone. The result is all these records, with the client.
    From the archive's files the events are removed later.
    """
    joined_records = {*records}
    merges = [
        {(kind, number), *((kind, merged_id) for merged_id in _merged(data).merged)} for kind, number, data in (yield from _all(client))
    ]
    for text in (yield from merges_in_files(client)):
        merges += [{(kind, number) for number in (survivor, *others)} for kind, survivor, others in _merges(text)]
    while joined := [merge for merge in merges if not joined_records.isdisjoint(merge)]:
        joined_records |= {record for merge in joined for record in merge}
        merges = [merge for merge in merges if merge not in joined]
    rows = [(client, kind, number) for kind, number in sorted(joined_records)]
    yield Execute(FORGET_CHANGES, rows)
    yield Log([], rows)  # also from events of this transaction, which are stored at its end
    yield from erase_in_files(client, [*joined_records], at)
    return rows


def _all(client: int) -> Plan[list[Row]]:
    return (yield Select(_MERGES, (client,)))
