"""Deleted records, as the bin stores them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import msgspec

from touchbase.common.timestamps import DAY, Micros
from touchbase.history.events import CONTACT, StoredEvent
from touchbase.history.last_writer_wins import effective_time
from touchbase.records.models import Company, Contact
from touchbase.sql.rows import encode

R = TypeVar("R", Contact, Company)


@dataclass(slots=True)
class DeletedRecord(Generic[R]):
    """One deleted record with its custom fields, as it was."""

    record: R
    deleted_us: Micros
    contacts: list[int] = field(default_factory=list)
    """The contacts of a deleted company whose `company_id` the API or their e-mail address had set."""
    erasure_asked_us: Micros | None = None
    """When a CRM asked to erase the person: the contact stays in the bin until a person erases or restores it."""


def content_text(deleted: DeletedRecord[Any]) -> str:
    """Return the column `content` of a deleted record."""
    return encode({"record": deleted.record, "contacts": deleted.contacts})


def deleted_of(kind: int, deleted_us: Micros, content: str, erasure_asked_us: Micros | None = None) -> DeletedRecord[Any]:
    """Return the deleted record of a row."""
    deleted = _CONTACT(content) if kind == CONTACT else _COMPANY(content)
    return DeletedRecord(deleted.record, deleted_us, deleted.contacts, erasure_asked_us)


def gone_us(deleted_us: Micros, days: int) -> Micros:
    """Return when a deleted record is removed permanently."""
    return deleted_us + days * DAY


def gone_before(now: Micros, days: int) -> Micros:
    """Return the time before which records were deleted that are removed permanently now."""
    return now - days * DAY


def renew_stamps(record: Contact | Company, history: Iterable[StoredEvent]) -> None:
    """Replace places of events in the stamps of a record that was stored before they had the order of receipt."""
    present = {
        effective_time(event.occurred_us, event.received_us, event.key): event.effective_time
        for event in history
        if event.delivery_id is not None
    }
    record.stamps = {name: (stamp[0], *present.get(stamp[1:], stamp[1:])) for name, stamp in record.stamps.items()}
    for custom_field in record.custom_fields:
        at = custom_field.stamped_us, custom_field.stamp_key
        custom_field.stamped_us, custom_field.stamp_key = present.get(at, at)


@dataclass(slots=True)
class _Contact:
    record: Contact
    contacts: list[int]


@dataclass(slots=True)
class _Company:
    record: Company
    contacts: list[int]


_CONTACT = msgspec.json.Decoder(_Contact).decode
_COMPANY = msgspec.json.Decoder(_Company).decode
