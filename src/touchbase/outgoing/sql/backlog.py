"""Plans that count the events that endpoints will be sent: events that wait for a retry, and events not read from the log yet.

Types and filters are evaluated by the statements; a filter on the record as it is now, as it is before each request.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.timestamps import Micros
from touchbase.outgoing.filters import NAMES
from touchbase.outgoing.models import Backlog
from touchbase.search.service import filter_parser
from touchbase.search.sql.plans import without_match
from touchbase.sql.cell_answers import AnswerMerge, Answers, sum_of
from touchbase.sql.filters import Where
from touchbase.sql.operation import query
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Plan, Row, Select

LOOK_AHEAD = 20_000
"""Events after an endpoint's position of which types and filter are evaluated; later ones count as if the endpoint wanted them."""
FILTERED = 200
"""Endpoints with filters that are evaluated for one reading of the metrics; further ones count by their types."""
_FROM = (
    "FROM webhook_endpoint e JOIN client c ON c.id = e.client AND c.state = 'active' "
    "JOIN webhook_position s ON s.client = e.client AND s.endpoint_id = e.id JOIN event_counter n ON n.client = e.client "
)
_SERVED = "WHERE e.state <> 'disabled' "
_BEHIND = f"{_SERVED}AND s.position < n.next - 1 "
_WANTED = (
    f"SELECT count(*), min(l.at) {_FROM}JOIN logged_event l ON l.client = e.client AND l.sequence > s.position "
    f"AND l.sequence <= s.position + {LOOK_AHEAD} {_BEHIND}AND e.types <> '[]' AND "
)
_IN_TYPES = "l.type IN (SELECT value FROM json_each(e.types))"
_IN_TYPES_POSTGRES = "jsonb_exists(CAST(e.types AS jsonb), l.type)"
_FAR = f"n.next - 1 - s.position - {LOOK_AHEAD}"
_SUMS: Sequence[tuple[str, str]] = (
    (
        f"SELECT COALESCE(sum(n.next - 1 - s.position), 0), min(l.at) {_FROM}"
        f"LEFT JOIN logged_event l ON l.client = s.client AND l.sequence = s.position + 1 {_BEHIND}AND e.types = '[]'",
        "",
    ),
    (_WANTED + _IN_TYPES, _WANTED + _IN_TYPES_POSTGRES),
    (f"SELECT COALESCE(sum({_FAR}), 0), NULL {_FROM}{_BEHIND}AND e.types <> '[]' AND {_FAR} > 0", ""),
    (
        f"SELECT count(*), min(p.first_us) {_FROM}JOIN pending_webhook p ON p.client = e.client AND p.endpoint_id = e.id "
        f"{_SERVED}AND p.next_us IS NOT NULL",
        "",
    ),
)
"""Statements, and their texts for PostgreSQL where they differ, that count events of all endpoints except of some keys."""
_EVALUATED = (
    f"SELECT e.client, e.id, e.types, e.filter, s.position, n.next - 1 {_FROM}{_SERVED}AND e.filter <> '{{}}' AND (s.position < n.next - 1 "
    "OR EXISTS (SELECT 1 FROM pending_webhook p WHERE p.client = e.client AND p.endpoint_id = e.id)) ORDER BY e.client, e.id LIMIT ?"
)
_list: Callable[[str], list[str]] = msgspec.json.Decoder(list[str]).decode
_dict: Callable[[str], dict[str, Any]] = msgspec.json.Decoder(dict[str, Any]).decode


def _added(query: Any, answers: Answers) -> Backlog:
    backlogs: list[Backlog] = list(answers.values())
    return Backlog(
        sum(backlog.waiting for backlog in backlogs),
        min((backlog.oldest_us for backlog in backlogs if backlog.oldest_us is not None), default=None),
        sum_of(query, {cell: backlog.endpoints for cell, backlog in answers.items()}),
        sum(backlog.failing for backlog in backlogs),
    )


@query(scope=ALL_CLIENTS, merge=AnswerMerge(_added))
def count_outgoing(at: Micros) -> Plan[Backlog]:
    """The backlog of all clients.

    `at`: Now, for filters on times.
    """
    states: dict[str, int] = dict((yield Select("SELECT state, count(*) FROM webhook_endpoint WHERE client > 0 GROUP BY state", ())))
    [(failing,)] = yield Select(f"SELECT count(*) {_FROM}{_SERVED}AND s.failing_since_us IS NOT NULL", ())
    filtered = yield Select(_EVALUATED, (FILTERED,))
    others, params = "", []
    for client, number, *_ in filtered:
        others += " AND NOT (e.client = ? AND e.id = ?)"
        params += [client, number]
    total, times = 0, list[Micros | None]()
    for sql, postgres in _SUMS:
        [(count, oldest)] = yield Select(sql + others, tuple(params), postgres and postgres + others)
        total += int(count)
        times.append(oldest)
    settings: dict[int, ClientSettings] = {}
    for client, number, types, trees, position, newest in filtered:
        if client not in settings:
            settings[client] = (yield from settings_of(client)) or ClientSettings()
        conditions = filter_conditions(_dict(trees), settings[client], at)
        count, oldest = yield from count_waiting(client, number, _list(types), conditions, position, newest)
        total += count
        times.append(oldest)
    return Backlog(total, min((current_at for current_at in times if current_at is not None), default=None), states, failing)


@dataclass(frozen=True, slots=True)
class FilterCondition:
    """Condition on a row `l` that names a record: the record matches a filter, or does not exist any more."""

    sqlite: str
    postgres: str
    params: Row


def filter_conditions(trees: Mapping[str, Any], settings: ClientSettings, now: Micros) -> list[FilterCondition]:
    """Return the conditions of a filter, one for each of its trees."""
    conditions = []
    for name, tree in trees.items():
        kind = NAMES[name]
        sqlite, postgres, params = without_match(kind, filter_parser(kind, settings, now, []).json(tree))
        of_kind = f"(l.record_kind IS NULL OR l.record_kind <> {kind} OR NOT EXISTS "
        conditions.append(FilterCondition(f"{of_kind}({sqlite}))", f"{of_kind}({postgres}))", tuple(params)))
    return conditions


def count_waiting(
    client: int, endpoint_id: int, types: Sequence[str], conditions: Sequence[FilterCondition], position: int, newest: int
) -> Plan[tuple[int, Micros | None]]:
    """Count the events of the log and of the retries that an endpoint will be sent; return also the oldest one's time."""
    unread = Where("l.client = ?", client)
    unread.add("l.sequence > ? AND l.sequence <= ?", position, min(newest, position + LOOK_AHEAD))
    if types:
        unread.add(f"l.type IN ({', '.join('?' * len(types))})", *types)
    retried = Where("l.client = ? AND l.endpoint_id = ? AND l.next_us IS NOT NULL", client, endpoint_id)
    count = max(0, newest - position - LOOK_AHEAD)
    times: list[Micros | None] = []
    for columns, table, where in (("min(l.at)", "logged_event", unread), ("min(l.first_us)", "pending_webhook", retried)):
        sql = f"SELECT count(*), {columns} FROM {table} l WHERE {where}"
        params = [*where.params, *(value for condition in conditions for value in condition.params)]
        sqlite = " AND ".join([sql, *(condition.sqlite for condition in conditions)])
        postgres = " AND ".join([sql, *(condition.postgres for condition in conditions)])
        [(waiting, oldest)] = yield Select(sqlite, tuple(params), postgres)
        count += waiting
        times.append(oldest)
    return count, min((at for at in times if at is not None), default=None)
