"""Plans that read and trim the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from touchbase.common.timestamps import Micros
from touchbase.errors import Fault, Invalid
from touchbase.event_log.models import LOOKED_AT, LoggedEvent, LoggedPage, Subjects
from touchbase.event_log.sql.log import DELIVERIES_OF, EVENTS_OF, LOGGED_EVENT, NEWEST_OF, SUPPRESSIONS_OF, TRIM, event_of
from touchbase.sql.cell_answers import UNITED, CellOf, Division, concatenated, divide_clients, divided, named_clients, sorted_page, union
from touchbase.sql.filters import ACTIVE_CLIENTS, Where, among
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.rows import names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Select, Statement

_LONG = [place for place, (name, _) in enumerate(LOGGED_EVENT) if name in ("changed", "cause", "data")]


@query
def list_logged_events(
    client: int, after_sequence: int | None, limit: int, types: list[str] | None = None, page_bytes: int = 0
) -> Plan[LoggedPage]:
    """The client's events after a sequence, oldest first; None: after the newest one, of which the page then says the sequence.

    `types`: None: all types.
    `page_bytes`: Bytes after which the page ends; 0: no limit.
    """
    # The counter first: all events up to it are visible to the next statement, also where each statement sees later commits.
    counters = yield Execute(NEWEST_OF, [(client,)])
    newest = counters[0][1] if counters else 0
    first = yield Select("SELECT min(sequence) FROM logged_event WHERE client = ?", (client,))
    oldest = first[0][0] or newest + 1
    after = newest if after_sequence is None else after_sequence
    if after >= newest:
        return LoggedPage([], after, newest, oldest)
    where = Where("client = ?", client)
    where.add("sequence > ?", after)
    where.add("sequence <= ?", newest)
    if types is not None:
        where.add(f"type IN ({', '.join('?' * len(types))})", *types)
    sql = f"SELECT {names(LOGGED_EVENT)} FROM logged_event WHERE {where} ORDER BY sequence LIMIT ?"
    budget = ByteBudget(page_bytes, _LONG) if page_bytes else None
    events = [event_of(row) for row in (yield Select(sql, (*where.params, limit), budget=budget))]
    is_full = len(events) == limit or (budget is not None and budget.is_spent)
    return LoggedPage(events, events[-1].sequence if is_full else newest, newest, oldest)


@query
def list_latest_events(client: int, limit: int, types: list[str] | None = None) -> Plan[list[LoggedEvent]]:
    """The client's newest events, newest first, of the last `LOOKED_AT`.

    `types`: None: all types.
    """
    counters = yield Execute(NEWEST_OF, [(client,)])
    newest = counters[0][1] if counters else 0
    where = Where("client = ?", client)
    where.add("sequence > ?", newest - LOOKED_AT)
    if types is not None:
        where.add(f"type IN ({', '.join('?' * len(types))})", *types)
    sql = f"SELECT {names(LOGGED_EVENT)} FROM logged_event WHERE {where} ORDER BY sequence DESC LIMIT ?"
    return [event_of(row) for row in (yield Select(sql, (*where.params, limit)))]


Place = tuple[Micros, int, int]
"""Time, client and sequence of an event among those of several clients.

A client's events stay in the order of its log, so the time is the earliest of the events behind which this one comes.
"""
MOST_CLIENTS = 500
"""Clients that are looked through for a page of events of several; most pages need few of them."""
_NEWEST = sorted_page(lambda place: place, newest=True)


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, _NEWEST.join, partial=True), merge=_NEWEST)
def list_newest_places(
    clients: Sequence[int] | None, limit: int, before: Place | None = None, types: list[str] | None = None
) -> Plan[list[Place]]:
    """Places of the events of these clients, None: of all active ones, newest first; of each client among its last `LOOKED_AT`.

    Raises `Invalid` if the page needs more than `MOST_CLIENTS`.
    """
    if clients == []:
        return []
    condition, numbers = ACTIVE_CLIENTS if clients is None else among(clients)
    newest = "SELECT e.at, e.client, e.sequence FROM event_counter c JOIN logged_event e ON e.client = c.client AND e.sequence = c.next - 1"
    rows = yield Select(f"{newest} WHERE c.client {condition} ORDER BY e.at DESC, e.client DESC LIMIT ?", (*numbers, MOST_CLIENTS + 1))
    places: list[Place] = []
    for count, (at, client, last) in enumerate(rows):
        if len(places) == limit and at < places[-1][0]:
            break  # this client, and those after it, have only older ones
        if count == MOST_CLIENTS:
            about = f"more than {MOST_CLIENTS} clients have later events, or none of these types: name one with ?client="
            raise Invalid([Fault("?client", "required", about)])
        places = sorted([*places, *(yield from _places_of(client, at, last, limit, before, types))], reverse=True)[:limit]
    return places


def _places_of(client: int, at: Micros, last: int, limit: int, before: Place | None, types: list[str] | None) -> Plan[list[Place]]:
    """Return the places of a client's events up to its last one, which is of the time `at`."""
    where = Where("client = ?", client)
    where.add("sequence > ?", last - LOOKED_AT)
    if types is not None:
        where.add(f"type IN ({', '.join('?' * len(types))})", *types)
    earliest, first = at, last
    if before is not None and client == before[1]:
        earliest, first = min(at, before[0]), before[2] - 1
    elif before is not None and (at, client) >= before[:2]:
        earliest, than = before[0], "<=" if client < before[1] else "<"
        sql = f"SELECT sequence FROM logged_event WHERE {where} AND at {than} ? ORDER BY sequence DESC LIMIT 1"
        following = yield Select(sql, (*where.params, earliest))
        first = following[0][0] if following else 0
    sql = f"SELECT at, sequence FROM logged_event WHERE {where} AND sequence <= ? ORDER BY sequence DESC LIMIT ?"
    places = []
    for occurred, sequence in (yield Select(sql, (*where.params, first, limit))):
        earliest = min(earliest, occurred)
        places.append((earliest, client, sequence))
    return places


@query
def read_logged_events(client: int, sequences: Sequence[int], page_bytes: int) -> Plan[dict[int, LoggedEvent]]:
    """The client's events with these sequences, in this order, until they have so many bytes, at least one: sequence -> event."""
    events: dict[int, LoggedEvent] = {}
    budget, start = ByteBudget(page_bytes, _LONG), 0
    while start < len(sequences) and not budget.is_spent:
        portion = sequences[start : start + budget.rows]
        start += len(portion)
        rows = yield Execute(EVENTS_OF, sorted((client, sequence) for sequence in portion))
        events |= {event.sequence: event for event in map(event_of, rows)}
        budget.spend(rows)
    return events


def _by_cell(query: Any, cell_of: CellOf) -> dict[int, Any]:
    return {cell: replace(query, since=dict(part)) for cell, part in divided(query.since.items(), cell_of).items()}


@query(clients=lambda call: call.since, divide=Division(_by_cell, union, partial=True))
def find_new_events(since: Mapping[int, int]) -> Plan[dict[int, int]]:
    """Of these clients, the ones with events after the given sequences: client -> its newest sequence.

    `since`: Client -> sequence.
    """
    rows = yield Execute(NEWEST_OF, sorted((client,) for client in since))
    return {client: newest for client, newest in rows if newest > since[client]}


def _spans_by_cell(query: Any, cell_of: CellOf) -> dict[int, Any]:
    return {cell: replace(query, spans=dict(part)) for cell, part in divided(query.spans.items(), cell_of).items()}


CHANGES = Statement(
    "changes_of_clients",
    (("client", "bigint"), ("since", "bigint"), ("until", "bigint")),
    body="SELECT t.client, t.sequence, t.type, t.at, t.record_kind, t.record_id, '{}', t.cause, '{}' FROM p CROSS JOIN logged_event t "
    "WHERE t.client = p.client AND t.sequence > p.since AND t.sequence <= p.until",
)
"""Events without their values."""


@query(clients=lambda call: call.spans, divide=Division(_spans_by_cell, concatenated))
def list_changes(spans: Mapping[int, tuple[int, int]]) -> Plan[list[LoggedEvent]]:
    """Events of several clients between two sequences of each, without their values, in the order of each client.

    `spans`: Client -> the sequence after which its events begin, and the last one.
    """
    rows = yield Execute(CHANGES, sorted((client, *span) for client, span in spans.items()))
    return [event_of(row) for row in sorted(rows)]


@query(scope=ALL_CLIENTS, merge=UNITED)
def list_newest_events() -> Plan[dict[int, int]]:
    """All clients that have events: client -> its newest sequence."""
    rows = yield Select("SELECT client, next - 1 FROM event_counter ORDER BY client", ())
    return {client: newest for client, newest in rows}  # noqa: C416 (typed)


@query(clients=lambda call: call.clients, divide=Division(divide_clients, concatenated, partial=True))
def clients_with_events(clients: Sequence[int], since_us: Micros) -> Plan[list[int]]:
    """Clients among these whose newest event is from this time or later."""
    condition, numbers = among(clients)
    sql = "SELECT c.client FROM event_counter c JOIN logged_event e ON e.client = c.client AND e.sequence = c.next - 1 "
    return [row[0] for row in (yield Select(f"{sql}WHERE c.client {condition} AND e.at >= ?", (*numbers, since_us)))]


@query
def find_subjects(client: int, suppressions: list[int], deliveries: list[int]) -> Plan[Subjects]:
    """Entries of the do-not-contact list and deliveries of one client, by their ids."""
    entries = (yield Execute(SUPPRESSIONS_OF, [(client, number) for number in suppressions])) if suppressions else []
    current_deliveries = (yield Execute(DELIVERIES_OF, [(client, number) for number in deliveries])) if deliveries else []
    return Subjects(
        {number: (kind, None if hashed else value) for number, kind, value, hashed in entries},
        {number: (state, error) for number, state, error in current_deliveries},
    )


@command(background=True)
def trim_log(client: int, before_us: Micros, limit: int = 1_000, keep_from: int | None = None) -> Plan[bool]:
    """Remove the client's events from before a time, oldest first, up to a number; return whether more are left to remove.

    `keep_from`: A sequence from which on events stay, whatever their age: an endpoint of webhooks has not got it.
    """
    sql = "SELECT sequence, at FROM logged_event WHERE client = ? ORDER BY sequence LIMIT ?"
    rows = yield Select(sql, (client, limit))
    stays = (n for n, (sequence, at) in enumerate(rows) if at >= before_us or (keep_from is not None and sequence >= keep_from))
    old = next(stays, len(rows))
    if old:
        yield Execute(TRIM, [(client, rows[old - 1][0])])
    return bool(rows) and old == limit
