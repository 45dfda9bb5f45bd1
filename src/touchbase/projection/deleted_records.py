"""Former owners of identities: an event belongs to the owner at its time, which may be in the bin.

An event is about a deleted record if the record had one of its identities, and the event's effective time is before the deletion. It is
stored in the deleted record's history, which stays in `event`, and counts when the record is restored. So the order in which a
deletion and webhooks arrive does not matter. A later event finds no record under these identities, and creates one. Of several former
owners of a key, deleted or not, it is about the one who had the key then, else the last before.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, StoredEvent
from touchbase.history.identity_links import Period, Ref, distance
from touchbase.history.last_writer_wins import NEVER
from touchbase.history.sql import REF, event_row
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.lookup import fill_resolvers
from touchbase.identity.resolution import Resolver
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.normalization import DeliveryOutcome, stored_event
from touchbase.records.models import Record
from touchbase.records.primary_keys import former_key, owned_since
from touchbase.sql.builders import RECORD, RECORD_MATCH, insert
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement

DELETED_LINK: Columns = (
    *REF, ("record_kind", "bigint"), ("record_id", "bigint"), ("id", "bigint"), ("deleted_us", "bigint"), ("until_us", "bigint"),
    ("since_us", "bigint"),
)  # fmt: skip
# Run once for each inbox batch; no row for a client without deleted records and several former owners of a key.
ANY_FORMER = Statement(
    "any_former",
    (("client", "bigint"),),
    body="SELECT 1 FROM p WHERE EXISTS (SELECT 1 FROM deleted_record d WHERE d.client = p.client) "
    "OR EXISTS (SELECT 1 FROM former_owner e WHERE e.client = p.client)",
)
_MERGED = "b.client = t.client AND b.tool = '' AND b.object_type = CASE t.record_kind WHEN 1 THEN 'contact' ELSE 'company' END "
_MERGED += "AND b.object_id = CAST(t.record_id AS text) AND b.record_kind = t.record_kind"
# Owners are named as they were: their record, the one that it was merged into, or that one in the bin.
_PERIODS = "SELECT t.object_type, t.object_id, t.since_us, t.until_us, "
_PERIODS += f"COALESCE((SELECT b.record_id FROM link b WHERE {_MERGED}), t.record_id) AS owner, t.client, t.record_kind, "
_PERIODS += f"COALESCE((SELECT max(b.record_id) FROM deleted_link b WHERE {_MERGED}), t.record_id) AS in_bin "
_PERIODS += "FROM p CROSS JOIN former_owner t WHERE t.client = p.client AND t.object_type = p.object_type AND t.object_id = p.object_id "
_PERIODS += "AND t.record_kind = p.record_kind"
_IN_BIN = "SELECT t.object_type, t.object_id, t.since_us, t.until_us, t.owner, d.record_id, d.deleted_us, d.erasure_asked_us FROM ({}) t "
_IN_BIN += "LEFT JOIN deleted_record d ON d.client = t.client AND d.record_kind = t.record_kind AND d.record_id = t.in_bin"
_FORMER_OWNERS = Statement(
    "former_owners",
    (("client", "bigint"), ("object_type", "text"), ("object_id", "text"), ("record_kind", "bigint")),
    sqlite_set=_IN_BIN.format(_PERIODS),
    body=_IN_BIN.format(f"{_PERIODS} OFFSET 0"),  # else PostgreSQL would read the whole bin: see `address_book.find_by_key`
)
INSERT_FORMER_OWNER = insert(
    "former_owner",
    (("client", "bigint"), ("object_type", "text"), ("object_id", "text"), ("until_us", "bigint"), *RECORD[1:], ("since_us", "bigint")),
)
_THEIRS = "l.client = p.client AND l.record_kind = p.record_kind AND l.record_id = p.record_id AND l.tool = '' "
_THEIRS += "AND l.object_type IN ('contact', 'company')"
_MERGED_IDS = " UNION ALL ".join(f"SELECT CAST(l.object_id AS bigint) FROM {table} l WHERE {_THEIRS}" for table in ("link", "deleted_link"))
FORGET_FORMER_OWNERS = Statement(
    "forget_former_owners",
    RECORD,
    sqlite="DELETE FROM former_owner WHERE client = ?1 AND record_kind = ?2 AND record_id IN (SELECT ?3 UNION ALL "
    + _MERGED_IDS.replace("p.client", "?1").replace("p.record_kind", "?2").replace("p.record_id", "?3")
    + ")",
    body=f"DELETE FROM former_owner t USING p CROSS JOIN LATERAL (SELECT p.record_id AS id UNION ALL {_MERGED_IDS}) r "
    "WHERE t.client = p.client AND t.record_kind = p.record_kind AND t.record_id = r.id",
)
"""Delete the rows of a record and of records merged into it, before its links are deleted."""
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


@dataclass(frozen=True, slots=True)
class DeletedIdentity:
    """A deleted record that had an identity."""

    record_id: int
    deleted_us: Micros
    is_former: bool
    """Whether the identity is an address that the record had lost already, so that another one may have had it."""
    until_us: Micros = 0
    """Until when it had the identity: to the deletion, if not less is known."""
    since_us: Micros = 0
    """Since when it had the identity; 0: not known."""
    awaits_erasure: bool = False
    """Whether a CRM asked to erase the person: until a person decides, later events without another record join the deleted one."""

    @property
    def period(self) -> Period:
        """When it had the identity."""
        return self.since_us, self.until_us, self.record_id


def deleted_having(client: int, kind: int, refs: Iterable[Ref]) -> Plan[dict[Ref, list[DeletedIdentity]]]:
    """Return the deleted records that had these identities, the first deleted first."""
    wanted = sorted(set(refs))
    rows = (yield Execute(DELETED_BY_REF, [(client, *ref) for ref in wanted])) if wanted else []
    deletions: dict[Ref, list[DeletedIdentity]] = {}
    for row in sorted(rows, key=lambda row: (row[7], row[5])):
        if row[4] == kind:
            deletions.setdefault((row[1], row[2], row[3]), []).append(
                DeletedIdentity(row[5], row[7], row[8] is not None, row[8] or row[7], row[9], awaits_erasure=row[10] is not None)
            )
    return deletions


def set_aside_events_of_deleted(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[None]:
    """Store the events about deleted records in their histories, and remove them from these outcomes."""
    batch.retimed = [entry for entry in batch.retimed if entry[0][1] in batch.resolvers[entry[0][0]].by_id]
    subjects = [subject for outcome in outcomes for subject in outcome.subjects]
    if not subjects or not (yield Execute(ANY_FORMER, [(batch.client,)])):
        return
    deleted: dict[int, dict[Ref, list[DeletedIdentity]]] = {}
    for kind in batch.resolvers:
        refs = {ref for subject in subjects if subject.kind == kind for ref in _refs(subject)}
        deleted[kind] = yield from deleted_having(batch.client, kind, refs)
        yield from _add_former_owners(batch.client, kind, batch.resolvers[kind], refs, deleted[kind])
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


def _add_former_owners(
    client: int, kind: int, resolver: Resolver, refs: Iterable[Ref], deleted: dict[Ref, list[DeletedIdentity]]
) -> Plan[None]:
    """Load the owners of keys before the ones in their links."""
    keys = sorted((client, *ref[1:], kind) for ref in refs if not ref[0])
    rows = (yield Execute(_FORMER_OWNERS, keys)) if keys else []
    yield from fill_resolvers(client, {kind: resolver}, (), [(kind, row[4]) for row in rows if row[5] is None])
    for word, key, since_us, until_us, owner, in_bin, deleted_us, asked_us in rows:
        if in_bin is not None:
            identity = DeletedIdentity(in_bin, deleted_us, True, until_us, since_us, awaits_erasure=asked_us is not None)
            deleted.setdefault(("", word, key), []).append(identity)
        elif owner in resolver.by_id:
            resolver.links.former.setdefault(("", word, key), []).append((since_us, until_us, owner))


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
    at, links = subject.stamp[1], batch.resolvers[subject.kind].links
    for ref in _refs(subject):
        owner = _owner(batch, subject, ref)
        is_any = owner is None and subject.event.asks_erasure
        deletions = [
            deletion
            for deletion in deleted.get(ref, ())
            if at < deletion.deleted_us or is_any or (owner is None and deletion.awaits_erasure)
        ]
        if not deletions:
            if owner is not None:
                return None
            continue
        deletion = min(deletions, key=lambda entry: distance(entry.period, at))
        if (present := links.owner_at(ref, at)) is not None and distance(present, at) < distance(deletion.period, at):
            return None
        return deletion.record_id if owner is None or not deletion.is_former or _is_later(owner, ref, deletion, at) else None
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
