"""Claiming deliveries that wait, and storing why one failed."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import SECOND, Micros
from touchbase.events import claim_statements
from touchbase.events.delivery_outcomes import MARK_DELIVERY
from touchbase.events.sql_fingerprint import delivery_shape
from touchbase.events.suppression_guard import names_erased
from touchbase.events.work import WorkReport
from touchbase.inbox.body_retention import clear_deliveries
from touchbase.inbox.delivery import FAILED, IGNORED, MAX_ATTEMPTS, RECEIVED, Delivery
from touchbase.inbox.rows import delivery_of
from touchbase.inbox.sql import LONGEST_WAIT
from touchbase.sql.statement import Execute, Plan, Row
from touchbase.suppression.suppression_keys import WHY_IGNORED


def claim(client: int, limit: int, now_us: Micros) -> Plan[list[Delivery]]:
    """Waiting deliveries of one client with their bodies, oldest first."""
    return _in_turn((yield Execute(claim_statements.CLAIM, [(client, now_us, limit)])))


def look_ahead(client: int, limit: int, now_us: Micros, after: Delivery) -> Plan[list[Delivery]]:
    """Those that wait behind this one, as `claim` would have them next; nobody is kept from taking them."""
    return _in_turn((yield Execute(claim_statements.LOOK_AHEAD, [(client, now_us, limit, after.next_attempt_us, after.id)])))


def hold(client: int, seen: Sequence[Delivery]) -> Plan[int]:
    """Claim these, but for what somebody else holds; answers how many are as they were when they were seen."""
    rows = yield Execute(claim_statements.HOLD, [(client, one.id) for one in seen])
    return len({(one.id, one.attempts, one.next_attempt_us) for one in seen}.intersection(rows))


def claim_named(client: int, ids: Sequence[int]) -> Plan[list[Delivery]]:
    """Those of these deliveries that wait, due or not, with their bodies, oldest first; also of a suspended client."""
    rows = yield Execute(claim_statements.CLAIM_NAMED, [(client, number) for number in sorted(set(ids))])
    return sorted(_claimed(rows), key=lambda delivery: delivery.id)


def _in_turn(rows: Sequence[Row]) -> list[Delivery]:
    return sorted(_claimed(rows), key=lambda delivery: (delivery.next_attempt_us, delivery.id))


def _claimed(rows: Sequence[Row]) -> list[Delivery]:
    claimed: list[Delivery] = []
    for row in rows:
        delivery = delivery_of(row[:-1])
        delivery.guarded = bool(row[-1])
        claimed.append(delivery)
    return claimed


def note_failure(client: int, delivery: Delivery, error: str, now_us: Micros, *, for_good: bool = False) -> Plan[WorkReport]:
    """One more attempt failed: try again later, each time after twice the wait, and give up after the last, or at once `for_good`.

    The report counts the delivery as ended once it is given up.
    """
    attempts = delivery.attempts + 1
    key = yield from names_erased(client, delivery)
    if key is not None:  # kept for nobody: what could be read from it one day must not be
        row: Row = (client, delivery.id, IGNORED, delivery.tool, attempts, WHY_IGNORED, now_us, 0, None, 0, None)
        marked = yield Execute(MARK_DELIVERY, [row])
        yield from clear_deliveries(key, client, [delivery.id], now_us)
        return _ended(delivery, IGNORED, marked)
    state = FAILED if for_good or attempts >= MAX_ATTEMPTS else RECEIVED
    again = now_us + min(LONGEST_WAIT, SECOND * 2**attempts)
    shape = delivery_shape(delivery) if state == FAILED else None
    row = (client, delivery.id, state, delivery.tool, attempts, error[:2000], None, again, shape, 0, None)
    marked = yield Execute(MARK_DELIVERY, [row])
    return _ended(delivery, state, marked)


def _ended(delivery: Delivery, state: str, marked: Sequence[Row]) -> WorkReport:
    report = WorkReport(taken=1)
    if marked and state != RECEIVED:
        report.ended = {state: 1}
        report.outcomes = {(delivery.channel, delivery.tool or "", state): 1}
    return report
