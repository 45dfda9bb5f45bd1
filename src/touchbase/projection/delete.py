"""Move records into the bin, and remove them permanently.

Like inbox batches, these plans lock the client's row, so that what a batch has read of identities stays true until it commits.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from touchbase.clients.sql.clients import CLIENT_BY_NUMBER
from touchbase.common.timestamps import Micros
from touchbase.conversations.answers import DELETE_OF_CONTACT
from touchbase.conversations.drafts import DELETE_DRAFTS
from touchbase.conversations.notifications import DELETE_NOTIFICATIONS
from touchbase.conversations.plans import DELETE_DECISION, DELETE_READS
from touchbase.deliveries.sql import statements as inbox_sql
from touchbase.do_not_contact.addresses import addresses_of_refs
from touchbase.do_not_contact.sql.entries import share_causes
from touchbase.do_not_contact.sql.lookup import listed_kinds
from touchbase.do_not_contact.sql.opt_outs import StatusOptOut, addresses_of, list_opt_outs, opted_out_at
from touchbase.errors import TouchbaseError
from touchbase.event_log.models import SERVICE, LoggedEvent, by_request, record_event
from touchbase.event_log.sql.changes import DELETE, note_change
from touchbase.event_log.sql.log import forget_changes, log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, NO_AUTHOR, Author, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import API_KEY, DERIVED
from touchbase.history.sql import event_of, event_row
from touchbase.messages.sql.plans import DELETE_OF_RECORD
from touchbase.notes.plans import DELETE_NOTES
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.bin import DeletedRecord, content_text
from touchbase.projection.bin_rows import (
    DELETE_LINKS_OF,
    INSERT_DELETED,
    INSERT_DELETED_LINK,
    REMOVE,
    TAKE_DELETED,
    TAKE_DELETED_LINKS,
)
from touchbase.projection.companies import CONTACTS_OF_COMPANY, DELETE_CLAIMS_OF, SAVE_CLAIM
from touchbase.projection.deleted_records import ASK_ERASURE, FORGET_FORMER_OWNERS
from touchbase.projection.logged_changes import cause_of, moved_contact
from touchbase.projection.suppression_guard import DELETE_WANTED, DELIVERIES_OF_EVENTS
from touchbase.records.models import Contact, Record
from touchbase.records.primary_keys import former_key_of, keys_of, owned_since
from touchbase.records.projection import current_stamp
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.distinct_pairs import DELETE_PAIRS
from touchbase.records.sql.rows import contact_of, move_row
from touchbase.records.sql.search_pending import NOTE_FOR_SEARCH
from touchbase.records.sql.statements import TABLES, lock_existing, lock_records, with_custom_fields
from touchbase.records.value_sources import company_ref
from touchbase.records.writes import changed_since, new_write_key, request_entry
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Row, Select
from touchbase.tasks.plans import DELETE_TASKS

HISTORIES = 200
"""Contacts of a deleted company whose histories are read at once."""
FOR_GOOD = {"for_good": True}
"""Logged event of a record that can no longer be restored."""
GONE = "its record was deleted, and removed permanently"


@command
def delete_record(
    client: int, kind: int, id: int, at: Micros, key: str, by: Author = NO_AUTHOR, if_updated_us: Micros | None = None
) -> Plan[Record | TouchbaseError]:
    """Move one record into the bin; the result is the record as it was.

    Its addresses and object ids are free at once; an opt-out by one of its addresses, or by its status, holds for all of them. The contacts
    of a company lose their `company_id`. `NotFound`; `PreconditionFailed` if `if_updated_us` is not the record's `updated_us`.

    `key`: The key of its entry in the history, from `new_write_key`.
    """
    yield Execute(CLIENT_BY_NUMBER, [(client,)])
    [row] = yield from lock_existing(client, kind, [id])
    record: Record
    [record] = yield from with_custom_fields(kind, [TABLES[kind].record_of(row)])
    if (changed := changed_since(record, if_updated_us)) is not None:
        return changed
    yield from _move_to_bin(client, kind, record, at, key, by)
    yield from note_change(client, DELETE, by, at, 1)
    return record


def delete_requested(batch: ApplyBatch, new: Iterable[StoredEvent]) -> Plan[None]:
    """Move contacts into the bin that a CRM's new events ask to erase; there they wait until a person erases or restores them."""
    requests: dict[int, StoredEvent] = {event.record_id: event for event in new if event.record_kind == CONTACT and event.asks_erasure}
    for number, event in sorted(requests.items()):
        rows = yield from lock_records(batch.client, CONTACT, [number])
        for contact in (yield from with_custom_fields(CONTACT, [contact_of(row) for row in rows])):
            cause = cause_of(batch, (CONTACT, number))
            yield from _move_to_bin(batch.client, CONTACT, contact, batch.now_us, new_write_key(), NO_AUTHOR, cause)
            yield Execute(ASK_ERASURE, [(batch.client, CONTACT, number, event.occurred_us)])


def _move_to_bin(
    client: int, kind: int, record: Record, at: Micros, key: str, by: Author, cause: Mapping[str, Any] | None = None
) -> Plan[None]:
    number = record.id
    place = (client, kind, number)
    contacts = (yield from _unlink_contacts(client, number, at, by)) if kind == COMPANY else []
    current_at = max(at, record.updated_us + 1)  # after the record's last change, also when our clock was put back
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, request_entry(kind, number, "deleted", current_at, key, by))])
    links = yield Execute(history_sql.LINKS_OF, [place])
    yield Execute(INSERT_DELETED, [(*place, current_at, content_text(DeletedRecord(record, current_at, contacts)))])
    yield Execute(INSERT_DELETED_LINK, _identities(place, record, links, current_at))
    if isinstance(record, Contact):
        yield from _share_opt_out(record, links, current_at, by)
    yield Execute(DELETE_WANTED, [row[:4] for row in links] or [(client, "", "", "")])
    yield Execute(DELETE_LINKS_OF, [place])
    yield Execute(DELETE_CLAIMS_OF, [place])
    yield Execute(records_sql.DELETE_CUSTOM_FIELDS_OF, [place])
    yield Execute(REMOVE[kind], [(client, number)])
    yield Execute(NOTE_FOR_SEARCH, [place])
    yield from log_events(
        [LoggedEvent(client, record_event(kind, "deleted"), current_at, kind, number, cause=by_request(by) if cause is None else cause)]
    )


def _share_opt_out(contact: Contact, links: Iterable[Row], at: Micros, by: Author) -> Plan[None]:
    """Put all addresses of a contact on the list if one of them is, or if its status opts out: a contact made again has lost the others."""
    if contact.status is not None:
        opts_out = (yield from listed_kinds([contact.client]))[contact.client].opts_out
        since = opted_out_at(contact, opts_out) if opts_out(contact.status) else None
        if since is not None:
            opt_out = StatusOptOut(
                contact.client, contact.id, addresses_of(contact), since[0], f"status {since[1]!r}", by=by_request(by), if_unlisted=True
            )
            yield from list_opt_outs([opt_out], at)
    addresses = [*addresses_of(contact), *addresses_of_refs((row[1], row[2], row[3]) for row in links)]
    if len(addresses) > 1:
        yield from share_causes(contact.client, contact.id, addresses, at)


def _identities(place: tuple[int, int, int], record: Record, links: Iterable[Row], at: Micros) -> list[Row]:
    """Return the rows of a record's identities: its present addresses, then its links."""
    client, kind, number = place
    refs: dict[Ref, tuple[int | None, Micros | None, Micros]] = {}
    for name, key in zip(RECORD_TYPES[kind].identities, keys_of(record), strict=True):
        if key is not None:
            refs[former_key_of(name, key)] = (None, None, owned_since(record, name) or 0)
    for row in links:
        ref = (row[1], row[2], row[3])
        if row[7] is None or ref not in refs:  # the address may be the first of the further ones, whose row is open
            refs[ref] = (row[4], *row[7:9])
    return [(client, *ref, kind, number, link, at, until, since) for ref, (link, until, since) in sorted(refs.items())]


def _unlink_contacts(client: int, company: int, at: Micros, by: Author) -> Plan[list[int]]:
    """Unset the company of its contacts; return the contacts whose company came from the API or the e-mail address.

    The others name an object of the company in an event: they wait for the company of this object, as contacts do whose company is not
    known yet.
    """
    rows = yield Execute(CONTACTS_OF_COMPANY, [(client, company)])
    contacts = {contact.id: contact for contact in map(contact_of, rows)}
    stamps = {number: current_stamp(contact, "company_id") for number, contact in contacts.items()}
    by_event = [number for number, stamp in stamps.items() if stamp != DERIVED and not _is_by_api(stamp[2])]
    claims: list[Row] = []
    for start in range(0, len(by_event), HISTORIES):
        part = by_event[start : start + HISTORIES]
        for row in (yield Execute(history_sql.EVENTS_OF, [(client, CONTACT, number) for number in part])):
            event = event_of(row)
            ref = company_ref(event)
            if ref is not None and event.effective_time == stamps[event.record_id][1:]:
                claims.append((client, *ref, CONTACT, event.record_id, *event.effective_time))
    if claims:
        yield Execute(SAVE_CLAIM, claims)
    claimed = {row[5] for row in claims}
    for number, contact in contacts.items():
        contact.company_id, contact.updated_us = None, max(at, contact.updated_us + 1)
        if number in claimed:
            del contact.stamps["company_id"]
        else:
            contact.stamps["company_id"] = stamps[number]
    if contacts:
        yield Execute(records_sql.MOVE_CONTACT, [move_row(contact) for contact in contacts.values()])
        cause = by_request(by)
        yield from log_events([moved_contact(client, number, company, None, at, cause) for number in sorted(contacts)])
    return sorted(contacts.keys() - claimed)


def _is_by_api(key: str) -> bool:
    return not key or key.startswith(API_KEY)


@command(background=True)
def remove_deleted(client: int, before_us: Micros, limit: int, at: Micros) -> Plan[int]:
    """Remove records permanently that were deleted before a time, oldest first; the result is their number.

    Not contacts that a CRM asked to erase: a person decides about them. A delivery without an event left is marked as ignored.
    """
    yield Execute(CLIENT_BY_NUMBER, [(client,)])
    removed = 0
    for kind in (CONTACT, COMPANY):
        rows = yield Select(
            "SELECT record_id FROM deleted_record WHERE client = ? AND record_kind = ? AND deleted_us < ? AND erasure_asked_us IS NULL "
            "ORDER BY deleted_us, record_id LIMIT ?",
            (client, kind, before_us, limit - removed),
        )
        if rows:
            yield from _remove(client, [(client, kind, row[0]) for row in rows], at)
            removed += len(rows)
    return removed


def withdraw_record(client: int, kind: int, number: int, at: Micros, by: Author) -> Plan[None]:
    """Remove a record as if it had never been: all that made it was withdrawn. It leaves no trace in the bin, so it can come again."""
    place = (client, kind, number)
    if kind == COMPANY:
        yield from _unlink_contacts(client, number, at, by)
    links = yield Execute(history_sql.LINKS_OF, [place])
    yield Execute(DELETE_WANTED, [row[:4] for row in links] or [(client, "", "", "")])
    yield Execute(DELETE_LINKS_OF, [place])
    yield Execute(DELETE_CLAIMS_OF, [place])
    yield Execute(records_sql.DELETE_CUSTOM_FIELDS_OF, [place])
    yield Execute(REMOVE[kind], [(client, number)])
    yield Execute(NOTE_FOR_SEARCH, [place])
    yield from _remove(client, [place], at)


def _remove(client: int, records: Sequence[tuple[int, int, int]], at: Micros) -> Plan[None]:
    rows = yield Execute(DELIVERIES_OF_EVENTS, records)
    yield Execute(DELETE_OF_CONTACT, records)
    yield Execute(DELETE_OF_RECORD, records)
    yield Execute(DELETE_NOTES, records)
    yield Execute(DELETE_TASKS, records)
    yield Execute(DELETE_PAIRS, records)
    yield Execute(DELETE_DECISION, records)
    yield Execute(DELETE_READS, records)
    yield Execute(DELETE_DRAFTS, records)
    yield Execute(DELETE_NOTIFICATIONS, records)
    yield Execute(history_sql.DELETE_EVENTS_OF, records)
    yield Execute(TAKE_DELETED, records)
    yield Execute(FORGET_FORMER_OWNERS, records)
    yield Execute(TAKE_DELETED_LINKS, records)
    yield from forget_changes(client, [record[1:] for record in records], at)
    cause = {"origin": SERVICE}
    yield from log_events(
        [LoggedEvent(client, record_event(kind, "deleted"), at, kind, number, cause=cause, data=FOR_GOOD) for _, kind, number in records]
    )
    if deliveries := sorted({row[0] for row in rows if row[0] is not None}):
        yield Execute(inbox_sql.IGNORE_EMPTIED, [(client, number, GONE, at) for number in deliveries])
