"""Large deliveries: the attempt is stored before the work begins, and the events are applied in parts.

Each part is a transaction. After a crash all parts are applied again: stored events are recognised and change nothing. So the
final state is computed from the stored events, after the last part.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.limits import UNFINISHED
from touchbase.deliveries.work import WorkReport
from touchbase.history.events import EXTERNAL
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.delivery_outcomes import mark
from touchbase.projection.normalization import DeliveryOutcome, NormalizedDelivery
from touchbase.sql.builders import ROW_KEY, ROW_MATCH
from touchbase.sql.statement import Execute, Plan, Statement

STORE_ATTEMPT = Statement(
    "store_attempt",
    (*ROW_KEY, ("before", "bigint"), ("attempts", "bigint"), ("error", "text"), ("next_attempt_us", "bigint")),
    body="UPDATE delivery AS t SET attempts = p.attempts, error = p.error, next_attempt_us = p.next_attempt_us FROM p "
    f"WHERE {ROW_MATCH} AND t.state = 'received' AND t.attempts = p.before RETURNING t.id",
)
EVENTS_BY_KIND = Statement(
    "events_by_kind",
    ROW_KEY,
    body="SELECT e.record_kind, count(*) FROM p JOIN event e ON e.client = p.client AND e.delivery_id = p.id GROUP BY e.record_kind",
)


@dataclass(slots=True)
class DeliveryInParts:
    """One delivery whose parts are applied in order."""

    normalized: NormalizedDelivery
    parts: int
    at: int = 0
    """The index of the part being applied."""
    outcomes: dict[int, DeliveryOutcome] = field(default_factory=dict)
    """The outcome of each part by index; a retried part replaces its own."""


def begin_attempt(delivery: Delivery, until_us: Micros) -> Plan[bool]:
    """Store that an attempt begins and when the delivery may be claimed again; return False if another worker has begun one."""
    row = (delivery.client, delivery.id, delivery.attempts, delivery.attempts + 1, UNFINISHED, until_us)
    return bool((yield Execute(STORE_ATTEMPT, [row])))


def end_part(batch: ApplyBatch, outcome: DeliveryOutcome, in_parts: DeliveryInParts, cleared: set[int], report: WorkReport) -> Plan[None]:
    """Store a part's outcome, and mark the delivery after the last; until then its body stays, even if it names an erased person."""
    in_parts.outcomes[in_parts.at] = outcome
    delivery = outcome.delivery
    if in_parts.at + 1 < in_parts.parts:
        cleared.discard(delivery.id)
        return
    if len(in_parts.outcomes) < in_parts.parts:
        return  # a part was skipped because the client was suspended: the whole delivery is retried
    total = _total(in_parts)
    if total.names_erased:
        cleared.add(delivery.id)
    counts = {row[0]: row[1] for row in (yield Execute(EVENTS_BY_KIND, [(batch.client, delivery.id)]))}
    total.parked = counts.pop(EXTERNAL, 0)
    total.applied = sum(counts.values())
    attempts = delivery.attempts  # `mark` counts the attempt itself
    yield Execute(STORE_ATTEMPT, [(batch.client, delivery.id, attempts + 1, attempts, None, delivery.next_attempt_us)])
    yield from mark(batch, [total], report)


def _total(in_parts: DeliveryInParts) -> DeliveryOutcome:
    parts = [in_parts.outcomes[part] for part in sorted(in_parts.outcomes)]
    total = DeliveryOutcome(
        in_parts.normalized, in_parts.normalized.delivery, next((part.subjects[:1] for part in parts if part.subjects), [])
    )
    for part in parts:
        total.repeated += part.repeated
        total.unknown += part.unknown
        total.refused = total.refused or part.refused
        total.problems |= part.problems
        total.names_erased |= part.names_erased
    return total
