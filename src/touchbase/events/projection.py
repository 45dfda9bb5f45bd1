"""Applying a batch: translated deliveries of one client -> changed records, in one transaction.

Find the records that the batch names, resolve who each event is about, insert the events, fold those
that are new into their records, write the records that changed, and mark the deliveries.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from touchbase.clients import statements as clients_sql
from touchbase.clients.models import ACTIVE, DELETING, SUSPENDED, ClientSettings
from touchbase.clients.rows import client_of
from touchbase.common.field_limits import CUSTOM_FIELDS
from touchbase.common.timestamps import Micros
from touchbase.events import projection_custom_fields
from touchbase.events.delivery_outcomes import KNOWN_ALREADY, mark
from touchbase.events.delivery_parts import Division, end_part
from touchbase.events.event_normalization import NormalizedDelivery, Outcome, outcome_of, stored
from touchbase.events.event_subject import EventSubject
from touchbase.events.fetch_queue import note_wants
from touchbase.events.identity_lookup import fill_resolvers
from touchbase.events.identity_resolution import Resolver
from touchbase.events.inbox_batch import merged
from touchbase.events.known_events import by_receipt, set_aside_known
from touchbase.events.projection_batch import Batch, EventKey, Target, home_of
from touchbase.events.projection_companies import link_companies, retell_companies
from touchbase.events.projection_save import save_records, unite_records
from touchbase.events.projection_separate import separate_records
from touchbase.events.repeats import drop_repeats, parts_of
from touchbase.events.reprojection import project_again
from touchbase.events.suppression_guard import drop_bodies, withhold
from touchbase.events.work import WorkReport
from touchbase.history import statements as history_sql
from touchbase.history.events import COMPANY, CONTACT, EXTERNAL, StoredEvent
from touchbase.history.identity_links import Link, Links
from touchbase.history.rows import event_of, event_row
from touchbase.inbox import statements as inbox_sql
from touchbase.inbox.delivery import waits_since
from touchbase.records.projection import Folded, Record, fold_event, origin_write, refold_status, write_field
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row

IN_USE = (ACTIVE,)
KEPT = (ACTIVE, SUSPENDED)
ANY = (ACTIVE, SUSPENDED, DELETING)
"""States of a client in which its deliveries are applied: as they come, for an erasure, and for a rehearsal of which nothing is kept."""
LINKS = 12
"""Links that one event may make: its own, and those of the records that it unites."""


def apply_needs(claimed: Sequence[NormalizedDelivery], attempt: int = 0) -> Mapping[str, int]:
    """The ids that applying these may take: at most a record for each event, and links for all that it names or unites.

    What waits for them brings custom fields that nobody has counted: each further attempt asks for four times as many ids.
    """
    events = [seen.event for sighted in claimed for seen in sighted.sightings]
    count = len(events)
    links = sum(LINKS if event.object_id or event.linkedin_url or event.fields else 1 for event in events)
    fields = sum(len(event.custom) for event in events) + CUSTOM_FIELDS
    needs = {"contact": count, "company": count, "link": links, "custom_field": fields}
    return {name: many * 4**attempt for name, many in needs.items()}


def apply_batch(
    client: int,
    claimed: Sequence[NormalizedDelivery],
    ids: Ids,
    now_us: Micros,
    states: Container[str] = IN_USE,
    division: Division | None = None,
) -> Plan[WorkReport]:
    """Apply translated deliveries. What somebody else has applied meanwhile changes nothing a second time.

    Nothing is applied of a client that is not in one of these states any more since they were claimed. With a division, what was
    claimed is a part of one delivery, which is marked after the last.
    """
    report = WorkReport()
    for part in parts_of(claimed):
        report = merged(report, (yield from _apply_part(client, part, ids, now_us, states, division)))
    return report


def _apply_part(
    client: int, claimed: Sequence[NormalizedDelivery], ids: Ids, now_us: Micros, states: Container[str], division: Division | None
) -> Plan[WorkReport]:
    found = [client_of(row) for row in (yield Execute(clients_sql.CLIENT_BY_NUMBER, [(client,)]))]
    if not found or found[0].state not in states:
        return WorkReport()
    settings = found[0].settings
    outcomes = [outcome_of(seen) for seen in claimed]
    withheld = yield from withhold(client, outcomes, now_us)
    yield from drop_repeats(client, outcomes, counted=division is None or division.at == 0)
    batch = Batch(client, now_us, settings, _resolvers(client, ids, settings))
    yield from set_aside_known(batch, outcomes)
    sightings = [seen for outcome in outcomes for seen in outcome.sightings]
    if sightings or batch.retimed:
        yield from fill_resolvers(client, batch.resolvers, sightings, [target for target, *_ in batch.retimed])
        _resolve_all(batch, outcomes)
        yield from unite_records(batch)
        yield from _move_waiting(batch)
        yield from separate_records(batch)
        new = yield from _insert_events(batch)
        yield from _fold(batch, new)
        yield from projection_custom_fields.fold_custom_fields(client, batch.resolvers, new, ids, now_us)
        told_again = yield from project_again(batch, new)
        told_again += yield from retell_companies(batch)
        yield from link_companies(batch, [*new, *told_again])
        yield from save_records(batch)
        yield from note_wants(batch, outcomes)
        if batch.unparked:
            yield Execute(inbox_sql.UNPARK_DELIVERY, [(client, number, now_us) for number in sorted(batch.unparked)])
        if batch.emptied:
            yield Execute(inbox_sql.IGNORE_EMPTIED, [(client, number, KNOWN_ALREADY, now_us) for number in sorted(batch.emptied)])
    oldest = min((waits_since(seen.delivery.received_us, seen.delivery.next_attempt_us) for seen in claimed), default=None)
    report = WorkReport(created=sum(len(one.created) for one in batch.resolvers.values()), oldest_us=oldest)
    if division is None:
        yield from mark(batch, outcomes, report)
    else:
        yield from end_part(batch, outcomes[0], division, withheld.deliveries, report)
    yield from drop_bodies(withheld, now_us)
    return report


def _resolvers(client: int, ids: Ids, settings: ClientSettings) -> dict[int, Resolver]:
    def link_id() -> int:
        return ids.take("link")

    return {
        CONTACT: Resolver(client, CONTACT, lambda: ids.take("contact"), Links(CONTACT, link_id), settings.create_unknown),
        COMPANY: Resolver(client, COMPANY, lambda: ids.take("company"), Links(COMPANY, link_id), settings.create_unknown),
    }


def _resolve_all(batch: Batch, outcomes: list[Outcome]) -> None:
    for outcome in sorted(outcomes, key=by_receipt):
        for seen in outcome.sightings:
            if _is_told(batch, seen):
                outcome.repeated += 1
                continue
            found = batch.resolvers[seen.kind].resolve(seen)
            if found is None:
                outcome.unknown += 1
                continue
            batch.told.add((seen.key, None if seen.own_id else seen.at))
            if (seen.key, outcome.delivery.id) in batch.waiting:
                outcome.repeated += 1
                continue
            target = home_of(found) if isinstance(found, Link) else (seen.kind, found.id)
            _await(batch, target, outcome, seen)
    for resolver in batch.resolvers.values():
        resolver.unite_alike()
    batch.follow_unions()


def _is_told(batch: Batch, seen: EventSubject) -> bool:
    """Whether an earlier sighting of the batch is of the same fact."""
    return (seen.key, None if seen.own_id else seen.at) in batch.told


def _await(batch: Batch, target: Target, outcome: Outcome, seen: EventSubject) -> None:
    batch.resolvers[seen.kind].note_addresses(seen)
    event = stored(seen, outcome.delivery, *target, batch.settings)
    outcome.problems |= event.detail.get("problems", {})
    batch.pending.setdefault(target, []).append(event)
    if target[0] == EXTERNAL:
        outcome.parked += 1
        outcome.unknown += seen.primary is not None  # an address that nobody has: the record may not be made
    batch.causes.setdefault((*target, event.occurred_us, event.key), []).append(outcome)


def _move_waiting(batch: Batch) -> Plan[None]:
    """The events of a place that was left join the history of the record that is known now, or wait in another place."""
    targets = {place: home_of(link) for one in batch.resolvers.values() for place, link in one.links.left.items()}
    if not targets:
        return
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, EXTERNAL, place) for place in targets])
    yield Execute(history_sql.DELETE_EVENTS_OF, [(batch.client, EXTERNAL, place) for place in targets])
    for row in rows:
        event = event_of(row)
        event.record_kind, event.record_id = targets[event.record_id]
        if event.delivery_id is not None and event.record_kind != EXTERNAL:
            batch.unparked.add(event.delivery_id)
        batch.moved.append(event)


def _insert_events(batch: Batch) -> Plan[list[StoredEvent]]:
    """Insert all events; answers those that their record did not have yet."""
    wanted: dict[EventKey, StoredEvent] = {}
    rows: list[Row] = []
    # What moves comes first: the call that told it first stays its cause.
    for event in [*batch.moved, *(event for events in batch.pending.values() for event in events)]:
        event.record_id = batch.final(event.record_kind, event.record_id)
        key = (event.record_kind, event.record_id, event.occurred_us, event.key)
        if key not in wanted:
            wanted[key] = event
            rows.append(event_row(batch.client, event))
    inserted = yield Execute(history_sql.INSERT_EVENT, rows)
    new = set(inserted)
    for event in batch.moved:
        key = (event.record_kind, event.record_id, event.occurred_us, event.key)
        if event.delivery_id is not None and (key not in new or wanted[key] is not event):
            batch.emptied.add(event.delivery_id)
    told_now = new - {(event.record_kind, event.record_id, event.occurred_us, event.key) for event in batch.moved}
    waiting: list[tuple[EventKey, Outcome]] = []
    for key, outcomes in batch.causes.items():
        for position, outcome in enumerate(outcomes):
            is_first = key in told_now and position == 0
            if key[0] != EXTERNAL:
                _count(outcome, applied=is_first)
            elif not is_first:
                waiting.append((key, outcome))
    if waiting:
        yield from _recognise_waiting(batch, waiting)
    return [event for key, event in wanted.items() if key in new and key[0] != EXTERNAL]


def _recognise_waiting(batch: Batch, told: list[tuple[EventKey, Outcome]]) -> Plan[None]:
    """A fact that waits already is a repeat, unless it is this very delivery's, replayed."""
    places = sorted({key[1] for key, _ in told})
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, EXTERNAL, place) for place in places])
    owners = {(event.record_kind, event.record_id, event.occurred_us, event.key): event.delivery_id for event in map(event_of, rows)}
    for key, outcome in told:
        if owners.get(key) != outcome.delivery.id:
            outcome.parked -= 1
            outcome.repeated += 1


def _count(outcome: Outcome, *, applied: bool) -> None:
    if applied:
        outcome.applied += 1
    else:
        outcome.repeated += 1


def _fold(batch: Batch, new: list[StoredEvent]) -> Plan[None]:
    for kind, number in [*(target for target, _ in batch.retimed), *batch.left]:
        batch.folded.setdefault((kind, batch.final(kind, number)), Folded()).late = True
    for event in new:
        record = batch.resolvers[event.record_kind].by_id[event.record_id]
        folded = batch.folded.get((event.record_kind, event.record_id))
        if folded is None:
            folded = batch.folded[event.record_kind, event.record_id] = Folded()
        fold_event(record, event, folded)
        if (origin := origin_write(event)) is not None:
            folded.changed |= write_field(record, "origin", *origin)
    late = [target for target, folded in batch.folded.items() if folded.late]
    if late:
        yield from _refold(batch, late)


def _refold(batch: Batch, late: list[Target]) -> Plan[None]:
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, *target) for target in late])
    histories: dict[Target, list[StoredEvent]] = {target: [] for target in late}
    for row in rows:
        histories[row[1], row[2]].append(event_of(row))
    for target, history in histories.items():
        record: Record = batch.resolvers[target[0]].by_id[target[1]]
        before = _standing(record)
        refold_status(record, history)
        batch.folded[target].changed |= before != _standing(record)


def _standing(record: Record) -> tuple[object, ...]:
    """Everything that folding a status sets."""
    entry = (record.status_entry_us, record.status_entry_key, record.status_cause)
    return (record.status, record.previous_status, record.status_changed_us, *entry)
