"""Creating records: one statement for a whole group, and only those who are there already are looked at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid, Overloaded, TouchbaseError
from touchbase.history.events import COMPANY, CONTACT, Detail
from touchbase.history.last_writer_wins import DELIBERATE
from touchbase.history.rows import detail_text
from touchbase.history.status import INITIAL
from touchbase.records import statements as records_sql
from touchbase.records.commands import CreateCompany, CreateContact, Created
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.custom_field import CustomField
from touchbase.records.projection import FIELDS
from touchbase.records.rows import company_of, company_row, contact_of, contact_row, custom_field_row
from touchbase.records.sql_custom_fields import with_custom_fields
from touchbase.records.suppression_guard import GUARD_NEEDED
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row
from touchbase.suppression.server_secret import erasure_key_of

There = dict[tuple[int, str, str | None], int]
"""Who has a key: contacts' ids by client, column and key."""


def create_contacts(commands: Sequence[CreateContact], ids: Ids) -> Plan[list[object]]:
    """Insert them all; one that is not new answers `Conflict`, or the existing contact where that was asked for."""
    # Who says what to do with one that exists often means one that does: those are found without trying to insert them.
    there = yield from _there([command for command in commands if command.on_duplicate != "error"])
    rows: list[Row] = []
    customs: list[Row] = []
    entries: list[Row] = []
    tried = [command for command in commands if _match(command, there) is None]
    for command in tried:
        contact = command.contact
        contact.id = ids.take("contact")
        _start_status(contact)
        rows.append(contact_row(contact))
        entries.append(_entry("contact", contact, command))
        if command.custom:
            customs += _custom_rows(CONTACT, contact, command.custom, contact.created_us, ids)
    checked = all(command.guarded for command in commands)
    made = yield Execute(records_sql.CREATE_CHECKED_CONTACT if checked else records_sql.CREATE_CONTACT, rows, customs, entries)
    if len(made) == len(commands):
        return [Created(command.contact, True) for command in commands]
    new = {row[0] for row in made}
    there |= yield from _there([command for command in tried if command.contact.id not in new])
    shown = yield from _shown([command for command in commands if command.on_duplicate == "return"], there)
    unguarded = set() if checked else (yield from _to_guard([c for c in tried if c.contact.id not in new and _match(c, there) is None]))
    return [
        Created(c.contact, True) if c.contact.id in new
        else GUARD_NEEDED if c.client in unguarded and _match(c, there) is None
        else _existing(c, _match(c, there), shown)
        for c in commands
    ]  # fmt: skip


def _to_guard(commands: Sequence[CreateContact]) -> Plan[set[int]]:
    """The clients that have erased somebody since these commands were made; from now on the commands are guarded."""
    clients: set[int] = set()
    for client in sorted({command.client for command in commands}):
        if (yield from erasure_key_of(client)) is not None:
            clients.add(client)
    for command in commands:
        command.guarded = command.guarded or command.client in clients
    return clients


def create_companies(commands: Sequence[CreateCompany], ids: Ids) -> Plan[list[object]]:
    """Insert them all; one that is not new answers `Conflict`, or the existing company where that was asked for."""
    rows: list[Row] = []
    customs: list[Row] = []
    entries: list[Row] = []
    for command in commands:
        company = command.company
        company.id = ids.take("company")
        _start_status(company)
        rows.append(company_row(company))
        entries.append(_entry("company", company, command))
        customs += _custom_rows(COMPANY, company, command.custom, company.created_us, ids)
    made = yield Execute(records_sql.CREATE_COMPANY, rows, customs, entries)
    new = {row[0] for row in made}
    refused = [command for command in commands if command.company.id not in new]
    found: list[Company] = []
    if refused:
        hits = yield Execute(records_sql.COMPANY_HAVING_DOMAIN, list({(c.company.client, c.company.domain) for c in refused}))
        found = yield from with_custom_fields(COMPANY, [company_of(row) for row in hits])
    there = {(company.client, company.domain): company.id for company in found}
    shown = {company.id: company for company in found}
    return [
        Created(c.company, True) if c.company.id in new else _existing(c, there.get((c.company.client, c.company.domain)), shown)
        for c in commands
    ]


def _start_status(record: Contact | Company) -> None:
    if record.status is not None:
        record.status_cause, record.status_entry_us, record.status_entry_key = INITIAL, record.created_us, ""


def _entry(kind: str, record: Contact | Company, command: CreateContact | CreateCompany) -> Row:
    """The first entry of a record's history, in the order of `CREATION`: all that its creation sets, and who asked for it."""
    given = {name: value for name in FIELDS[kind] if (value := getattr(record, name)) is not None}
    detail: Detail = {"fields": given}
    if any(command.by):
        detail["by"] = command.by
    if command.custom:
        detail["custom"] = dict(command.custom)
    effect = "" if record.status is None else INITIAL
    return (record.client, record.id, record.created_us, effect, record.status, detail_text(detail))


def _custom_rows(kind: int, record: Contact | Company, custom: Sequence[tuple[str, str]], at: Micros, ids: Ids) -> list[Row]:
    # Set, not appended to: the same command is run again when its transaction was given up.
    record.custom_fields = [CustomField(ids.take("custom_field"), name, value, at, DELIBERATE, at, "", at) for name, value in custom]
    return [custom_field_row(record.client, kind, record.id, made) for made in record.custom_fields]


def _there(commands: Sequence[CreateContact]) -> Plan[There]:
    """Who has these commands' keys."""
    there: There = {}
    for op, column in ((records_sql.CONTACT_HAVING_EMAIL, "email_key"), (records_sql.CONTACT_HAVING_LINKEDIN, "linkedin_key")):
        keys = {(c.client, key) for c in commands if (key := getattr(c.contact, column)) is not None}
        if keys:
            rows = yield Execute(op, list(keys))
            there.update({(row[0], column, row[1]): row[2] for row in rows})
    return there


def _match(command: CreateContact, there: There) -> int | None:
    """Who is this person already; the e-mail says more than the LinkedIn address."""
    contact = command.contact
    by_email = there.get((contact.client, "email_key", contact.email_key))
    return by_email if by_email is not None else there.get((contact.client, "linkedin_key", contact.linkedin_key))


def _shown(commands: Sequence[CreateContact], there: There) -> Plan[Mapping[int, Contact]]:
    """Those who are there already, whole."""
    wanted = {(command.client, found) for command in commands if (found := _match(command, there)) is not None}
    if not wanted:
        return {}
    rows = yield Execute(records_sql.CONTACT_TO_SHOW, list(wanted))
    contacts = yield from with_custom_fields(CONTACT, [contact_of(row) for row in rows])
    return {contact.id: contact for contact in contacts}


def _existing(command: CreateContact | CreateCompany, existing: int | None, shown: Mapping[int, Contact | Company]) -> object:
    found = shown.get(existing) if existing is not None else None
    if found is not None and command.on_duplicate == "return":
        return Created(found, False)
    if existing is None or command.on_duplicate == "return":
        if existing is None and isinstance(command, CreateContact) and command.contact.company_id is not None:
            return no_such_company(command.contact.company_id)
        return Overloaded("a record that was there has just been removed; send this again")
    what = "contact" if isinstance(command, CreateContact) else "company"
    return Conflict(
        f"this {what} exists already, with id {existing}; send on_duplicate=return to get it or on_duplicate=update to merge into it",
        data={"existing_id": existing},
    )


def no_such_company(company_id: int | None) -> TouchbaseError:
    """The error for a `company_id` that is none of this client's."""
    return Invalid([Fault("/company_id", "company_not_found", f"there is no company with id {company_id}; create it first")])
