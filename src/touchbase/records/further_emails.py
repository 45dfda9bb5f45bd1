"""Further e-mail addresses of a contact: the column that shows them, beside the rows of the address book that make them the person's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from touchbase.common.normalize import find_email_key
from touchbase.records.models import Contact, Record
from touchbase.sql.rows import encode

_decode = msgspec.json.Decoder(list[str]).decode


def further_emails(record: Record) -> list[str]:
    """Return the further addresses, as they are shown; none of a company."""
    return [] if not isinstance(record, Contact) or record.further_emails is None else _decode(record.further_emails)


def all_emails(email: str | None, further: str | None) -> list[str]:
    """Return all addresses from the two columns, the primary one first."""
    return [*([] if email is None else [email]), *([] if further is None else _decode(further))]


def by_key(emails: Iterable[str]) -> dict[str, str]:
    """Return addresses by their normal forms."""
    return {key: email for email in emails if (key := find_email_key(email)) is not None}


def set_further_emails(contact: Contact, emails: Mapping[str, str]) -> None:
    """Set the further addresses from all open ones by their normal forms: in their order, without the primary one."""
    further = [emails[key] for key in sorted(emails) if key != contact.email_key]
    contact.further_emails = encode(further) if further else None
