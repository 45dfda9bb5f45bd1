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
from touchbase.sql.operation import Weight, executes


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


def _custom_fields(command: Any) -> Weight:
    return (0, 1, len(command.custom))


executes(
    CreateContact,
    ids=_needs("contact"),
    batch=True,
    solo=lambda command: not command.guarded,  # else erasures are read before the write, and lifted after it
    quick=True,
    weight=_custom_fields,
    clients=_client_of_record,
)(_marked(guarded(create_contacts)))
executes(CreateCompany, ids=_needs("company"), batch=True, solo=True, quick=True, weight=_custom_fields, clients=_client_of_record)(
    _marked(create_companies)
)
for _type, _update in ((UpdateContact, guarded(update_contacts)), (UpdateCompany, update_companies)):
    executes(_type, ids=update_needs, batch=True, quick=True, weight=_custom_fields)(_marked(_update))
for _upsert_type, _upsert in ((UpsertContact, upsert_contacts), (UpsertCompany, upsert_companies)):
    executes(
        _upsert_type,
        ids=upsert_needs,
        batch=True,
        quick=True,
        weight=lambda command: _custom_fields(command.update),
        clients=_client_of_create,
    )(_marked(_upsert))
