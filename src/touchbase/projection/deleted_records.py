"""Events about deleted records: earlier ones than the deletion belong to the deleted record, later ones do not.

An event is about a deleted record if the record had one of its identities, and the event's effective time is before the deletion. It is
stored in the deleted record's history, which stays in `event`, and counts when the record is restored. So the order in which a
deletion and webhooks arrive does not matter. A later event finds no record under these identities, and creates one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.history.identity_links import Link, Ref
from touchbase.history.last_writer_wins import NEVER
from touchbase.history.sql import REF, event_row
from touchbase.identity.event_subject import EventSubject
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome, stored_event
from touchbase.records.models import Company, Contact, Record
from touchbase.records.primary_keys import former_key, owned_since
from touchbase.sql.builders import RECORD, RECORD_MATCH, find
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement

DELETED_LINK: Columns = (
    *REF, ("record_kind", "bigint"), ("record_id", "bigint"), ("id", "bigint"), ("deleted_us", "bigint"), ("until_us", "bigint"),
)  # fmt: skip
# Run once for each inbox batch; no row for a client without deleted records.
ANY_DELETED = Statement(
    "any_deleted",
    (("client", "bigint"),),
    body="SELECT 1 FROM p WHERE EXISTS (SELECT 1 FROM deleted_record d WHERE d.client = p.client)",
)
_ERASURE_REQUEST: Columns = (*RECORD, ("asked_us", "bigint"))
ASK_ERASURE = Statement(
    "ask_erasure",
    _ERASURE_REQUEST,
    body=f"UPDATE deleted_record AS t SET erasure_asked_us = p.asked_us FROM p WHERE {RECORD_MATCH} AND t.erasure_asked_us IS NULL",
)
DELETED_BY_REF = Statement(
    "deleted_by_ref",
    REF,
    body=f"SELECT {names(DELETED_LINK, 't.')}, d.erasure_asked_us FROM p CROSS JOIN deleted_link t CROSS JOIN deleted_record d "
    f"WHERE {history_sql.REF_MATCH} AND d.client = t.client AND d.record_kind = t.record_kind AND d.record_id = t.record_id",
)


DELETED_CONTENT = find("deleted_content", "deleted_record", (("record_id", "bigint"), ("content", "text")), RECORD, RECORD_MATCH)


@dataclass(slots=True)
class _DeletedContact:
    record: Contact


@dataclass(slots=True)
class _DeletedCompany:
    record: Company


_CONTENT: dict[int, Callable[[str], _DeletedContact | _DeletedCompany]] = {
    CONTACT: msgspec.json.Decoder(_DeletedContact).decode,
    COMPANY: msgspec.json.Decoder(_DeletedCompany).decode,
}


@dataclass(frozen=True, slots=True)
class DeletedIdentity:
    """A deleted record that had an identity."""

    record_id: int
    deleted_us: Micros
    is_former: bool
    """Whether the identity is an address that the record had lost already, so that another one may have had it."""
    since_us: Micros = 0
    """Since when it had the identity, if another record had it before."""
    awaits_erasure: bool = False
    """Whether a CRM asked to erase the person: until a person decides, later events without another record join the deleted one."""


def deleted_having(client: int, kind: int, refs: Iterable[Ref]) -> Plan[dict[Ref, list[DeletedIdentity]]]:
    """Return the deleted records that had these identities, the first deleted first."""
    wanted = sorted(set(refs))
    rows = (yield Execute(DELETED_BY_REF, [(client, *ref) for ref in wanted])) if wanted else []
    deletions: dict[Ref, list[DeletedIdentity]] = {}
    for row in sorted(rows, key=lambda row: (row[7], row[5])):
        if row[4] == kind:
            deletions.setdefault((row[1], row[2], row[3]), []).append(
                DeletedIdentity(row[5], row[7], row[8] is not None, awaits_erasure=row[9] is not None)
            )
    return deletions


def set_aside_events_of_deleted(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[None]:
    """Store the events about deleted records in their histories, and remove them from these outcomes."""
    batch.retimed = [entry for entry in batch.retimed if entry[0][1] in batch.resolvers[entry[0][0]].by_id]
    subjects = [subject for outcome in outcomes for subject in outcome.subjects]
    if not subjects or not (yield Execute(ANY_DELETED, [(batch.client,)])):
        return
    deleted: dict[int, dict[Ref, list[DeletedIdentity]]] = {}
    for kind in batch.resolvers:
        refs = {ref for subject in subjects if subject.kind == kind for ref in _refs(subject)}
        deleted[kind] = yield from deleted_having(batch.client, kind, refs)
        yield from _set_since(batch, kind, deleted[kind])
    stored: list[tuple[StoredEvent, DeliveryOutcome]] = []
    for outcome in outcomes:
        remaining: list[EventSubject] = []
        for subject in outcome.subjects:
            record_id = _deleted_record(batch, subject, deleted[subject.kind])
            if record_id is None:
                remaining.append(subject)
            else:
                batch.resolvers[subject.kind].record_addresses(subject)
                stored.append((stored_event(subject, outcome.delivery, subject.kind, record_id, batch.settings), outcome))
        outcome.subjects = remaining
    if stored:
        yield from _insert(batch.client, stored)


def _set_since(batch: ApplyBatch, kind: int, deleted: dict[Ref, list[DeletedIdentity]]) -> Plan[None]:
    """Set since when deleted records had the addresses that a record which exists had before."""
    contested = {ref for ref in deleted if _former_owner(batch, kind, ref) is not None}
    places = sorted({(batch.client, kind, deletion.record_id) for ref in contested for deletion in deleted[ref]})
    rows = (yield Execute(DELETED_CONTENT, places)) if places else []
    records = {row[0]: _CONTENT[kind](row[1]).record for row in rows}
    for ref in contested:
        field = "linkedin_url" if ref[1] == "linkedin" else ref[1]
        for index, deletion in enumerate(deleted[ref]):
            record = records.get(deletion.record_id)
            if not deletion.is_former and record is not None:
                deleted[ref][index] = replace(deletion, since_us=owned_since(record, field) or 0)


def _former_owner(batch: ApplyBatch, kind: int, ref: Ref) -> Link | None:
    """Return the closed row of an address that an existing record had."""
    link = batch.resolvers[kind].links.by_ref.get(ref) if ref[0] == "" else None
    return link if link is not None and link.until_us is not None and link.record_id in batch.resolvers[kind].by_id else None


def _insert(client: int, stored: Sequence[tuple[StoredEvent, DeliveryOutcome]]) -> Plan[None]:
    first: dict[Row, tuple[StoredEvent, DeliveryOutcome]] = {}
    for event, outcome in stored:
        key = (event.record_kind, event.record_id, event.occurred_us, event.key)
        if key in first:
            outcome.repeated += 1
        else:
            first[key] = (event, outcome)
    inserted = set((yield Execute(history_sql.INSERT_EVENT, [event_row(client, event) for event, _ in first.values()])))
    requests = [(*key[:2], event) for key, (event, _) in first.items() if key in inserted and event.asks_erasure]
    if requests:
        yield Execute(ASK_ERASURE, [(client, kind, record_id, event.occurred_us) for kind, record_id, event in requests])
    for key, (_, outcome) in first.items():
        if key in inserted:
            outcome.applied += 1
        else:
            outcome.repeated += 1


def _refs(subject: EventSubject) -> list[Ref]:
    """Return the identities of a subject, the deciding one first."""
    primary = None if subject.primary is None else former_key(subject.kind, subject.primary)
    linkedin = ("", "linkedin", subject.linkedin) if subject.linkedin is not None and subject.kind == CONTACT else None
    return [ref for ref in (primary, subject.ref, linkedin) if ref is not None]


def _deleted_record(batch: ApplyBatch, subject: EventSubject, deleted: dict[Ref, list[DeletedIdentity]]) -> int | None:
    """Return the deleted record that an event is about; None if it is about a record that exists, or a new one."""
    at = subject.stamp[1]
    for ref in _refs(subject):
        owner = _owner(batch, subject, ref)
        is_any = owner is None and subject.event.asks_erasure
        deletions = [
            deletion
            for deletion in deleted.get(ref, ())
            if at < deletion.deleted_us or is_any or (owner is None and deletion.awaits_erasure)
        ]
        deletion = next((deletion for deletion in deletions if deletion.since_us <= at), deletions[0] if deletions else None)
        if deletion is not None and at < deletion.since_us and (former := _former_owner(batch, subject.kind, ref)) is not None:
            return None if former.until_us is not None and at < former.until_us else deletion.record_id
        if deletion is not None:
            return deletion.record_id if owner is None or not deletion.is_former or _is_later(owner, ref, deletion, at) else None
        if owner is not None:
            return None
    return None


def _owner(batch: ApplyBatch, subject: EventSubject, ref: Ref) -> Record | None:
    """Return the existing record that has an identity."""
    resolver = batch.resolvers[subject.kind]
    if ref == subject.ref:
        number = resolver.links.record_id(ref)
        return None if number is None else resolver.by_id.get(number)
    return (resolver.by_linkedin if ref[1] == "linkedin" else resolver.by_primary).get(ref[2])


def _is_later(owner: Record, ref: Ref, deletion: DeletedIdentity, at: Micros) -> bool:
    """Whether a record got a former address of a deleted record only after an event."""
    field = "linkedin_url" if ref[1] == "linkedin" else ref[1]
    since = owned_since(owner, field)
    return at < since if since is not None else owner.stamps.get(field, NEVER)[1] >= deletion.deleted_us
