"""The handler of `ChangeMatching`: find a page of records and change each, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from touchbase.errors import TouchbaseError
from touchbase.records import ChangeMatching, Step, new_write_key, record_of
from touchbase.records.sql.bulk import matching
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan
from touchbase.storage.batch import Handlers, plan_of
from touchbase.storage.command_handlers import Handler


def with_bulk_changes(handlers: Handlers) -> Handlers:
    """Return these handlers and that of `ChangeMatching`."""

    def run(commands: Sequence[ChangeMatching], ids: Ids) -> Plan[list[object]]:
        results: list[object] = []
        for command in commands:
            results.append((yield from _change(command, ids, handlers)))
        return results

    def needs(commands: Sequence[ChangeMatching]) -> Mapping[str, int]:
        custom = sum(command.listing.limit * len(command.update.custom) for command in commands)
        return {"custom_field": custom, "link": sum(3 * command.listing.limit for command in commands)}

    return {**handlers, ChangeMatching: Handler(run, needs)}


def _change(command: ChangeMatching, ids: Ids, handlers: Handlers) -> Plan[Step]:
    found = yield from matching(command.listing)
    if not found:
        return Step()
    updates = [replace(command.update, id=number, key=new_write_key(), if_updated_us=updated) for number, _, updated in found]
    step = Step(len(found))
    for (number, _, updated), outcome in zip(found, (yield from plan_of(updates, handlers, ids)), strict=True):
        record = record_of(outcome)
        if record is not None:
            step.changed += record.updated_us != updated
        elif isinstance(outcome, TouchbaseError):
            step.failed.append((number, outcome))
    if len(found) == command.listing.limit:
        step.last = (found[-1][1], found[-1][0])
    return step
