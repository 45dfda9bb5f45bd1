"""Changing the addresses of records, and the resolver's maps with them."""

from __future__ import annotations

from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.common.timestamps import Micros
from touchbase.history.last_writer_wins import NEVER, Stamp
from touchbase.identity.resolution import Resolver
from touchbase.records.further_emails import demote, is_promoted
from touchbase.records.models import Contact, Record
from touchbase.records.primary_keys import former_key_of, primary_key
from touchbase.records.record_type import RECORD_TYPES


def current_key(record: Record, name: str) -> str | None:
    """Return the normal form of a record's address."""
    if name == "linkedin_url":
        return record.linkedin_key if isinstance(record, Contact) else None
    return primary_key(record)


def owner_of(resolver: Resolver, name: str, value: str | None) -> Record | None:
    """Return the loaded record that has an address, be it as a further one."""
    key = None if value is None else ADDRESS_KEYS[name](value)
    if key is None or (owner := _owners(resolver, name).get(key)) is not None:
        return None if key is None else owner
    link = resolver.links.by_ref.get(former_key_of(name, key))
    number = None if link is None or link.until_us is not None else resolver.links.record_id(link.ref)
    return None if number is None else resolver.by_id.get(number)


def release(resolver: Resolver, record: Record, name: str) -> None:
    """Free a record's address for other records."""
    owners, key = _owners(resolver, name), current_key(record, name)
    if key is not None and owners.get(key) is record:
        del owners[key]


def leave_written_email(resolver: Resolver, record: Record) -> None:
    """Take an address that no write has set from a contact; `settle_further_emails` gives it the first of its further ones again."""
    if isinstance(record, Contact) and is_promoted(record):
        release(resolver, record, "email")
        demote(record)
        resolver.rekeyed[record.id] = record


def assign(resolver: Resolver, record: Record, name: str, value: str | None, stamp: Stamp) -> None:
    """Set or unset a record's address. An address of another record stays there; a company always has an address."""
    key = None if value is None else ADDRESS_KEYS[name](value)
    owners = _owners(resolver, name)
    if key is not None and owners.get(key, record) is not record:
        key, value, stamp = None, None, NEVER
    if isinstance(record, Contact):
        if name == "email":
            record.email, record.email_key = value, key
        else:
            record.linkedin_url, record.linkedin_key = value, key
    elif key is not None:
        record.domain = key
    if (present := current_key(record, name)) is not None:
        owners[present] = record
    if stamp == NEVER:
        record.stamps.pop(name, None)
    else:
        record.stamps[name] = stamp
    resolver.rekeyed[record.id] = record


def close_rows_of_others(resolver: Resolver, until_us: Micros) -> None:
    """Close the loaded rows of other records with keys that records of the batch have now."""
    names = RECORD_TYPES[resolver.kind].identities
    for record in (*resolver.rekeyed.values(), *resolver.created.values()):
        for name in names:
            key = current_key(record, name)
            link = None if key is None else resolver.links.by_ref.get(former_key_of(name, key))
            number = None if link is None or link.until_us is not None else resolver.links.record_id(link.ref)
            if link is not None and number not in (None, record.id):
                resolver.links.set_until(link, until_us)
                resolver.links.losers.add(number)


def _owners(resolver: Resolver, name: str) -> dict[str, Record]:
    return resolver.by_linkedin if name == "linkedin_url" else resolver.by_primary
