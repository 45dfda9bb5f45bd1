"""Rows to contacts, companies and custom fields, and back: the order of their columns."""

from __future__ import annotations

from collections.abc import Callable

from touchbase.history.rows import stamps_of, stamps_text
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.custom_field import CustomField
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Row

_STATUS: Columns = (
    ("initial_status", "text"), ("status", "text"), ("previous_status", "text"), ("status_changed_us", "bigint"),
    ("status_entry_us", "bigint"), ("status_entry_key", "text"), ("status_cause", "text"),
)  # fmt: skip
CONTACT: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("created_us", "bigint"), ("updated_us", "bigint"), ("email", "text"),
    ("email_key", "text"), ("linkedin_url", "text"), ("linkedin_key", "text"), ("first_name", "text"),
    ("last_name", "text"), ("company_id", "bigint"), ("origin", "text"), ("from_api", "bigint"), *_STATUS,
    ("first_sent_us", "bigint"), ("last_sent_us", "bigint"), ("last_reply_us", "bigint"), ("stamps", "text"),
)  # fmt: skip
COMPANY: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("created_us", "bigint"), ("updated_us", "bigint"), ("domain", "text"),
    ("name", "text"), ("from_api", "bigint"), *_STATUS, ("stamps", "text"),
)  # fmt: skip
CUSTOM_FIELD: Columns = (
    ("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("name", "text"), ("id", "bigint"),
    ("value", "text"), ("updated_us", "bigint"), ("priority", "bigint"), ("stamped_us", "bigint"), ("stamp_key", "text"),
    ("created_us", "bigint"),
)  # fmt: skip
# A starred row has a length that types cannot know; the tables and the classes list the same columns.
_contact: Callable[..., Contact] = Contact
_company: Callable[..., Company] = Company


def contact_of(row: Row) -> Contact:
    """A contact, without its custom fields."""
    return _contact(*row[:12], bool(row[12]), *row[13:-1], stamps_of(row[-1]))


def contact_row(c: Contact) -> Row:
    """The contact's row, in the order of `CONTACT`."""
    return (
        c.client, c.id, c.created_us, c.updated_us, c.email, c.email_key, c.linkedin_url, c.linkedin_key, c.first_name,
        c.last_name, c.company_id, c.origin, int(c.from_api), c.initial_status, c.status, c.previous_status,
        c.status_changed_us, c.status_entry_us, c.status_entry_key, c.status_cause, c.first_sent_us, c.last_sent_us,
        c.last_reply_us, stamps_text(c.stamps),
    )  # fmt: skip


def company_of(row: Row) -> Company:
    """A company, without its custom fields."""
    return _company(*row[:6], bool(row[6]), *row[7:-1], stamps_of(row[-1]))


def company_row(c: Company) -> Row:
    """The company's row, in the order of `COMPANY`."""
    return (
        c.client, c.id, c.created_us, c.updated_us, c.domain, c.name, int(c.from_api), c.initial_status, c.status,
        c.previous_status, c.status_changed_us, c.status_entry_us, c.status_entry_key, c.status_cause, stamps_text(c.stamps),
    )  # fmt: skip


def custom_field_of(row: Row) -> CustomField:
    """One custom field of a `CUSTOM_FIELD` row; whose it is stands in the first three columns."""
    return CustomField(row[4], row[3], row[5], row[6], row[7], row[8], row[9], row[10])


def custom_field_row(client: int, kind: int, record_id: int, f: CustomField) -> Row:
    """The field's row, in the order of `CUSTOM_FIELD`."""
    return (client, kind, record_id, f.name, f.id, f.value, f.updated_us, f.priority, f.stamped_us, f.stamp_key, f.created_us)
