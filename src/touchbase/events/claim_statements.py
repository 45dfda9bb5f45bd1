"""Statements that find waiting deliveries, with what they hold: for a turn of a client, for the next one, and by their numbers."""

from __future__ import annotations

from touchbase.inbox.rows import DELIVERY
from touchbase.sql.builders import ONE
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Statement, only_row

_DELIVERY = names(DELIVERY[:-1], "d.")
_WAITING = f"c.client_id, {_DELIVERY}, b.query, b.headers, b.body"
_GUARDED = "EXISTS (SELECT 1 FROM erased e WHERE e.client = d.client)"
_CLAIM: Columns = (("client", "bigint"), ("now_us", "bigint"), ("most", "bigint"))
_LOOK: Columns = (*_CLAIM, ("after_us", "bigint"), ("after_id", "bigint"))
_FURTHER = " AND (d.next_attempt_us, d.id) > ({}, {})"


def by_id(sql: str) -> str:
    """The same where PostgreSQL is to look for each row. By figures older than a backlog it would rather read all that waits."""
    return sql.replace("state = 'received'", "state || '' = 'received'")


def _first(client: str, now: str, most: str, further: str = "") -> str:
    return (
        f"SELECT {_WAITING}, {_GUARDED} FROM delivery d JOIN client c ON c.id = d.client "
        f"JOIN delivery_body b ON b.client = d.client AND b.id = d.id WHERE d.client = {client} AND d.state = 'received' "
        f"AND d.next_attempt_us <= {now} AND c.state = 'active'{further} ORDER BY d.next_attempt_us, d.id LIMIT {most}"
    )


def _first_one_by_one(client: str, now: str, most: str, further: str = "", lock: str = "") -> str:
    """The same for PostgreSQL, in no promised order: first the deliveries, then for each its body.

    Free to choose, the server joined all bodies of a client before it took the first few, while it had figures of one table only.
    """
    return (
        f"SELECT {_WAITING}, c.guarded "
        f"FROM (SELECT client_id, EXISTS (SELECT 1 FROM erased e WHERE e.client = {client}) AS guarded "
        f"FROM client WHERE id = {client} AND state = 'active') c "
        f"CROSS JOIN LATERAL (SELECT {_DELIVERY} FROM delivery d WHERE d.client = {client} AND d.state = 'received' "
        f"AND d.next_attempt_us <= {now}{further} ORDER BY d.next_attempt_us, d.id LIMIT {most}{lock}) d "
        f"CROSS JOIN LATERAL (SELECT b.query, b.headers, b.body FROM delivery_body b WHERE b.client = {client} AND b.id = d.id LIMIT 1) b"
    )


_OF_CLIENT, _BY, _MOST, *_AFTER = only_row(_LOOK)
CLAIM = Statement(
    "claim",
    _CLAIM,
    sqlite=_first("?1", "?2", "?3"),
    # SKIP LOCKED works within one client only, also where the tables are sharded.
    postgres=_first_one_by_one(_OF_CLIENT, _BY, _MOST, lock=" FOR UPDATE OF d SKIP LOCKED"),
)
LOOK_AHEAD = Statement(
    "look_ahead",
    _LOOK,
    sqlite=_first("?1", "?2", "?3", _FURTHER.format("?4", "?5")),
    postgres=_first_one_by_one(_OF_CLIENT, _BY, _MOST, _FURTHER.format(*_AFTER)),
)
_NAMED_WAITS = "d.client = p.client AND d.id = p.id AND d.state = 'received'"
_HELD = "SELECT d.id, d.attempts, d.next_attempt_us FROM"
HOLD = Statement(
    "hold",
    ONE,
    sqlite_set=f"{_HELD} p CROSS JOIN delivery d JOIN client c ON c.id = d.client WHERE {_NAMED_WAITS} AND c.state = 'active'",
    body=f"{_HELD} p CROSS JOIN delivery d JOIN client c ON c.id = d.client WHERE {by_id(_NAMED_WAITS)} AND c.state = 'active' "
    "FOR UPDATE OF d SKIP LOCKED",
)
# A turn that holds them is waited for: what it leaves waiting is theirs then.
CLAIM_NAMED = Statement(
    "claim_named",
    ONE,
    sqlite_set=f"SELECT {_WAITING}, {_GUARDED} FROM p CROSS JOIN delivery d JOIN client c "
    f"ON c.id = d.client JOIN delivery_body b ON b.client = d.client AND b.id = d.id WHERE {_NAMED_WAITS}",
    body=f"SELECT {_WAITING}, {_GUARDED} FROM p CROSS JOIN delivery d JOIN client c "
    f"ON c.id = d.client JOIN delivery_body b ON b.client = d.client AND b.id = d.id WHERE {by_id(_NAMED_WAITS)} "
    "ORDER BY d.id FOR UPDATE OF d",
)
DELIVERIES_WITH_BODIES = Statement(
    "deliveries_with_bodies",
    ONE,
    body=f"SELECT {_WAITING} FROM p JOIN delivery d ON d.client = p.client AND d.id = p.id "
    "JOIN client c ON c.id = d.client JOIN delivery_body b ON b.client = d.client AND b.id = d.id",
)
