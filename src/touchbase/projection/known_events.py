"""Known facts: events of a batch that are already stored in a history; they are not applied again.

A fact is recognised by the tool's own id, whatever its time; without an id by its derived key and time; and by its delivery, if that
was applied before. A fact that waits under a link is not applied yet: only its own id is compared.

Repeats of webhooks without a time and id: decided when they are applied, when their objects are known.

Such a webhook repeats an earlier one with equal bytes only within `UNDATED_DEDUPE_WINDOW`, and only if no other webhook
of the tool about the same object came between (about the same record, where webhooks name no object). In doubt it counts as a new
fact: repeating an equal state does no harm, losing one does. A fact is stored under its own delivery, so a replay does not decide
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import UNDATED_DEDUPE_WINDOW, Delivery
from touchbase.deliveries.sql.statements import COUNT_REPEAT
from touchbase.history.dedupe_keys import event_key
from touchbase.history.events import EXTERNAL, StoredEvent
from touchbase.history.last_writer_wins import EffectiveTime, effective_time
from touchbase.history.sql import detail_text
from touchbase.identity.event_subject import EventSubject
from touchbase.messages.sql.plans import DELETE_OF_EVENT, RETIME_MESSAGE
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome, NormalizedDelivery, is_undated
from touchbase.sql.builders import RECORD, ROW_KEY, ROW_MATCH
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement, delete

_KEY: Columns = (("client", "bigint"), ("key", "text"))
_KEY_AND_TIME: Columns = (*_KEY, ("occurred_us", "bigint"))
_FACT: Columns = (
    ("record_kind", "bigint"), ("record_id", "bigint"), ("occurred_us", "bigint"), ("key", "text"), ("delivery_id", "bigint"),
    ("received_us", "bigint"), ("detail", "text"),
)  # fmt: skip
_SAME_KEY = "t.client = p.client AND t.key = p.key AND t.delivery_id IS NOT NULL"
FACT_BY_ID = Statement("fact_by_id", _KEY, body=f"SELECT {names(_FACT, 't.')} FROM p CROSS JOIN event t WHERE {_SAME_KEY}")
FACT_BY_TIME = Statement(
    "fact_by_time",
    _KEY_AND_TIME,
    body=f"SELECT {names(_FACT, 't.')} FROM p CROSS JOIN event t WHERE {_SAME_KEY} AND t.occurred_us = p.occurred_us",
)
FACTS_OF_DELIVERY = Statement(
    "facts_of_delivery",
    ROW_KEY,
    body=f"SELECT {names(_FACT, 't.')} FROM p CROSS JOIN event t WHERE t.client = p.client AND t.delivery_id = p.id",
)
_MOVE: Columns = (
    *RECORD, *_KEY_AND_TIME[1:], ("to_us", "bigint"), ("delivery_id", "bigint"), ("received_us", "bigint"), ("detail", "text"),
)  # fmt: skip
RETIME_EVENT = Statement(
    "retime_event",
    _MOVE,
    body="UPDATE event AS t SET occurred_us = p.to_us, delivery_id = p.delivery_id, received_us = p.received_us, detail = p.detail FROM p "
    "WHERE t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id AND t.occurred_us = p.occurred_us "
    "AND t.key = p.key",
    by_row=True,
)


def retimed_row(client: int, kind: int, record_id: int, occurred_us: Micros, key: str, event: StoredEvent) -> Row:
    """Return the row of `RETIME_EVENT` for an event that waits, and that `event` brought earlier."""
    return (client, kind, record_id, key, occurred_us, occurred_us, event.delivery_id, event.received_us, detail_text(event.detail))


REMOVE_EVENT = delete("take_event_out", "event", (*RECORD, *reversed(_KEY_AND_TIME[1:])))


class _Position(msgspec.Struct):
    """The position in an event's detail."""

    position: int = 0


_position = msgspec.json.Decoder(_Position).decode


def position_in(detail: str) -> int:
    """Return the place among its delivery's events with equal times, from an event's detail."""
    return _position(detail).position


def _at_position(detail: str, position: int) -> str:
    """Return an event's detail with its place in another delivery."""
    if position_in(detail) == position:
        return detail
    values = {name: value for name, value in msgspec.json.decode(detail, type=dict[str, Any]).items() if name != "position"}
    return detail_text(values | ({"position": position} if position else {}))


@dataclass(frozen=True, slots=True)
class Fact:
    """An event as it is stored in a history or under a link."""

    kind: int
    record_id: int
    occurred_us: Micros
    key: str
    delivery_id: int | None
    received_us: Micros
    detail: str

    @property
    def effective_time(self) -> EffectiveTime:
        """The effective time of the event."""
        return effective_time(self.occurred_us, self.received_us, self.key, position_in(self.detail))


@dataclass(slots=True)
class KnownFacts:
    """The stored facts that a batch repeats."""

    by_id: dict[str, Fact] = field(default_factory=dict)
    by_time: dict[tuple[str, Micros], Fact] = field(default_factory=dict)
    by_delivery: dict[tuple[int | None, str], Fact] = field(default_factory=dict)

    def fact(self, subject: EventSubject, delivery: Delivery) -> Fact | None:
        """Return the fact that this subject repeats; None if that still waits under a link, where repeats are recognised later."""
        fact = self._of(subject, delivery)
        if fact is not None and fact.kind == EXTERNAL and (not subject.own_id or fact.delivery_id == delivery.id):
            return None
        return fact

    def _of(self, subject: EventSubject, delivery: Delivery) -> Fact | None:
        fact = self.by_id.get(subject.key) if subject.own_id else self.by_time.get((subject.key, subject.at))
        return fact or self.by_delivery.get((delivery.id, subject.key))


def drop_known_facts(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[None]:
    """Remove known facts from these outcomes; an earlier receipt replaces the stored one."""
    facts = yield from find_known_facts(batch.client, outcomes)
    retimed: dict[Fact, Row] = {}
    removed: list[Row] = []
    for outcome in sorted(outcomes, key=by_receipt):
        remaining: list[EventSubject] = []
        for subject in outcome.subjects:
            fact = facts.fact(subject, outcome.delivery)
            if fact is None:
                remaining.append(subject)
            elif fact.kind == EXTERNAL:
                if _is_earlier(outcome, fact):
                    removed.append((batch.client, fact.kind, fact.record_id, fact.occurred_us, fact.key))
                    batch.emptied.add(fact.delivery_id or 0)
                    facts.by_id[subject.key] = replace(fact, delivery_id=outcome.delivery.id, received_us=outcome.delivery.received_us)
                else:
                    batch.waiting.add((subject.key, outcome.delivery.id))
                remaining.append(subject)
            elif _is_earlier(outcome, fact) and fact not in retimed:
                record = (batch.client, fact.kind, fact.record_id)
                detail = _at_position(fact.detail, subject.detail.get("position", 0))
                receipt = (outcome.delivery.id, outcome.delivery.received_us)
                retimed[fact] = (*record, fact.key, fact.occurred_us, subject.at, *receipt, detail)
                batch.emptied.add(fact.delivery_id or 0)
                outcome.applied += 1
            else:
                outcome.repeated += 1
        outcome.subjects = remaining
    if removed:
        yield Execute(REMOVE_EVENT, removed)
        yield Execute(DELETE_OF_EVENT, [(client, key, at) for client, _, _, at, key in removed])
    if retimed:
        yield Execute(RETIME_EVENT, list(retimed.values()))
        yield Execute(RETIME_MESSAGE, [(row[0], *row[3:6]) for row in retimed.values()])
    batch.retimed = [((fact.kind, fact.record_id), fact.effective_time) for fact in retimed]


def by_receipt(outcome: DeliveryOutcome) -> tuple[Micros, int]:
    """Return the sort key for the order of receipt."""
    return outcome.delivery.received_us, outcome.delivery.id


def _is_earlier(outcome: DeliveryOutcome, fact: Fact) -> bool:
    return fact.delivery_id is not None and by_receipt(outcome) < (fact.received_us, fact.delivery_id)


def find_known_facts(client: int, outcomes: Sequence[DeliveryOutcome]) -> Plan[KnownFacts]:
    """Look up which facts of these deliveries are already stored."""
    facts = KnownFacts()
    subjects = [subject for outcome in outcomes for subject in outcome.subjects]
    ids = sorted({subject.key for subject in subjects if subject.own_id})
    if ids:
        facts.by_id = {fact.key: fact for fact in _facts((yield Execute(FACT_BY_ID, [(client, key) for key in ids])))}
    times = sorted({(subject.key, subject.at) for subject in subjects if not subject.own_id})
    if times:
        rows = yield Execute(FACT_BY_TIME, [(client, *time) for time in times])
        facts.by_time = {(fact.key, fact.occurred_us): fact for fact in _facts(rows)}
    applied = sorted({outcome.delivery.id for outcome in outcomes if outcome.delivery.applied_us is not None and outcome.subjects})
    if applied:
        rows = yield Execute(FACTS_OF_DELIVERY, [(client, number) for number in applied])
        facts.by_delivery = {(fact.delivery_id, fact.key): fact for fact in _facts(rows)}
    return facts


def _facts(rows: Iterable[tuple[int, int, Micros, str, int | None, Micros, str]]) -> Iterator[Fact]:
    # Of equal keys the last row wins: stored with a record rather than waiting, and the earliest.
    return (Fact(*row) for row in sorted(rows, key=lambda row: row[:4], reverse=True))


class _Object(msgspec.Struct):
    """The object in an event's detail."""

    object: list[str] | None = None


_detail = msgspec.json.Decoder(_Object).decode
MAX_BETWEEN = 1000
"""Limit of webhooks to read between two equal ones; beyond it, the second counts as a new fact."""

EARLIER_DELIVERY = Statement(
    "earlier_delivery", ROW_KEY, body=f"SELECT t.id, t.received_us, t.duplicate_of FROM p JOIN delivery t ON {ROW_MATCH}"
)
SET_TWIN = Statement(
    "set_twin",
    (*ROW_KEY, ("duplicate_of", "bigint")),
    body=f"UPDATE delivery AS t SET duplicate_of = p.duplicate_of FROM p WHERE {ROW_MATCH}",
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
    """Split into parts to be applied in order: a delivery that may be a repeat begins a part, after all earlier ones are stored.

    It is none, and stays in the part, if the part has another delivery about each of its objects after the one that it would repeat.
    """
    if not any(map(_may_repeat, claimed)):
        yield claimed
        return
    part: list[NormalizedDelivery] = []
    latest: dict[object, int] = {}
    """The last delivery of the part about each object."""
    for delivery in sorted(claimed, key=lambda delivery: (delivery.delivery.received_us, delivery.delivery.id)):
        undated = [*filter(is_undated, delivery.subjects)]
        if part and _may_repeat(delivery) and not all(_is_after_another(delivery, subject, latest) for subject in undated):
            yield part
            part, latest = [], {}
        part.append(delivery)
        latest |= {_object_of(subject): delivery.delivery.id for subject in undated}
    yield part


def _object_of(subject: EventSubject) -> object:
    return subject.ref or (subject.tool, subject.kind, subject.primary, subject.linkedin)


def _is_after_another(delivery: NormalizedDelivery, subject: EventSubject, latest: dict[object, int]) -> bool:
    return latest.get(_object_of(subject), delivery.delivery.duplicate_of) != delivery.delivery.duplicate_of


def drop_repeats(client: int, outcomes: Sequence[DeliveryOutcome], *, counted: bool = True) -> Plan[None]:
    """Remove the subjects that repeat one of the earlier delivery from the first of these outcomes, before they are resolved.

    The others are no repeats (`split_at_repeats`). With `counted`, count each repeat at its first webhook; false for later parts of a large
    delivery.
    """
    for outcome in outcomes[:1]:
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
