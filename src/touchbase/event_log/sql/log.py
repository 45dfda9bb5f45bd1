"""Writing the log: plans hand over events while they run, and one statement at the end of the transaction stores them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from typing import TypeVar

from touchbase.event_log.models import LoggedEvent
from touchbase.event_log.signal import LOGGED
from touchbase.event_log.sql.statements import LOG_EVENTS, new_row
from touchbase.sql.rows import encode
from touchbase.sql.statement import Execute, Log, Plan, Row, Savepoint, follow_savepoints

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
    rows: list[Row] = []
    for client, client_events in groupby(sorted(events, key=attrgetter("client")), key=attrgetter("client")):
        rows += [new_row(event, counts[client] - position) for position, event in enumerate(client_events)]
    return Execute(LOG_EVENTS, sorted(counts.items()), rows)
