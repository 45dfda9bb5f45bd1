"""Projection of a batch: translated deliveries of one client become changed records, in one transaction.

Load the records that the batch names, resolve the subject of each event, insert the events, fold the new ones into their records,
save the changed records, and mark the deliveries.

Messages of a batch: mails and LinkedIn messages of its events, in the transaction that applies them.

Every receipt of an event counts, also a repeated one: the earliest receipt wins, as it does for the event itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from operator import itemgetter

from touchbase.clients.models import ACTIVE, DELETING, SUSPENDED, ClientSettings
from touchbase.clients.sql import clients as clients_sql
from touchbase.clients.sql.clients import client_of
from touchbase.common.field_limits import CUSTOM_FIELDS, MESSAGE_TEXT, NAME, storable
from touchbase.common.timestamps import SECOND, Micros
from touchbase.deliveries.delivery import Delivery, waiting_since
from touchbase.deliveries.sql import statements as inbox_sql
from touchbase.deliveries.work import WorkReport
from touchbase.event_log.models import DELIVERY, by_request
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, EXTERNAL, Author, Event, StoredEvent
from touchbase.history.identity_links import Link, Links, Ref
from touchbase.history.last_writer_wins import NEVER, SEVERAL, effective_time
from touchbase.history.sql import REF, event_of, event_row
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.lookup import fill_resolvers
from touchbase.identity.resolution import Resolver
from touchbase.messages.models import MOST_SUBJECT, OUT_OF_OFFICE, Message, channel_of, direction_of, label_of
from touchbase.messages.sql.plans import ID, assign_to_owners, complete_copies, first_copies, insert_copies, log_messages
from touchbase.projection.address_book import settle_further_emails
from touchbase.projection.batch import ApplyBatch, EventKey, Target, target_of
from touchbase.projection.companies import link_companies, relink_companies
from touchbase.projection.crm_merges import note_merges
from touchbase.projection.delete import delete_requested
from touchbase.projection.deleted_records import set_aside_events_of_deleted
from touchbase.projection.delivery_outcomes import ALL_REPEATED, mark
from touchbase.projection.delivery_parts import DeliveryInParts, end_part
from touchbase.projection.inbox_batch import merge_reports
from touchbase.projection.known_events import (
    RETIME_EVENT,
    by_receipt,
    drop_known_facts,
    drop_repeats,
    position_in,
    retimed_row,
    split_at_repeats,
)
from touchbase.projection.loaded_events import join_loaded_events
from touchbase.projection.logged_changes import log_meetings, log_saved
from touchbase.projection.normalization import DeliveryOutcome, NormalizedDelivery, outcome_of, stored_event
from touchbase.projection.reprojection import reproject
from touchbase.projection.save import Saved, fold_custom_fields, save_records, unite_records
from touchbase.projection.separate import separate_records
from touchbase.projection.suppression_guard import clear_bodies, withhold
from touchbase.projection.suppressions import drop_repeated, named_addresses, note_erased, suppression_needs, update_suppressions
from touchbase.records.models import Record
from touchbase.records.projection import Entry, Folded, fold_event, origin_write, refold_entries, refold_status, write_field
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.address_book import claim_keys
from touchbase.records.sql.custom_values import MARK, change_values, renaming
from touchbase.records.sql.statements import CUSTOM_FIELDS_OF
from touchbase.records.writes import new_write_key
from touchbase.sql.ids import Ids
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Statement

SETTLE_DELAY: Micros = 2 * SECOND
"""Delay before a fetch: often the next webhooks bring the missing values."""

_SAME = "t.client = p.client AND t.tool = p.tool AND t.object_type = p.object_type AND t.object_id = p.object_id"
_FETCH: Columns = (*REF, ("rank", "bigint"), ("thin", "bigint"), ("requested_us", "bigint"), ("next_us", "bigint"), ("attempts", "bigint"))
_EARLIER = "CASE WHEN fetch_queue.next_us < excluded.next_us THEN fetch_queue.next_us ELSE excluded.next_us END"
# `requested_us` always changes, so that a fetch in progress sees that the record was queued again.
_LATER = "CASE WHEN fetch_queue.requested_us >= excluded.requested_us THEN fetch_queue.requested_us + 1 ELSE excluded.requested_us END"
QUEUE_FETCH = Statement(
    "queue_fetch",
    _FETCH,
    body=f"INSERT INTO fetch_queue ({names(_FETCH)}) SELECT * FROM p WHERE true ON CONFLICT (client, tool, object_type, object_id) "
    "DO UPDATE SET rank = excluded.rank, thin = CASE WHEN fetch_queue.thin > excluded.thin THEN fetch_queue.thin "
    f"ELSE excluded.thin END, requested_us = {_LATER}, next_us = {_EARLIER}, attempts = 0",
)
# Rows with `thin` stay: the missing values are still unknown after the object is.
DEQUEUE_FETCH = Statement("dequeue_fetch", REF, body=f"DELETE FROM fetch_queue t USING p WHERE {_SAME} AND t.thin = 0", by_row=True)


def update_fetch_queue(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[None]:
    """Queue the objects that this batch needs, and dequeue objects that became known without a fetch."""
    needed: dict[Ref, tuple[int, int]] = {}
    for outcome in outcomes:
        if outcome.normalized.may_ask and (outcome.parked or outcome.applied):
            _add(batch, outcome, needed)
        needed |= dict.fromkeys(outcome.normalized.lists, (1, 1)) if outcome.normalized.may_ask else {}
    vacated = [
        link.ref
        for resolver in batch.resolvers.values()
        if resolver.links.vacated
        for link in resolver.links.changed.values()
        if link.parking_id is None
    ]
    gone_ids = sorted(set(vacated) - needed.keys())
    if gone_ids:
        yield Execute(DEQUEUE_FETCH, [(batch.client, *ref) for ref in gone_ids])
    if needed:
        at = (batch.now_us, batch.now_us + SETTLE_DELAY, 0)
        yield Execute(QUEUE_FETCH, [(batch.client, *ref, *how, *at) for ref, how in sorted(needed.items())])


def _add(batch: ApplyBatch, outcome: DeliveryOutcome, needed: dict[Ref, tuple[int, int]]) -> None:
    for subject in outcome.subjects:
        if subject.ref is None or subject.event.event.endswith(".deleted"):
            continue
        link = batch.resolvers[subject.kind].links.by_ref.get(subject.ref)
        waits = link is not None and link.parking_id is not None
        if waits or subject.event.thin:
            _, thin = needed.get(subject.ref, (0, 0))
            needed[subject.ref] = (0 if waits else 1, max(thin, int(subject.event.thin)))


def rename_fields(batch: ApplyBatch, saved: Sequence[Saved], ids: Ids) -> Plan[None]:
    """Rename fields that records of the batch have under a former name: of events that had waited, or of restored records.

    The log tells the values of the saved records under the present names alone.
    """
    logged = {(kind, record.id) for kind, old, new in saved for record in (*old, *new)}
    for kind, resolver in batch.resolvers.items():
        renamed = RECORD_TYPES[kind].field_names(batch.settings)
        numbers = {number for of, number in batch.folded if of == kind} | resolver.touched
        numbers = {number for number in numbers if number in resolver.by_id}
        if not renamed or not numbers:
            continue
        rows = yield Execute(CUSTOM_FIELDS_OF, [(batch.client, kind, number) for number in sorted(numbers)])
        contact_ids: dict[str, list[int]] = {}
        for row in rows:
            if row[3] in renamed and (row[5] is not None or MARK not in row[9]):
                contact_ids.setdefault(row[3], []).append(row[2])
        for name, ids_of_name in sorted(contact_ids.items()):
            for is_told in (True, False):
                note, reused_us = batch.note_custom if is_told else None, batch.renamed_since.get((kind, name), 0)
                what = renaming(name, renamed[name], batch.now_us, new_write_key(), reused_us, note=note)
                of_log = [number for number in ids_of_name if ((kind, number) in logged) is is_told]
                for number, updated_us in (yield from change_values(batch.client, kind, of_log, what, ids)).items():
                    resolver.by_id[number].updated_us = updated_us


MAX_PARKED = 5_000
"""Events that wait for the address of one object: they are applied in one transaction once it is known."""
TOO_MANY_PARKED = (
    f"{MAX_PARKED:,} events wait for the address of the object that it is about, and no more are stored; "
    "give the object an e-mail address in the tool or connect a token to fetch it, then replay this webhook"
)

IN_USE = (ACTIVE,)
NOT_DELETED = (ACTIVE, SUSPENDED)
ANY_STATE = (ACTIVE, SUSPENDED, DELETING)
"""States of a client in which its deliveries are applied: by the worker, for an erasure, and for a dry run."""
LINKS_PER_EVENT = 12
"""Links that one event may create, with links of the records that it unites."""


def apply_needs(claimed: Sequence[NormalizedDelivery], attempt: int = 0) -> Mapping[str, int]:
    """Return the ids that applying these may use: at most one record per event, and links for all that it names or unites.

    The number of custom fields in parked events is unknown: each further attempt reserves four times as many ids.
    """
    events = [subject.event for normalized in claimed for subject in normalized.subjects]
    count = len(events)
    links = sum(LINKS_PER_EVENT if event.object_id or event.linkedin_url or event.fields else 1 for event in events)
    links += sum(len(event.emails or ()) for event in events)
    fields = sum(len(event.custom) for event in events) + CUSTOM_FIELDS
    needs = {"contact": count, "company": count, "link": links, "custom_field": fields} | suppression_needs(events)
    needs |= message_needs(events)
    return {name: many * 4**attempt for name, many in needs.items()}


def apply_batch(
    client: int,
    claimed: Sequence[NormalizedDelivery],
    ids: Ids,
    now_us: Micros,
    states: Container[str] = IN_USE,
    in_parts: DeliveryInParts | None = None,
) -> Plan[WorkReport]:
    """Apply translated deliveries; events that another worker has applied change nothing.

    Nothing is applied if the client is no longer in one of these states. With `in_parts`, `claimed` is a part of one delivery, which is
    marked after the last part.
    """
    report = WorkReport()
    for part in split_at_repeats(claimed):
        report = merge_reports(report, (yield from _apply_part(client, part, ids, now_us, states, in_parts)))
    return report


def _apply_part(
    client: int, claimed: Sequence[NormalizedDelivery], ids: Ids, now_us: Micros, states: Container[str], in_parts: DeliveryInParts | None
) -> Plan[WorkReport]:
    clients = [client_of(row) for row in (yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)]))]
    if not clients or clients[0].state not in states:
        return WorkReport()
    settings = clients[0].settings
    outcomes = [outcome_of(normalized) for normalized in claimed]
    listed = named_addresses(outcomes)
    withheld = yield from withhold(client, outcomes, now_us)
    note_erased(listed, outcomes)
    named = named_messages(outcomes)
    yield from drop_repeats(client, outcomes, counted=in_parts is None or in_parts.at == 0)
    drop_repeated(listed, outcomes)
    batch = new_batch(client, now_us, settings, ids)
    batch.deliveries = [outcome.delivery.id for outcome in outcomes]
    yield from note_mappings(batch, outcomes)
    yield from drop_known_facts(batch, outcomes)
    subjects = [subject for outcome in outcomes for subject in outcome.subjects]
    new: list[StoredEvent] = []
    if subjects or batch.retimed:
        new = yield from _apply_subjects(batch, subjects, outcomes, ids)
    yield from update_fetch_queue(batch, outcomes)
    yield from update_suppressions(batch, listed, new, ids)
    yield from store_messages(batch, named, new, ids)
    yield from log_meetings(batch, new)
    yield from delete_requested(batch, new)
    oldest = min(
        (waiting_since(normalized.delivery.received_us, normalized.delivery.next_attempt_us) for normalized in claimed), default=None
    )
    report = WorkReport(created=sum(len(resolver.created) for resolver in batch.resolvers.values()), oldest_us=oldest)
    if in_parts is None:
        yield from mark(batch, outcomes, report)
    else:
        yield from end_part(batch, outcomes[0], in_parts, withheld.deliveries, report)
    yield from clear_bodies(withheld, now_us)
    return report


def _apply_subjects(
    batch: ApplyBatch, subjects: Sequence[EventSubject], outcomes: list[DeliveryOutcome], ids: Ids
) -> Plan[list[StoredEvent]]:
    """Change the records that the subjects are about; return the events that are new to their record."""
    yield from fill_resolvers(batch.client, batch.resolvers, subjects, [target for target, *_ in batch.retimed])
    yield from set_aside_events_of_deleted(batch, outcomes)
    yield from note_merges(batch, [subject for outcome in outcomes for subject in outcome.subjects])
    _resolve_all(batch, outcomes)
    yield from refuse_above_limit(batch)
    yield from unite_records(batch)
    yield from move_parked(batch)
    yield from separate_records(batch)
    _note_joins(batch)
    added = yield from join_loaded_events(batch, outcomes)
    new = [*(yield from insert_events(batch)), *added]
    yield from project_events(batch, new, ids)
    return new


def note_mappings(batch: ApplyBatch, outcomes: Sequence[DeliveryOutcome]) -> Plan[None]:
    """Note the saved mappings that read these deliveries again: what they change is a part of that change."""
    replays = sorted(outcome.delivery.id for outcome in outcomes if outcome.delivery.next_attempt_us < 0)
    for number, request_id, actor in (
        (yield Execute(inbox_sql.MAPPINGS_OF, [(batch.client, number) for number in replays])) if replays else ()
    ):
        batch.mappings[number] = by_request(Author(actor or None, request_id)) | {"origin": DELIVERY}


def new_batch(client: int, now_us: Micros, settings: ClientSettings, ids: Ids) -> ApplyBatch:
    """Return an empty batch."""

    def link_id() -> int:
        return ids.take("link")

    resolvers = {
        CONTACT: Resolver(client, CONTACT, lambda: ids.take("contact"), Links(CONTACT, link_id), settings.create_unknown),
        COMPANY: Resolver(client, COMPANY, lambda: ids.take("company"), Links(COMPANY, link_id), settings.create_unknown),
    }
    return ApplyBatch(client, now_us, settings, resolvers)


def project_events(batch: ApplyBatch, new: list[StoredEvent], ids: Ids) -> Plan[None]:
    """Fold events that are new to their records, save the records, and mark deliveries whose stored events moved."""
    yield from _fold(batch, new)
    yield from fold_custom_fields(batch, new, ids)
    company_events = yield from reproject(batch, new, ids)
    company_events += yield from relink_companies(batch)
    yield from link_companies(batch, [*new, *company_events])
    yield from settle_further_emails(batch, new)
    saved = yield from save_records(batch)
    for contact, keys in batch.claimed:
        yield from claim_keys(contact, "email_key", keys)
    for contact, profile in batch.resolvers[CONTACT].further_profiles():
        yield from claim_keys(contact, "linkedin_key", [profile])
    yield from rename_fields(batch, saved, ids)
    for kind, old, new_records in saved:
        yield from log_saved(batch, kind, old, new_records)
    if batch.unparked:
        yield Execute(inbox_sql.UNPARK_DELIVERY, [(batch.client, number, batch.now_us) for number in sorted(batch.unparked)])
    if batch.emptied:
        yield Execute(inbox_sql.IGNORE_EMPTIED, [(batch.client, number, ALL_REPEATED, batch.now_us) for number in sorted(batch.emptied)])


def _resolve_all(batch: ApplyBatch, outcomes: list[DeliveryOutcome]) -> None:
    for outcome in sorted(outcomes, key=by_receipt):
        for subject in outcome.subjects:
            if _is_duplicate(batch, subject):
                outcome.repeated += 1
                continue
            record = batch.resolvers[subject.kind].resolve(subject)
            if record is None:
                outcome.unknown += 1
                continue
            batch.facts.add((subject.key, None if subject.own_id else subject.at))
            if (subject.key, outcome.delivery.id) in batch.waiting:
                outcome.repeated += 1
                continue
            target = target_of(record) if isinstance(record, Link) else (subject.kind, record.id)
            _add_pending(batch, target, outcome, subject)
    for resolver in batch.resolvers.values():
        resolver.unite_equal()
    batch.follow_unions()


def _note_joins(batch: ApplyBatch) -> None:
    """Note joins that no event of the batch has, because several have caused them, in the last event of the record."""
    for kind, resolver in batch.resolvers.items():
        for absorbed, _ in resolver.united:
            events = batch.pending.get((kind, batch.final(kind, absorbed.id)), [])
            is_noted = any(absorbed.id in event.detail.get("joined", ()) for event in events)
            if events and absorbed.id not in resolver.created and not is_noted:
                last = max(events, key=_receipt)
                last.detail = {**last.detail, "joined": [*last.detail.get("joined", ()), absorbed.id]}


def _is_duplicate(batch: ApplyBatch, subject: EventSubject) -> bool:
    """Whether an earlier event of the batch is the same fact."""
    return (subject.key, None if subject.own_id else subject.at) in batch.facts


def _add_pending(batch: ApplyBatch, target: Target, outcome: DeliveryOutcome, subject: EventSubject) -> None:
    batch.resolvers[subject.kind].record_addresses(subject)
    event = stored_event(subject, outcome.delivery, *target, batch.settings)
    outcome.problems |= event.detail.get("problems", {})
    batch.pending.setdefault(target, []).append(event)
    if target[0] == EXTERNAL:
        outcome.parked += 1
        outcome.unknown += subject.primary is not None  # the address has no record, and the event may not create one
    batch.causes.setdefault((*target, event.occurred_us, event.key), []).append(outcome)


def refuse_above_limit(batch: ApplyBatch) -> Plan[None]:
    """Drop the events of objects that have `MAX_PARKED` waiting events; their deliveries fail, and can be replayed."""
    parking = {target for target in batch.pending if target[0] == EXTERNAL}
    if not parking:
        return
    rows = yield Execute(history_sql.EVENT_COUNTS, [(batch.client, *target) for target in sorted(parking)])
    counts: dict[int, int] = {row[0]: row[1] for row in rows}
    full = [target for target in parking if counts.get(target[1], 0) + len(batch.pending[target]) > MAX_PARKED]
    for target in full:
        keys = sorted({(*target, event.occurred_us, event.key) for event in batch.pending[target]})
        rows = yield Execute(history_sql.EVENT_BY_KEY, [(batch.client, *key) for key in keys])
        waiting = {(event.record_kind, event.record_id, event.occurred_us, event.key) for event in map(event_of, rows)}
        refused = set([key for key in keys if key not in waiting][max(0, MAX_PARKED - counts.get(target[1], 0)) :])
        batch.pending[target] = [event for event in batch.pending[target] if (*target, event.occurred_us, event.key) not in refused]
        for outcome in (outcome for key in refused for outcome in batch.causes.pop(key)):
            outcome.parked -= 1
            outcome.refused = TOO_MANY_PARKED


def move_parked(batch: ApplyBatch) -> Plan[None]:
    """Move the events of links that were resolved into the history of the record, or to another link."""
    targets = {parking_id: target_of(link) for resolver in batch.resolvers.values() for parking_id, link in resolver.links.vacated.items()}
    if not targets:
        return
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, EXTERNAL, parking_id) for parking_id in targets])
    yield Execute(history_sql.DELETE_EVENTS_OF, [(batch.client, EXTERNAL, parking_id) for parking_id in targets])
    for row in rows:
        event = event_of(row)
        event.record_kind, event.record_id = targets[event.record_id]
        if event.delivery_id is not None and event.record_kind != EXTERNAL:
            batch.unparked.add(event.delivery_id)
        batch.moved.append(event)


def insert_events(batch: ApplyBatch) -> Plan[list[StoredEvent]]:
    """Insert all events; return the events that are new to their record."""
    by_key: dict[EventKey, StoredEvent] = {}
    final: dict[Target, int] = {}
    for event in [*batch.moved, *(event for events in batch.pending.values() for event in events)]:
        if (target := (event.record_kind, event.record_id)) not in final:
            final[target] = batch.final(*target)
        event.record_id = final[target]
        key = (event.record_kind, event.record_id, event.occurred_us, event.key)
        if key not in by_key or _receipt(event) < _receipt(by_key[key]):  # the delivery that brought it first is its cause
            by_key[key] = event
    inserted = yield Execute(history_sql.INSERT_EVENT, [event_row(batch.client, event) for event in by_key.values()])
    new = set(inserted)
    for event in batch.moved:
        key = (event.record_kind, event.record_id, event.occurred_us, event.key)
        if event.delivery_id is not None and (key not in new or by_key[key] is not event):
            batch.emptied.add(event.delivery_id)
    moved = {id(event) for event in batch.moved}
    inserted_now = {key for key in new if id(by_key[key]) not in moved}
    waiting: list[tuple[EventKey, DeliveryOutcome]] = []
    for key, outcomes in batch.causes.items():
        for position, outcome in enumerate(outcomes):
            is_first = key in inserted_now and position == 0
            if key[0] != EXTERNAL:
                _count(outcome, applied=is_first)
            elif not is_first:
                waiting.append((key, outcome))
    if waiting:
        yield from _count_parked_repeats(batch, waiting, by_key)
    return [event for key, event in by_key.items() if key in new and key[0] != EXTERNAL]


def _receipt(event: StoredEvent) -> tuple[Micros, int]:
    return event.received_us, event.delivery_id or 0


def _count_parked_repeats(
    batch: ApplyBatch, waiting: list[tuple[EventKey, DeliveryOutcome]], by_key: Mapping[EventKey, StoredEvent]
) -> Plan[None]:
    """Count a fact that already waits as a repeat, unless it is from the same delivery (a replay).

    An earlier receipt replaces the stored one.
    """
    rows = yield Execute(history_sql.EVENT_BY_KEY, [(batch.client, *key) for key in sorted({key for key, _ in waiting})])
    stored = {(event.record_kind, event.record_id, event.occurred_us, event.key): event for event in map(event_of, rows)}
    owners = {key: event.delivery_id for key, event in stored.items()}
    earlier = {key: by_key[key] for key, event in stored.items() if _receipt(by_key[key]) < _receipt(event)}
    for key, event in earlier.items():
        batch.emptied.add(owners[key] or 0)
        owners[key] = event.delivery_id
    if earlier:
        yield Execute(RETIME_EVENT, [retimed_row(batch.client, *key, event) for key, event in sorted(earlier.items(), key=itemgetter(0))])
    for key, outcome in waiting:
        if owners.get(key) != outcome.delivery.id:
            outcome.parked -= 1
            outcome.repeated += 1


def _count(outcome: DeliveryOutcome, *, applied: bool) -> None:
    if applied:
        outcome.applied += 1
    else:
        outcome.repeated += 1


def _fold(batch: ApplyBatch, new: list[StoredEvent]) -> Plan[None]:
    for kind, number in [*(target for target, _ in batch.retimed), *batch.removed_times]:
        batch.folded.setdefault((kind, batch.final(kind, number)), Folded()).late = True
    words = {kind: batch.settings.words(kind) for kind in (CONTACT, COMPANY)}
    for event in new:
        batch.triggers.setdefault((event.record_kind, event.record_id), []).append(event)
        record = batch.resolvers[event.record_kind].by_id[event.record_id]
        folded = batch.folded.get((event.record_kind, event.record_id))
        if folded is None:
            folded = batch.folded[event.record_kind, event.record_id] = Folded()
        fold_event(record, event, folded, words[event.record_kind])
        if "absorbed" in event.detail:
            record.stamps[SEVERAL], folded.changed = NEVER, True
        if SEVERAL in record.stamps and event.event.startswith(("contact.", "company.")):
            folded.late = True  # a later status of an absorbed object does not count
        if (origin := origin_write(event)) is not None:
            folded.changed |= write_field(record, "origin", *origin)
    late = [target for target, folded in batch.folded.items() if folded.late]
    if late:
        yield from _refold(batch, late)


def _refold(batch: ApplyBatch, late: list[Target]) -> Plan[None]:
    entries: dict[Target, list[Entry]] = {target: [] for target in late}
    of_objects: set[Target] = set()
    for kind, number, occurred_us, received_us, key, effect, status, is_request, detail in (
        yield Execute(history_sql.BRIEF_ENTRIES_OF, [(batch.client, *target) for target in late])
    ):
        if not effect:
            of_objects.add((kind, number))
        else:
            position = None if is_request else 0 if detail is None else position_in(detail)
            entries[kind, number].append((*effective_time(occurred_us, received_us, key, position), effect, status))
    histories: dict[Target, list[StoredEvent]] = {target: [] for target in sorted(of_objects)}
    for row in (yield Execute(history_sql.STATUS_ENTRIES_OF, [(batch.client, *target) for target in histories])):
        histories[row[1], row[2]].append(event_of(row))
    for target in late:
        record: Record = batch.resolvers[target[0]].by_id[target[1]]
        before = _status_values(record)
        words = batch.settings.words(target[0])
        if target in histories:
            refold_status(record, histories[target], words)
        else:
            refold_entries(record, entries[target], words)
        batch.folded[target].changed |= before != _status_values(record)


def _status_values(record: Record) -> tuple[object, ...]:
    """Return everything that folding a status sets."""
    entry = (record.status_entry_us, record.status_entry_key, record.status_cause, record.status_path)
    return (record.status, record.previous_status, record.status_changed_us, *entry)


Named = list[tuple[EventSubject, Delivery]]
MOST_ID = 1_000
"""Characters of a message id or thread id: ids of mails may be long."""


def message_needs(events: Iterable[Event]) -> dict[str, int]:
    """Return the ids that applying these events may use."""
    return {ID: sum(event.message is not None for event in events)}


def named_messages(outcomes: Sequence[DeliveryOutcome]) -> Named:
    """Return the subjects with a message; call it after those about erased persons are removed, and before the repeats are."""
    return [
        (subject, outcome.delivery)
        for outcome in outcomes
        for subject in outcome.subjects
        if subject.event.message is not None and subject.kind == CONTACT
    ]


def store_messages(batch: ApplyBatch, named: Named, new: Sequence[StoredEvent], ids: Ids) -> Plan[None]:
    """Store the messages of events that are in a history, or wait for their contact; log the ones with a contact from now on.

    `new` are the events that are new to their record, also events that waited for it.
    """
    if batch.unparked:
        moved = [(event.key, event.occurred_us) for event in new if event.record_kind == CONTACT and event.delivery_id in batch.unparked]
        yield from log_messages(batch.client, (yield from first_copies(batch.client, moved)), batch.now_us, batch.cause)
    if not named:
        return
    first: dict[tuple[str, int], Message] = {}
    repeats: list[Message] = []
    for subject, delivery in sorted(named, key=lambda pair: (pair[1].received_us, pair[1].id)):
        copy = _message(subject, delivery, batch.settings)
        if (joined := batch.joined.get((subject.key, subject.at))) is not None:
            copy.event_key, copy.occurred_us = joined
            repeats.append(copy)
        first.setdefault((copy.event_key, copy.occurred_us), copy)
    copies = yield from insert_copies(batch.client, list(first.values()), ids)
    yield from complete_copies(batch.client, repeats)
    yield from log_messages(batch.client, copies, batch.now_us, batch.cause)
    yield from assign_to_owners(batch.client, copies, batch.resolvers[CONTACT].by_id, batch.now_us, batch.cause)


def _message(subject: EventSubject, delivery: Delivery, settings: ClientSettings) -> Message:
    event = subject.event
    content = event.message
    assert content is not None
    title = text = html = None
    if settings.store_message_bodies:
        title, html = _text(content.subject, MOST_SUBJECT), _text(content.html, MESSAGE_TEXT)
        text = _text(content.text, MESSAGE_TEXT)
    campaign_id, campaign = _text(event.campaign_id, NAME), _text(event.campaign, NAME)
    label = label_of(content.category)
    return Message(
        id=0, direction=direction_of(event), channel=channel_of(event), occurred_us=subject.at, event_key=subject.key,
        delivery_id=delivery.id, received_us=delivery.received_us, tool=subject.tool, mailbox=_text(content.mailbox, NAME),
        subject=title, text=text, html=html, campaign_id=campaign_id, campaign_name=None if campaign == campaign_id else campaign,
        step=_text(event.step, NAME), message_id=_id(content.message_id), thread_id=_text(content.thread_id, MOST_ID),
        category=_text(content.category, NAME), automatic=event.event == "email_auto_replied" or label == OUT_OF_OFFICE, label=label,
        reply_ref=content.reply_ref, thread_url=content.thread_url,
    )  # fmt: skip


def _id(text: str | None) -> str | None:
    """Return an id; a too long one is left out, since cut ids may be equal."""
    return None if text is None or len(text) > MOST_ID else _text(text, MOST_ID)


def _text(text: str | None, most: int) -> str | None:
    storable_text = storable(text, most)
    return storable_text.strip() or None if storable_text is not None else None
