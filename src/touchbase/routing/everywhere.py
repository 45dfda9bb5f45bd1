"""Questions to all cells: how the answers of several stores become one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import Any

from touchbase.auth.commands import ListKeys
from touchbase.cells.pages import before_in, merged
from touchbase.clients.commands import ListClientPage
from touchbase.clients.sql.queries import deleting_clients, find_client_by_handle, list_clients
from touchbase.clients.sql.stored_bytes import list_near_limit
from touchbase.clients.stored_bytes import CountStored, StoredTotals
from touchbase.connections.sql.silence import count_silent
from touchbase.erasure.sql.queries import clients_with_erasures, open_erasures
from touchbase.event_log.commands import FindNewEvents
from touchbase.event_log.sql.queries import list_newest_events
from touchbase.inbox.commands import ReplayMany
from touchbase.inbox.queries import CountInbox, GroupDeliveries, InboxCounts, ListDeliveries
from touchbase.inbox.refused import ListRefusals
from touchbase.inbox.search_queries import GetEffects
from touchbase.inbox.sql.queries import get_delivery
from touchbase.jobs.commands import ListJobs
from touchbase.jobs.sql import get_job
from touchbase.outgoing.commands import Backlog, CountOutgoing, ListTroubles
from touchbase.outgoing.sql.dispatch import list_mail_endpoints
from touchbase.records.match import MatchEverywhere
from touchbase.records.sql.lookup import find_owner

Answers = Mapping[int, Any]
"""The answer of each cell, by its number."""


def _all(answers: Answers) -> Iterable[Any]:
    return chain.from_iterable(answers.values())


def first(query: Any, answers: Answers) -> Any:
    """Return what one cell has found; None if none has."""
    return next((found for found in answers.values() if found is not None), None)


def _union(query: Any, answers: Answers) -> dict[Any, Any]:
    return {key: value for found in answers.values() for key, value in found.items()}


def _sum(query: Any, answers: Answers) -> dict[Any, int]:
    total: Counter[Any] = Counter()
    for found in answers.values():
        total.update(found)
    return dict(total)


def _clients(query: Any, answers: Answers) -> list[Any]:
    return sorted(_all(answers), key=lambda client: str(client.client_id))


def _client_page(query: ListClientPage, answers: Answers) -> list[Any]:
    return _clients(query, answers)[: query.limit]


def _keys(query: ListKeys, answers: Answers) -> list[Any]:
    return sorted(_all(answers), key=lambda key: (key.created_us, key.key_id), reverse=True)[: query.limit]


def _refusals(query: ListRefusals, answers: Answers) -> list[Any]:
    return sorted(_all(answers), key=lambda one: (one.received_us, one.id), reverse=True)[: query.limit]


def _troubles(query: ListTroubles, answers: Answers) -> list[Any]:
    return sorted(_all(answers), key=lambda one: (one.client_id, one.endpoint_id))[: query.limit]


def _groups(query: GroupDeliveries, answers: Answers) -> list[Any]:
    return sorted(_all(answers), key=lambda group: (-group.count, -group.example_id))[: query.limit]


def _deliveries(query: ListDeliveries, answers: Answers) -> list[Any]:
    return merged(answers, query.before, lambda delivery: delivery.received_us, query.limit)


def _jobs(query: ListJobs, answers: Answers) -> list[Any]:
    return merged(answers, query.before, lambda job: job.created_us, query.limit)


def _inbox(query: CountInbox, answers: Answers) -> InboxCounts:
    oldest: dict[str, int] = {}
    for found in answers.values():
        for state, at in found.oldest_us.items():
            oldest[state] = min(at, oldest.get(state, at))
    return InboxCounts(_sum(query, {cell: found.by_state for cell, found in answers.items()}), oldest)


def _outgoing(query: CountOutgoing, answers: Answers) -> Backlog:
    found: list[Backlog] = list(answers.values())
    return Backlog(
        sum(one.waiting for one in found),
        min((one.oldest_us for one in found if one.oldest_us is not None), default=None),
        _sum(query, {cell: one.endpoints for cell, one in answers.items()}),
        sum(one.failing for one in found),
    )


def _stored(query: CountStored, answers: Answers) -> StoredTotals:
    total = StoredTotals()
    for found in answers.values():
        total += found
    return total


def _matches(query: MatchEverywhere, answers: Answers) -> Mapping[Any, Any] | None:
    if any(found is None for found in answers.values()):
        return None
    joined: dict[Any, list[Any]] = {}
    for found in answers.values():
        for key, matches in found.items():
            joined.setdefault(key, []).extend(matches)
    return joined


MERGES: dict[Any, Callable[[Any, Answers], Any]] = {
    list_clients: _clients,
    ListClientPage: _client_page,
    deleting_clients: _clients,
    ListKeys: _keys,
    ListRefusals: _refusals,
    ListDeliveries: _deliveries,
    ListJobs: _jobs,
    ListTroubles: _troubles,
    list_mail_endpoints: lambda query, answers: [*_all(answers)],
    GroupDeliveries: _groups,
    CountInbox: _inbox,
    CountOutgoing: _outgoing,
    count_silent: _sum,
    CountStored: _stored,
    list_near_limit: lambda query, answers: [*_all(answers)],
    clients_with_erasures: lambda query, answers: [*_all(answers)],
    open_erasures: lambda query, answers: [*_all(answers)],
    list_newest_events: _union,
    MatchEverywhere: _matches,
    find_client_by_handle: first,
    get_delivery: first,
    get_job: first,
    find_owner: first,
}
"""Questions about all clients, while they name none."""

CellOf = Callable[[int], int]


def _divided(values: Iterable[tuple[int, Any]], cell_of: CellOf) -> dict[int, list[tuple[int, Any]]]:
    parts: dict[int, list[tuple[int, Any]]] = {}
    for client, value in values:
        parts.setdefault(cell_of(client), []).append((client, value))
    return parts


def _divide_deliveries(request: Any, cell_of: CellOf) -> dict[int, Any]:
    return {cell: replace(request, deliveries=part) for cell, part in _divided(request.deliveries, cell_of).items()}


def _divide_events(query: FindNewEvents, cell_of: CellOf) -> dict[int, Any]:
    return {cell: replace(query, since=dict(part)) for cell, part in _divided(query.since.items(), cell_of).items()}


def _total(query: Any, answers: Answers) -> int:
    return sum(answers.values())


DIVIDED: dict[type, tuple[Callable[[Any, CellOf], dict[int, Any]], Callable[[Any, Answers], Any]]] = {
    GetEffects: (_divide_deliveries, _union),
    ReplayMany: (_divide_deliveries, _total),
    FindNewEvents: (_divide_events, _union),
}
"""Requests about several clients that they name: how they are divided among the cells, and their results joined."""


def for_cell(query: Any, cell: int) -> Any:
    """Return a question as this cell is to be asked: pages in the order of ids go on behind its own last id."""
    if isinstance(query, ListDeliveries | ListJobs):
        return replace(query, before=before_in(cell, query.before))
    return query
