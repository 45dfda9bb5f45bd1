"""Projection: a record's history -> its derived values, the same for every order of arrival.

Dates are a minimum and maximum, fields carry stamps, the status is a fold in order of time. The usual event is newer than
all before it and is folded in one step; an older one requires a new fold of the whole status history.
The order is that of effective times (`history/last_writer_wins.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

from touchbase.common.timestamps import Micros
from touchbase.history.events import CONTACT, CRM_STATUS_EVENTS, IMPORT, VIA_API, StoredEvent
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, EffectiveTime, Stamp, beats, stamp_of
from touchbase.history.status import (
    CRM_STATUS,
    INITIAL,
    REPLY,
    RESUBSCRIBE,
    SENT,
    STATUS,
    STATUS_EFFECTS,
    StatusWalk,
    advance_status,
    may_change_status,
    restart_status,
)
from touchbase.history.status_words import PLAIN, StatusWords, WordsWalk
from touchbase.records.models import Contact, Record
from touchbase.records.record_type import RESOLVED_FIELDS

Object = tuple[str, str, str]
"""Tool, object type and object id."""


@dataclass(slots=True)
class Folded:
    """The result of folding events into a record."""

    changed: bool = False
    late: bool = False
    """A status entry older than the newest one arrived: `refold_status` must fold the whole history."""


def fold_event(record: Record, event: StoredEvent, folded: Folded, words: StatusWords = PLAIN) -> None:
    """Fold one event that is new to the record; `words` are the client's present names of statuses."""
    if isinstance(record, Contact) and event.effect:
        folded.changed |= fold_dates(record, event)
    if sets_status(event):
        _fold_status(record, event, folded, words)
    if event.detail:
        for name, value, stamp in field_writes(event):
            folded.changed |= write_field(record, name, value, stamp)


def refold_status(record: Record, history: Iterable[StoredEvent], words: StatusWords = PLAIN) -> None:
    """Fold the whole history, given in any order, and replace the status; events that set none may be left out."""
    refold_entries(record, [(*e.effective_time, walked_effect(e), e.status) for e in status_entries(history)], words)


Entry = tuple[Micros, str, str, str | None]
"""An entry of the status history: effective time, effect (`walked_effect`), status."""


def refold_entries(record: Record, entries: Sequence[Entry], words: StatusWords = PLAIN) -> None:
    """Fold the entries of the whole history, given in any order, and replace the status."""
    restart_status(record)
    walk, names = StatusWalk(), WordsWalk(words)
    created = [] if record.initial_status is None else [(record.created_us, "", INITIAL, record.initial_status)]
    folded: tuple[str, str | None] | None = None
    for at, key, effect, status in sorted([*entries, *created], key=itemgetter(0, 1)):
        if folded == (effect, status) and not words.renames:  # an equal one changes nothing but the time of the last entry
            record.status_entry_us, record.status_entry_key = at, key
            continue
        names.move(record, at)
        advance_status(record, effect, status, at, key, walk, names.present)
        folded = (effect, status)
    names.move(record)
    record.status_path = walk.status_path


def object_of(event: StoredEvent) -> Object | None:
    """Return the object that a CRM's event is about."""
    named = event.detail.get("object")
    return None if named is None or event.via == VIA_API else (event.tool, named[0], named[1])


OF_ABSORBED = "of_absorbed"
"""Member of the detail of an event on a record whose object a CRM merged into another record's, with its id.

Values that requests wrote to the other one win.
"""


def absorptions(history: Iterable[StoredEvent]) -> dict[Object, int]:
    """Return how many times each object was absorbed by another one, directly or by way of others; without objects that never were."""
    into: dict[Object, tuple[EffectiveTime, Object, int]] = {}
    for event in history:
        if (survivor := event.detail.get("merged_into")) is not None and (absorbed := object_of(event)) is not None:
            merge = (event.effective_time, (*absorbed[:2], survivor), int(event.detail.get("absorbed", False)))
            into[absorbed] = max(merge, into.get(absorbed, merge))
    counts: dict[Object, int] = {}
    for start in into:
        object_, passed = start, set[Object]()
        while object_ in into and object_ not in passed:
            passed.add(object_)
            _, object_, count = into[object_]
            counts[start] = counts.get(start, 0) + count
    return {object_: count for object_, count in counts.items() if count}


def status_entries(history: Iterable[StoredEvent]) -> list[StoredEvent]:
    """Return the entries of the status history: of objects that a CRM merged, the absorbing object's entries."""
    events = list(history)
    return least_absorbed([event for event in events if sets_status(event)], absorptions(events))


def least_absorbed(events: list[StoredEvent], absorbed: Mapping[Object, int]) -> list[StoredEvent]:
    """Return these events without those of an absorbed object, or of its record's requests, if the absorbing one has such events."""
    if not absorbed:
        return events
    counts: list[tuple[tuple[str, str] | None, int]] = []
    for event in events:
        if (named := object_of(event)) is not None:
            counts.append((named[:2], absorbed.get(named, 0)))
        else:
            counts.append((("", "") if event.via == VIA_API else None, int(OF_ABSORBED in event.detail)))
    least: dict[tuple[str, str] | None, int] = {}
    for source, count in counts:
        least[source] = min(count, least.get(source, count))
    return [event for event, (source, count) in zip(events, counts, strict=True) if source is None or count == least[source]]


def sets_status(event: StoredEvent) -> bool:
    """Return whether an event is an entry of the status history."""
    if event.effect not in STATUS_EFFECTS:
        return False
    return event.status is not None or event.effect == RESUBSCRIBE or (event.via == VIA_API and event.tool != IMPORT)


def walked_effect(event: StoredEvent) -> str:
    """Return an event's effect in a fold of the whole history, which distinguishes a CRM's status from a label and an API write."""
    return CRM_STATUS if event.effect == STATUS and event.event in CRM_STATUS_EVENTS else event.effect


def field_writes(event: StoredEvent) -> Iterator[tuple[str, str | None, Stamp]]:
    """Yield the values of our own fields that an event sets, with their stamps."""
    carried, fields = event.detail.get("carried"), event.detail.get("fields")
    if not carried and not fields:
        return
    at = event.effective_time
    for name, value in (carried or {}).items():
        yield name, value, (CARRIED, *at)
    for name, value in (fields or {}).items():
        if name not in RESOLVED_FIELDS:
            yield name, value, (DELIBERATE, *at)


def origin_write(event: StoredEvent) -> tuple[str | None, Stamp] | None:
    """Return the origin that an event sets on its contact: the tool of the earliest event wins, unless a request names the origin.

    A contact's creation without an origin is such an event too, without a tool.
    """
    if event.record_kind != CONTACT or (event.via == VIA_API and not event.is_creation):
        return None
    if event.via == VIA_API and "origin" in event.detail.get("fields", {}):
        return None
    return None if event.via == VIA_API else event.tool, (CARRIED, *event.effective_time)


def is_history_complete(record: Record, history: Iterable[StoredEvent]) -> bool:
    """Return whether the history has all writes; False where the creation through the API was not an entry yet."""
    created = (record.created_us, "")
    return not record.from_api or any(event.is_creation and event.effective_time == created for event in history)


def current_stamp(record: Record, name: str) -> Stamp:
    """Return the stamp of a field's present value."""
    value = getattr(record, name)
    if name == "origin" and value is None and record.from_api and name not in record.stamps:
        return (CARRIED, record.created_us, "")
    return stamp_of(record.stamps, name, value, record.created_us)


def write_field(record: Record, name: str, value: str | int | None, stamp: Stamp) -> bool:
    """Set one of our own fields if the write wins; return whether the record changed."""
    if not beats(stamp, current_stamp(record, name)):
        return False
    record.stamps[name] = stamp
    setattr(record, name, value)
    return True


def fold_dates(contact: Contact, event: StoredEvent) -> bool:
    """Fold the dates of mails and replies; return whether they changed."""
    at = event.occurred_us
    if event.effect == SENT:
        before = (contact.first_sent_us, contact.last_sent_us)
        contact.first_sent_us = at if before[0] is None else min(before[0], at)
        contact.last_sent_us = at if before[1] is None else max(before[1], at)
        return (contact.first_sent_us, contact.last_sent_us) != before
    if event.effect == REPLY and (contact.last_reply_us is None or contact.last_reply_us < at):
        contact.last_reply_us = at
        return True
    return False


def _fold_status(record: Record, event: StoredEvent, folded: Folded, words: StatusWords) -> None:
    at, key = event.effective_time
    if may_change_status(record, event.effect, at, key, words):
        advance_status(record, event.effect, event.status, at, key, words=words)
        folded.changed = True
    else:
        folded.late = True
