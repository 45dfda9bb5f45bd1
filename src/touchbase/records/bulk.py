"""One change of all records that match the filters of a list: in steps, each a transaction of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.records.commands import UpdateRecord
from touchbase.sql.operation import Command
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


@dataclass(slots=True)
class ChangeMatching(Command[Step]):
    """Change the records of one page of a list, in order of creation; `listing.after` is the place of the last one of the step before."""

    client: int
    listing: Any
    """A `ListRecords`, or a search (`SearchRecords`) in order of creation."""
    update: UpdateRecord[Any]
    """The change; its `id` is set for each record."""


async def change_matching(store: Store, listing: Any, update: UpdateRecord[Any], most: int) -> Step:
    """Change up to `most` records that match, in the order of their creation. Records that match only later are not changed.

    `listing` is that of `ChangeMatching`.
    """
    total = Step()
    after: tuple[Micros, int] | None = None
    limit = min(STEP, max(1, STEP_FIELDS // max(1, len(update.custom))))
    while total.matched < most:
        page = replace(listing, limit=min(limit, most - total.matched), after=after)
        step = await store.write(ChangeMatching(listing.client, page, update))
        total.matched += step.matched
        total.changed += step.changed
        total.failed += step.failed
        if step.last is None:
            break
        after = step.last
    return total
