"""Known facts: events of a batch that stand in a history already; they decide nothing again.

A fact is known by the tool's own id of it, whatever its time; without one by its derived key and time; and by its delivery,
where that has been applied before. What waits under a link is not decided yet: only its own id counts once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from touchbase.common.timestamps import Micros
from touchbase.events.event_normalization import Outcome
from touchbase.events.event_subject import EventSubject
from touchbase.events.projection_batch import Batch
from touchbase.history.events import EXTERNAL
from touchbase.history.last_writer_wins import place_of
from touchbase.inbox.delivery import Delivery
from touchbase.sql.builders import ONE, RECORD
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement, delete

_KEY: Columns = (("client", "bigint"), ("key", "text"))
_KEY_AND_TIME: Columns = (*_KEY, ("occurred_us", "bigint"))
_FACT: Columns = (
    ("record_kind", "bigint"), ("record_id", "bigint"), ("occurred_us", "bigint"), ("key", "text"), ("delivery_id", "bigint"),
    ("received_us", "bigint"),
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
    sqlite="UPDATE event SET occurred_us = ?6, delivery_id = ?7, received_us = ?8 WHERE client = ?1 AND record_kind = ?2 "
    "AND record_id = ?3 AND key = ?4 AND occurred_us = ?5",
)


TAKE_EVENT_OUT = delete("take_event_out", "event", (*RECORD, *reversed(_KEY_AND_TIME[1:])))


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact as it stands in a history, or under a link."""

    kind: int
    record_id: int
    occurred_us: Micros
    key: str
    delivery_id: int | None
    received_us: Micros


@dataclass(slots=True)
class Known:
    """The facts of a batch that are there already."""

    by_id: dict[str, Fact] = field(default_factory=dict)
    by_time: dict[tuple[str, Micros], Fact] = field(default_factory=dict)
    by_delivery: dict[tuple[int | None, str], Fact] = field(default_factory=dict)

    def fact(self, seen: EventSubject, delivery: Delivery) -> Fact | None:
        """The fact that this sighting repeats, unless it waits still and is recognised where it waits."""
        fact = self._of(seen, delivery)
        if fact is not None and fact.kind == EXTERNAL and (not seen.own_id or fact.delivery_id == delivery.id):
            return None
        return fact

    def _of(self, seen: EventSubject, delivery: Delivery) -> Fact | None:
        found = self.by_id.get(seen.key) if seen.own_id else self.by_time.get((seen.key, seen.at))
        return found or self.by_delivery.get((delivery.id, seen.key))


def set_aside_known(batch: Batch, outcomes: Sequence[Outcome]) -> Plan[None]:
    """Take what is known out of these outcomes; a receipt that is earlier than the one that told it takes its place."""
    known = yield from find_known(batch.client, outcomes)
    retimed: dict[Fact, Row] = {}
    forgotten: list[Row] = []
    for outcome in sorted(outcomes, key=by_receipt):
        rest: list[EventSubject] = []
        for seen in outcome.sightings:
            fact = known.fact(seen, outcome.delivery)
            if fact is None:
                rest.append(seen)
            elif fact.kind == EXTERNAL:
                if _is_earlier(outcome, fact):
                    forgotten.append((batch.client, fact.kind, fact.record_id, fact.occurred_us, fact.key))
                    batch.emptied.add(fact.delivery_id or 0)
                    known.by_id[seen.key] = replace(fact, delivery_id=outcome.delivery.id, received_us=outcome.delivery.received_us)
                else:
                    batch.waiting.add((seen.key, outcome.delivery.id))
                rest.append(seen)
            elif _moves(seen, outcome, fact) and fact not in retimed:
                place = (batch.client, fact.kind, fact.record_id, fact.occurred_us, fact.key)
                retimed[fact] = (*place[:3], fact.key, fact.occurred_us, seen.at, outcome.delivery.id, outcome.delivery.received_us)
                batch.emptied.add(fact.delivery_id or 0)
                outcome.applied += 1
            else:
                outcome.repeated += 1
        outcome.sightings = rest
    if forgotten:
        yield Execute(TAKE_EVENT_OUT, forgotten)
    if retimed:
        yield Execute(RETIME_EVENT, list(retimed.values()))
    batch.retimed = [((fact.kind, fact.record_id), place_of(fact.occurred_us, fact.received_us, fact.key)) for fact in retimed]


def _moves(seen: EventSubject, outcome: Outcome, fact: Fact) -> bool:
    """Whether an earlier receipt gives a fact another place: it brings another time, or the fact lies ahead of it."""
    return _is_earlier(outcome, fact) and (seen.own_id or fact.occurred_us > outcome.delivery.received_us)


def by_receipt(outcome: Outcome) -> tuple[Micros, int]:
    """The order of receipt."""
    return outcome.delivery.received_us, outcome.delivery.id


def _is_earlier(outcome: Outcome, fact: Fact) -> bool:
    return fact.delivery_id is not None and by_receipt(outcome) < (fact.received_us, fact.delivery_id)


def find_known(client: int, outcomes: Sequence[Outcome]) -> Plan[Known]:
    """Look up which facts of these deliveries are there already."""
    known = Known()
    sightings = [seen for outcome in outcomes for seen in outcome.sightings]
    ids = sorted({seen.key for seen in sightings if seen.own_id})
    if ids:
        known.by_id = {fact.key: fact for fact in _facts((yield Execute(FACT_BY_ID, [(client, key) for key in ids])))}
    times = sorted({(seen.key, seen.at) for seen in sightings if not seen.own_id})
    if times:
        rows = yield Execute(FACT_BY_TIME, [(client, *each) for each in times])
        known.by_time = {(fact.key, fact.occurred_us): fact for fact in _facts(rows)}
    applied = sorted({outcome.delivery.id for outcome in outcomes if outcome.delivery.applied_us is not None and outcome.sightings})
    if applied:
        rows = yield Execute(FACTS_OF_DELIVERY, [(client, number) for number in applied])
        known.by_delivery = {(fact.delivery_id, fact.key): fact for fact in _facts(rows)}
    return known


def _facts(rows: Iterable[tuple[int, int, Micros, str, int | None, Micros]]) -> Iterator[Fact]:
    # In a table by key the last stays: what has a record before what waits, and the earliest.
    return (Fact(*row) for row in sorted(rows, key=lambda row: row[:4], reverse=True))
