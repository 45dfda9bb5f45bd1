"""Plan that adds events to the histories of contacts, as an import does, and folds them into the contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from touchbase.common.timestamps import Micros
from touchbase.event_log.models import by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, Author, StoredEvent
from touchbase.history.sql import event_of, event_row
from touchbase.history.status_words import StatusWords
from touchbase.records.logged_changes import changes as logged
from touchbase.records.logged_changes import state_of
from touchbase.records.models import Contact
from touchbase.records.projection import Folded, fold_event, refold_status
from touchbase.records.sql.rows import contact_of, contact_row
from touchbase.records.sql.statements import lock_records
from touchbase.records.sql.update import save_contacts
from touchbase.sql.statement import Execute, Plan


def add_history(client: int, events: Mapping[int, Sequence[StoredEvent]], at: Micros, words: StatusWords, by: Author) -> Plan[set[int]]:
    """Add events to contacts, by their ids; return the ids of the contacts that changed.

    An event is skipped if the contact has one of the same effect and time: it is the same fact from another source.
    """
    rows = yield from lock_records(client, CONTACT, events)
    before = {(row[0], row[1]): row for row in rows}
    contacts = {row[1]: contact_of(row) for row in rows}
    states = {contact.id: state_of(contact, words) for contact in contacts.values()}
    stored = yield from _event_keys(client, [contact for contact in contacts.values() if not _is_unmailed(contact)])
    new: dict[int, list[StoredEvent]] = {}
    changed: dict[int, Contact] = {}
    late: list[Contact] = []
    for contact in contacts.values():
        folded = Folded()
        for event in sorted(events[contact.id], key=lambda event: event.effective_time):
            if (contact.id, event.occurred_us, event.effect) not in stored:
                stored.add((contact.id, event.occurred_us, event.effect))
                new.setdefault(contact.id, []).append(event)
                fold_event(contact, event, folded, words)
        if folded.late:
            late.append(contact)
        if folded.late or folded.changed:
            changed[contact.id] = contact
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, event) for events in new.values() for event in events])
    if late:
        yield from _refold(client, late, words)
    for contact in changed.values():
        contact.updated_us = max(at, contact.updated_us + 1)
    yield from save_contacts([contact_row(contact) for contact in changed.values()], before)
    for contact in changed.values():
        yield from log_events(logged(contact, states[contact.id], at, by_request(by), words))
    return set(changed)


def _is_unmailed(contact: Contact) -> bool:
    """Return whether a contact can have no event of a mail or a reply."""
    return contact.first_sent_us is None and contact.last_reply_us is None


def _event_keys(client: int, contacts: Sequence[Contact]) -> Plan[set[tuple[int, Micros, str]]]:
    """Return the times and effects of the events that these contacts have."""
    rows = yield Execute(history_sql.EVENTS_OF, [(client, CONTACT, contact.id) for contact in contacts])
    return {(event.record_id, event.occurred_us, event.effect) for event in map(event_of, rows)}


def _refold(client: int, contacts: Sequence[Contact], words: StatusWords) -> Plan[None]:
    """Fold the status of these contacts again, because an event is earlier than the newest entry."""
    rows = yield Execute(history_sql.EVENTS_OF, [(client, CONTACT, contact.id) for contact in contacts])
    histories: dict[int, list[StoredEvent]] = {}
    for event in map(event_of, rows):
        histories.setdefault(event.record_id, []).append(event)
    for contact in contacts:
        refold_status(contact, histories.get(contact.id, ()), words)
