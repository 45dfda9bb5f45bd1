"""Known facts: events of a batch that are already stored in a history; they are not applied again.

A fact is recognised by the tool's own id, whatever its time; without an id by its derived key and time; and by its delivery, if that
was applied before. A fact that waits under a link is not applied yet: only its own id is compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.history.events import EXTERNAL
from touchbase.history.last_writer_wins import EffectiveTime, effective_time
from touchbase.identity.event_subject import EventSubject
from touchbase.messages.sql.statements import DELETE_OF_EVENT, RETIME_MESSAGE
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.sql.builders import ONE, RECORD
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
    ONE,
    body=f"SELECT {names(_FACT, 't.')} FROM p CROSS JOIN event t WHERE t.client = p.client AND t.delivery_id = p.id",
)
_MOVE: Columns = (*RECORD, *_KEY_AND_TIME[1:], ("to_us", "bigint"), ("delivery_id", "bigint"), ("received_us", "bigint"))
RETIME_EVENT = Statement(
    "retime_event",
    _MOVE,
    body="UPDATE event AS t SET occurred_us = p.to_us, delivery_id = p.delivery_id, received_us = p.received_us FROM p "
    "WHERE t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = p.record_id AND t.occurred_us = p.occurred_us "
    "AND t.key = p.key",
    by_row=True,
)


REMOVE_EVENT = delete("take_event_out", "event", (*RECORD, *reversed(_KEY_AND_TIME[1:])))


class _Position(msgspec.Struct):
    """The position in an event's detail."""

    position: int = 0


_position = msgspec.json.Decoder(_Position).decode


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
        return effective_time(self.occurred_us, self.received_us, self.key, _position(self.detail).position)


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
                entry = (batch.client, fact.kind, fact.record_id, fact.occurred_us, fact.key)
                retimed[fact] = (*entry[:3], fact.key, fact.occurred_us, subject.at, outcome.delivery.id, outcome.delivery.received_us)
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
