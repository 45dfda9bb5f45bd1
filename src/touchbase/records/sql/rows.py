"""Rows to contacts, companies and custom fields, and back; columns come from the fields of their dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import Field, fields
from typing import Any, TypeVar

from touchbase.common.compiled import compiled
from touchbase.history.sql import stamps_of, stamps_text
from touchbase.records.models import Company, Contact, CustomField
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Row

R = TypeVar("R", Contact, Company)

_SQL_TYPES = {"int": "bigint", "Micros": "bigint", "bool": "bigint", "str": "text", "Stamps": "text"}


def _stored(model: type[Contact] | type[Company]) -> list[Field[Any]]:
    return [field for field in fields(model) if field.name not in ("custom_fields", "suppressed")]


def _columns(model: type[Contact] | type[Company]) -> Columns:
    return tuple((field.name, _SQL_TYPES[str(field.type).removesuffix(" | None")]) for field in _stored(model))


CONTACT, COMPANY = _columns(Contact), _columns(Company)
CUSTOM_FIELD: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("name", "text"), ("id", "bigint"),
    ("value", "text"), ("updated_us", "bigint"), ("priority", "bigint"), ("stamped_us", "bigint"), ("stamp_key", "text"),
    ("created_us", "bigint"),
)  # fmt: skip


_WRITTEN = {"bool": "int({})", "Stamps": "stamps_text({})"}
_READ = {"bool": "bool({})", "Stamps": "stamps_of({})"}


# Compiled, because a generic mapping takes three times as long and every write needs it.
def _row_of(model: type[Contact] | type[Company]) -> Callable[[R], Row]:
    values = [_WRITTEN.get(str(field.type), "{}").format(f"record.{field.name}") for field in _stored(model)]
    row_of: Callable[[R], Row] = compiled("record", f"({', '.join(values)})", stamps_text=stamps_text)
    return row_of


def _record_of(model: type[R]) -> Callable[[Row], R]:
    values = [_READ.get(str(field.type), "{}").format(f"row[{index}]") for index, field in enumerate(_stored(model))]
    record_of: Callable[[Row], R] = compiled("row", f"model({', '.join(values)})", model=model, stamps_of=stamps_of)
    return record_of


contact_row: Callable[[Contact], Row] = _row_of(Contact)
"""Return the contact's row, in the order of `CONTACT`."""
company_row: Callable[[Company], Row] = _row_of(Company)
"""Return the company's row, in the order of `COMPANY`."""
contact_of: Callable[[Row], Contact] = _record_of(Contact)
"""Return the contact of a `CONTACT` row, without its custom fields."""
company_of: Callable[[Row], Company] = _record_of(Company)
"""Return the company of a `COMPANY` row, without its custom fields."""


def custom_field_of(row: Row) -> CustomField:
    """Return the custom field of a `CUSTOM_FIELD` row; its first three columns identify the record."""
    return CustomField(row[4], row[3], row[5], row[6], row[7], row[8], row[9], row[10])


def custom_field_row(client: int, kind: int, record_id: int, f: CustomField) -> Row:
    """Return the field's row, in the order of `CUSTOM_FIELD`."""
    return (client, kind, record_id, f.name, f.id, f.value, f.updated_us, f.priority, f.stamped_us, f.stamp_key, f.created_us)


def move_row(contact: Contact) -> Row:
    """Return the row of `MOVE_CONTACT`."""
    return (contact.client, contact.id, contact.company_id, contact.updated_us, stamps_text(contact.stamps))
