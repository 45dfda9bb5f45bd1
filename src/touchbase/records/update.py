"""Updating a record: a JSON merge patch over the request's fields, as columns of the store.

An absent field stays, null or blank unsets it. Custom fields are merged by name, since responses never show the
list that a request carries: a null value removes one, null for the list removes all.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar, cast

from touchbase.clients.models import Client, FieldType
from touchbase.common.timestamps import Micros
from touchbase.errors import Fault
from touchbase.records import validation
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import RecordType
from touchbase.records.writes import RecordUpdate, new_write_key

R = TypeVar("R", Contact, Company)


@dataclass(slots=True)
class CustomChanges:
    """Custom fields by name; None removes one. `clear` first removes all."""

    values: dict[str, str | None] = field(default_factory=dict)
    clear: bool = False


class NewValue(Protocol):
    """One custom field in a change."""

    @property
    def field_name(self) -> str:
        """Its name, not blank."""
        ...

    @property
    def field_value(self) -> str | None:
        """Its new value; None removes the field."""
        ...


@dataclass(frozen=True, slots=True)
class RecordChange:
    """A change of one record: values by the interface's names, and custom fields.

    `custom` None removes every custom field, an empty list leaves them. With `if_updated_us` the record
    must still have that `updated_us`.
    """

    fields: Mapping[str, Any]
    custom: Sequence[NewValue] | None = ()
    if_updated_us: Micros | None = None
    custom_pointer: str | None = None
    """JSON pointer to the custom fields in the body, if not the usual one."""
    body_faults: Sequence[Fault] = ()
    """Faults that the body alone shows."""


def custom_changes(
    changes: Sequence[NewValue] | None, declared: Mapping[str, FieldType], renamed: Mapping[str, str], pointer: str, faults: list[Fault]
) -> CustomChanges:
    """Validate changes of custom fields, by the same rules as at creation."""
    if changes is None:
        return CustomChanges(clear=True)
    values = [_NamedValue(change.field_name, change.field_value or "") for change in changes]
    named = validation.custom_fields(values, declared, pointer, faults, renamed)
    removed = {renamed.get(name, name) for change in changes if change.field_value is None and (name := change.field_name.strip())}
    return CustomChanges({name: None if name in removed else value for name, value in named})


@dataclass(frozen=True, slots=True)
class _NamedValue:
    field_name: str
    field_value: str


def update_of(kind: RecordType[R], client: Client, record_id: int, change: RecordChange, at: Micros) -> RecordUpdate[R]:
    """Return the update for a change of the named fields; raise `Invalid` with every fault.

    A company cannot lose its domain.
    """
    faults: list[Fault] = []
    settings = client.settings
    columns = kind.columns(change.fields, faults)
    further: dict[str, str] | None = None
    if "emails" in change.fields:
        text, key, further = validation.emails(change.fields["emails"], cast("str | None", columns.get("email_key")), faults)
        columns |= {"email": text, "email_key": key}
    if kind.status in change.fields:
        status = validation.text_or_none(change.fields[kind.status])
        columns["status"] = validation.status(status, settings, kind.kind, f"/{kind.status}", faults)
    pointer = change.custom_pointer or f"/{kind.custom_fields}"
    custom = custom_changes(change.custom, kind.field_types(settings), kind.field_names(settings), pointer, faults)
    faults += change.body_faults
    validation.raise_if_any(faults)
    return RecordUpdate(
        client.number, record_id, columns, custom.values, at, new_write_key(), custom.clear, change.if_updated_us,
        kind.transitions(settings), words=settings.words(kind.kind), guarded=client.has_erased, further=further,
    )  # fmt: skip
