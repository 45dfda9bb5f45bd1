"""Operations that write contacts and companies. Each record in a result says whether it must not be contacted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.sql.lookup import Run, marking
from touchbase.records.commands import CreateCompany, CreateContact, Created, UpdateCompany, UpdateContact, UpsertCompany, UpsertContact
from touchbase.records.models import Company, Contact
from touchbase.records.sql.create import create_companies, create_contacts
from touchbase.records.sql.suppression_guard import guarded
from touchbase.records.sql.update import update_companies, update_contacts, update_needs
from touchbase.records.sql.upsert import upsert_companies, upsert_contacts, upsert_needs
from touchbase.sql.operation import executes


def _needs(name: str) -> Callable[[Any], Mapping[str, int]]:
    """Return the needs of commands that take an id for a record, and one for each of its custom fields."""
    return lambda commands: {name: len(commands), "custom_field": sum(len(command.custom) for command in commands)}


def _written_record(result: object) -> Contact | Company | None:
    """Return the record in the result of a write; None for an error."""
    record = result.record if isinstance(result, Created) else result
    return record if isinstance(record, Contact | Company) else None


def _time_of_write(command: Any) -> Micros:
    if isinstance(command, UpsertContact | UpsertCompany):
        command = command.create
    at: Micros = command.record.created_us if isinstance(command, CreateContact | CreateCompany) else command.at
    return at


def _marked(run: Run) -> Run:
    return marking(run, _written_record, _time_of_write)


def _client_of_record(command: CreateContact | CreateCompany) -> tuple[int]:
    return (command.record.client,)


def _client_of_create(command: UpsertContact | UpsertCompany) -> tuple[int]:
    return (command.create.record.client,)


executes(CreateContact, ids=_needs("contact"), batch=True, solo=True, clients=_client_of_record)(_marked(guarded(create_contacts)))
executes(CreateCompany, ids=_needs("company"), batch=True, solo=True, clients=_client_of_record)(_marked(create_companies))
executes(UpdateContact, ids=update_needs, batch=True)(_marked(guarded(update_contacts)))
executes(UpdateCompany, ids=update_needs, batch=True)(_marked(update_companies))
executes(UpsertContact, ids=upsert_needs, batch=True, clients=_client_of_create)(_marked(upsert_contacts))
executes(UpsertCompany, ids=upsert_needs, batch=True, clients=_client_of_create)(_marked(upsert_companies))
