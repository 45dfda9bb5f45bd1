"""Plan of `ChangeMatching`: find a page of records and change each, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.errors import TouchbaseError
from touchbase.records.bulk import ChangeMatching, Step
from touchbase.records.commands import new_write_key
from touchbase.records.models import Record
from touchbase.records.sql.bulk import matching
from touchbase.records.write_batch import record_of
from touchbase.search.queries import SearchCompanies, SearchContacts
from touchbase.search.sql import plans as search_plans
from touchbase.sql.batches import plan_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import executes
from touchbase.sql.statement import Plan


def _needs(commands: Sequence[ChangeMatching]) -> Mapping[str, int]:
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


@executes(ChangeMatching, ids=_needs, cipher=True, large=True)
def change_matching(command: ChangeMatching, ids: Ids, cipher: Cipher) -> Plan[Step]:
    """Change a page of records that match a filter."""
    found = yield from _matching(command.listing)
    if not found:
        return Step()
    updates = [replace(command.update, id=number, key=new_write_key(), if_updated_us=updated) for number, _, updated in found]
    step = Step(len(found))
    for (number, _, updated), outcome in zip(found, (yield from plan_of(updates, ids, cipher)), strict=True):
        record = record_of(outcome)
        if record is not None:
            step.changed += record.updated_us != updated
        elif isinstance(outcome, TouchbaseError):
            step.failed.append((number, outcome))
    if len(found) == command.listing.limit:
        step.last = (found[-1][1], found[-1][0])
    return step
