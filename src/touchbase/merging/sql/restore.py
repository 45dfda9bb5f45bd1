"""Restore a record from the bin: project it from its whole history, which may have got events since."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from touchbase.clients.sql.clients import lock_client
from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.timestamps import Micros
from touchbase.custom_fields.changes import RENAME, FieldJob
from touchbase.custom_fields.sql import job_kind
from touchbase.do_not_contact.sql.entries import SHARED, drop_causes
from touchbase.do_not_contact.sql.opt_outs import addresses_of, further_addresses
from touchbase.errors import Conflict, NotFound, TouchbaseError
from touchbase.event_log.models import by_request
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, NO_AUTHOR, VIA_API, Author, StoredEvent
from touchbase.history.identity_links import Link, Ref
from touchbase.history.last_writer_wins import NEVER
from touchbase.history.sql import event_of, event_row, link_of
from touchbase.identity.rekey import leave_written_email
from touchbase.projection.apply import insert_events, move_parked, new_batch, project_events
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.bin import DeletedRecord, content_text, deleted_of, renew_stamps
from touchbase.projection.bin_rows import DELETED_LINKS_OF, FIND_DELETED, REPLACE_DELETED, TAKE_DELETED, TAKE_DELETED_LINKS
from touchbase.projection.companies import existing_company
from touchbase.projection.deleted_records import INSERT_FORMER_OWNER, deleted_having
from touchbase.projection.logged_changes import log_moved_contacts
from touchbase.projection.separate import set_addresses
from touchbase.records.models import Company, Contact, Record
from touchbase.records.primary_keys import former_key, primary_key
from touchbase.records.projection import Folded, current_stamp
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.address_book import BOOK, LOCKED_OWNER_OF
from touchbase.records.sql.rows import contact_of, custom_field_row, move_row
from touchbase.records.sql.statements import lock_records
from touchbase.records.writes import changed_since, request_entry
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Row, Statement

LINKS = 100
"""Link ids that a restoration may take, for addresses that events set while the record was in the bin."""
CONTACTS = 500
"""Contacts of a restored company that are read at once."""
_JOBS_SINCE = Statement(
    "jobs_since",
    (("client", "bigint"), ("kind", "text"), ("created_us", "bigint")),
    body="SELECT t.created_us, t.settings FROM p CROSS JOIN job t WHERE t.client = p.client AND t.kind = p.kind "
    "AND t.created_us >= p.created_us ORDER BY t.id",
)


@command(ids=lambda calls: {"custom_field": MAX_CUSTOM_FIELDS * len(calls), "link": LINKS * len(calls)})
def restore_record(
    ids: Ids, client: int, kind: int, id: int, at: Micros, key: str, by: Author = NO_AUTHOR, if_updated_us: Micros | None = None
) -> Plan[Record | TouchbaseError]:
    """Take one record out of the bin, and project it again from its whole history.

    `NotFound` when it is not in the bin. `Conflict` with `existing_id` when another record has one of its addresses now. An object id or
    former address that belongs to another record now stays there. `PreconditionFailed` as in `delete_record`.
    """
    place = (client, kind, id)
    settings = (yield from lock_client(client)).settings
    rows = yield Execute(FIND_DELETED, [place])
    if not rows:
        return NotFound(f"there is no deleted {RECORD_TYPES[kind].name} with id {id}")
    deleted = deleted_of(kind, rows[0][3], rows[0][4])
    refused = changed_since(deleted.record, if_updated_us) or (yield from _conflict(client, kind, deleted.record))
    if refused is not None:
        return refused
    current_at = max(at, deleted.deleted_us + 1)
    batch = new_batch(client, current_at, settings, ids)
    batch.cause = by_request(by)
    batch.renamed_since = yield from _renamed_in_bin(batch, kind, deleted)
    written = request_entry(kind, id, "restored", current_at, key, by)
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, written)])
    renew_stamps(deleted.record, [event_of(row) for row in (yield Execute(history_sql.EVENTS_OF, [place]))])
    yield from _load(batch, kind, deleted)
    yield from _restore_links(batch, kind, (yield Execute(DELETED_LINKS_OF, [place])))
    yield Execute(TAKE_DELETED, [place])
    yield Execute(TAKE_DELETED_LINKS, [place])
    yield from _project(batch, kind, deleted, ids)
    restored: Contact | Company = deleted.record
    if isinstance(restored, Contact):
        further = yield from further_addresses([(client, id)])
        addresses = [*further.get((client, id), ()), *addresses_of(restored)]
        yield from drop_causes(client, addresses, lambda cause: cause.key.startswith(f"{SHARED} {id} "), current_at)
    restored.custom_fields = []
    yield from records_sql.load_custom_fields(kind, [restored])
    return restored


def _renamed_in_bin(batch: ApplyBatch, kind: int, deleted: DeletedRecord[Any]) -> Plan[dict[tuple[int, str], Micros]]:
    """Return the fields of the record that were renamed while it was in the bin, each since when.

    What the record has under the new name from before that is of another field, which was removed. (A merge of two fields is none.)
    """
    names = RECORD_TYPES[kind].field_names(batch.settings).keys() & {field.name for field in deleted.record.custom_fields}
    if not names:
        return {}
    rows = yield Execute(_JOBS_SINCE, [(batch.client, job_kind(kind), deleted.deleted_us)])
    jobs = [(created_us, msgspec.json.decode(settings, type=FieldJob)) for created_us, settings in rows]
    return {(kind, job.field): created_us for created_us, job in jobs if job.action == RENAME and job.field in names}


def _conflict(client: int, kind: int, record: Record) -> Plan[Conflict | None]:
    """Return the error if another record has an address of the deleted one."""
    for field in RECORD_TYPES[kind].keys:
        key = getattr(record, field.key)
        rows = (yield Execute(LOCKED_OWNER_OF[kind][field.key], [(client, key)])) if key is not None else []
        if rows:
            owner, name = rows[0][2], RECORD_TYPES[kind].name
            detail = (
                f"the {name} with id {owner} has the {field.name} of the deleted one now: change or delete that one first, "
                f"or merge what you need into it"
            )
            return Conflict(detail, data={"existing_id": owner})
    return None


def _load(batch: ApplyBatch, kind: int, deleted: DeletedRecord[Any]) -> Plan[None]:
    """Put the record into the batch as a new one, and store its custom fields."""
    record, resolver = deleted.record, batch.resolvers[kind]
    batch.logged_as[kind, record.id] = "restored"
    if record.custom_fields:
        rows = [custom_field_row(batch.client, kind, record.id, custom_field) for custom_field in record.custom_fields]
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, rows)
    record.updated_us = max(batch.now_us, record.updated_us + 1)
    resolver.by_id[record.id] = resolver.created[record.id] = record
    resolver.statuses[record.id] = record.status
    if (primary := primary_key(record)) is not None:
        resolver.by_primary[primary] = record
    if isinstance(record, Contact) and record.linkedin_key is not None:
        resolver.by_linkedin[record.linkedin_key] = record


def _restore_links(batch: ApplyBatch, kind: int, rows: Sequence[Row]) -> Plan[None]:
    """Link the record's object ids and former addresses to it again, except another record's."""
    links = batch.resolvers[kind].links
    refs = {(row[1], row[2], row[3]): row for row in rows}
    taken: dict[Ref, Row] = {}
    if refs:
        for row in (yield Execute(history_sql.LINK_BY_REF, [(batch.client, *ref) for ref in sorted(refs)])):
            taken[row[1], row[2], row[3]] = row
    others = yield from _keys_of_others(batch.client, kind, refs)
    # Somebody else has had the key since.
    former = [(*ref[1:], row[8], kind, row[5], row[9]) for ref, row in sorted(refs.items()) if not ref[0] and row[8] and ref in taken]
    if former:
        yield Execute(INSERT_FORMER_OWNER, [(batch.client, *row) for row in former])
    for ref, row in sorted(refs.items()):
        if ref in taken:
            links.by_ref[ref] = link = link_of(taken[ref])
            if link.parking_id is not None and row[6] is not None:
                links.set_record(ref, row[5])  # its waiting events join the record
        elif row[6] is not None:
            links.by_ref[ref] = links.changed[ref] = Link(
                ref, row[6], kind, row[5], row[7] if ref in others and row[8] is None else row[8], row[9]
            )


def _keys_of_others(client: int, kind: int, refs: Mapping[Ref, Row]) -> Plan[set[Ref]]:
    """Return the keys that other records have now."""
    others: set[Ref] = set()
    for column, word in BOOK[kind].items():
        keys = [(client, ref[2]) for ref in refs if ref[:2] == ("", word)]
        if keys:
            others |= {("", word, row[1]) for row in (yield Execute(LOCKED_OWNER_OF[kind][column], keys))}
    return others


def _project(batch: ApplyBatch, kind: int, deleted: DeletedRecord[Any], ids: Ids) -> Plan[None]:
    record = deleted.record
    yield from move_parked(batch)
    yield from insert_events(batch)
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, kind, record.id)])
    history = [event_of(row) for row in rows]
    batch.folded[kind, record.id] = Folded(changed=True, late=True)
    if any(event.via != VIA_API and event.received_us >= deleted.deleted_us for event in history):
        yield from _set_late_addresses(batch, kind, record, history)
    if isinstance(record, Contact):
        yield from _set_company(batch, record, history)
    yield from project_events(batch, history, ids)
    for start in range(0, len(deleted.contacts), CONTACTS):
        yield from _restore_contacts(batch, deleted, deleted.contacts[start : start + CONTACTS])


def _set_late_addresses(batch: ApplyBatch, kind: int, record: Record, history: list[StoredEvent]) -> Plan[None]:
    """Add the addresses to the record that events named while it was in the bin."""
    resolver = batch.resolvers[kind]
    leave_written_email(resolver, record)
    old = primary_key(record)
    yield from set_addresses(batch, kind, [record.id], {record.id: history})
    if old is not None and old != primary_key(record):
        resolver.links.set_record(former_key(kind, old), record.id, batch.now_us)


def _set_company(batch: ApplyBatch, contact: Contact, history: list[StoredEvent]) -> Plan[None]:
    """Set the contact's company again: it may have been deleted, restored or merged since."""
    stamp = current_stamp(contact, "company_id")
    writes = [event for event in history if event.via == VIA_API and event.effective_time == stamp[1:]]
    named = next((event.detail["fields"]["company_id"] for event in writes if "company_id" in event.detail.get("fields", {})), None)
    contact.company_id = yield from existing_company(batch, contact.company_id if named is None else named)
    if named is not None:
        contact.stamps["company_id"] = stamp
        if contact.company_id is None:
            yield from _wait_for_company(batch.client, contact.id, int(named))
    elif contact.company_id is None:
        contact.stamps.pop("company_id", None)  # an event that names a company's object sets it, or waits for the company


def _wait_for_company(client: int, contact: int, named: int) -> Plan[None]:
    """Note a contact's company, to be linked when that is restored."""
    ref = ("", "company", str(named))
    merged = yield from deleted_having(client, COMPANY, [ref])  # the company that it was merged into
    company = next((merge.record_id for merge in merged.get(ref, ())), named)
    rows = yield Execute(FIND_DELETED, [(client, COMPANY, company)])
    for row in rows:
        deleted = deleted_of(COMPANY, row[3], row[4])
        deleted.contacts.append(contact)
        yield Execute(REPLACE_DELETED, [(*row[:4], content_text(deleted))])


def _restore_contacts(batch: ApplyBatch, deleted: DeletedRecord[Any], numbers: Sequence[int]) -> Plan[None]:
    """Link contacts again that the company's deletion unlinked, unless a later write set or unset theirs."""
    rows = yield from lock_records(batch.client, CONTACT, numbers)
    contacts = [contact for contact in map(contact_of, rows) if _is_waiting(contact, deleted.deleted_us)]
    for contact in contacts:
        contact.company_id, contact.updated_us = deleted.record.id, max(batch.now_us, contact.updated_us + 1)
    if contacts:
        yield Execute(records_sql.MOVE_CONTACT, [move_row(contact) for contact in contacts])
        yield from log_moved_contacts(batch, [contact.id for contact in contacts], None, deleted.record.id)


def _is_waiting(contact: Contact, deleted_us: Micros) -> bool:
    return contact.company_id is None and contact.stamps.get("company_id", NEVER)[1] <= deleted_us and "company_id" in contact.stamps
