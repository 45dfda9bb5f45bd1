"""Batches: commands of one client in their order, as few statements as possible.

Neighbours of one type are executed as one set. That gives what one after the other gives, unless a command needs a key that
another one of the set had or has: then the set is rolled back, and its commands are executed one by one.

The records of one batch may have 100 times as many bytes as its commands. So a long set is executed part by part, and once the
records have too many custom fields, the other commands fail.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from touchbase.clients.sql.clients import CLIENT_BY_NUMBER
from touchbase.common.cipher import Cipher
from touchbase.common.field_limits import LARGEST_ID
from touchbase.common.timestamps import Micros
from touchbase.erasure_marks import LOCK_CLIENT
from touchbase.errors import BatchFailed, Conflict, Fault, Invalid, TouchbaseError
from touchbase.event_log.sql.changes import BULK, note_change
from touchbase.history.events import COMPANY, CONTACT, NO_AUTHOR, Author
from touchbase.merging.sql.join import can_join, join_ids, join_of, joined
from touchbase.projection.delete import delete_record
from touchbase.records.models import Company, Contact, Record
from touchbase.records.operations import create_company, create_contact, upsert_company, upsert_contact
from touchbase.records.sql.reads import get_records
from touchbase.records.writes import Created, RecordUpsert, record_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import CommandPreview, Commands, command, needs_of, plan_of, weight_of_all
from touchbase.sql.statement import RELEASE, ROLL_BACK, SAVE, Execute, Plan

MAX_COMMANDS = 1_000
"""Commands in one batch: one transaction, for which all other writes wait on SQLite."""
MOST_FIELDS = 20_000
"""Custom fields in all commands of one batch: each is a row of that transaction."""

MOST_READ_FIELDS = 100_000
"""Custom fields of all existing records that one batch changes or returns: each is read in that transaction."""
MOST_READ_CHARACTERS = 16_777_216
"""Characters of their names and values."""


def batch_failed(outcomes: Sequence[object]) -> BatchFailed | None:
    """Return the error of an atomic batch with these results; None if all commands succeed."""
    failed = [(index, error) for index, error in enumerate(outcomes) if isinstance(error, TouchbaseError)]
    faults = (fault for index, error in failed for fault in faults_at(index, error))
    more = sum(error.more for _, error in failed if isinstance(error, Invalid))
    return BatchFailed([*faults], more) if failed else None


def faults_at(index: int, error: TouchbaseError) -> Iterator[Fault]:
    """Yield the faults of one command of a batch, as faults of the batch."""
    if isinstance(error, Invalid):
        for fault in error.faults:
            yield Fault(f"/commands/{index}{fault.pointer}", fault.code, fault.detail)
    else:
        yield Fault(f"/commands/{index}", error.code, error.detail)


JOINS = 20
"""Commands of one batch that may join contacts: each is a merge. The next one is a conflict, and can be sent again."""
IDS_PER_KIND = 2**40
"""Ids of each kind that a dry run may use; they are never stored."""
FIRST_PART = 32
"""Commands executed before it is known how many custom fields their records have; the next part has at most as many as all before."""

_CREATIONS = (create_contact.operation, create_company.operation)
_UPSERTS = (upsert_contact.operation, upsert_company.operation)


@dataclass(slots=True)
class _ReadBudget:
    """The custom fields that a batch may still read."""

    commands: int = 0
    """Commands that were executed."""
    spent: float = 0.0
    """Part of the custom fields, or of their characters, that their records had."""
    joins: int = JOINS
    """Contacts that the batch may still join."""

    def part(self) -> int:
        """Return how many commands to execute next."""
        if not self.commands:
            return FIRST_PART
        affordable = int(self.commands * (1 - self.spent) / self.spent) if self.spent else self.commands
        return max(1, min(self.commands, affordable))

    def count(self, outcomes: Sequence[object]) -> None:
        """Count the existing records in these results."""
        existing = [outcome for outcome in outcomes if not (isinstance(outcome, Created) and outcome.is_new)]
        customs = [record.custom_fields for outcome in existing if (record := record_of(outcome)) is not None]
        characters = sum(len(custom.name) + len(custom.value or "") for fields in customs for custom in fields)
        self.spent += max(sum(map(len, customs)) / MOST_READ_FIELDS, characters / MOST_READ_CHARACTERS)
        self.commands += len(outcomes)


def _needs(batches: Sequence[Any]) -> Mapping[str, int]:
    inner = [command for batch in batches if not batch.dry_run for command in batch.commands]
    needs = {name: 2 * count for name, count in needs_of(inner).items()}  # a set may be executed again, one by one
    joins = sum(JOINS for batch in batches if not batch.dry_run and any(map(_can_join, batch.commands)))
    for name, count in join_ids(joins).items() if joins else ():
        needs[name] = needs.get(name, 0) + count
    return needs


@command(ids=_needs, cipher=True, weight=lambda batch: weight_of_all(batch.commands))
def write_batch(
    ids: Ids,
    cipher: Cipher,
    client: int,
    commands: Commands,
    atomic: bool = False,
    dry_run: bool = False,
    by: Author = NO_AUTHOR,
    at: Micros = 0,
) -> Plan[list[object] | BatchFailed]:
    """Execute creates, upserts, updates and deletions of one client in their order; return a result or an error for each.

    One that fails does not affect the others, unless the batch is `atomic`: then nothing is stored, and the result is `BatchFailed`.
    In a dry run nothing is stored either, no id is used, and each result is a `CommandPreview`. With `by` it is a change of this author.
    """
    # Before any record is locked, as inbox batches do; a deletion locks it exclusively, and a change that sets an address shares it.
    if any(inner.operation is delete_record.operation for inner in commands):
        yield Execute(CLIENT_BY_NUMBER, [(client,)])
    elif any(inner.operation not in _CREATIONS for inner in commands):
        yield Execute(LOCK_CLIENT, [(client,)])
    if not (atomic or dry_run):
        outcomes = yield from _in_order(commands, ids, cipher)
        yield from _note(client, commands, outcomes, by, at)
        return outcomes
    yield SAVE
    outcomes = yield from _in_order(commands, _unused_ids(commands) if dry_run else ids, cipher)
    failed = batch_failed(outcomes) if atomic else None
    if dry_run or failed is not None:
        yield ROLL_BACK
    yield RELEASE
    if failed is not None:
        return failed
    if dry_run:
        return (yield from _previews(client, commands, outcomes))
    yield from _note(client, commands, outcomes, by, at)
    return outcomes


def _note(client: int, commands: Commands, outcomes: Sequence[object], by: Author, at: Micros) -> Plan[None]:
    """Record the batch as a change; a deletion records itself."""
    written = [inner.operation is not delete_record.operation for inner in commands]
    if count := sum(is_write and not isinstance(outcome, TouchbaseError) for is_write, outcome in zip(written, outcomes, strict=True)):
        yield from note_change(client, BULK, by, at, count)


def _unused_ids(commands: Commands) -> Ids:
    ids = Ids()
    for name in {**needs_of(commands), **join_ids(1)}:
        ids.fill(name, LARGEST_ID - IDS_PER_KIND, IDS_PER_KIND)
    return ids


def _in_order(commands: Commands, ids: Ids, cipher: Cipher) -> Plan[list[object]]:
    outcomes: list[object] = []
    budget = _ReadBudget()
    for _, alike in groupby(commands, _likeness):
        waiting = [*alike]
        while waiting and budget.spent < 1:
            part, waiting = waiting[: (size := budget.part())], waiting[size:]
            results = yield from _set(part, ids, cipher, budget)
            budget.count(results)
            outcomes += results
    return outcomes + [_too_large() for _ in range(len(commands) - len(outcomes))]


def _likeness(command: Any) -> tuple[type, str | None]:
    """Return the batching key of commands that are executed as one set."""
    return type(command), command.upsert.match if command.operation in _UPSERTS else None


def _too_large() -> Invalid:
    detail = (
        f"was not carried out: the records of the commands before it have {MOST_READ_FIELDS:,} custom fields, or {MOST_READ_CHARACTERS:,} "
        "characters in them; send it in another batch"
    )
    return Invalid([Fault("", "too_large", detail)])


def _set(commands: Commands, ids: Ids, cipher: Cipher, budget: _ReadBudget) -> Plan[list[object]]:
    """Execute commands of one type."""
    if commands[0].operation in _CREATIONS:
        return (yield from plan_of(commands, ids, cipher))
    if len(commands) == 1:
        outcomes = yield from plan_of(commands, ids, cipher)
        return [(yield from _join(commands[0], outcomes[0], ids, cipher, budget))]
    yield SAVE
    outcomes = yield from plan_of(commands, ids, cipher)
    in_turn = _interfere(outcomes) or any(map(_may_join, commands, outcomes))
    if in_turn:
        yield ROLL_BACK
    yield RELEASE
    if in_turn:
        outcomes = []
        for inner in commands:
            outcomes += yield from _set([inner], ids, cipher, budget)
    return outcomes


def _can_join(command: Any) -> bool:
    return command.operation is upsert_contact.operation and can_join(command.upsert.create.record)


def _may_join(command: Any, outcome: object) -> bool:
    """Return whether a command was refused for keys of several contacts, which may be one person."""
    return isinstance(outcome, Conflict) and outcome.names_several and _can_join(command)


def _join(command: Any, outcome: object, ids: Ids, cipher: Cipher, budget: _ReadBudget) -> Plan[object]:
    """Merge the contacts that a command names by several keys, and execute it again; return its outcome."""
    if not _may_join(command, outcome) or budget.joins <= 0:
        return outcome
    upsert: RecordUpsert[Contact] = command.upsert
    if (yield from join_of(ids, upsert)):
        [outcome] = yield from plan_of([upsert_contact(joined(upsert))], ids, cipher)
        budget.joins -= 1
    return outcome


def _interfere(outcomes: Sequence[object]) -> bool:
    """Return whether a command failed for a key of a record that another command of the set has written."""
    taken = {outcome.data.get("existing_id") for outcome in outcomes if isinstance(outcome, Conflict)}
    return bool(taken) and any(record.id in taken for outcome in outcomes if (record := record_of(outcome)) is not None)


def _previews(client: int, commands: Commands, outcomes: Sequence[object]) -> Plan[list[object]]:
    """Return each outcome with the record before it: as it is stored, or as the commands before it would leave it."""
    records = [record for outcome in outcomes if (record := record_of(outcome)) is not None]
    stored_records: dict[tuple[int, int], Record] = {}
    for kind, model in ((CONTACT, Contact), (COMPANY, Company)):
        stored = yield from get_records.plan(client, kind, [record.id for record in records if isinstance(record, model)])
        stored_records |= {(kind, number): record for number, record in stored.items()}
    previews: list[object] = []
    for inner, outcome in zip(commands, outcomes, strict=True):
        record = record_of(outcome)
        if record is None:
            previews.append(CommandPreview(None, outcome))
            continue
        if inner.operation is delete_record.operation:
            previews.append(CommandPreview(record, outcome, deletes=True))
            continue
        key = (CONTACT if isinstance(record, Contact) else COMPANY, record.id)
        before = None if isinstance(outcome, Created) and outcome.is_new else stored_records.get(key)
        previews.append(CommandPreview(before, outcome))
        stored_records[key] = record
    return previews
