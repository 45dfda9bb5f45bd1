"""Folding: a record's history -> its derived values, the same for every order of arrival.

Dates are a minimum and maximum, fields carry stamps, the status walks the history in time order. The
usual event is newer than all before it and folds in one step; an older one makes the status walk anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from touchbase.domain import status as st
from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.events import VIA_API, StoredEvent
from touchbase.domain.stamps import CARRIED, DELIBERATE, Stamp, beats, stamp_of
from touchbase.domain.times import to_text

Record = Contact | Company

IDENTITIES = frozenset({"email", "linkedin_url", "domain"})
"""Fields that say who a record is about: `domain/resolve.py` decides them, with their normal forms."""


@dataclass(slots=True)
class Folded:
    """What folding events into a record did."""

    changed: bool = False
    late: bool = False
    """A status entry older than the newest one came: `refold_status` must walk the whole history."""


def fold_event(record: Record, event: StoredEvent, folded: Folded) -> None:
    """Fold one event that the record has not had before."""
    if isinstance(record, Contact) and event.effect:
        folded.changed |= _fold_dates(record, event)
    if sets_status(event):
        _fold_status(record, event, folded)
    if event.detail:
        for name, value, stamp in field_writes(event):
            folded.changed |= write_field(record, name, value, stamp)


def refold_status(record: Record, history: Iterable[StoredEvent]) -> None:
    """Walk the whole history, in any order given, and set the status anew."""
    st.restart(record)
    entries = [(e.occurred_us, e.key, e.effect, e.status) for e in history if sets_status(e)]
    if record.initial_status is not None:
        entries.append((record.created_us, "", st.INITIAL, record.initial_status))
    for at, key, effect, status in sorted(entries, key=lambda entry: entry[:2]):
        st.advance(record, effect, status, at, key)


def sets_status(event: StoredEvent) -> bool:
    """Whether an event is an entry of the status history."""
    if event.effect not in st.STATUS_EFFECTS:
        return False
    return event.status is not None or event.effect == st.RESUBSCRIBE or event.via == VIA_API


def field_writes(event: StoredEvent) -> Iterator[tuple[str, str | None, Stamp]]:
    """The values of our own fields that an event brings, with their stamps."""
    detail = event.detail
    for name, value in detail.get("carried", {}).items():
        yield name, value, (CARRIED, event.occurred_us, event.key)
    for name, value in detail.get("fields", {}).items():
        if name not in IDENTITIES:
            yield name, value, (DELIBERATE, event.occurred_us, event.key)


def write_field(record: Record, name: str, value: str | None, stamp: Stamp) -> bool:
    """Set one of our own fields if the write wins; answers whether the record's row changed."""
    old = getattr(record, name)
    if not beats(stamp, stamp_of(record.stamps, name, old, record.created_us)):
        return False
    record.stamps[name] = stamp
    setattr(record, name, value)
    return True


def _fold_dates(contact: Contact, event: StoredEvent) -> bool:
    at = event.occurred_us
    if event.effect == st.SENT:
        before = (contact.first_sent_us, contact.last_sent_us)
        contact.first_sent_us = at if before[0] is None else min(before[0], at)
        contact.last_sent_us = at if before[1] is None else max(before[1], at)
        return (contact.first_sent_us, contact.last_sent_us) != before
    if event.effect == st.REPLY and (contact.last_reply_us is None or contact.last_reply_us < at):
        contact.last_reply_us = at
        return True
    return False


def _fold_status(record: Record, event: StoredEvent, folded: Folded) -> None:
    if st.is_newest(record, event.occurred_us, event.key):
        st.advance(record, event.effect, event.status, event.occurred_us, event.key)
        folded.changed = True
    else:
        folded.late = True


@dataclass(slots=True)
class FieldChange:
    """One value of the record that an event set: `value` and `previous` as the interface shows them."""

    field: str
    value: str | None
    previous: str | None


def explain(record: Record, history: Iterable[StoredEvent]) -> list[tuple[StoredEvent, list[FieldChange]]]:
    """What each event changed, walking the history in time order from the record's creation.

    Newest first. The changes are those of time order, not of arrival, so they add up to the record.
    """
    walker = _blank(record)
    told: list[tuple[StoredEvent, list[FieldChange]]] = []
    known: dict[str, str | None] = {}
    pending_initial = record.initial_status
    for event in sorted(history, key=lambda e: (e.occurred_us, e.key)):
        if pending_initial is not None and event.occurred_us >= record.created_us:
            st.advance(walker, st.INITIAL, pending_initial, record.created_us, "")
            pending_initial = None
        told.append((event, _step(record, walker, known, event)))
    told.reverse()
    return told


def _blank(record: Record) -> Record:
    blank = replace(record, stamps={}, custom_fields=[])
    st.restart(blank)
    if isinstance(blank, Contact):
        blank.first_sent_us = blank.last_sent_us = blank.last_reply_us = None
    return blank


def _shown(record: Record) -> dict[str, str | None]:
    prefix = "contact" if isinstance(record, Contact) else "company"
    shown = {f"{prefix}_status": record.status}
    if isinstance(record, Contact):
        for name, at in (
            ("first_campaign_email_sent", record.first_sent_us),
            ("last_campaign_email_sent", record.last_sent_us),
            ("last_reply_received", record.last_reply_us),
        ):
            shown[name] = None if at is None else to_text(at)
    return shown


def _step(record: Record, walker: Record, known: dict[str, str | None], event: StoredEvent) -> list[FieldChange]:
    before = _shown(walker)
    if isinstance(walker, Contact):
        _fold_dates(walker, event)
    if sets_status(event):
        st.advance(walker, event.effect, event.status, event.occurred_us, event.key)
    after = _shown(walker)
    changes = [FieldChange(name, after[name], before[name]) for name in after if after[name] != before[name]]
    told = set(after)
    for name, value in _values(record, event):
        if name not in told:
            told.add(name)
            changes.append(FieldChange(name, value, known.get(name)))
            known[name] = value
    for name, value in event.detail.get("identity", {}).items():
        told.add(name)
        if known.get(name) != value:
            changes.append(FieldChange(name, value, known.get(name)))
            known[name] = value
    for name, value, previous in event.detail.get("changed", []):
        if name not in told:
            changes.append(FieldChange(name, value, previous))
            if name in ("email", "domain"):
                known[name] = value
    return changes


def _values(record: Record, event: StoredEvent) -> Iterator[tuple[str, str | None]]:
    """The values that the event set: deliberate ones always, carried ones only where they filled a gap."""
    for name, value in event.detail.get("carried", {}).items():
        if record.stamps.get(name) == (CARRIED, event.occurred_us, event.key):
            yield name, value
    if event.via != VIA_API:
        yield from event.detail.get("fields", {}).items()
        yield from event.detail.get("custom", {}).items()
