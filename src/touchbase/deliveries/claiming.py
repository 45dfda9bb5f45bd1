"""Claiming: plans and statements that select waiting deliveries with their bodies, by client or by id."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.sql.rows import DELIVERY, delivery_of
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.dialect import only_row
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement

_DELIVERY = names(DELIVERY[:-1], "d.")
_WAITING = f"c.client_id, {_DELIVERY}, b.query, b.headers, b.body"
_GUARDED = "EXISTS (SELECT 1 FROM erased e WHERE e.client = d.client)"
_CLAIM: Columns = (("client", "bigint"), ("now_us", "bigint"), ("most", "bigint"))
_PEEK: Columns = (*_CLAIM, ("after_us", "bigint"), ("after_id", "bigint"))
_AFTER_DELIVERY = " AND (d.next_attempt_us, d.id) > ({}, {})"


def _first(client: str, now: str, most: str, further: str = "") -> str:
    return (
        f"SELECT {_WAITING}, {_GUARDED} FROM delivery d JOIN client c ON c.id = d.client "
        f"JOIN delivery_body b ON b.client = d.client AND b.id = d.id WHERE d.client = {client} AND d.state = 'received' "
        f"AND d.next_attempt_us <= {now} AND c.state = 'active'{further} ORDER BY d.next_attempt_us, d.id LIMIT {most}"
    )


def _first_with_bodies(client: str, now: str, most: str, further: str = "", lock: str = "") -> str:
    """The same for PostgreSQL, in no guaranteed order: the deliveries first, then the body of each.

    A plain join let the planner read all bodies of a client before the limit while statistics existed for one table only.
    """
    return (
        f"SELECT {_WAITING}, c.guarded "
        f"FROM (SELECT client_id, EXISTS (SELECT 1 FROM erased e WHERE e.client = {client}) AS guarded "
        f"FROM client WHERE id = {client} AND state = 'active') c "
        f"CROSS JOIN LATERAL (SELECT {_DELIVERY} FROM delivery d WHERE d.client = {client} AND d.state = 'received' "
        f"AND d.next_attempt_us <= {now}{further} ORDER BY d.next_attempt_us, d.id LIMIT {most}{lock}) d "
        f"CROSS JOIN LATERAL (SELECT b.query, b.headers, b.body FROM delivery_body b WHERE b.client = {client} AND b.id = d.id LIMIT 1) b"
    )


_OF_CLIENT, _BY, _MOST, *_AFTER = only_row(_PEEK)
CLAIM = Statement(
    "claim",
    _CLAIM,
    sqlite=_first("?1", "?2", "?3"),
    # SKIP LOCKED works within one client only, also where the tables are sharded.
    postgres=_first_with_bodies(_OF_CLIENT, _BY, _MOST, lock=" FOR UPDATE OF d SKIP LOCKED"),
)
PEEK = Statement(
    "peek",
    _PEEK,
    sqlite=_first("?1", "?2", "?3", _AFTER_DELIVERY.format("?4", "?5")),
    postgres=_first_with_bodies(_OF_CLIENT, _BY, _MOST, _AFTER_DELIVERY.format(*_AFTER)),
)
WAITS = "state || '' = 'received'"
"""The condition that a delivery found by its primary key waits.

With `state = 'received'`, and statistics older than the backlog, PostgreSQL would scan the index of waiting deliveries instead.
"""
_NAMED_WAITS = f"d.client = p.client AND d.id = p.id AND d.{WAITS}"
CLAIM_IF_UNCHANGED = Statement(
    "claim_if_unchanged",
    ROW_KEY,
    body="SELECT d.id, d.attempts, d.next_attempt_us FROM p CROSS JOIN delivery d JOIN client c ON c.id = d.client "
    f"WHERE {_NAMED_WAITS} AND c.state = 'active'",
    lock=" FOR UPDATE OF d SKIP LOCKED",
)
# Without SKIP LOCKED: wait for the batch that has them locked, then take the deliveries that still wait.
CLAIM_NAMED = Statement(
    "claim_named",
    ROW_KEY,
    body=f"SELECT {_WAITING}, {_GUARDED} FROM p CROSS JOIN delivery d JOIN client c "
    f"ON c.id = d.client JOIN delivery_body b ON b.client = d.client AND b.id = d.id WHERE {_NAMED_WAITS}",
    lock=" ORDER BY d.id FOR UPDATE OF d SKIP LOCKED",
)
WITH_BODY = f"c.client_id, {_DELIVERY}, COALESCE(b.query, ''), b.headers, b.body, d.body_removed, d.body_removed_us, d.object"
"""The columns of a delivery with its body; the loader reads one in object storage (`bodies` of the query)."""
ITS_BODY = "LEFT JOIN delivery_body b ON b.client = d.client AND b.id = d.id"
DELIVERIES_WITH_BODIES = Statement(
    "deliveries_with_bodies",
    ROW_KEY,
    body=f"SELECT {WITH_BODY} FROM p JOIN delivery d ON d.client = p.client AND d.id = p.id "
    f"JOIN client c ON c.id = d.client {ITS_BODY} WHERE b.id IS NOT NULL OR d.object IS NOT NULL",
)


def claim(client: int, limit: int, now_us: Micros) -> Plan[list[Delivery]]:
    """Claim due deliveries of one client with their bodies, oldest first."""
    return _by_due_time((yield Execute(CLAIM, [(client, now_us, limit)])))


def peek(client: int, limit: int, now_us: Micros, after: Delivery) -> Plan[list[Delivery]]:
    """Return the due deliveries after this one, in the order of `claim`, without locking them."""
    return _by_due_time((yield Execute(PEEK, [(client, now_us, limit, after.next_attempt_us, after.id)])))


def claim_if_unchanged(client: int, deliveries: Sequence[Delivery]) -> Plan[int]:
    """Claim these deliveries except those locked elsewhere; return how many are unchanged since they were read."""
    rows = yield Execute(CLAIM_IF_UNCHANGED, [(client, delivery.id) for delivery in deliveries])
    return len({(delivery.id, delivery.attempts, delivery.next_attempt_us) for delivery in deliveries}.intersection(rows))


def claim_named(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Claim the waiting ones of these deliveries, due or not, oldest first, also of a suspended client; none that another worker has."""
    rows = yield Execute(CLAIM_NAMED, [(client, number) for number in sorted(set(ids))])
    return sorted(_claimed(rows), key=lambda delivery: delivery.id)


def _by_due_time(rows: Sequence[Row]) -> list[Delivery]:
    return sorted(_claimed(rows), key=lambda delivery: (delivery.next_attempt_us, delivery.id))


def _claimed(rows: Sequence[Row]) -> list[Delivery]:
    claimed: list[Delivery] = []
    for row in rows:
        delivery = delivery_of(row[:-1])
        delivery.guarded = bool(row[-1])
        claimed.append(delivery)
    return claimed
