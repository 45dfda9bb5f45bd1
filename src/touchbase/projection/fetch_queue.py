"""The fetch queue: objects to fetch from their tool, because events wait for them or a webhook was thin."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import SECOND, Micros
from touchbase.history.identity_links import Ref
from touchbase.history.sql import REF
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Statement

SETTLE_DELAY: Micros = 2 * SECOND
"""Delay before a fetch: often the next webhooks bring what is missing."""

_SAME = "t.client = p.client AND t.tool = p.tool AND t.object_type = p.object_type AND t.object_id = p.object_id"
_FETCH: Columns = (*REF, ("rank", "bigint"), ("thin", "bigint"), ("requested_us", "bigint"), ("next_us", "bigint"), ("attempts", "bigint"))
_EARLIER = "CASE WHEN fetch_queue.next_us < excluded.next_us THEN fetch_queue.next_us ELSE excluded.next_us END"
# `requested_us` always changes, so that a fetch in progress sees that the record was queued again.
_LATER = "CASE WHEN fetch_queue.requested_us >= excluded.requested_us THEN fetch_queue.requested_us + 1 ELSE excluded.requested_us END"
QUEUE_FETCH = Statement(
    "queue_fetch",
    _FETCH,
    body=f"INSERT INTO fetch_queue ({names(_FETCH)}) SELECT * FROM p WHERE true ON CONFLICT (client, tool, object_type, object_id) "
    "DO UPDATE SET rank = excluded.rank, thin = CASE WHEN fetch_queue.thin > excluded.thin THEN fetch_queue.thin "
    f"ELSE excluded.thin END, requested_us = {_LATER}, next_us = {_EARLIER}, attempts = 0",
)
# Rows with `thin` stay: the missing values are still unknown after the object is.
DEQUEUE_FETCH = Statement("dequeue_fetch", REF, body=f"DELETE FROM fetch_queue t USING p WHERE {_SAME} AND t.thin = 0", by_row=True)


def update_fetch_queue(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[None]:
    """Queue the objects that this batch needs, and dequeue objects that became known without a fetch."""
    needed: dict[Ref, tuple[int, int]] = {}
    for outcome in outcomes:
        if outcome.normalized.may_ask and (outcome.parked or outcome.applied):
            _add(batch, outcome, needed)
    vacated = [
        link.ref
        for resolver in batch.resolvers.values()
        if resolver.links.vacated
        for link in resolver.links.changed.values()
        if link.parking_id is None
    ]
    gone_ids = sorted(set(vacated) - needed.keys())
    if gone_ids:
        yield Execute(DEQUEUE_FETCH, [(batch.client, *ref) for ref in gone_ids])
    if needed:
        at = (batch.now_us, batch.now_us + SETTLE_DELAY, 0)
        yield Execute(QUEUE_FETCH, [(batch.client, *ref, *how, *at) for ref, how in sorted(needed.items())])


def _add(batch: ApplyBatch, outcome: DeliveryOutcome, needed: dict[Ref, tuple[int, int]]) -> None:
    for subject in outcome.subjects:
        if subject.ref is None or subject.event.event.endswith(".deleted"):
            continue
        link = batch.resolvers[subject.kind].links.by_ref.get(subject.ref)
        waits = link is not None and link.parking_id is not None
        if waits or subject.event.thin:
            _, thin = needed.get(subject.ref, (0, 0))
            needed[subject.ref] = (0 if waits else 1, max(thin, int(subject.event.thin)))
