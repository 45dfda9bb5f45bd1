"""Rows to contacts, companies and custom fields, and back; columns come from the fields of their dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields

from touchbase.history.sql import stamps_of, stamps_text
from touchbase.records.models import Company, Contact, CustomField
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Row

_SQL_TYPES = {"int": "bigint", "Micros": "bigint", "bool": "bigint", "str": "text", "Stamps": "text"}


def _columns(model: type[Contact] | type[Company]) -> Columns:
    columns = [each for each in fields(model) if each.name != "custom_fields"]
    return tuple((each.name, _SQL_TYPES[str(each.type).removesuffix(" | None")]) for each in columns)


CONTACT, COMPANY = _columns(Contact), _columns(Company)
CUSTOM_FIELD: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("name", "text"), ("id", "bigint"),
    ("value", "text"), ("updated_us", "bigint"), ("priority", "bigint"), ("stamped_us", "bigint"), ("stamp_key", "text"),
    ("created_us", "bigint"),
)  # fmt: skip


# mypy cannot know the length of a starred row; columns and fields are the same list.
_contact: Callable[..., Contact] = Contact
_company: Callable[..., Company] = Company


def contact_of(row: Row) -> Contact:
    """Return the contact of a `CONTACT` row, without its custom fields."""
    return _contact(*row[:12], bool(row[12]), *row[13:-1], stamps_of(row[-1]))


# Written out, because a generic mapping takes three times as long and every write needs it.
def contact_row(c: Contact) -> Row:
    """Return the contact's row, in the order of `CONTACT`."""
    return (
        c.client, c.id, c.created_us, c.updated_us, c.email, c.email_key, c.linkedin_url, c.linkedin_key, c.first_name,
        c.last_name, c.company_id, c.origin, int(c.from_api), c.initial_status, c.status, c.previous_status,
        c.status_changed_us, c.status_entry_us, c.status_entry_key, c.status_cause, c.first_sent_us, c.last_sent_us,
        c.last_reply_us, stamps_text(c.stamps),
    )  # fmt: skip


def company_of(row: Row) -> Company:
    """Return the company of a `COMPANY` row, without its custom fields."""
    return _company(*row[:6], bool(row[6]), *row[7:-1], stamps_of(row[-1]))


def company_row(c: Company) -> Row:
    """Return the company's row, in the order of `COMPANY`."""
    return (
        c.client, c.id, c.created_us, c.updated_us, c.domain, c.name, int(c.from_api), c.initial_status, c.status,
        c.previous_status, c.status_changed_us, c.status_entry_us, c.status_entry_key, c.status_cause, stamps_text(c.stamps),
    )  # fmt: skip


def custom_field_of(row: Row) -> CustomField:
    """Return the custom field of a `CUSTOM_FIELD` row; its first three columns identify the record."""
    return CustomField(row[4], row[3], row[5], row[6], row[7], row[8], row[9], row[10])


def custom_field_row(client: int, kind: int, record_id: int, f: CustomField) -> Row:
    """Return the field's row, in the order of `CUSTOM_FIELD`."""
    return (client, kind, record_id, f.name, f.id, f.value, f.updated_us, f.priority, f.stamped_us, f.stamp_key, f.created_us)
