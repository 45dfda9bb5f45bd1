"""Explaining: what each entry of a history changed, so that the changes add up to the record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from touchbase.common.timestamps import to_text
from touchbase.history import status as st
from touchbase.history.events import VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE, NEVER, Stamp, beats
from touchbase.records.contact import Contact
from touchbase.records.field_projection import API, Objects, Written, has_several_objects, winner
from touchbase.records.projection import (
    FIELDS,
    JOINED,
    Record,
    field_writes,
    fold_dates,
    held_stamp,
    is_told_whole,
    origin_write,
    sets_status,
    walked_effect,
)
from touchbase.records.value_sources import company_ref


@dataclass(slots=True)
class FieldChange:
    """One value of the record that an event set: `value` and `previous` as the interface shows them."""

    field: str
    value: str | None
    previous: str | None


def explain(record: Record, history: Iterable[StoredEvent]) -> list[tuple[StoredEvent, list[FieldChange]]]:
    """What each event changed, walking the history in time order from the record's creation.

    Newest first. The changes are those of time order, not of arrival, so they add up to the record.
    """
    ordered = sorted(history, key=lambda event: event.place)
    walker = _Walker(record, ordered)
    told = [(event, walker.step(event)) for event in ordered]
    told.reverse()
    return told


class _Values:
    """Values by name as writes come, and which write each is of."""

    def __init__(self, objects: Objects | None) -> None:
        self.shown: dict[str, str | None] = {}
        self._objects = objects
        self._best: dict[str, Written] = {}
        self._all: dict[str, list[Written]] = {}

    def set(self, name: str, write: Written) -> Iterator[FieldChange]:
        """Let this write be the present one."""
        self._best[name] = write
        yield from self.show(name, write.value)

    def write(self, name: str, write: Written) -> Iterator[FieldChange]:
        """Let the write that counts among all so far be the present one."""
        if self._objects is not None:
            writes = self._all.setdefault(name, [])
            writes.append(write)
            yield from self.set(name, winner(writes, self._objects))
        elif beats(write.stamp, self._best[name].stamp if name in self._best else NEVER):
            yield from self.set(name, write)

    def show(self, name: str, value: str | None) -> Iterator[FieldChange]:
        """Change what is shown under a name."""
        previous = self.shown.get(name)
        self.shown[name] = value
        if value != previous:
            yield FieldChange(name, value, previous)


class _Walker:
    """A record as it comes to be, entry by entry."""

    def __init__(self, record: Record, history: Sequence[StoredEvent]) -> None:
        self.record = record
        self.names = FIELDS["contact" if isinstance(record, Contact) else "company"]
        self.folded = _blank(record)
        self.walk = st.Walk()
        self.initial = record.initial_status
        self.objects = Objects.of_history(history) if has_several_objects(history) else None
        self.fields, self.custom = _Values(self.objects), _Values(self.objects)
        self.company = _company_held(record, history)
        self.is_told_whole = is_told_whole(record, history)
        if not self.is_told_whole:
            self._as_created()

    def _as_created(self) -> None:
        """Begin with what the creation set, where it was before creations were entries: as much of it as is still there."""
        at = (self.record.created_us, "")
        for name in self.names:
            is_held = held_stamp(self.record, name)[1:] == at
            value = _text(getattr(self.record, name)) if is_held else None
            for _ in self.fields.write(name, Written(value, (DELIBERATE, *at))):
                pass
            if not is_held:
                del self.fields.shown[name]  # the first change says what it was
        for one in self.record.custom_fields:
            if (one.stamped_us, one.stamp_key) == at:
                for _ in self.custom.write(one.name, Written(one.value, (one.priority, *at))):
                    pass

    def step(self, event: StoredEvent) -> list[FieldChange]:
        """Fold one more event, later than all before; answers what it changed."""
        changes = self._derived(event)
        asked = {*_shown(self.folded)}
        if event.via == VIA_API:  # an entry of an earlier version
            for name, _, previous in event.detail.get("changed", []):
                self.fields.shown.setdefault(name, previous)
        source = API if self.objects is None else self.objects.source(event)
        for name, (value, stamp) in self._writes(event).items():
            asked.add(name)
            write = Written(_text(value), stamp, source)
            if name not in JOINED:
                changes += self.fields.write(name, write)
            elif stamp == held_stamp(self.record, name):  # resolving has decided: as the record has it
                changes += self.fields.show(name, _text(getattr(self.record, name)))
            else:
                changes += self.fields.show(name, write.value)
        for name, value in self._custom_writes(event).items():
            asked.add(name)
            changes += self.custom.write(name, Written(value, (DELIBERATE, *event.place), source))
        return [*changes, *self._as_told(event, asked)]

    def _derived(self, event: StoredEvent) -> list[FieldChange]:
        """The status and the dates."""
        if self.initial is not None and event.place[0] >= self.record.created_us:
            st.advance(self.folded, st.INITIAL, self.initial, self.record.created_us, "", self.walk)
            self.initial = None
        before = _shown(self.folded)
        if isinstance(self.folded, Contact):
            fold_dates(self.folded, event)
        if sets_status(event):
            st.advance(self.folded, walked_effect(event), event.status, *event.place, self.walk)
        after = _shown(self.folded)
        return [FieldChange(name, after[name], before[name]) for name in after if after[name] != before[name]]

    def _writes(self, event: StoredEvent) -> dict[str, tuple[str | int | None, Stamp]]:
        """The fields that the event writes."""
        written: dict[str, tuple[str | int | None, Stamp]] = {name: (value, stamp) for name, value, stamp in field_writes(event)}
        if event.via == VIA_API:
            fields = event.detail.get("fields", {})
            written |= {name: (value, (DELIBERATE, *event.place)) for name, value in fields.items() if name in self.names}
        if self.is_told_whole and (origin := origin_write(event)) is not None:
            written.setdefault("origin", origin)
        if self.company is not None and company_ref(event) == self.company and isinstance(self.record, Contact):
            written["company_id"] = (self.record.company_id, (DELIBERATE, *event.place))
        for name in JOINED:
            if name in self.names and (held := held_stamp(self.record, name))[1:] == event.place:
                written[name] = (None, held)
        return {name: written[name] for name in self.names if name in written}

    def _custom_writes(self, event: StoredEvent) -> dict[str, str | None]:
        custom: dict[str, str | None] = event.detail.get("custom", {})
        return {**dict.fromkeys(self.custom.shown), **custom} if event.detail.get("cleared") else custom

    def _as_told(self, event: StoredEvent, asked: set[str]) -> Iterator[FieldChange]:
        """Values in the caller's own words: what a tool says has changed, and what a request of an earlier version changed.

        Under the name of one of our fields only what it has been: an address that another record has sets nothing.
        """
        named = [(name, value, None) for name, value in event.detail.get("identity", {}).items()]
        for name, value, previous in (*named, *event.detail.get("changed", [])):
            if name in asked:
                continue
            asked.add(name)
            if name not in self.names:
                yield FieldChange(name, value, previous)
            elif event.place < held_stamp(self.record, name)[1:]:
                self.fields.shown.setdefault(name, previous)
                yield from self.fields.show(name, value)


def _company_held(record: Record, history: Iterable[StoredEvent]) -> Ref | None:
    """The CRM's object whose company a contact has; None where it has none, or the API named it."""
    set_by = held_stamp(record, "company_id")[1:] if isinstance(record, Contact) and record.company_id is not None else None
    return next((company_ref(event) for event in history if event.place == set_by), None)


def _text(value: str | int | None) -> str | None:
    return None if value is None else str(value)


def _blank(record: Record) -> Record:
    blank = replace(record, stamps={}, custom_fields=[])
    st.restart(blank)
    if isinstance(blank, Contact):
        blank.first_sent_us = blank.last_sent_us = blank.last_reply_us = None
    return blank


def _shown(record: Record) -> dict[str, str | None]:
    prefix = "contact" if isinstance(record, Contact) else "company"
    shown = {f"{prefix}_status": record.status}
    if isinstance(record, Contact):
        for name, at in (
            ("first_campaign_email_sent", record.first_sent_us),
            ("last_campaign_email_sent", record.last_sent_us),
            ("last_reply_received", record.last_reply_us),
        ):
            shown[name] = None if at is None else to_text(at)
    return shown
