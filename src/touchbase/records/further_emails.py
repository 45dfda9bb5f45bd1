"""Further e-mail addresses of a contact: the column that shows them, beside the rows of the address book that make them the person's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from touchbase.common.normalize import find_email_key
from touchbase.history.last_writer_wins import FIRST, NEVER
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


def is_promoted(record: Record) -> bool:
    """Return whether a contact's e-mail address is the first of its further ones: no write has set it."""
    if not isinstance(record, Contact) or record.email_key is None or FIRST not in record.stamps:
        return False
    return record.stamps[FIRST] == record.stamps.get("email", NEVER)


def promote(contact: Contact, emails: Mapping[str, str]) -> None:
    """Make the first of all open addresses the e-mail address of a contact that has none."""
    contact.stamps.pop(FIRST, None)
    if emails and contact.email_key is None:
        contact.email_key = min(emails)
        contact.email = emails[contact.email_key]
        contact.stamps[FIRST] = contact.stamps.get("email", NEVER)


def demote(contact: Contact) -> None:
    """Unset a contact's e-mail address that was promoted from its further ones."""
    if is_promoted(contact):
        contact.email = contact.email_key = None
