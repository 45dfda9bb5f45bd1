"""Queries of the inbox: lists, counts and groups of deliveries, clients with due deliveries, expired dedupe keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from touchbase.clients.models import ACTIVE
from touchbase.common.timestamps import Micros
from touchbase.deliveries.claiming import ITS_BODY, WITH_BODY
from touchbase.deliveries.delivery import FAILED, PARKED, RECEIVED, STATES, UNRECOGNISED, Delivery, waiting_since
from touchbase.deliveries.sql import rows as inbox_rows
from touchbase.deliveries.sql.statements import BUSY
from touchbase.history import sql as history_sql
from touchbase.history.events import StoredEvent
from touchbase.inbox.queries import MOST_COUNTED, DeliveryGroup, InboxCounts, StateCount, StateCounts
from touchbase.sql import rows as sql_rows
from touchbase.sql.cell_answers import (
    FIRST,
    UNITED,
    AnswerMerge,
    Answers,
    Before,
    Division,
    divide_clients,
    named_clients,
    page_by_id,
    sorted_page,
    sum_of,
    union,
)
from touchbase.sql.filters import Where, among
from touchbase.sql.operation import query
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Plan, Row, Select

_DELIVERY = sql_rows.names(inbox_rows.DELIVERY[:-1], "d.")
STUCK = (PARKED, UNRECOGNISED, FAILED)
"""States with partial indexes. A state is a literal in the SQL, not a parameter, so that both engines use its index."""


@query(unnamed=ALL_CLIENTS, merge=page_by_id(lambda delivery: delivery.received_us))
def list_deliveries(
    limit: int,
    client: int | None = None,
    channel: str | None = None,
    tool: str | None = None,
    state: str | None = None,
    before: Before | None = None,
    received_since_us: Micros | None = None,
    problems: bool = False,
    received_until_us: Micros | None = None,
    like: int | None = None,
) -> Plan[list[Delivery]]:
    """List deliveries without bodies, newest first.

    `before`: the last id of the previous page. `problems`: only deliveries with a problem. `received_until_us`: only deliveries received
    before this time. `like`: only deliveries of the group of this one, as `group_deliveries` groups them.
    """
    where = _where(None, channel, tool, state, before, received_since_us, like)
    where.less("d.received_us", received_until_us)
    if problems:
        where.add("d.problems IS NOT NULL")
    clients: Sequence[Row] = [(client, 0)]
    if client is None:  # every index begins with the client: a page has deliveries of the clients with the newest ones alone
        newest = f"SELECT c.id, (SELECT max(d.id) FROM delivery d WHERE d.client = c.id AND {where}) AS newest FROM client c"
        sql = f"SELECT n.id, n.newest FROM ({newest}) n WHERE n.newest IS NOT NULL ORDER BY n.newest DESC LIMIT ?"
        clients = yield Select(sql, (*where.params, limit))
    deliveries: list[Delivery] = []
    for number, newest_id in clients:
        if len(deliveries) >= limit and deliveries[limit - 1].id > newest_id:
            break
        sql = "FROM delivery d JOIN client c ON c.id = d.client WHERE d.client = ? AND"
        sql = f"SELECT c.client_id, {_DELIVERY} {sql} {where} ORDER BY d.id DESC LIMIT ?"
        deliveries += map(inbox_rows.delivery_of, (yield Select(sql, (number, *where.params, limit))))
        deliveries = sorted(deliveries, key=lambda delivery: -delivery.id)[:limit]
    return deliveries


@query
def count_deliveries(
    client: int,
    channel: str | None = None,
    tool: str | None = None,
    state: str | None = None,
    before: int | None = None,
    received_since_us: Micros | None = None,
    like: int | None = None,
) -> Plan[int]:
    """Count the deliveries of one client that `list_deliveries` would list."""
    where = _where(client, channel, tool, state, before, received_since_us, like)
    rows = yield Select(f"SELECT count(*) FROM delivery d WHERE {where}", where.params)
    total: int = rows[0][0]
    return total


@query
def count_states(
    client: int, channel: str | None = None, tool: str | None = None, received_since_us: Micros | None = None, most: int = MOST_COUNTED
) -> Plan[StateCounts]:
    """Count the newest deliveries of one client by channel, tool and state."""
    since = received_since_us
    # The time is looked at after the limit: few new ones among many old ones must not make it read all.
    rows = yield Select(
        "SELECT n.channel, n.tool, CASE WHEN n.received_us >= ? THEN n.state END AS found, count(*) AS many FROM "
        "(SELECT d.channel, d.tool, d.state, d.received_us FROM delivery d WHERE d.client = ? ORDER BY d.id DESC LIMIT ?) n "
        "GROUP BY n.channel, n.tool, found",
        (0 if since is None else since, client, most),
    )
    read, is_past_since = sum(row[3] for row in rows), any(row[2] is None for row in rows)
    counts = [
        StateCount(current_channel, current_tool, state, many)
        for current_channel, current_tool, state, many in rows
        if state is not None and channel in (None, current_channel) and tool in (None, current_tool)
    ]
    counts.sort(key=lambda state: (-state.count, state.channel, state.tool or "", state.state))
    return StateCounts(counts, is_past_since or read < most)


def _where(
    client: int | None, channel: str | None, tool: str | None, state: str | None, before: Before | None, since: Micros | None,
    like: int | None,
) -> Where:  # fmt: skip
    where = Where()
    where.equal("d.client", client)
    where.equal("d.channel", channel)
    where.equal("d.tool", tool)
    if state in STATES:
        where.add(f"d.state = '{state}'")
    where.less("d.id", before)
    where.at_least("d.received_us", since)
    if like is not None:
        alike = " AND ".join(f"COALESCE(l.{name}, '') = COALESCE(d.{name}, '')" for name in ("channel", "state", "tool", "shape"))
        where.add(f"EXISTS (SELECT 1 FROM delivery l WHERE l.client = d.client AND l.id = ? AND {alike})", like)
    return where


@query(clients=named_clients, unnamed=ALL_CLIENTS, divide=Division(divide_clients, union, partial=True), merge=UNITED)
def newest_receipts(clients: Sequence[int] | None) -> Plan[dict[int, Micros]]:
    """When the newest webhook of each of these clients (None: of all active ones) arrived, of those that have any."""
    if clients == []:
        return {}
    condition, numbers = (f"IN (SELECT a.id FROM client a WHERE a.state = '{ACTIVE}')", ()) if clients is None else among(clients)
    newest = "(SELECT d.received_us FROM delivery d WHERE d.client = k.id ORDER BY d.id DESC LIMIT 1)"
    rows = yield Select(f"SELECT k.id, {newest} FROM client k WHERE k.id {condition}", numbers)
    return {client: received_us for client, received_us in rows if received_us is not None}


@query(unnamed=ALL_CLIENTS, merge=sorted_page(lambda group: (-group.count, -group.example_id)))
def group_deliveries(
    state: str, limit: int, client: int | None = None, channel: str | None = None, tool: str | None = None
) -> Plan[list[DeliveryGroup]]:
    """Group deliveries in a state that changed nothing, largest group first."""
    assert state in STATES
    where = Where(f"d.state = '{state}'")
    where.equal("d.client", client)
    where.equal("d.channel", channel)
    where.equal("d.tool", tool)
    alike = "d.client, d.channel, d.tool, d.shape"
    grouped = (
        f"SELECT {alike}, count(*) AS many, min(d.received_us) AS first_us, max(d.received_us) AS last_us, max(d.id) AS example "
        f"FROM delivery d WHERE {where} GROUP BY {alike} ORDER BY many DESC, example DESC LIMIT ?"
    )
    rows = yield Select(
        f"WITH g AS ({grouped}) SELECT c.id, c.client_id, g.channel, g.tool, '{state}', g.shape, g.many, g.first_us, g.last_us, g.example, "
        "e.error FROM g JOIN client c ON c.id = g.client JOIN delivery e ON e.client = g.client AND e.id = g.example",
        (*where.params, limit),
    )
    groups = [DeliveryGroup(*row) for row in rows]
    return sorted(groups, key=lambda group: (-group.count, -group.example_id))


@query(quick=True)
def find_traces(client: int, ids: list[int]) -> Plan[list[str]]:
    """Return the recorded receipts of these deliveries, oldest first."""
    marks = ", ".join("?" * len(ids))
    sql = f"SELECT trace FROM delivery WHERE client = ? AND id IN ({marks}) AND trace IS NOT NULL ORDER BY id"
    rows = (yield Select(sql, (client, *ids))) if ids else []
    return [row[0] for row in rows]


# Deliveries of a suspended client wait by decision; they are not late.
_ACTIVE = "JOIN client c ON c.id = b.client AND c.state = 'active'"


@query(scope=ALL_CLIENTS)
def busy_clients(now_us: Micros) -> Plan[list[int]]:
    """List the numbers of active clients with deliveries due by `now_us`."""
    due = "d.client = b.client AND d.state = 'received' AND d.next_attempt_us <= ?"
    sql = f"{BUSY} SELECT b.client FROM busy b {_ACTIVE} WHERE b.client IS NOT NULL AND EXISTS (SELECT 1 FROM delivery d WHERE {due})"
    rows = yield Select(sql, (now_us,))
    return [row[0] for row in rows]


def _oldest_waiting() -> Plan[Micros | None]:
    """Return since when the oldest queued delivery waits."""
    # The index has replays by time, then new deliveries by id, which rises with time, then the few failed ones.
    waits = "d.client = b.client AND d.state = 'received'"
    first = f"SELECT d.received_us FROM delivery d WHERE {waits} AND d.next_attempt_us = 0 ORDER BY d.id LIMIT 1"
    tried = f"SELECT min(d.received_us) FROM delivery d WHERE {waits} AND d.next_attempt_us > 0"
    replayed = f"SELECT d.next_attempt_us FROM delivery d WHERE {waits} AND d.next_attempt_us < 0 ORDER BY d.next_attempt_us, d.id LIMIT 1"
    rows = yield Select(
        f"{BUSY} SELECT min(({first})), min(({tried})), min(({replayed})) FROM busy b {_ACTIVE} WHERE b.client IS NOT NULL", ()
    )
    received, failed, replayed_us = rows[0]
    since = (received, failed, None if replayed_us is None else waiting_since(0, replayed_us))
    return min((at for at in since if at is not None), default=None)


def _added(query: Any, answers: Answers) -> InboxCounts:
    oldest: dict[str, int] = {}
    for counts in answers.values():
        for state, at in counts.oldest_us.items():
            oldest[state] = min(at, oldest.get(state, at))
    return InboxCounts(sum_of(query, {cell: counts.by_state for cell, counts in answers.items()}), oldest)


@query(scope=ALL_CLIENTS, merge=AnswerMerge(_added))
def count_inbox() -> Plan[InboxCounts]:
    """Count deliveries of all clients by state, except `applied` and `ignored`, of which there may be millions."""
    by_state: dict[str, int] = {}
    oldest: dict[str, int | None] = {}
    for state in STUCK:
        rows = yield Select(f"SELECT count(*) FROM delivery d WHERE d.state = '{state}'", ())
        by_state[state] = rows[0][0]
        rows = yield Select(f"SELECT min(d.received_us) FROM delivery d WHERE d.state = '{state}'", ())
        oldest[state] = rows[0][0]
    rows = yield Select("SELECT count(*) FROM delivery WHERE state = 'received'", ())
    by_state[RECEIVED] = rows[0][0]
    oldest[RECEIVED] = yield from _oldest_waiting()
    return InboxCounts(by_state, {state: at for state, at in oldest.items() if at is not None})


@query(scope=ALL_CLIENTS)
def old_dedupe_keys(before_us: Micros, limit: int, after: tuple[int, bytes] | None = None) -> Plan[list[tuple[int, bytes]]]:
    """List dedupe keys (client, key) received before `before_us`, ordered, those after `after`."""
    text = "SELECT client, key FROM dedupe_key WHERE (client, key) > (?, ?) AND received_us < ? ORDER BY client, key LIMIT ?"
    rows = yield Select(text, (*(after or (0, b"")), before_us, limit))
    return [(row[0], bytes(row[1])) for row in rows]


@query(unnamed=ALL_CLIENTS, merge=FIRST, bodies=lambda delivery: [delivery] if delivery else [])
def get_delivery(id: int, client: int | None = None) -> Plan[Delivery | None]:
    """Get one delivery with headers and body; of any client when `client` is None."""
    where = Where("d.id = ?", id)
    where.equal("c.id", client)
    sql = f"SELECT {WITH_BODY} FROM client c JOIN delivery d ON d.client = c.id {ITS_BODY} WHERE {where}"
    rows = yield Select(sql, where.params)
    return inbox_rows.delivery_of(rows[0]) if rows else None


@query
def delivery_events(client: int, delivery_id: int, limit: int = 0) -> Plan[list[StoredEvent]]:
    """List the stored events that one delivery caused; with `limit` the first so many, without their details."""
    where = "FROM event WHERE client = ? AND delivery_id = ? ORDER BY occurred_us, key"
    if limit:
        shown = sql_rows.names(history_sql.EVENT).replace(", detail,", ", '{}',")
        rows = yield Select(f"SELECT {shown} {where} LIMIT ?", (client, delivery_id, limit))
    else:
        rows = yield Select(f"SELECT {sql_rows.names(history_sql.EVENT)} {where}", (client, delivery_id))
    return [history_sql.event_of(row) for row in rows]
