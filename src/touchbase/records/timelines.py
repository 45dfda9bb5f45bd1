"""Timeline of a record: every event of its history, newest first, and the values that each event changed.

The changes are those of time order, not of arrival, so they add up to the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros, to_text
from touchbase.history.events import VIA_API, Author, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE, NEVER, EffectiveTime, Stamp, beats
from touchbase.history.sql import get_history
from touchbase.history.status import INITIAL, StatusWalk, advance_status, restart_status
from touchbase.history.status_words import PLAIN, RENAMED, StatusWords, WordsWalk
from touchbase.records.field_names import FieldNames
from touchbase.records.field_projection import FieldWrites, Objects, Written, has_several_objects
from touchbase.records.models import Company, Contact, Record
from touchbase.records.projection import (
    current_stamp,
    field_writes,
    fold_dates,
    is_history_complete,
    object_of,
    origin_write,
    status_entries,
    walked_effect,
)
from touchbase.records.record_type import RESOLVED_FIELDS, stamped_fields, type_of
from touchbase.records.value_sources import company_ref
from touchbase.sql.page_budget import Cut
from touchbase.sql.store import Store

MAX_HISTORY = 10_000
"""Events from which a timeline, a history of values or an explanation is computed: some tenths of a second, and 20 MB."""
HISTORY_BYTES = 4 * 1024 * 1024
"""Bytes of the details of events after which no earlier ones are read: decoded they take ten times as much, and may be 400,000 values."""


@dataclass(slots=True)
class TimelineChange:
    """One value that an event set: `value` and `previous` as the interface shows them."""

    field: str
    value: str | None
    previous: str | None
    former_name: str | None = None
    """The name of a custom field that the event said, where the field has another one now."""


async def explain(
    record: Record, history: Iterable[StoredEvent], words: StatusWords = PLAIN
) -> list[tuple[StoredEvent, list[TimelineChange]]]:
    """Return each event with its changes, newest first; renames only where they gave the status of then another name."""
    ordered = in_order(record, history, words)
    walker = HistoryWalk(record, ordered, words)
    explained = [(event, walker.step(event)) async for event in in_slices(ordered)]
    explained.reverse()
    return [(event, changes) for event, changes in explained if changes or not is_rename(event)]


async def read_history(store: Store, record: Record, before: EffectiveTime | None = None) -> tuple[list[StoredEvent], Micros | None]:
    """Return a record's events, and since when these are all; None if they are its whole history.

    Of a history of more than `MAX_HISTORY` events, or `HISTORY_BYTES`, they are the newest ones, or the newest ones up to `before`.
    """
    newest = partial(get_history, record.client, type_of(record).kind, record.id, MAX_HISTORY + 1, history_bytes=HISTORY_BYTES)
    events = await store.read(newest())
    if before is not None and _is_cut(events):
        events = await store.read(newest(before_us=before[0] + 1))
    if not _is_cut(events):
        return events, None
    events = events[-MAX_HISTORY:]
    return events, events[0].occurred_us


def _is_cut(events: list[StoredEvent]) -> bool:
    return len(events) > MAX_HISTORY or isinstance(events, Cut)


def in_order(record: Record, history: Iterable[StoredEvent], words: StatusWords) -> list[StoredEvent]:
    """Return a record's events in the order of their effective times, with the renames of statuses since the first of them."""
    ordered = sorted(history, key=lambda event: event.effective_time)
    if not words.renames or not ordered:
        return ordered
    kind = type_of(record)
    renames = [
        StoredEvent(
            kind.kind, record.id, rename.at_us, f"!{RENAMED}", f"{kind.name}.{RENAMED}", "", None, "api", "api", None, None,
            rename.at_us, VIA_API, {"by": Author(rename.by)} if rename.by else {},
        )
        for rename in words.renames
        if rename.at_us > ordered[0].effective_time[0]
    ]  # fmt: skip
    return sorted([*ordered, *renames], key=lambda event: event.effective_time)


def is_rename(event: StoredEvent) -> bool:
    """Return whether an event is a rename of a status, which is not stored in the record's history."""
    return event.event.endswith(f".{RENAMED}")


class _Values:
    """Values by name as writes arrive, with their writes."""

    def __init__(self, objects: Objects | None) -> None:
        self.shown: dict[str, str | None] = {}
        self._objects = objects
        self._best: dict[str, Written] = {}
        self._all: dict[str, FieldWrites] = {}
        self.before: dict[str, str | None] = {}
        """The values before the present event, of the names that it may have changed."""

    def set(self, name: str, write: Written) -> Iterator[TimelineChange]:
        """Set the present write."""
        self._best[name] = write
        yield from self.show(name, write.value)

    def write(self, name: str, write: Written) -> Iterator[TimelineChange]:
        """Set the winner of all writes so far as present."""
        if self._objects is not None:
            writes = self._all.setdefault(name, FieldWrites())
            writes.add(write)
            yield from self.set(name, writes.winner(self._objects))
        elif beats(write.stamp, self._best[name].stamp if name in self._best else NEVER):
            yield from self.set(name, write)

    def show(self, name: str, value: str | None) -> Iterator[TimelineChange]:
        """Change the shown value of a name."""
        previous = self.shown.get(name)
        self.before.setdefault(name, previous)
        self.shown[name] = value
        if value != previous:
            yield TimelineChange(name, value, previous)

    def show_earlier(self, name: str, value: str | None) -> None:
        """Show the value that a name had before the present event, unless it is known."""
        if name not in self.shown:
            self.before.setdefault(name, None)
            self.shown[name] = value


class HistoryWalk:
    """Replays a history in time order, event by event. `folded` has the status and the dates so far, `fields` and `custom` the others."""

    def __init__(self, record: Record, history: Sequence[StoredEvent], words: StatusWords) -> None:
        self.record = record
        self.words = WordsWalk(words)
        self.names = stamped_fields(record)
        self.folded = _blank(record)
        self.walk = StatusWalk()
        self.initial = record.initial_status
        self.objects = Objects.of_history(history) if has_several_objects(history) else None
        self.status_entries = {id(event) for event in status_entries(history)}
        self.fields, self.custom = _Values(self.objects), _Values(self.objects)
        self.field_names = FieldNames(history)
        self.named: dict[tuple[Ref | None, str], str | None] = {}
        """The last value of each property that is no field, by its object: some tools leave out the value before a change."""
        self.company = _company_object(record, history)
        self.is_complete = is_history_complete(record, history)
        if not self.is_complete:
            self._as_created()

    def _as_created(self) -> None:
        """Start with the values of a creation that is not an entry (earlier versions), as far as the record still has them."""
        at = (self.record.created_us, "")
        for name in self.names:
            is_unchanged = current_stamp(self.record, name)[1:] == at
            value = _text(getattr(self.record, name)) if is_unchanged else None
            for _ in self.fields.write(name, Written(value, (DELIBERATE, *at))):
                pass
            if not is_unchanged:
                del self.fields.shown[name]  # the first change shows the value before
        for custom_field in self.record.custom_fields:
            if (custom_field.stamped_us, custom_field.stamp_key) == at:
                for _ in self.custom.write(custom_field.name, Written(custom_field.value, (custom_field.priority, *at))):
                    pass

    def step(self, event: StoredEvent) -> list[TimelineChange]:
        """Fold one more event, later than all before; return its changes."""
        self.fields.before, self.custom.before = {}, {}
        changes = self._derived(event)
        written_names = {*derived_values(self.folded)}
        if event.via == VIA_API:  # an entry of an earlier version
            for name, _, previous in event.detail.get("changed", []):
                self.fields.show_earlier(name, previous)
        objects = self.objects or Objects()
        for name, (value, stamp) in self.writes(event).items():
            written_names.add(name)
            write = objects.written(_text(value), event) if stamp[0] == DELIBERATE else Written(_text(value), stamp)
            if name not in RESOLVED_FIELDS:
                changes += self.fields.write(name, write)
            elif stamp == current_stamp(self.record, name):  # set by identity resolution: as the record has it
                changes += self.fields.show(name, _text(getattr(self.record, name)))
            else:
                changes += self.fields.show(name, write.value)
        for name, (said, value) in self.custom_writes(event).items():
            written_names |= {name, said}
            for change in self.custom.write(name, objects.written(value, event)):
                change.former_name = None if said == name else said
                changes.append(change)
        changes += self._as_named(event, written_names)
        return [*changes, *self._as_renamed(event)]

    def value(self, name: str) -> str | None:
        """Return the present value of a name as histories have it: a custom field as `cf.NAME`."""
        derived = derived_values(self.folded)
        if name in derived:
            return derived[name]
        return self.fields.shown.get(name) if name in self.names else self.custom.shown.get(name.removeprefix("cf."))

    def _derived(self, event: StoredEvent) -> list[TimelineChange]:
        """Fold the status and the dates; return their changes."""
        if self.initial is not None and event.effective_time[0] >= self.record.created_us:
            self.words.move(self.folded, self.record.created_us)
            advance_status(self.folded, INITIAL, self.initial, self.record.created_us, "", self.walk, self.words.present)
            self.initial = None
        before = derived_values(self.folded)
        self.words.move(self.folded, event.effective_time[0])
        if isinstance(self.folded, Contact):
            fold_dates(self.folded, event)
        if id(event) in self.status_entries:
            advance_status(self.folded, walked_effect(event), event.status, *event.effective_time, self.walk, self.words.present)
        after = derived_values(self.folded)
        return [TimelineChange(name, after[name], before[name]) for name in after if after[name] != before[name]]

    def writes(self, event: StoredEvent) -> dict[str, tuple[str | int | None, Stamp]]:
        """Return the fields that the event writes."""
        written: dict[str, tuple[str | int | None, Stamp]] = {name: (value, stamp) for name, value, stamp in field_writes(event)}
        if event.via == VIA_API:
            fields = event.detail.get("fields", {})
            written |= {name: (value, (DELIBERATE, *event.effective_time)) for name, value in fields.items() if name in self.names}
        if self.is_complete and (origin := origin_write(event)) is not None:
            written.setdefault("origin", origin)
        if self.company is not None and company_ref(event) == self.company and isinstance(self.record, Contact):
            written["company_id"] = (self.record.company_id, (DELIBERATE, *event.effective_time))
        for name in RESOLVED_FIELDS:
            if name in self.names and (stamp := current_stamp(self.record, name))[1:] == event.effective_time:
                written[name] = (None, stamp)
        return {name: written[name] for name in self.names if name in written}

    def custom_writes(self, event: StoredEvent) -> dict[str, tuple[str, str | None]]:
        """Return the custom fields that the event writes, with the names that it said; None removes one."""
        custom = self.field_names.of_event(event)
        return {**{name: (name, None) for name in self.custom.shown}, **custom} if event.detail.get("cleared") else custom

    def _as_renamed(self, event: StoredEvent) -> Iterator[TimelineChange]:
        """Yield the value of a custom field that the event renames, which stays as it is."""
        if (renamed := self.field_names.renamed_by(event)) is not None:
            former, name = renamed
            value = self.custom.shown.get(name)
            if value is not None and self.custom.before.get(name, value) == value:
                yield TimelineChange(name, value, value, former)

    def _as_named(self, event: StoredEvent, written_names: set[str]) -> Iterator[TimelineChange]:
        """Yield changes as the sender named them: properties that a tool changed, and changes by a request of an earlier version.

        For one of our own fields only former values: an address that belongs to another record sets nothing.
        """
        named = [(name, value, None) for name, value in event.detail.get("identity", {}).items()]
        for name, value, previous in (*named, *event.detail.get("changed", [])):
            if name in written_names or self.field_names.present(name) in written_names:
                continue
            written_names.add(name)
            if name not in self.names:
                place = object_of(event), name
                yield TimelineChange(name, value, self.named.get(place) if previous is None else previous)
                self.named[place] = value
            elif event.effective_time < current_stamp(self.record, name)[1:]:
                self.fields.show_earlier(name, previous)
                yield from self.fields.show(name, value)


def _company_object(record: Record, history: Iterable[StoredEvent]) -> Ref | None:
    """Return the CRM object of the contact's company; None if it has no company, or the API set it."""
    set_by = current_stamp(record, "company_id")[1:] if isinstance(record, Contact) and record.company_id is not None else None
    return next((company_ref(event) for event in history if event.effective_time == set_by), None)


def _text(value: str | int | None) -> str | None:
    return None if value is None else str(value)


def _blank(record: Record) -> Record:
    blank = replace(record, stamps={}, custom_fields=[])
    restart_status(blank)
    if isinstance(blank, Contact):
        blank.first_sent_us = blank.last_sent_us = blank.last_reply_us = None
    return blank


def derived_values(record: Record) -> dict[str, str | None]:
    """Return the status and the dates by the names that responses give them."""
    shown = {type_of(record).status: record.status}
    if isinstance(record, Contact):
        for name, at in (
            ("first_campaign_email_sent", record.first_sent_us),
            ("last_campaign_email_sent", record.last_sent_us),
            ("last_reply_received", record.last_reply_us),
        ):
            shown[name] = None if at is None else to_text(at)
    return shown


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """One event and its changes."""

    event: StoredEvent
    changed: list[TimelineChange]


async def timeline(
    store: Store, record: Contact | Company, limit: int, before: EffectiveTime | None, words: StatusWords
) -> tuple[list[TimelineEntry], EffectiveTime | None, Micros | None]:
    """Return a page of a record's timeline, the cursor of the next, older page, and since when it is computed (`read_history`).

    The cursor is the effective time of the page's last event.
    """
    history, since_us = await read_history(store, record, before)
    entries = [TimelineEntry(event, changed) for event, changed in await explain(record, history, words)]
    if before is not None:
        entries = [entry for entry in entries if entry.event.effective_time < before]
    page = entries[:limit]
    more = len(entries) > limit or (since_us is not None and bool(page))
    return page, page[-1].event.effective_time if more else None, since_us
