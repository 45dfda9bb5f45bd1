"""Primary keys and other fields of records, as identity resolution compares and merges them."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from touchbase.common.timestamps import Micros
from touchbase.history.events import COMPANY, CONTACT, VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import API_KEY, CLEARED, DELIBERATE, LAST_WRITE, NEVER, SEVERAL, SINCE, Stamp, beats, stamp_of
from touchbase.history.status import INITIAL
from touchbase.records.models import Company, Contact, Record
from touchbase.records.projection import current_stamp, write_field
from touchbase.records.record_type import RECORD_TYPES, stamped_fields, type_of

_STATUS = ("status", "previous_status", "status_changed_us")
_MERGED = {kind: tuple(field.name for field in type_.fields if not field.link) for kind, type_ in RECORD_TYPES.items()}
_SHOWN = {kind: attrgetter(*type_.names, *_STATUS, *type_.times, *type_.lists) for kind, type_ in RECORD_TYPES.items()}


def api_since(record: Record, field_name: str) -> Micros | None:
    """Return the earliest time since which a record has a key set by the API; None if the API did not set it."""
    stamp = record.stamps.get(field_name)
    if stamp is not None and (not stamp[2] or stamp[2].startswith(API_KEY)):  # a creation's key is empty
        return stamp[1]
    return record.created_us if record.from_api else None


def owned_since(record: Record, field_name: str) -> Micros | None:
    """Return since when a record has a key that another record had before; None if no earlier owner is known."""
    stamp = record.stamps.get(field_name)
    if field_name != "linkedin_url" and SINCE in record.stamps and not (stamp is not None and stamp[2].startswith(API_KEY)):
        return record.stamps[SINCE][1]
    return api_since(record, field_name)


def is_before(at: Micros, record: Record, former: Record | None, field_name: str) -> bool:
    """Return whether a time is before a key moved from the record `former` to `found`."""
    if former is None or former is record:
        return False
    since = owned_since(record, field_name)
    return since is not None and at < since


def former_key(kind: int, primary: str) -> Ref:
    """Return the link ref of a former primary key."""
    return ("", "domain" if kind == COMPANY else "email", primary)


def former_key_of(field_name: str, key: str) -> Ref:
    """Return the link ref of a former address in this field."""
    return ("", "linkedin" if field_name == "linkedin_url" else field_name, key)


def primary_key(record: Record) -> str | None:
    """Return the primary key of a record."""
    return record.email_key if isinstance(record, Contact) else record.domain or None


def keys_of(record: Record) -> tuple[str | None, ...]:
    """Return the normal forms of a record's addresses, unique within the client."""
    return (record.email_key, record.linkedin_key) if isinstance(record, Contact) else (record.domain or None,)


def primary_stamp(record: Record, field_name: str) -> Stamp:
    """Return the stamp of a record's primary key."""
    return stamp_of(record.stamps, field_name, primary_key(record), record.created_us)


def linkedin_stamp(contact: Contact) -> Stamp:
    """Return the stamp of a contact's LinkedIn address."""
    return stamp_of(contact.stamps, "linkedin_url", contact.linkedin_url, contact.created_us)


def swap_primary_keys(target: Record, absorbed: Record) -> None:
    """Swap the primary keys of two records."""
    if isinstance(target, Contact) and isinstance(absorbed, Contact):
        target.email, target.email_key, absorbed.email, absorbed.email_key = (
            absorbed.email,
            absorbed.email_key,
            target.email,
            target.email_key,
        )
    elif isinstance(target, Company) and isinstance(absorbed, Company):
        target.domain, absorbed.domain = absorbed.domain, target.domain


def merge_fields(target: Record, absorbed: Record) -> None:
    """Copy the fields with later writes from the record `absorbed` to the record that it is merged into, except its primary keys."""
    for name in _MERGED[type_of(target).kind]:
        write_field(target, name, getattr(absorbed, name), current_stamp(absorbed, name))
    for name in (LAST_WRITE, CLEARED):
        if beats(absorbed.stamps.get(name, NEVER), target.stamps.get(name, NEVER)):
            target.stamps[name] = absorbed.stamps[name]
    if SEVERAL in absorbed.stamps:
        target.stamps[SEVERAL] = absorbed.stamps[SEVERAL]


def shown_values(record: Record) -> tuple[Any, ...]:
    """Return the values that responses show, without custom fields: only a change of these is a change of the record."""
    values: tuple[Any, ...] = _SHOWN[type_of(record).kind](record)
    return values


def own_creation(record_id: int) -> str:
    """Return the key that a record's creation gets in another record's history, where two creations may have one time.

    It comes before the keys of all writes: one of the creation's own time is later.
    """
    return f"{API_KEY} created:{record_id}"


def of_own_creation(stamp: Stamp, record: Record) -> Stamp:
    """Return a stamp with the key that the record's creations get, if it is of one: a request can create a record that exists, too."""
    return (*stamp[:2], own_creation(record.id)) if stamp[2] == "" and stamp[1] >= record.created_us else stamp


def is_creation(event: StoredEvent) -> bool:
    """Return whether an event is a creation under its usual key."""
    return event.via == VIA_API and event.key == "" and event.effect in ("", INITIAL) and event.record_kind >= CONTACT


def name_creation(record: Record) -> None:
    """Let the stamps of a record's creation name it: in the history of a survivor another creation may have the same time."""
    record.stamps = {name: of_own_creation(stamp, record) for name, stamp in record.stamps.items()}
    if record.from_api:
        unwritten = [name for name in stamped_fields(record) if getattr(record, name) is not None and name not in record.stamps]
        record.stamps |= dict.fromkeys(unwritten, (DELIBERATE, record.created_us, own_creation(record.id)))
