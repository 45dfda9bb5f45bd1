"""Plans that read and trim the log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from touchbase.event_log.commands import (
    LOOKED_AT,
    FindNewEvents,
    FindSubjects,
    ListLatestEvents,
    ListLoggedEvents,
    ListNewestEvents,
    Page,
    Subjects,
    TrimLog,
)
from touchbase.event_log.models import LoggedEvent
from touchbase.event_log.sql.statements import DELIVERIES_OF, LOGGED_EVENT, NEWEST_OF, SUPPRESSIONS_OF, TRIM, event_of
from touchbase.sql.filters import Where
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Select

_LONG = [place for place, (name, _) in enumerate(LOGGED_EVENT) if name in ("changed", "cause", "data")]


def list_logged_events(query: ListLoggedEvents) -> Plan[Page]:
    """Run `ListLoggedEvents`."""
    # The counter first: all events up to it are visible to the next statement, also where each statement sees later commits.
    counters = yield Execute(NEWEST_OF, [(query.client,)])
    newest = counters[0][1] if counters else 0
    first = yield Select("SELECT min(sequence) FROM logged_event WHERE client = ?", (query.client,))
    oldest = first[0][0] or newest + 1
    after = newest if query.after_sequence is None else query.after_sequence
    if after >= newest:
        return Page([], after, newest, oldest)
    where = Where("client = ?", query.client)
    where.add("sequence > ?", after)
    where.add("sequence <= ?", newest)
    if query.types is not None:
        where.add(f"type IN ({', '.join('?' * len(query.types))})", *query.types)
    sql = f"SELECT {names(LOGGED_EVENT)} FROM logged_event WHERE {where} ORDER BY sequence LIMIT ?"
    budget = ByteBudget(query.page_bytes, _LONG) if query.page_bytes else None
    events = [event_of(row) for row in (yield Select(sql, (*where.params, query.limit), budget=budget))]
    is_full = len(events) == query.limit or (budget is not None and budget.is_spent)
    return Page(events, events[-1].sequence if is_full else newest, newest, oldest)


def list_latest_events(query: ListLatestEvents) -> Plan[list[LoggedEvent]]:
    """Run `ListLatestEvents`."""
    counters = yield Execute(NEWEST_OF, [(query.client,)])
    newest = counters[0][1] if counters else 0
    where = Where("client = ?", query.client)
    where.add("sequence > ?", newest - LOOKED_AT)
    if query.types is not None:
        where.add(f"type IN ({', '.join('?' * len(query.types))})", *query.types)
    sql = f"SELECT {names(LOGGED_EVENT)} FROM logged_event WHERE {where} ORDER BY sequence DESC LIMIT ?"
    return [event_of(row) for row in (yield Select(sql, (*where.params, query.limit)))]


def find_new_events(query: FindNewEvents) -> Plan[dict[int, int]]:
    """Run `FindNewEvents`."""
    rows = yield Execute(NEWEST_OF, sorted((client,) for client in query.since))
    return {client: newest for client, newest in rows if newest > query.since[client]}


def list_newest_events(query: ListNewestEvents) -> Plan[dict[int, int]]:
    """Run `ListNewestEvents`."""
    rows = yield Select("SELECT client, next - 1 FROM event_counter ORDER BY client", ())
    return {client: newest for client, newest in rows}  # noqa: C416 (typed)


def find_subjects(query: FindSubjects) -> Plan[Subjects]:
    """Run `FindSubjects`."""
    entries = (yield Execute(SUPPRESSIONS_OF, [(query.client, number) for number in query.suppressions])) if query.suppressions else []
    deliveries = (yield Execute(DELIVERIES_OF, [(query.client, number) for number in query.deliveries])) if query.deliveries else []
    return Subjects(
        {number: (kind, None if hashed else value) for number, kind, value, hashed in entries},
        {number: (state, error) for number, state, error in deliveries},
    )


def trim_log(command: TrimLog) -> Plan[bool]:
    """Run `TrimLog`."""
    sql = "SELECT sequence, at FROM logged_event WHERE client = ? ORDER BY sequence LIMIT ?"
    rows = yield Select(sql, (command.client, command.limit))
    # In the order of sequences, whose times may differ a little: what is left has no gap.
    keep_from = command.keep_from
    stays = (n for n, (sequence, at) in enumerate(rows) if at >= command.before_us or (keep_from is not None and sequence >= keep_from))
    old = next(stays, len(rows))
    if old:
        yield Execute(TRIM, [(command.client, rows[old - 1][0])])
    return bool(rows) and old == command.limit


ANSWERS: Mapping[type, Callable[[Any], Plan[Any]]] = {
    ListLoggedEvents: list_logged_events,
    ListLatestEvents: list_latest_events,
    FindNewEvents: find_new_events,
    ListNewestEvents: list_newest_events,
    FindSubjects: find_subjects,
}
"""The plan of each query."""
