"""One change of all records that match the filters of a list: in steps, each a transaction of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.records.commands import UpdateRecord, new_write_key
from touchbase.records.models import Record
from touchbase.records.sql.bulk import matching
from touchbase.records.write_batch import record_of
from touchbase.search.queries import SearchCompanies, SearchContacts
from touchbase.search.sql import plans as search_plans
from touchbase.sql.batches import plan_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
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
    """What became of the records of one step."""

    matched: int = 0
    changed: int = 0
    failed: list[tuple[int, TouchbaseError]] = field(default_factory=list)
    """Ids and errors."""
    last: tuple[Micros, int] | None = None
    """The place of the last record; None: there are no more."""


def _needs(commands: Sequence[Any]) -> Mapping[str, int]:
    custom = sum(command.listing.limit * len(command.update.custom) for command in commands)
    return {"custom_field": custom, "link": sum(3 * command.listing.limit for command in commands)}


def _matching(listing: Any) -> Plan[list[tuple[int, Micros, Micros]]]:
    """Return `id`, `created_us` and `updated_us` of a page of records."""
    if isinstance(listing, SearchContacts):
        records: Sequence[Record] = (yield from search_plans.search_contacts(listing)).records
    elif isinstance(listing, SearchCompanies):
        records = (yield from search_plans.search_companies(listing)).records
    else:
        return (yield from matching(listing))
    return [(record.id, record.created_us, record.updated_us) for record in records]


@command(ids=_needs, cipher=True, large=True)
def change_page(ids: Ids, cipher: Cipher, client: int, listing: Any, update: UpdateRecord[Any]) -> Plan[Step]:
    """Change a page of records that match, in order of creation; `listing.after` is the place of the last one of the step before.

    `listing`: a `ListRecords`, or a search in order of creation. `update`: the change; its `id` is set for each record.
    """
    found = yield from _matching(listing)
    if not found:
        return Step()
    updates = [replace(update, id=number, key=new_write_key(), if_updated_us=updated) for number, _, updated in found]
    step = Step(len(found))
    for (number, _, updated), outcome in zip(found, (yield from plan_of(updates, ids, cipher)), strict=True):
        record = record_of(outcome)
        if record is not None:
            step.changed += record.updated_us != updated
        elif isinstance(outcome, TouchbaseError):
            step.failed.append((number, outcome))
    if len(found) == listing.limit:
        step.last = (found[-1][1], found[-1][0])
    return step


async def change_matching(store: Store, listing: Any, update: UpdateRecord[Any], most: int) -> Step:
    """Change up to `most` records that match, in the order of their creation. Records that match only later are not changed.

    `listing` is that of `change_page`.
    """
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
