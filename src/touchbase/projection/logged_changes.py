"""Changes of a batch as events of the log: each saved record is compared with its state when it was loaded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchbase.common.timestamps import to_text
from touchbase.event_log.models import DELIVERY, LoggedEvent, record_event
from touchbase.event_log.sql.log import log_events
from touchbase.history.events import CONTACT, MEETING_START, MEETING_STATUSES, StoredEvent
from touchbase.projection.batch import ApplyBatch, Target
from touchbase.records.field_projection import MERGE
from touchbase.records.logged_changes import difference, events_of, state_of, state_of_shown
from touchbase.records.models import Record
from touchbase.records.primary_keys import shown_values
from touchbase.sql.statement import Plan

MOST_DELIVERIES = 10
"""Ids of deliveries in the cause of one event."""
MERGED = "merged"


def log_saved(batch: ApplyBatch, kind: int, old: Sequence[Record], new: Sequence[Record]) -> Plan[None]:
    """Log the batch's changes of these saved records, and of contacts that a union of companies moved."""
    words, resolver = batch.settings.words(kind), batch.resolvers[kind]
    merged = _merged(batch, kind)
    events: list[LoggedEvent] = []
    for record in new:
        what = batch.logged_as.get((kind, record.id), "created")
        what = MERGED if record.id in merged and what == "created" else what
        events += _events(batch, record, {}, state_of(record, words), what, merged, is_new=True)
    for record in old:
        before = state_of_shown(kind, resolver.shown[record.id], words)
        if kind == CONTACT and record.id in batch.moved_contacts:
            before["company_id"] = batch.moved_contacts[record.id][0]
        what = MERGED if record.id in merged else batch.logged_as.get((kind, record.id), "updated")
        # Custom fields that are loaded with the record may be older than the noted ones.
        events += _events(batch, record, before, state_of_shown(kind, shown_values(record), words), what, merged)
    if kind == CONTACT:
        saved = {record.id for record in (*old, *new)}
        for number, (gone, company) in sorted(batch.moved_contacts.items()):
            if number not in saved:
                events.append(moved_contact(batch.client, number, gone, company, batch.now_us, cause_of(batch, (kind, number))))
    yield from log_events(events)


def moved_contact(client: int, contact: int, before: int | None, after: int | None, at: int, cause: Mapping[str, Any]) -> LoggedEvent:
    """Return the event of a contact of which only the company changed."""
    return LoggedEvent(client, record_event(CONTACT, "updated"), at, CONTACT, contact, {"company_id": (before, after)}, cause)


def log_moved_contacts(batch: ApplyBatch, contacts: Sequence[int], before: int | None, after: int | None) -> Plan[None]:
    """Log contacts that a request moved from one company to another."""
    cause = batch.cause or {}
    yield from log_events([moved_contact(batch.client, number, before, after, batch.now_us, cause) for number in contacts])


def log_meetings(batch: ApplyBatch, new: Sequence[StoredEvent]) -> Plan[None]:
    """Log each meeting that a batch's new events tell of; a canceled or moved one changes no field of its contact."""
    events: list[LoggedEvent] = []
    for event in new:
        if event.event in MEETING_STATUSES:
            start = next((value for name, value, _ in event.detail.get("changed", ()) if name == MEETING_START), None)
            data = {"meeting": {"start": start, "tool": event.tool, "occurred_at": to_text(event.occurred_us)}}
            target = (CONTACT, event.record_id)
            what = record_event(CONTACT, event.event)
            events.append(LoggedEvent(batch.client, what, batch.now_us, *target, cause=cause_of(batch, target), data=data))
    yield from log_events(events)


def _events(
    batch: ApplyBatch,
    record: Record,
    before: dict[str, Any],
    after: dict[str, Any],
    what: str,
    merged: Mapping[int, list[int]],
    *,
    is_new: bool = False,
) -> list[LoggedEvent]:
    target = (batch.kind_of(record), record.id)
    for name, (old, new) in batch.customs.get(target, {}).items():
        if old is not None and not is_new:
            before[f"cf.{name}"] = old
        after[f"cf.{name}"] = new
    events = events_of(record, difference(before, after), batch.now_us, cause_of(batch, target), what)
    if what == MERGED:
        by_request = [event.detail[MERGE]["id"] for event in batch.triggers.get(target, ()) if MERGE in event.detail]
        events[0].data = {MERGED: merged[record.id], **({"merge_id": by_request[-1]} if by_request else {})}
    return events


def _merged(batch: ApplyBatch, kind: int) -> dict[int, list[int]]:
    """Return the stored records that ended, by the record that they belong to now."""
    merged_ids: dict[int, list[int]] = {}
    for absorbed, _ in batch.resolvers[kind].united:
        if absorbed.id not in batch.resolvers[kind].created:
            merged_ids.setdefault(batch.final(kind, absorbed.id), []).append(absorbed.id)
    return merged_ids


def cause_of(batch: ApplyBatch, target: Target) -> Mapping[str, Any]:
    """Return the cause of a record's change: the request, else the deliveries of its new events, else the batch's."""
    if batch.cause is not None:
        return batch.cause
    events = [event for event in batch.triggers.get(target, ()) if event.delivery_id is not None]
    of_mapping = {} if not batch.mappings else batch.mappings.get(max((event.delivery_id or 0 for event in events), default=0), {})
    if not events:
        return {"origin": DELIVERY, "deliveries": batch.deliveries[:MOST_DELIVERIES]}
    newest: StoredEvent = max(events, key=lambda event: (event.received_us, event.delivery_id or 0))
    numbers = sorted({event.delivery_id for event in events if event.delivery_id is not None})
    return {"origin": DELIVERY, "tool": newest.tool, "channel": newest.channel, "deliveries": numbers[-MOST_DELIVERIES:], **of_mapping}
