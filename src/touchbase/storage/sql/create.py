"""Creating records: one statement for a whole group, and only those that did not go in are looked at again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from touchbase.domain.commands import CreateCompany, CreateContact, Created
from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.custom_field import CustomField
from touchbase.domain.errors import Conflict, Fault, Invalid, Overloaded, TouchbaseError
from touchbase.domain.events import COMPANY, CONTACT
from touchbase.domain.stamps import DELIBERATE
from touchbase.domain.times import Micros
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.ids import Ids
from touchbase.storage.sql.load import with_custom_fields
from touchbase.storage.sql.op import Plan, Row, Step
from touchbase.storage.sql.rows import company_of, company_row, contact_of, contact_row, custom_field_row


def contact_needs(commands: Sequence[CreateContact]) -> Mapping[str, int]:
    """The ids that these commands may take."""
    return {"contact": len(commands), "custom_field": sum(len(command.custom) for command in commands)}


def company_needs(commands: Sequence[CreateCompany]) -> Mapping[str, int]:
    """The ids that these commands may take."""
    return {"company": len(commands), "custom_field": sum(len(command.custom) for command in commands)}


def create_contacts(commands: Sequence[CreateContact], ids: Ids) -> Plan[list[object]]:
    """Insert them all; one that is not new answers `Conflict`, or the existing contact where that was asked for."""
    rows: list[Row] = []
    customs: list[Row] = []
    for command in commands:
        contact = command.contact
        contact.id = ids.take("contact")
        _start_status(contact)
        rows.append(contact_row(contact))
        if command.custom:
            customs += _custom_rows(CONTACT, contact, command.custom, contact.created_us, ids)
    made = yield Step(sql.CREATE_CONTACT, rows, customs)
    if len(made) == len(commands):
        return [Created(command.contact, True) for command in commands]
    new = {row[0] for row in made}
    refused = [command for command in commands if command.contact.id not in new]
    reasons = yield from _why_no_contact(refused)
    answers = iter(reasons)
    return [Created(c.contact, True) if c.contact.id in new else next(answers) for c in commands]


def create_companies(commands: Sequence[CreateCompany], ids: Ids) -> Plan[list[object]]:
    """Insert them all; one that is not new answers `Conflict`, or the existing company where that was asked for."""
    rows: list[Row] = []
    customs: list[Row] = []
    for command in commands:
        company = command.company
        company.id = ids.take("company")
        _start_status(company)
        rows.append(company_row(company))
        customs += _custom_rows(COMPANY, company, command.custom, company.created_us, ids)
    made = yield Step(sql.CREATE_COMPANY, rows, customs)
    new = {row[0] for row in made}
    refused = [command for command in commands if command.company.id not in new]
    found: list[Company] = []
    if refused:
        hits = yield Step(sql.COMPANY_HAVING_DOMAIN, list({(c.company.client, c.company.domain) for c in refused}))
        found = yield from with_custom_fields(COMPANY, [company_of(row) for row in hits])
    by_domain = {(company.client, company.domain): company for company in found}
    return [
        Created(c.company, True) if c.company.id in new else _existing(c, by_domain.get((c.company.client, c.company.domain)))
        for c in commands
    ]


def _start_status(record: Contact | Company) -> None:
    if record.status is not None:
        record.initial_status, record.status_cause = record.status, "initial"
        record.status_entry_us, record.status_entry_key = record.created_us, ""


def _custom_rows(kind: int, record: Contact | Company, custom: Sequence[tuple[str, str]], at: Micros, ids: Ids) -> list[Row]:
    # Set, not appended to: the same command is run again when its transaction was given up.
    record.custom_fields = [CustomField(ids.take("custom_field"), name, value, at, DELIBERATE, at, "") for name, value in custom]
    return [custom_field_row(record.client, kind, record.id, made) for made in record.custom_fields]


def _why_no_contact(refused: Sequence[CreateContact]) -> Plan[list[object]]:
    emails = {(c.contact.client, c.contact.email_key) for c in refused if c.contact.email_key is not None}
    linkedins = {(c.contact.client, c.contact.linkedin_key) for c in refused if c.contact.linkedin_key is not None}
    hits: list[Row] = []
    if emails:
        hits += yield Step(sql.CONTACT_HAVING_EMAIL, list(emails))
    if linkedins:
        hits += yield Step(sql.CONTACT_HAVING_LINKEDIN, list(linkedins))
    found = yield from with_custom_fields(CONTACT, list({row[1]: contact_of(row) for row in hits}.values()))
    by_email = {(contact.client, contact.email_key): contact for contact in found}
    by_linkedin = {(contact.client, contact.linkedin_key): contact for contact in found}
    answers: list[object] = []
    for command in refused:
        contact, match = command.contact, None
        if contact.email_key is not None:
            match = by_email.get((contact.client, contact.email_key))
        if match is None and contact.linkedin_key is not None:
            match = by_linkedin.get((contact.client, contact.linkedin_key))
        answers.append(_existing(command, match))
    return answers


def _existing(command: CreateContact | CreateCompany, found: Contact | Company | None) -> object:
    if found is None:
        if isinstance(command, CreateContact) and command.contact.company_id is not None:
            return no_such_company(command.contact.company_id)
        return Overloaded("a record that was there has just been removed; send this again")
    if command.on_duplicate == "return":
        return Created(found, False)
    what = "contact" if isinstance(found, Contact) else "company"
    return Conflict(
        f"this {what} exists already, with id {found.id}; send on_duplicate=return to get it or on_duplicate=update to merge into it",
        data={"existing_id": found.id},
    )


def no_such_company(company_id: int | None) -> TouchbaseError:
    """The error for a `company_id` that is none of this client's."""
    return Invalid([Fault("/company_id", "company_not_found", f"there is no company with id {company_id}; create it first")])
