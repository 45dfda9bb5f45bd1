"""A delivery that is worked on alone: the attempt is written before the work, and its events are applied part by part.

Each part is a transaction. What the parts before a crash have applied is known already when the delivery is taken again, and
changes nothing; so its state follows, after the last part, from its events in the store.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.events.delivery_outcomes import mark
from touchbase.events.event_normalization import NormalizedDelivery, Outcome
from touchbase.events.projection_batch import Batch
from touchbase.events.work import WorkReport
from touchbase.history.events import EXTERNAL
from touchbase.inbox.budget import UNFINISHED
from touchbase.inbox.delivery import Delivery
from touchbase.sql.builders import ONE, ONE_MATCH
from touchbase.sql.statement import Execute, Plan, Statement

_ATTEMPT = (
    "UPDATE delivery AS t SET attempts = p.attempts, error = p.error, next_attempt_us = p.next_attempt_us FROM p "
    f"WHERE {ONE_MATCH} AND t.state = 'received' AND t.attempts = p.before"
)
NOTE_ATTEMPT = Statement(
    "note_attempt",
    (*ONE, ("before", "bigint"), ("attempts", "bigint"), ("error", "text"), ("next_attempt_us", "bigint")),
    sqlite_set=f"{_ATTEMPT} RETURNING id",
    body=f"{_ATTEMPT} RETURNING t.id",
)
EVENTS_BY_KIND = Statement(
    "events_by_kind",
    ONE,
    body="SELECT e.record_kind, count(*) FROM p JOIN event e ON e.client = p.client AND e.delivery_id = p.id GROUP BY e.record_kind",
)


@dataclass(slots=True)
class Division:
    """One delivery whose parts are applied one after the other."""

    seen: NormalizedDelivery
    parts: int
    at: int = 0
    """The part whose turn it is."""
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    """What each part came to. A part that is tried again takes its own place."""


def begin(delivery: Delivery, until_us: Micros) -> Plan[bool]:
    """Write that work on a delivery begins, and when it may be taken again; False where another worker has it."""
    row = (delivery.client, delivery.id, delivery.attempts, delivery.attempts + 1, UNFINISHED, until_us)
    return bool((yield Execute(NOTE_ATTEMPT, [row])))


def end_part(batch: Batch, outcome: Outcome, division: Division, cleared: set[int], report: WorkReport) -> Plan[None]:
    """Note what a part came to, and mark the delivery after the last; until then its body stays, also where it names an erased person."""
    division.outcomes[division.at] = outcome
    delivery = outcome.delivery
    if division.at + 1 < division.parts:
        cleared.discard(delivery.id)
        return
    if len(division.outcomes) < division.parts:
        return  # a part was not applied, as the client was not in use for a while: all is begun again
    total = _total(division)
    if total.names_erased:
        cleared.add(delivery.id)
    counts = {row[0]: row[1] for row in (yield Execute(EVENTS_BY_KIND, [(batch.client, delivery.id)]))}
    total.parked = counts.pop(EXTERNAL, 0)
    total.applied = sum(counts.values())
    attempts = delivery.attempts  # `mark` counts the attempt itself
    yield Execute(NOTE_ATTEMPT, [(batch.client, delivery.id, attempts + 1, attempts, None, delivery.next_attempt_us)])
    yield from mark(batch, [total], report)


def _total(division: Division) -> Outcome:
    parts = [division.outcomes[part] for part in sorted(division.outcomes)]
    total = Outcome(division.seen, division.seen.delivery, next((part.sightings[:1] for part in parts if part.sightings), []))
    for part in parts:
        total.repeated += part.repeated
        total.unknown += part.unknown
        total.problems |= part.problems
        total.names_erased |= part.names_erased
    return total
