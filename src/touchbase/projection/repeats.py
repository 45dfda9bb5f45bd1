"""Repeats of webhooks without a time and id: decided when they are applied, when their objects are known.

Such a webhook repeats an earlier one with equal bytes only within `UNDATED_DEDUPE_WINDOW`, and only if no other webhook
of the tool about the same object came between (about the same record, where webhooks name no object). In doubt it counts as a new
fact: repeating an equal state does no harm, losing one does. A fact is stored under its own delivery, so a replay does not decide
again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from touchbase.deliveries.delivery import UNDATED_DEDUPE_WINDOW, Delivery
from touchbase.deliveries.sql.statements import COUNT_REPEAT
from touchbase.history.dedupe_keys import event_key
from touchbase.identity.event_subject import EventSubject
from touchbase.projection.known_events import FACTS_OF_DELIVERY
from touchbase.projection.normalization import DeliveryOutcome, NormalizedDelivery, is_undated
from touchbase.sql.builders import ONE, ONE_MATCH, RECORD
from touchbase.sql.statement import Execute, Plan, Row, Statement


class _Object(msgspec.Struct):
    """The object in an event's detail."""

    object: list[str] | None = None


_detail = msgspec.json.Decoder(_Object).decode
MAX_BETWEEN = 1000
"""Limit of webhooks to read between two equal ones; beyond it, the second counts as a new fact."""

EARLIER_DELIVERY = Statement(
    "earlier_delivery", ONE, body=f"SELECT t.id, t.received_us, t.duplicate_of FROM p JOIN delivery t ON {ONE_MATCH}"
)
SET_TWIN = Statement(
    "set_twin", (*ONE, ("duplicate_of", "bigint")), body=f"UPDATE delivery AS t SET duplicate_of = p.duplicate_of FROM p WHERE {ONE_MATCH}"
)
DELIVERIES_ABOUT = Statement(
    "calls_about",
    (*RECORD, ("tool", "text"), ("after_us", "bigint"), ("upto_us", "bigint")),
    body="SELECT e.received_us, e.delivery_id, e.detail FROM p JOIN event e ON e.client = p.client AND e.record_kind = p.record_kind "
    "AND e.record_id = p.record_id AND e.tool = p.tool WHERE e.delivery_id IS NOT NULL "
    "AND e.received_us >= p.after_us AND e.received_us <= p.upto_us",
)
_RANGE = (("client", "bigint"), ("after_us", "bigint"), ("upto_us", "bigint"), ("most", "bigint"))
_DELIVERIES = (
    "SELECT d.received_us, d.id, d.state FROM dedupe_key r CROSS JOIN delivery d WHERE d.client = r.client AND d.id = r.delivery_id "
    "AND r.client = {} AND r.received_us >= {} AND r.received_us <= {} ORDER BY r.received_us LIMIT {}"
)
DELIVERIES_BETWEEN = Statement(
    "calls_between",
    _RANGE,
    sqlite=_DELIVERIES.format("?1", "?2", "?3", "?4"),
    body=f"SELECT c.* FROM p CROSS JOIN LATERAL ({_DELIVERIES.format('p.client', 'p.after_us', 'p.upto_us', 'p.most')}) c",
)
UNREAD = ("received", "failed", "unrecognised")
"""States of deliveries whose subjects are unknown."""


def split_at_repeats(claimed: Sequence[NormalizedDelivery]) -> Iterator[Sequence[NormalizedDelivery]]:
    """Split into parts to be applied in order: a delivery that may be a repeat begins a part, after all earlier ones are stored."""
    if not any(map(_may_repeat, claimed)):
        yield claimed
        return
    part: list[NormalizedDelivery] = []
    for delivery in sorted(claimed, key=lambda delivery: (delivery.delivery.received_us, delivery.delivery.id)):
        if part and _may_repeat(delivery):
            yield part
            part = []
        part.append(delivery)
    yield part


def drop_repeats(client: int, outcomes: Sequence[DeliveryOutcome], *, counted: bool = True) -> Plan[None]:
    """Remove the subjects that repeat one of the earlier delivery from these outcomes, before they are resolved.

    With `counted`, count each repeat at its first webhook; false for later parts of a large delivery.
    """
    for outcome in outcomes:
        if _may_repeat(outcome.normalized):
            yield from _drop(client, outcome, counted)


def _may_repeat(delivery: NormalizedDelivery) -> bool:
    return delivery.delivery.duplicate_of is not None and any(map(is_undated, delivery.subjects))


def _drop(client: int, outcome: DeliveryOutcome, counted: bool) -> Plan[None]:
    delivery = outcome.delivery
    earlier_rows = yield Execute(EARLIER_DELIVERY, [(client, delivery.duplicate_of)])
    if not earlier_rows or not 0 <= delivery.received_us - earlier_rows[0][1] <= UNDATED_DEDUPE_WINDOW:
        return
    (number, _, earlier) = earlier_rows[0]
    numbers = [delivery.id, number] if earlier is None else [delivery.id, number, earlier]
    rows = yield Execute(FACTS_OF_DELIVERY, [(client, number) for number in numbers])
    facts: dict[tuple[int, str], Row] = {(row[4], row[3]): row for row in rows}
    left: list[EventSubject] = []
    first: int | None = None
    for subject in outcome.subjects:
        base = _base(subject, facts, numbers)
        if base is None or (yield from _is_news(client, delivery, subject, base, number)):
            left.append(subject)
        else:
            first = base[4]
            outcome.repeated += 1
    outcome.subjects = left
    if first is None:
        return
    if first != number:
        yield Execute(SET_TWIN, [(client, delivery.id, first)])
    if counted and delivery.applied_us is None:  # not for a replay
        yield Execute(COUNT_REPEAT, [(client, first, 1)])


def _base(subject: EventSubject, facts: dict[tuple[int, str], Row], numbers: Sequence[int]) -> Row | None:
    """Return the fact that this subject may repeat, the earlier delivery's or its base; None if it has its own delivery."""
    if not is_undated(subject) or (numbers[0], subject.key) in facts:
        return None
    earlier_facts = (facts.get((number, event_key(subject.tool, subject.event, str(number)))) for number in numbers[1:])
    return next((row for row in earlier_facts if row is not None), None)


def _is_news(client: int, delivery: Delivery, subject: EventSubject, base: Row, earlier_id: int) -> Plan[bool]:
    """Whether another webhook about the record came after the fact, or one with unknown subjects."""
    kind, record, _, _, first, since, _ = base
    between = yield Execute(DELIVERIES_ABOUT, [(client, kind, record, subject.tool, since, delivery.received_us)])
    if any(_lies_between(row[:2], (since, first), delivery) for row in between if row[1] != earlier_id and _is_about(subject, row[2])):
        return True
    deliveries = yield Execute(DELIVERIES_BETWEEN, [(client, since, delivery.received_us, MAX_BETWEEN)])
    return len(deliveries) >= MAX_BETWEEN or any(
        row[2] in UNREAD and _lies_between(row[:2], (since, first), delivery) for row in deliveries
    )


def _is_about(subject: EventSubject, detail: str) -> bool:
    """Whether an event of the record may be about the same object; false only if both name different objects."""
    own, fact_object = subject.detail.get("object"), _detail(detail).object
    return own is None or fact_object is None or own == fact_object


def _lies_between(received: Row, since: tuple[int, int], delivery: Delivery) -> bool:
    return since < tuple(received) < (delivery.received_us, delivery.id)
