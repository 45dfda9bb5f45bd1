"""One change of all records that match the filters of a list: in steps, each in a separate transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound, PreconditionFailed, TouchbaseError
from touchbase.records.operations import WRITES
from touchbase.records.sql.reads import Listing, matching
from touchbase.records.writes import RecordUpdate, new_write_key, record_of
from touchbase.search.queries import RecordSearch
from touchbase.search.sql.plans import search_page
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, plan_of
from touchbase.sql.statement import Plan
from touchbase.sql.store import Store

MAX_AFFECTED = 10_000
"""Records of one request."""
STEP = 50
"""Records of one transaction, for which all other writes wait on SQLite. Each is read with its custom fields."""
STEP_FIELDS = 4_096
"""Custom fields that one transaction changes, of at least one record."""
MAX_LISTED = 100
"""Failed records that the result lists."""


@dataclass(slots=True)
class Step:
    """Outcomes of the records of one step."""

    matched: int = 0
    changed: int = 0
    failed: list[tuple[int, TouchbaseError]] = field(default_factory=list)
    """Ids and errors."""
    last: tuple[Micros, int] | None = None
    """The place of the last record; None: none is left."""


Matching = Listing[Any] | RecordSearch[Any]
"""The records of a list, or of a search in order of creation."""


def _needs(commands: Sequence[Any]) -> Mapping[str, int]:
    custom = sum(command.listing.limit * len(command.update.custom) for command in commands)
    return {"custom_field": custom, "link": sum(3 * command.listing.limit for command in commands)}


def _matching(listing: Matching) -> Plan[list[tuple[int, Micros, Micros]]]:
    """Return `id`, `created_us` and `updated_us` of a page of records."""
    if isinstance(listing, Listing):
        return (yield from matching(listing))
    page = yield from search_page.plan(listing)
    return [(record.id, record.created_us, record.updated_us) for record in page.records]


@command(ids=_needs, cipher=True, large=True)
def change_page(ids: Ids, cipher: Cipher, client: int, listing: Matching, update: RecordUpdate[Any]) -> Plan[Step]:
    """Change a page of records that match, in order of creation; `listing.after` is the place of the last one of the step before.

    `update`: the change; its `id` is set for each record.
    """
    matches = yield from _matching(listing)
    if not matches:
        return Step()
    updated_by_id = {number: updated for number, _, updated in matches}
    outcomes = yield from _change(updated_by_id, listing, update, ids, cipher)
    if stale := {number for number, outcome in outcomes.items() if isinstance(outcome, PreconditionFailed | NotFound)}:
        # Other requests changed or removed these since they were read. They are locked now: those that still match are changed, others do
        # not count.
        now = yield from _matching(replace(listing, limit=2 * listing.limit))
        still = {number: updated for number, _, updated in now if number in stale}
        updated_by_id = {number: updated for number, updated in updated_by_id.items() if number not in stale} | still
        outcomes |= yield from _change(still, listing, update, ids, cipher)
    step = Step(len(updated_by_id))
    for number, updated in updated_by_id.items():
        outcome = outcomes[number]
        record = record_of(outcome)
        if record is not None:
            step.changed += record.updated_us != updated
        elif isinstance(outcome, TouchbaseError):
            step.failed.append((number, outcome))
    if len(matches) == listing.limit:
        step.last = (matches[-1][1], matches[-1][0])
    return step


def _change(
    updated_by_id: Mapping[int, Micros], listing: Matching, update: RecordUpdate[Any], ids: Ids, cipher: Cipher
) -> Plan[dict[int, object]]:
    """Change these records, as they were when they were read; return the results by id."""
    write = WRITES[listing.kind.model].update
    updates = [write(replace(update, id=number, key=new_write_key(), if_updated_us=at)) for number, at in updated_by_id.items()]
    return dict(zip(updated_by_id, (yield from plan_of(updates, ids, cipher)), strict=True))


async def change_matching(store: Store, listing: Matching, update: RecordUpdate[Any], most: int) -> Step:
    """Change up to `most` records that match, in the order of their creation. Records that match only later are not changed."""
    total = Step()
    after: tuple[Micros, int] | None = None
    limit = min(STEP, max(1, STEP_FIELDS // max(1, len(update.custom))))
    while total.matched < most:
        page = replace(listing, limit=min(limit, most - total.matched), after=after)
        step = await store.write(change_page(listing.client, page, update))
        total.matched += step.matched
        total.changed += step.changed
        total.failed += step.failed
        if step.last is None:
            break
        after = step.last
    return total
