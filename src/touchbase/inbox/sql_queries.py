"""Reading the inbox: lists, counts and groups of deliveries, and which clients have some that wait."""

from __future__ import annotations

from dataclasses import replace

from touchbase.common.timestamps import Micros
from touchbase.inbox import rows as inbox_rows
from touchbase.inbox.delivery import FAILED, PARKED, RECEIVED, STATES, UNRECOGNISED, Delivery, waits_since
from touchbase.inbox.queries import BusyClients, CountDeliveries, CountInbox, DeliveryGroup, GroupDeliveries, InboxCounts, ListDeliveries
from touchbase.sql import rows as sql_rows
from touchbase.sql.filters import Where
from touchbase.sql.statement import Plan, Select

_DELIVERY = sql_rows.names(inbox_rows.DELIVERY[:-1], "d.")
STUCK = (PARKED, UNRECOGNISED, FAILED)
"""States that have indexes of their own. A state stands in a text and is no parameter: so both engines know that they may use them."""


def deliveries(query: ListDeliveries) -> Plan[list[Delivery]]:
    """A page of deliveries without their bodies, newest first."""
    if query.client is not None:
        return (yield from _of_client(query))
    # Client by client, because every key begins with the client: no table is walked or sorted as a whole.
    clients = yield Select("SELECT id FROM client", ())
    found: list[Delivery] = []
    for (number,) in clients:
        found += yield from _of_client(replace(query, client=number))
    return sorted(found, key=lambda delivery: -delivery.id)[: query.limit]


def _of_client(query: ListDeliveries) -> Plan[list[Delivery]]:
    where = _where(query)
    sql = f"SELECT c.client_id, {_DELIVERY} FROM delivery d JOIN client c ON c.id = d.client WHERE {where} ORDER BY d.id DESC LIMIT ?"
    rows = yield Select(sql, (*where.params, query.limit))
    return [inbox_rows.delivery_of(row) for row in rows]


def count(query: CountDeliveries) -> Plan[int]:
    """How many there are."""
    where = _where(query)
    rows = yield Select(f"SELECT count(*) FROM delivery d WHERE {where}", where.params)
    total: int = rows[0][0]
    return total


def _where(query: ListDeliveries | CountDeliveries) -> Where:
    where = Where()
    where.equal("d.client", query.client)
    where.equal("d.channel", query.channel)
    where.equal("d.tool", query.tool)
    if query.state in STATES:
        where.hold(f"d.state = '{query.state}'")
    if isinstance(query, ListDeliveries) and query.problems:
        where.hold("d.problems IS NOT NULL")
    where.less("d.id", query.before)
    where.at_least("d.received_us", query.received_since_us)
    return where


def groups(query: GroupDeliveries) -> Plan[list[DeliveryGroup]]:
    """Deliveries that look alike, counted; the largest groups first."""
    assert query.state in STATES
    where = Where(f"d.state = '{query.state}'")
    where.equal("d.client", query.client)
    where.equal("d.channel", query.channel)
    where.equal("d.tool", query.tool)
    alike = "d.client, d.channel, d.tool, d.shape"
    found = (
        f"SELECT {alike}, count(*) AS many, min(d.received_us) AS first_us, max(d.received_us) AS last_us, max(d.id) AS example "
        f"FROM delivery d WHERE {where} GROUP BY {alike} ORDER BY many DESC, example DESC LIMIT ?"
    )
    rows = yield Select(
        f"WITH g AS ({found}) SELECT c.client_id, g.channel, g.tool, g.shape, g.many, g.first_us, g.last_us, g.example, e.error "
        "FROM g JOIN client c ON c.id = g.client JOIN delivery e ON e.client = g.client AND e.id = g.example",
        (*where.params, query.limit),
    )
    made = [DeliveryGroup(row[0], row[1], row[2], query.state, *row[3:]) for row in rows]
    return sorted(made, key=lambda group: (-group.count, -group.example_id))


# Leaps from client to client through the index of waiting deliveries, however many each has.
_BUSY = (
    "WITH RECURSIVE busy(client) AS (SELECT min(client) FROM delivery WHERE state = 'received' UNION ALL "
    "SELECT (SELECT min(d.client) FROM delivery d WHERE d.state = 'received' AND d.client > busy.client) "
    "FROM busy WHERE busy.client IS NOT NULL)"
)

# What a suspended client's calls wait for is a person's word, so nobody is late.
_ACTIVE = "JOIN client c ON c.id = b.client AND c.state = 'active'"


def busy(query: BusyClients) -> Plan[list[int]]:
    """Active clients that have deliveries due."""
    due = "d.client = b.client AND d.state = 'received' AND d.next_attempt_us <= ?"
    sql = f"{_BUSY} SELECT b.client FROM busy b {_ACTIVE} WHERE b.client IS NOT NULL AND EXISTS (SELECT 1 FROM delivery d WHERE {due})"
    rows = yield Select(sql, (query.now_us,))
    return [row[0] for row in rows]


def _oldest_waiting() -> Plan[Micros | None]:
    """Since when the delivery waits that waits longest."""
    # In the index stand replays in the order of their times, then what nobody has tried, whose ids rise with time. Few are tried again.
    waits = "d.client = b.client AND d.state = 'received'"
    first = f"SELECT d.received_us FROM delivery d WHERE {waits} AND d.next_attempt_us = 0 ORDER BY d.id LIMIT 1"
    tried = f"SELECT min(d.received_us) FROM delivery d WHERE {waits} AND d.next_attempt_us > 0"
    replayed = f"SELECT d.next_attempt_us FROM delivery d WHERE {waits} AND d.next_attempt_us < 0 ORDER BY d.next_attempt_us, d.id LIMIT 1"
    rows = yield Select(
        f"{_BUSY} SELECT min(({first})), min(({tried})), min(({replayed})) FROM busy b {_ACTIVE} WHERE b.client IS NOT NULL", ()
    )
    received, failed, place = rows[0]
    since = (received, failed, None if place is None else waits_since(0, place))
    return min((at for at in since if at is not None), default=None)


def counts(query: CountInbox) -> Plan[InboxCounts]:
    """How many deliveries are in each state that may still change, and the oldest of each."""
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
