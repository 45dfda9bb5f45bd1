"""One rule for all ways in: whether contacts that one write or webhook names by different keys may be one person.

A LinkedIn profile never decides against an e-mail address: two contacts with different addresses are two, for a person to review. Where at
most one of them has an address, they are one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from touchbase.errors import Conflict
from touchbase.history.events import CONTACT
from touchbase.history.sql import LINK_BY_REF
from touchbase.records.fields import EXTERNAL_ID
from touchbase.records.models import Contact
from touchbase.records.record_type import KEY_FIELDS
from touchbase.records.sql.address_book import keys_of, word_of
from touchbase.sql.statement import Execute, Plan


def may_be_one(contacts: Sequence[Contact]) -> bool:
    """Return whether at most one of these contacts has an e-mail address, and at most one an external id."""
    return all(sum(getattr(contact, column) is not None for contact in contacts) <= 1 for column in ("email_key", "external_id"))


def is_another(contact: Contact, emails: Collection[str]) -> bool:
    """Return whether these addresses, in normal form, are another person's than the contact's that has the profile named with them."""
    return bool(emails) and contact.email_key is not None and not set(emails) & {*keys_of(contact, "email_key")}


def names_another(contact: Contact, emails: Collection[str], external_id: str | None) -> Plan[bool]:
    """Return whether a write with these keys is about another person than the contact, which has one of its keys.

    An external id decides, and so does an address that the contact had.
    """
    if not is_another(contact, emails) or (external_id is not None and external_id == contact.external_id):
        return False
    refs = [(contact.client, "", KEY_FIELDS["email"].link, email) for email in sorted(emails)]
    refs += [] if external_id is None else [(contact.client, "", word_of(CONTACT, EXTERNAL_ID), external_id)]
    return all(row[5:7] != (CONTACT, contact.id) for row in (yield Execute(LINK_BY_REF, refs)))


def other_person(contact_id: int) -> Conflict:
    """Return the error of a write about another person than the contact that has its profile."""
    detail = (
        f"contact {contact_id} has this linkedin_url, and another email; a profile does not make two addresses one person's: change or "
        "merge that contact by its id, or leave linkedin_url out"
    )
    return Conflict(detail, data={"existing_id": contact_id})
