"""Primary keys and other fields of records, as resolving compares and joins them."""

from __future__ import annotations

from touchbase.common.timestamps import Micros
from touchbase.history.events import COMPANY
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import API_KEY, CLEARED, LAST_WRITE, NEVER, SEVERAL, SINCE, Stamp, beats, stamp_of
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.projection import Record, held_stamp, write_field


def api_since(record: Record, field_name: str) -> Micros | None:
    """Since when a record has a key that the API gave it, at the earliest; None where the API did not."""
    stamp = record.stamps.get(field_name)
    if stamp is not None and (not stamp[2] or stamp[2].startswith(API_KEY)):  # a creation's key is empty
        return stamp[1]
    return record.created_us if record.from_api else None


def held_since(record: Record, field_name: str) -> Micros | None:
    """Since when a record has a key that another had before; None where none is known to have had it."""
    stamp = record.stamps.get(field_name)
    if field_name != "linkedin_url" and SINCE in record.stamps and not (stamp is not None and stamp[2].startswith(API_KEY)):
        return record.stamps[SINCE][1]
    return api_since(record, field_name)


def is_before(at: Micros, found: Record, former: Record | None, field_name: str) -> bool:
    """Whether something happened before a key of one record came to another."""
    if former is None or former is found:
        return False
    since = held_since(found, field_name)
    return since is not None and at < since


def former_key(kind: int, primary: str) -> Ref:
    """The link that leads from a former primary key to its record."""
    return ("", "domain" if kind == COMPANY else "email", primary)


def former_key_of(field_name: str, key: str) -> Ref:
    """The same of any address of a record."""
    return ("", "linkedin" if field_name == "linkedin_url" else field_name, key)


def primary_key(record: Record) -> str | None:
    """The primary key of a record."""
    return record.email_key if isinstance(record, Contact) else record.domain


def keys_of(record: Record) -> tuple[str | None, ...]:
    """The normal forms of a record's addresses, which it has alone."""
    return (record.email_key, record.linkedin_key) if isinstance(record, Contact) else (record.domain,)


def primary_stamp(record: Record, field_name: str) -> Stamp:
    """Which write the primary key of a record is of."""
    return stamp_of(record.stamps, field_name, primary_key(record), record.created_us)


def linkedin_stamp(contact: Contact) -> Stamp:
    """Which write the LinkedIn address of a contact is of."""
    return stamp_of(contact.stamps, "linkedin_url", contact.linkedin_url, contact.created_us)


def take_primary(kept: Record, gone: Record) -> None:
    """Exchange the primary keys of two records."""
    if isinstance(kept, Contact) and isinstance(gone, Contact):
        kept.email, kept.email_key, gone.email, gone.email_key = gone.email, gone.email_key, kept.email, kept.email_key
    elif isinstance(kept, Company) and isinstance(gone, Company):
        kept.domain, gone.domain = gone.domain, kept.domain


def join_fields(kept: Record, gone: Record) -> None:
    """Give a record what another, united with it, has from later writes."""
    for name in ("first_name", "last_name", "company_id") if isinstance(kept, Contact) else ("name",):
        write_field(kept, name, getattr(gone, name), held_stamp(gone, name))
    for name in (LAST_WRITE, CLEARED):
        if beats(gone.stamps.get(name, NEVER), kept.stamps.get(name, NEVER)):
            kept.stamps[name] = gone.stamps[name]
    if SEVERAL in gone.stamps:
        kept.stamps[SEVERAL] = gone.stamps[SEVERAL]


def shown_values(record: Record) -> tuple[object, ...]:
    """What an answer shows of a record but its custom fields: only a change of these is a change of the record."""
    status = (record.status, record.previous_status, record.status_changed_us)
    if isinstance(record, Company):
        return (record.domain, record.name, *status)
    names = (record.email, record.linkedin_url, record.first_name, record.last_name, record.company_id, record.origin)
    return (*names, *status, record.first_sent_us, record.last_sent_us, record.last_reply_us)
