"""Plans that create records: one statement inserts the whole batch, then only the records that exist already are read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from touchbase.errors import Conflict, Fault, Invalid, Overloaded, TouchbaseError
from touchbase.event_log.models import LoggedEvent, by_request
from touchbase.history.events import Detail
from touchbase.history.last_writer_wins import DELIBERATE
from touchbase.history.sql import detail_text
from touchbase.history.status import INITIAL, with_status
from touchbase.records.commands import CreateCompany, CreateContact, Created, CreateRecord
from touchbase.records.logged_changes import creation
from touchbase.records.models import Company, Contact, CustomField
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RecordType, stamped_fields
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.rows import company_of, company_row, contact_of, contact_row, custom_field_row
from touchbase.records.sql.statements import with_custom_fields
from touchbase.sql.batches import NEEDS_TRANSACTION
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row, Statement
from touchbase.suppression.server_secret import erasure_key_of

R = TypeVar("R", Contact, Company)

KeyOwners = dict[tuple[int, str, str | None], int]
"""Ids of records by client, key column and key."""


@dataclass(frozen=True, slots=True)
class _Table(Generic[R]):
    """How records of one type are created and found."""

    kind: RecordType[R]
    keys: tuple[tuple[Statement, str, int, int], ...]
    """Statement that finds a key's owner, the key's column, and the positions of key and id in its rows; the first key decides."""
    to_show: Statement
    record_of: Callable[[Row], R]
    row_of: Callable[[R], Row]


_CONTACTS = _Table(
    CONTACT_TYPE,
    (
        (records_sql.CONTACT_HAVING_EMAIL, "email_key", 1, 2),
        (records_sql.CONTACT_HAVING_LINKEDIN, "linkedin_key", 1, 2),
        (records_sql.CONTACT_HAVING_EXTERNAL_ID, "external_id", 1, 2),
    ),
    records_sql.CONTACT_TO_SHOW,
    contact_of,
    contact_row,
)
_COMPANIES = _Table(
    COMPANY_TYPE,
    ((records_sql.COMPANY_HAVING_DOMAIN, "domain", 4, 1), (records_sql.COMPANY_HAVING_EXTERNAL_ID, "external_id", 1, 2)),
    records_sql.COMPANY_TO_SHOW,
    company_of,
    company_row,
)


@dataclass(slots=True)
class _Batch(Generic[R]):
    """What became of a batch of commands."""

    table: _Table[R]
    new: set[int]
    """Ids of the records that were inserted."""
    owners: KeyOwners = field(default_factory=dict)
    existing: Mapping[int, R] = field(default_factory=dict)
    """Existing records that commands return."""

    def is_missing(self, command: CreateRecord[R]) -> bool:
        """Return whether a record was not inserted and does not exist either."""
        return command.record.id not in self.new and self.owner(command) is None

    def owner(self, command: CreateRecord[R]) -> int | None:
        """Return the id of the record that has the command's identity."""
        for _, column, _, _ in self.table.keys:
            found = self.owners.get((command.client, column, getattr(command.record, column)))
            if found is not None:
                return found
        return None

    def result(self, command: CreateRecord[R]) -> Created[R] | TouchbaseError:
        """Return the command's result."""
        record = command.record
        if record.id in self.new:
            return Created(record, True)
        owner = self.owner(command)
        returns = command.on_duplicate == "return"
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


def create_contacts(commands: Sequence[CreateContact], ids: Ids) -> Plan[list[object]]:
    """Insert contacts; the result of one that exists is `Conflict`, or the existing contact if the command says so."""
    checked = all(command.guarded for command in commands)
    statement = records_sql.CREATE_CHECKED_CONTACT if checked else records_sql.CREATE_CONTACT
    batch = yield from _create(_CONTACTS, statement, commands, ids)
    missing = [] if checked else [command for command in commands if batch.is_missing(command)]
    unguarded = yield from _to_guard(missing)
    return [
        NEEDS_TRANSACTION if command.client in unguarded and batch.is_missing(command) else batch.result(command) for command in commands
    ]


def create_companies(commands: Sequence[CreateCompany], ids: Ids) -> Plan[list[object]]:
    """Insert companies, as `create_contacts`."""
    batch = yield from _create(_COMPANIES, records_sql.CREATE_COMPANY, commands, ids)
    return [batch.result(command) for command in commands]


def _create(table: _Table[R], statement: Statement, commands: Sequence[CreateRecord[R]], ids: Ids) -> Plan[_Batch[R]]:
    batch = _Batch(table, set())
    # A command that says what to do with an existing record often meets one: those are found without an attempt to insert them.
    batch.owners = yield from _owners(table, [command for command in commands if command.on_duplicate != "error"])
    rows: list[Row] = []
    customs: list[Row] = []
    entries: list[Row] = []
    logs: list[LoggedEvent] = []
    inserted = [command for command in commands if not batch.owners or batch.owner(command) is None]
    for command in inserted:
        record = command.record
        record.id = ids.take(table.kind.name)
        if record.status is not None:
            record.status_cause, record.status_entry_us, record.status_entry_key = INITIAL, record.created_us, ""
            record.status_path = with_status(None, record.created_us, record.status)
        rows.append(table.row_of(record))
        entries.append(_entry(command))
        if command.custom:
            customs += _custom_rows(table.kind.kind, command, ids)
        logs.append(creation(record, by_request(command.by), record.created_us))
    made = yield Execute(statement, rows, customs, entries, logs)
    batch.new = {row[0] for row in made}
    if len(made) < len(commands):
        batch.owners |= yield from _owners(table, [command for command in inserted if command.record.id not in batch.new])
        batch.existing = yield from _existing(batch, [command for command in commands if command.on_duplicate == "return"])
    return batch


def find_existing(commands: Sequence[CreateRecord[R]], kind: type[R]) -> Plan[tuple[KeyOwners, Mapping[int, R]]]:
    """Return the owners of all keys of these commands, and the records that they are, with their custom fields. It locks nothing."""
    table: _Table[Any] = _CONTACTS if kind is Contact else _COMPANIES
    batch = _Batch(table, set())
    batch.owners = yield from _owners(table, commands)
    if not batch.owners:
        return {}, {}
    rows = yield Execute(table.to_show, sorted({(key[0], owner) for key, owner in batch.owners.items()}))
    records = yield from with_custom_fields(table.kind.kind, [table.record_of(row) for row in rows])
    return batch.owners, {record.id: record for record in records}


def _to_guard(commands: Sequence[CreateContact]) -> Plan[set[int]]:
    """Return the clients that have had their first erasure since these commands were made; from now on the commands are guarded."""
    clients: set[int] = set()
    for client in sorted({command.client for command in commands}):
        if (yield from erasure_key_of(client)) is not None:
            clients.add(client)
    for command in commands:
        command.guarded = command.guarded or command.client in clients
    return clients


def _entry(command: CreateRecord[R]) -> Row:
    """Return the first entry of a record's history, in the order of `CREATION`: the values that its creation sets, and its author."""
    record = command.record
    detail: Detail = {"fields": {name: value for name in stamped_fields(record) if (value := getattr(record, name)) is not None}}
    if any(command.by):
        detail["by"] = command.by
    if command.custom:
        detail["custom"] = dict(command.custom)
    effect = "" if record.status is None else INITIAL
    return (record.client, record.id, record.created_us, effect, record.status, detail_text(detail))


def _custom_rows(kind: int, command: CreateRecord[R], ids: Ids) -> list[Row]:
    record, at = command.record, command.record.created_us
    # Set, not appended to: the same command runs again after a rollback.
    record.custom_fields = [
        CustomField(ids.take("custom_field"), name, value, at, DELIBERATE, at, "", at) for name, value in command.custom
    ]
    return [custom_field_row(record.client, kind, record.id, custom_field) for custom_field in record.custom_fields]


def _owners(table: _Table[R], commands: Sequence[CreateRecord[R]]) -> Plan[KeyOwners]:
    """Return the owners of the commands' keys."""
    owners: KeyOwners = {}
    if commands:
        for statement, column, at_key, at_id in table.keys:
            keys = {(command.client, key) for command in commands if (key := getattr(command.record, column)) is not None}
            if keys:
                rows = yield Execute(statement, list(keys))
                owners.update({(row[0], column, row[at_key]): row[at_id] for row in rows})
    return owners


def _existing(batch: _Batch[R], commands: Sequence[CreateRecord[R]]) -> Plan[Mapping[int, R]]:
    """Return the existing records of these commands, with their custom fields."""
    table = batch.table
    found = {(command.client, owner) for command in commands if (owner := batch.owner(command)) is not None}
    if not found:
        return {}
    rows = yield Execute(table.to_show, list(found))
    records = yield from with_custom_fields(table.kind.kind, [table.record_of(row) for row in rows])
    return {record.id: record for record in records}


def no_such_company(company_id: int | None) -> TouchbaseError:
    """Return the error for a `company_id` that is not a company of this client."""
    return Invalid([Fault("/company_id", "company_not_found", f"there is no company with id {company_id}; create it first")])
