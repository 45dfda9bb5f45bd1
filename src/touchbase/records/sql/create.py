"""Plans that create records: one statement inserts the whole batch, then only the records that exist already are read.

`guarded` plans refuse writes that would store an erased person again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import wraps
from itertools import groupby
from typing import Any, Generic, TypeVar

from touchbase.common.timestamps import Micros
from touchbase.erasure_marks import DELETE_ERASURE, EMAIL, LINKEDIN, LOCK_CLIENT, erasure_key_of, find_marks, linkedin_refs
from touchbase.errors import Conflict, Fault, Invalid, Overloaded, PersonErased, TouchbaseError
from touchbase.event_log.models import LoggedEvent, by_request
from touchbase.history.events import CONTACT, NO_AUTHOR, Detail
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE
from touchbase.history.sql import detail_text, save_links
from touchbase.history.status import INITIAL, with_status
from touchbase.records.further_emails import all_emails, by_key, further_emails
from touchbase.records.logged_changes import creation_event
from touchbase.records.models import Company, Contact, CustomField
from touchbase.records.record_type import stamped_fields, stamped_values
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.address_book import BOOK, OWNER_OF, claim_keys, keys_of
from touchbase.records.sql.rows import custom_field_row
from touchbase.records.sql.same_person import names_another, other_person
from touchbase.records.sql.statements import COMPANIES, CONTACTS, RecordTable, with_custom_fields
from touchbase.records.writes import Created, Creation, RecordUpdate
from touchbase.sql.ids import Ids
from touchbase.sql.operation import NEEDS_TRANSACTION
from touchbase.sql.statement import Execute, Plan, Row, Statement

R = TypeVar("R", Contact, Company)

KeyOwners = dict[tuple[int, str, str | None], int]
"""Ids of records by client, key column and key."""


@dataclass(slots=True)
class _CreationBatch(Generic[R]):
    """Outcomes of a batch of creations."""

    table: RecordTable[R]
    new: set[int]
    """Ids of the records that were inserted."""
    owners: KeyOwners = field(default_factory=dict)
    existing: Mapping[int, R] = field(default_factory=dict)
    """Existing records that creations return."""
    others: set[int] = field(default_factory=set)
    """Creations (`id`) whose existing contact has their profile, and is another person."""

    def is_missing(self, creation: Creation[R]) -> bool:
        """Return whether a record was not inserted and does not exist either."""
        return creation.record.id not in self.new and self.owner(creation) is None

    def owner(self, creation: Creation[R]) -> int | None:
        """Return the id of the record that has the creation's identity."""
        record = creation.record
        keys = ((record.client, column, key) for column in OWNER_OF[self.table.kind.kind] for key in keys_of(record, column))
        return next((self.owners[key] for key in keys if key in self.owners), None)

    def result(self, creation: Creation[R]) -> Created[R] | TouchbaseError:
        """Return the creation's result."""
        record = creation.record
        if record.id in self.new:
            return Created(record, True)
        owner = self.owner(creation)
        returns = creation.on_duplicate == "return"
        if owner is not None and id(creation) in self.others:
            return other_person(owner)
        if returns and owner is not None and owner in self.existing:
            return Created(self.existing[owner], False)
        if owner is None or returns:
            if owner is None and isinstance(record, Contact) and record.company_id is not None:
                return no_such_company(record.company_id)
            return Overloaded("the existing record has just been removed; send this again")
        detail = (
            f"this {self.table.kind.name} exists already, with id {owner}; "
            "send on_duplicate=return to get it or on_duplicate=update to merge into it"
        )
        return Conflict(detail, data={"existing_id": owner})


Guarded = Creation[Contact] | RecordUpdate[Contact]
Run = Callable[[Any, Ids], Plan[list[object]]]


def guarded(run: Run, *, is_locked: bool = False) -> Run:
    """Return the plan with a check for erased persons before it, in the same transaction.

    An update is checked if it sets an address. A creation is checked if its client was known to have erasures; else its own
    statement detects the first erasure, and the result `NEEDS_TRANSACTION` requests another run.

    `is_locked`: The plan around it has locked the clients (`lock_clients`).
    """

    @wraps(run)
    def checked(commands: Sequence[Guarded], ids: Ids) -> Plan[list[object]]:
        return _check(run, commands, ids, is_locked=is_locked) if any(map(_needs_client, commands)) else run(commands, ids)

    return checked


def _needs_check(command: Guarded) -> bool:
    return command.guarded or (isinstance(command, RecordUpdate) and bool(_refs(command)))


def _needs_client(command: Guarded) -> bool:
    """Return whether a write relies on more than its own record: on no erasure of its addresses, or on another record, its company."""
    return _needs_check(command) or (isinstance(command, RecordUpdate) and command.changes.get("company_id") is not None)


def lock_clients(commands: Sequence[Guarded]) -> Plan[None]:
    """Lock the clients of writes if one relies on more than its own record: merges, deletions and erasures wait until the transaction ends.

    Before any record is locked, as these do.
    """
    if any(map(_needs_client, commands)):
        yield Execute(LOCK_CLIENT, sorted({(command.client,) for command in commands}))


def _check(run: Run, commands: Sequence[Guarded], ids: Ids, *, is_locked: bool) -> Plan[list[object]]:
    if not is_locked:
        yield from lock_clients(commands)
    if not any(map(_needs_check, commands)):
        return (yield from run(commands, ids))
    refused: dict[int, PersonErased] = {}
    lifted: dict[int, set[tuple[int, int]]] = {}
    for command in commands:
        command.guarded = True
    for client in sorted({command.client for command in commands}):
        key = yield from erasure_key_of(client)
        if key is None:
            continue
        refs_by_command = {index: _refs(command) for index, command in enumerate(commands) if command.client == client}
        marks = yield from find_marks(key, client, set().union(*refs_by_command.values()))
        for index, refs in refs_by_command.items():
            hit = sorted(refs & marks.keys())
            if hit and commands[index].restore:
                lifted[index] = {(client, marks[ref].erasure) for ref in hit}
            elif hit:
                refused[index] = _refusal(hit[0])
    allowed = [command for index, command in enumerate(commands) if index not in refused]
    allowed_results = iter((yield from run(allowed, ids)) if allowed else [])
    results = [refused[index] if index in refused else next(allowed_results) for index in range(len(commands))]
    erasures = [lifted[index] for index in lifted if not isinstance(results[index], TouchbaseError)]
    if erasures:
        yield Execute(DELETE_ERASURE, sorted(set().union(*erasures)))
    return results


def _refs(command: Guarded) -> set[Ref]:
    if isinstance(command, Creation):
        keys: tuple[object, object] = (command.record.email_key, command.record.linkedin_key)
        further = by_key(further_emails(command.record))
        url: object = command.record.linkedin_url
    else:
        keys, further = (command.changes.get("email_key"), command.changes.get("linkedin_key")), command.further or {}
        url = command.changes.get("linkedin_url")
    refs = {("", word, key) for word, key in zip((EMAIL, LINKEDIN), keys, strict=True) if isinstance(key, str)}
    refs |= {("", EMAIL, key) for key in further}
    return refs | linkedin_refs(url) if isinstance(url, str) else refs


def _refusal(ref: Ref) -> PersonErased:
    what = "e-mail" if ref[1] == EMAIL else "LinkedIn"
    return PersonErased(
        f"the person with this {what} address was erased; to store them again, create them with restore_erased=true "
        "or lift the erasure with `touchbase persons erase --lift`"
    )


def _insert_contacts(creations: Sequence[Creation[Contact]], ids: Ids) -> Plan[list[object]]:
    """Insert contacts in their order, those with several addresses one after another.

    The result of one that exists is `Conflict`, or the existing contact if the creation says so.
    """
    results: list[object] = []
    for has_several, alike in groupby(creations, lambda creation: creation.record.further_emails is not None):
        if not has_several:
            results += yield from _create_contacts([*alike], ids)
            continue
        for creation in alike:
            [result] = yield from _create_contacts([creation], ids, further=True)
            results.append(result)
            if isinstance(result, Created) and result.is_new:
                yield from _open_further(creation.record, ids)
    return results


create_contacts = guarded(_insert_contacts)
create_contacts_of_locked = guarded(_insert_contacts, is_locked=True)
"""The same for clients that are locked."""


def _create_contacts(creations: Sequence[Creation[Contact]], ids: Ids, *, further: bool = False) -> Plan[list[object]]:
    checked = all(creation.guarded for creation in creations)
    statement = records_sql.CREATE_CHECKED_CONTACT if checked else records_sql.CREATE_CONTACT
    batch = yield from _create(CONTACTS, statement, creations, ids, further=further)
    missing = [] if checked else [creation for creation in creations if batch.is_missing(creation)]
    unguarded = yield from _to_guard(missing)
    return [
        NEEDS_TRANSACTION if creation.record.client in unguarded and batch.is_missing(creation) else batch.result(creation)
        for creation in creations
    ]


def _open_further(contact: Contact, ids: Ids) -> Plan[None]:
    keys = [key for key in keys_of(contact, "email_key") if key != contact.email_key]
    since = contact.created_us
    rows = [(contact.client, "", BOOK[CONTACT]["email_key"], key, ids.take("link"), CONTACT, contact.id, None, since) for key in keys]
    yield from save_links(rows)
    yield from claim_keys(contact, "email_key", keys)


def create_companies(creations: Sequence[Creation[Company]], ids: Ids) -> Plan[list[object]]:
    """Insert companies, as `create_contacts`."""
    batch = yield from _create(COMPANIES, records_sql.CREATE_COMPANY, creations, ids)
    return [batch.result(creation) for creation in creations]


def _create(
    table: RecordTable[R], statement: Statement, creations: Sequence[Creation[R]], ids: Ids, *, further: bool = False
) -> Plan[_CreationBatch[R]]:
    """Insert records; `further` says that they have further addresses, which the statement does not compare."""
    batch = _CreationBatch(table, set())
    # A creation that says what to do with an existing record often meets one: those are found without an attempt to insert them.
    batch.owners = yield from _owners(table, [creation for creation in creations if further or creation.on_duplicate != "error"])
    rows: list[Row] = []
    customs: list[Row] = []
    entries: list[Row] = []
    logs: list[LoggedEvent] = []
    paths: dict[tuple[Micros, str], str | None] = {}
    author, cause = NO_AUTHOR, by_request(NO_AUTHOR)
    inserted = [creation for creation in creations if not batch.owners or batch.owner(creation) is None]
    for creation in inserted:
        record = creation.record
        record.id = ids.take(table.kind.name)
        if record.status is not None:
            record.status_cause, record.status_entry_us, record.status_entry_key = INITIAL, record.created_us, ""
            path = paths.get((record.created_us, record.status))
            if path is None:
                path = paths[record.created_us, record.status] = with_status(None, record.created_us, record.status)
            record.status_path = path
        rows.append(table.row_of(record))
        entries.append(_entry(creation, further))
        if creation.custom:
            customs += _custom_rows(table.kind.kind, creation, ids)
        if creation.by is not author:
            author, cause = creation.by, by_request(creation.by)
        logs.append(creation_event(record, cause, record.created_us))
    inserted_rows = yield Execute(statement, rows, customs, entries, logs)
    batch.new = {row[0] for row in inserted_rows}
    if len(inserted_rows) < len(creations):
        batch.owners |= yield from _owners(table, [creation for creation in inserted if creation.record.id not in batch.new])
        batch.existing = yield from _existing(batch, [creation for creation in creations if creation.on_duplicate == "return"])
        for creation in creations if batch.existing else ():
            owner, named = batch.existing.get(batch.owner(creation) or 0), creation.record
            if not isinstance(owner, Contact) or creation.on_duplicate != "return":
                continue
            if (yield from names_another(owner, keys_of(named, "email_key"), named.external_id)):
                batch.others.add(id(creation))
    return batch


def find_existing(creations: Sequence[Creation[R]], kind: type[R]) -> Plan[tuple[KeyOwners, Mapping[int, R]]]:
    """Return the owners of all keys of these creations, and the records that they are, with their custom fields. It locks nothing."""
    table: RecordTable[Any] = CONTACTS if kind is Contact else COMPANIES
    batch = _CreationBatch(table, set())
    batch.owners = yield from _owners(table, creations)
    if not batch.owners:
        return {}, {}
    rows = yield Execute(table.to_show, sorted({(key[0], owner) for key, owner in batch.owners.items()}))
    records = yield from with_custom_fields(table.kind.kind, [table.record_of(row) for row in rows])
    return batch.owners, {record.id: record for record in records}


def _to_guard(creations: Sequence[Creation[Contact]]) -> Plan[set[int]]:
    """Return the clients that have had their first erasure since these creations were made; from now on the creations are guarded."""
    clients: set[int] = set()
    for client in sorted({creation.record.client for creation in creations}):
        if (yield from erasure_key_of(client)) is not None:
            clients.add(client)
    for creation in creations:
        creation.guarded = creation.guarded or creation.record.client in clients
    return clients


def _entry(creation: Creation[R], further: bool) -> Row:
    """Return the first entry of a record's history, in the order of `CREATION`: the values that its creation sets, and its author."""
    record = creation.record
    values = zip(stamped_fields(record), stamped_values(record), strict=True)
    detail: Detail = {"fields": {name: value for name, value in values if value is not None}}
    if any(creation.by):
        detail["by"] = creation.by
    if creation.custom:
        detail["custom"] = dict(creation.custom)
    if further and isinstance(record, Contact):
        detail["emails"] = all_emails(record.email, record.further_emails)
    effect = "" if record.status is None else INITIAL
    return (record.client, record.id, record.created_us, effect, record.status, detail_text(detail))


def _custom_rows(kind: int, creation: Creation[R], ids: Ids) -> list[Row]:
    record, at = creation.record, creation.record.created_us
    # Set, not appended to: the same creation runs again after a rollback.
    numbers = ids.take_several("custom_field", len(creation.custom))
    record.custom_fields = [
        CustomField(number, name, value, at, DELIBERATE, at, "", at) for number, (name, value) in zip(numbers, creation.custom, strict=True)
    ]
    return [custom_field_row(record.client, kind, record.id, custom_field) for custom_field in record.custom_fields]


def find_owners(creations: Sequence[Creation[R]], kind: type[R]) -> Plan[KeyOwners]:
    """Return the owners of all keys of these creations. It locks nothing."""
    table: RecordTable[Any] = CONTACTS if kind is Contact else COMPANIES
    return (yield from _owners(table, creations))


def _owners(table: RecordTable[R], creations: Sequence[Creation[R]]) -> Plan[KeyOwners]:
    """Return the owners of the creations' keys."""
    owners: KeyOwners = {}
    if creations:
        for column, statement in OWNER_OF[table.kind.kind].items():
            keys = {(creation.record.client, key) for creation in creations for key in keys_of(creation.record, column)}
            if keys:
                rows = yield Execute(statement, list(keys))
                owners.update({(row[0], column, row[1]): row[2] for row in rows})
    return owners


def _existing(batch: _CreationBatch[R], creations: Sequence[Creation[R]]) -> Plan[Mapping[int, R]]:
    """Return the existing records of these creations, with their custom fields."""
    table = batch.table
    keys = {(creation.record.client, owner) for creation in creations if (owner := batch.owner(creation)) is not None}
    if not keys:
        return {}
    rows = yield Execute(table.to_show, list(keys))
    records = yield from with_custom_fields(table.kind.kind, [table.record_of(row) for row in rows])
    return {record.id: record for record in records}


def no_such_company(company_id: int | None) -> TouchbaseError:
    """Return the error for a `company_id` that is not a company of this client."""
    return Invalid([Fault("/company_id", "company_not_found", f"there is no company with id {company_id}; create it first")])
