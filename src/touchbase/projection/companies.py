"""Companies of contacts: a CRM's contact names its company's object, which may become known before or after the contact.

The contact's `company_id` has a stamp like any deliberate value. While the object is unknown, the claim is stored.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from touchbase.common.timestamps import Micros
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE, NEVER, EffectiveTime
from touchbase.history.sql import event_of
from touchbase.identity.lookup import add_records
from touchbase.projection.batch import ApplyBatch
from touchbase.records.models import Contact
from touchbase.records.projection import Folded, write_field
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.rows import CONTACT as CONTACT_COLUMNS
from touchbase.records.sql.statements import lock_records
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Statement, delete

_CLAIM: Columns = (*history_sql.REF, *RECORD[1:], ("stamped_us", "bigint"), ("stamp_key", "text"))
SAVE_CLAIM = Statement(
    "save_claim",
    _CLAIM,
    body=f"INSERT INTO pending_company_link ({names(_CLAIM)}) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, tool, object_type, object_id, record_kind, record_id) "
    "DO UPDATE SET stamped_us = excluded.stamped_us, stamp_key = excluded.stamp_key "
    "WHERE (pending_company_link.stamped_us, pending_company_link.stamp_key) < (excluded.stamped_us, excluded.stamp_key)",
)
CLAIMS_OF_OBJECT = Statement(
    "claims_of_object",
    history_sql.REF,
    body=f"SELECT {names(_CLAIM, 't.')} FROM p CROSS JOIN pending_company_link t WHERE t.client = p.client AND t.tool = p.tool "
    "AND t.object_type = p.object_type AND t.object_id = p.object_id",
)
DELETE_CLAIMS_OF = delete("delete_claims_of", "pending_company_link", RECORD)
DELETE_CLAIMS_OF_OBJECT = delete("delete_claims_of_object", "pending_company_link", history_sql.REF)
CONTACTS_OF_COMPANY = Statement(
    "contacts_of_company",
    ROW_KEY,
    body=f"SELECT {names(CONTACT_COLUMNS, 't.')} FROM p CROSS JOIN contact t WHERE t.client = p.client AND t.company_id = p.id",
    lock=" ORDER BY t.client, t.id FOR UPDATE OF t",
)
Claim = tuple[Ref, int, Micros, str]
"""A company's object, the contact that names it, and the time and key of the event."""


def link_companies(batch: ApplyBatch, new: Iterable[StoredEvent]) -> Plan[None]:
    """Set the companies of contacts that these events name, and of stored claims whose company is known now."""
    claims = [claim for event in new if (claim := _claim(event)) is not None]
    waiting = yield from _waiting(batch)
    companies = yield from _companies(batch, sorted({ref for ref, *_ in (*claims, *waiting)}))
    claims_here = [claim for claim in (*claims, *waiting) if claim[0] in companies]
    unknown = [claim for claim in claims if claim[0] not in companies]
    if unknown:
        # Sorted by time: if a contact names an object twice, only the newest claim is stored.
        newest = {(ref, contact): (at, key) for ref, contact, at, key in sorted(unknown, key=lambda claim: claim[2:])}
        rows = [(batch.client, *ref, CONTACT, contact, *stamp) for (ref, contact), stamp in sorted(newest.items())]
        yield Execute(SAVE_CLAIM, rows)
    yield from _load(batch, [contact for _, contact, *_ in claims_here])
    for ref, number, at, key in claims_here:
        _set_company(batch, number, companies[ref], at, key)
    if resolved := sorted({ref for ref, *_ in waiting if ref in companies}):
        yield Execute(DELETE_CLAIMS_OF_OBJECT, [(batch.client, *ref) for ref in resolved])


def relink_companies(batch: ApplyBatch) -> Plan[list[StoredEvent]]:
    """Find the contacts of companies that were separated, and clear the links; return the events that set them again."""
    naming: list[StoredEvent] = []
    if not batch.separated_companies:
        return naming
    contacts = batch.resolvers[CONTACT]
    rows = yield Execute(CONTACTS_OF_COMPANY, [(batch.client, number) for number in sorted(batch.separated_companies)])
    add_records(CONTACT, contacts, rows)
    there = {
        contact.id: contact
        for contact in contacts.by_id.values()
        if isinstance(contact, Contact) and contact.company_id in batch.separated_companies
    }
    histories: dict[int, list[StoredEvent]] = {number: [] for number in there}
    for row in (yield Execute(history_sql.EVENTS_OF, [(batch.client, CONTACT, number) for number in sorted(there)])):
        histories[row[2]].append(event_of(row))
    for number, history in histories.items():
        set_by = there[number].stamps.get("company_id", NEVER)[1:]
        if any(event.effective_time == set_by and _claim(event) is not None for event in history):
            naming += yield from clear_company(batch, there[number], {set_by}, history)
    return naming


def clear_company(
    batch: ApplyBatch, contact: Contact, removed: Container[EffectiveTime], history: Sequence[StoredEvent]
) -> Plan[list[StoredEvent]]:
    """Clear a company that a moved event had set; return the events that still name a company."""
    naming = [event for event in history if _claim(event) is not None]
    yield Execute(DELETE_CLAIMS_OF, [(batch.client, CONTACT, contact.id)])  # these events claim them again
    if contact.stamps.get("company_id", NEVER)[1:] in removed:
        contact.company_id = None
        del contact.stamps["company_id"]
        batch.resolvers[CONTACT].rekeyed[contact.id] = contact
        for event in history:
            if event.via == VIA_API and "company_id" in event.detail.get("fields", {}):
                company = yield from existing_company(batch, event.detail["fields"]["company_id"])
                write_field(contact, "company_id", company, (DELIBERATE, *event.effective_time))
    return naming


def existing_company(batch: ApplyBatch, company_id: int | None) -> Plan[int | None]:
    """Return a company named by a request, or its survivor after a merge; None if it was deleted since."""
    if company_id is None:
        return None
    companies = yield from _companies(batch, [("", "company", str(company_id))])
    if companies or int(company_id) in batch.resolvers[COMPANY].by_id:
        return next(iter(companies.values()), int(company_id))
    rows = yield Execute(records_sql.COMPANY_EXISTS, [(batch.client, int(company_id))])
    return int(company_id) if rows else None


def _claim(event: StoredEvent) -> Claim | None:
    named = event.detail.get("company")
    if named is None or event.record_kind != CONTACT:
        return None
    return (event.tool, f"company:{named[0]}", named[1]), event.record_id, *event.effective_time


def _waiting(batch: ApplyBatch) -> Plan[list[Claim]]:
    """Return the stored claims on objects whose company became known in this batch."""
    links = batch.resolvers[COMPANY].links.changed.values()
    refs = sorted(link.ref for link in links if link.record_kind == COMPANY and link.ref[0])
    if not refs:
        return []
    rows = yield Execute(CLAIMS_OF_OBJECT, [(batch.client, *ref) for ref in refs])
    return [((row[1], row[2], row[3]), row[5], row[6], row[7]) for row in rows]


def _companies(batch: ApplyBatch, refs: Sequence[Ref]) -> Plan[dict[Ref, int]]:
    """Return the known companies of these objects."""
    if not refs:
        return {}
    resolver = batch.resolvers[COMPANY]
    numbers = {ref: number for ref in refs if (number := resolver.links.record_id(ref)) is not None}
    if missing := [ref for ref in refs if ref not in resolver.links.by_ref]:
        rows = yield Execute(history_sql.LINK_BY_REF, [(batch.client, *ref) for ref in missing])
        numbers |= {(row[1], row[2], row[3]): row[6] for row in rows if row[5] == COMPANY and row[6] is not None}
    numbers = {ref: batch.final(COMPANY, number) for ref, number in numbers.items()}
    there = set(resolver.by_id)
    if doubtful := sorted(set(numbers.values()) - there):
        rows = yield Execute(records_sql.COMPANY_EXISTS, [(batch.client, number) for number in doubtful])
        there |= {row[1] for row in rows}
    return {ref: number for ref, number in numbers.items() if number in there}


def _load(batch: ApplyBatch, contacts: Iterable[int]) -> Plan[None]:
    resolver = batch.resolvers[CONTACT]
    if missing := sorted(set(contacts) - set(resolver.by_id)):
        add_records(CONTACT, resolver, (yield from lock_records(batch.client, CONTACT, missing)))


def _set_company(batch: ApplyBatch, number: int, company: int, at: Micros, key: str) -> None:
    resolver = batch.resolvers[CONTACT]
    contact = resolver.by_id.get(number)
    if not isinstance(contact, Contact):
        return
    before = contact.company_id
    if write_field(contact, "company_id", company, (DELIBERATE, at, key)):
        batch.folded.setdefault((CONTACT, number), Folded()).changed = True
        if before != company:
            resolver.rekeyed[number] = contact
