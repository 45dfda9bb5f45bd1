"""Which records are wanted: objects that events wait for, and those of which a call says only that they changed."""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.common.timestamps import SECOND, Micros
from touchbase.events.event_normalization import Outcome
from touchbase.events.projection_batch import Batch
from touchbase.history.identity_links import Ref
from touchbase.history.statements import REF
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Statement

SETTLING: Micros = 2 * SECOND
"""So long a wanted record waits: often the calls that come next tell what is missing."""

_SAME = "t.client = p.client AND t.tool = p.tool AND t.object_type = p.object_type AND t.object_id = p.object_id"
_WANT: Columns = (*REF, ("rank", "bigint"), ("thin", "bigint"), ("requested_us", "bigint"), ("next_us", "bigint"), ("attempts", "bigint"))
_EARLIER = "CASE WHEN fetch_queue.next_us < excluded.next_us THEN fetch_queue.next_us ELSE excluded.next_us END"
# Always another time than before, so that whoever asks already sees that it was wanted anew.
_LATER = "CASE WHEN fetch_queue.requested_us >= excluded.requested_us THEN fetch_queue.requested_us + 1 ELSE excluded.requested_us END"
WANT_RECORD = Statement(
    "want_record",
    _WANT,
    body=f"INSERT INTO fetch_queue ({names(_WANT)}) SELECT * FROM p WHERE true ON CONFLICT (client, tool, object_type, object_id) "
    "DO UPDATE SET rank = excluded.rank, thin = CASE WHEN fetch_queue.thin > excluded.thin THEN fetch_queue.thin "
    f"ELSE excluded.thin END, requested_us = {_LATER}, next_us = {_EARLIER}, attempts = 0",
)
# What a thin call left out is still missing once the object is known.
WANT_NO_MORE = Statement(
    "want_no_more",
    REF,
    sqlite="DELETE FROM fetch_queue WHERE client = ?1 AND tool = ?2 AND object_type = ?3 AND object_id = ?4 AND thin = 0",
    body=f"DELETE FROM fetch_queue t USING p WHERE {_SAME} AND t.thin = 0",
)


def note_wants(batch: Batch, outcomes: Sequence[Outcome]) -> Plan[None]:
    """Note which records this batch makes us want, and forget those that came to be known without asking."""
    wanted: dict[Ref, tuple[int, int]] = {}
    for outcome in outcomes:
        if outcome.seen.may_ask and (outcome.parked or outcome.applied):
            _add(batch, outcome, wanted)
    found = [link.ref for one in batch.resolvers.values() if one.links.left for link in one.links.changed.values() if link.place is None]
    known = sorted(set(found) - wanted.keys())
    if known:
        yield Execute(WANT_NO_MORE, [(batch.client, *ref) for ref in known])
    if wanted:
        at = (batch.now_us, batch.now_us + SETTLING, 0)
        yield Execute(WANT_RECORD, [(batch.client, *ref, *how, *at) for ref, how in sorted(wanted.items())])


def _add(batch: Batch, outcome: Outcome, wanted: dict[Ref, tuple[int, int]]) -> None:
    for seen in outcome.sightings:
        if seen.ref is None or seen.event.event.endswith(".deleted"):
            continue
        link = batch.resolvers[seen.kind].links.by_ref.get(seen.ref)
        waits = link is not None and link.place is not None
        if waits or seen.event.thin:
            _, thin = wanted.get(seen.ref, (0, 0))
            wanted[seen.ref] = (0 if waits else 1, max(thin, int(seen.event.thin)))
