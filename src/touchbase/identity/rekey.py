"""Changing the addresses of records, and the resolver's maps with them."""

from __future__ import annotations

from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.history.last_writer_wins import NEVER, Stamp
from touchbase.identity.resolution import Resolver
from touchbase.records.models import Contact, Record
from touchbase.records.primary_keys import primary_key


def current_key(record: Record, name: str) -> str | None:
    """Return the normal form of a record's address."""
    if name == "linkedin_url":
        return record.linkedin_key if isinstance(record, Contact) else None
    return primary_key(record)


def owner_of(resolver: Resolver, name: str, value: str | None) -> Record | None:
    """Return the loaded record that has an address."""
    key = None if value is None else ADDRESS_KEYS[name](value)
    return None if key is None else _owners(resolver, name).get(key)


def release(resolver: Resolver, record: Record, name: str) -> None:
    """Free a record's address for other records."""
    owners, key = _owners(resolver, name), current_key(record, name)
    if key is not None and owners.get(key) is record:
        del owners[key]


def assign(resolver: Resolver, record: Record, name: str, value: str | None, stamp: Stamp) -> None:
    """Give a record an address or none. An address of another record stays there; a company always has an address."""
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


def _owners(resolver: Resolver, name: str) -> dict[str, Record]:
    return resolver.by_linkedin if name == "linkedin_url" else resolver.by_primary
