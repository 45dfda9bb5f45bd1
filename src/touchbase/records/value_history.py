"""The values of a record over time: each value's history, the record at a time, and the reason for each value.

All three replay the record's events in the order of their effective times, as the timeline does, so they add up to the record.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from touchbase.common.misspelt import suggest
from touchbase.common.slices import in_slices
from touchbase.common.timestamps import Micros, to_text
from touchbase.errors import MOST_FAULTS, Fault, Invalid, NotFound
from touchbase.history.events import StoredEvent
from touchbase.history.last_writer_wins import DERIVED
from touchbase.history.problems import STATUS_REFUSED, described
from touchbase.history.status import INITIAL, StatusWalk, advance_status, restart_status, why_ignored
from touchbase.history.status_words import StatusWords, WordsWalk
from touchbase.records.field_names import FieldNames
from touchbase.records.models import Company, Contact, Record
from touchbase.records.projection import status_entries, walked_effect
from touchbase.records.record_type import stamped_fields, type_of
from touchbase.records.timelines import HistoryWalk, derived_values, in_order, is_rename, read_history
from touchbase.sql.store import Store

CUSTOM = "cf."
"""Prefix of the names of custom fields."""
MOST_OTHERS = 20
"""Events that `explain` lists for each value, besides the event that set it."""
LONGEST_QUOTED = 60
"""Characters of a value that a reason quotes; `value` has all."""
FILLS_ONLY = "a value that a campaign tool carries along only fills an empty field"
UNKNOWN_COMPANY = "its company was deleted since, or is not known any more"
OUTRANKED = "another object of the CRM, or a later request, has precedence"

R = TypeVar("R", Contact, Company)
Change = tuple[str | None, str | None]
"""The value before an event and after it."""


@dataclass(slots=True)
class ValueChange:
    """One value of one field: since when, until when (None: it is the present one), and the event that set it."""

    field: str
    value: str | None
    previous: str | None
    since_us: Micros
    until_us: Micros | None
    event: StoredEvent


@dataclass(frozen=True, slots=True)
class OtherEvent:
    """An event that named a value for a field and is not its present source; `reason` is a sentence."""

    event: StoredEvent
    value: str | None
    reason: str


@dataclass(slots=True)
class ExplainedValue:
    """A field's present value, the event that set it (None: no event has), and other events, newest first, with their number."""

    name: str
    value: str | None
    set_by: StoredEvent | None = None
    others: list[OtherEvent] = field(default_factory=list)
    others_total: int = 0

    def add(self, event: OtherEvent) -> None:
        """Add another event; only the newest `MOST_OTHERS` stay once there are twice as many: a record may have a million of them."""
        self.others_total += 1
        self.others.append(event)
        if len(self.others) >= 2 * MOST_OTHERS:
            self.cut()

    def cut(self) -> None:
        """Reduce to the newest events, in their order."""
        self.others.sort(key=lambda entry: entry.event.effective_time, reverse=True)
        del self.others[MOST_OTHERS:]


def present_names(record: Record, field_names: FieldNames) -> list[str]:
    """Return the names of the record's fields as histories have them: custom fields as `cf.NAME`, without former names."""
    custom = [
        custom_field.name
        for custom_field in record.custom_fields
        if custom_field.value is not None or field_names.present(custom_field.name) == custom_field.name
    ]
    return [*derived_values(record), *stamped_fields(record), *(f"{CUSTOM}{name}" for name in custom)]


async def value_history(
    store: Store, record: Contact | Company, name: str | None, limit: int, before: tuple[Micros, str, str] | None, words: StatusWords
) -> tuple[list[ValueChange], tuple[Micros, str, str] | None, Micros | None]:
    """Return a page of the values of one field, or of all, newest first, the place of the next page, and since when it is computed.

    A place is the effective time of an event and a field. Raises `Invalid` for a field that the record does not have.
    """
    history, since_us = await read_history(store, record, None if before is None else before[:2])
    if name is not None:
        name = _present_name(record, history, name)
    changes: deque[ValueChange] = deque(maxlen=limit + 1)  # the newest ones: a history may have a million values
    async for change in _changes(record, in_order(record, history, words), words):
        if name in (None, change.field) and (before is None or place_of(change) < before):
            changes.append(change)
    page = [*reversed(changes)][:limit]
    return page, place_of(page[-1]) if len(changes) > limit else None, since_us


async def record_as_of(store: Store, record: R, at: Micros, words: StatusWords) -> R:
    """Return the record with the values that it had at a time, as known now.

    Raises `NotFound` for a time before its first event, and `Invalid` for a record whose history is cut (`read_history`).
    """
    events, since_us = await read_history(store, record)
    if since_us is not None:
        detail = "the record has too many events, or too long ones, for its past values to be computed; read `history` or `timeline`"
        raise Invalid([Fault("?as_of", "long_history", detail)])
    history = in_order(record, events, words)
    walk = HistoryWalk(record, history, words)
    past = [event for event in history if event.effective_time[0] <= at]
    if not past:
        name = type_of(record).name
        first = f"its first event was at {to_text(history[0].effective_time[0])}" if history else "it has no events"
        raise NotFound(f"{name} {record.id} has no values at {to_text(at)}: {first}")
    updated_us = past[0].effective_time[0]
    async for event in in_slices(past):
        if walk.step(event) or not is_rename(event):
            updated_us = event.effective_time[0]
    return _snapshot(record, walk, updated_us)


def _snapshot(record: R, walk: HistoryWalk, updated_us: Micros) -> R:
    """Return the record with the values of a walk."""
    folded = walk.folded
    derived = {"status": folded.status, "previous_status": folded.previous_status, "status_changed_us": folded.status_changed_us}
    if isinstance(folded, Contact):
        derived |= {"first_sent_us": folded.first_sent_us, "last_sent_us": folded.last_sent_us, "last_reply_us": folded.last_reply_us}
    fields: dict[str, str | int | None] = {name: walk.fields.shown.get(name) for name in stamped_fields(record)}
    if (company := fields.get("company_id")) is not None:
        fields["company_id"] = int(company)
    if isinstance(record, Company):
        fields["domain"] = fields["domain"] or record.domain
    custom = [replace(custom_field, value=walk.custom.shown.get(custom_field.name)) for custom_field in record.custom_fields]
    return replace(record, **derived, **fields, custom_fields=custom, updated_us=updated_us)  # type: ignore[arg-type]


async def explain_values(
    store: Store, record: Contact | Company, name: str | None, words: StatusWords
) -> tuple[list[ExplainedValue], Micros | None]:
    """Return for each value, or for one, the event that set it, and the events that did not, with the reason; and since when.

    Raises `Invalid` for a field that the record does not have.
    """
    events, since_us = await read_history(store, record)
    if name is not None:
        name = _present_name(record, events, name)
    history = in_order(record, events, words)
    walk = HistoryWalk(record, history, words)
    names = [name] if name is not None else present_names(record, walk.field_names)
    explained = {field_name: ExplainedValue(field_name, None) for field_name in names}
    async for event, changed in _steps(walk, history):
        named = _named(walk, event)
        for field_name in explained.keys() & {*changed, *named}:
            before, after = changed.get(field_name) or (walk.value(field_name),) * 2
            _explain(explained[field_name], event, before, after, named.get(field_name), walk.field_names.renamed_by(event))
    status = type_of(record).status
    if status in explained:
        explained[status].others, explained[status].others_total = [], 0
        async for entry in _status_others(record, history, explained[status].set_by, words):
            explained[status].add(entry)
    if "company_id" in explained and record.stamps.get("company_id") == DERIVED:
        _explain_derived(explained["company_id"], record)
    for value in explained.values():
        value.cut()
    return list(explained.values()), since_us


def _explain_derived(explained: ExplainedValue, record: Contact | Company) -> None:
    """Explain a company that follows from the e-mail address: no event has set it."""
    if explained.set_by is not None:
        explained.add(OtherEvent(explained.set_by, explained.value, UNKNOWN_COMPANY))
    company = getattr(record, "company_id", None)
    explained.value, explained.set_by = None if company is None else str(company), None


def _explain(
    explained: ExplainedValue, event: StoredEvent, before: str | None, after: str | None, named: tuple[str | None, bool] | None,
    renamed: tuple[str, str] | None,
) -> None:  # fmt: skip
    """Add one event to a value's history; `named` is the value that it names, and whether the write is deliberate.

    `renamed`: the former and the present name of the custom field that the event renames.
    """
    if after != before and is_rename(event):
        explained.value = after  # the event that had set the status stays its source
        return
    if after != before:
        if explained.set_by is not None:
            explained.add(OtherEvent(explained.set_by, explained.value, _replaced(event)))
        explained.value, explained.set_by = after, event
        return
    if named is not None:
        value, is_deliberate = named
        if renamed is not None:
            reason = f"it renamed {renamed[0]!r}; the event that had set the value stays its source"
            explained.add(OtherEvent(event, value, reason))
            return
        reason = f"it was {_cut(value)} already" if value == after else OUTRANKED if is_deliberate else FILLS_ONLY
        explained.add(OtherEvent(event, value, reason))


def _cut(value: str | None) -> str:
    return repr(value if value is None or len(value) <= LONGEST_QUOTED else f"{value[:LONGEST_QUOTED]}...")


def _named(walk: HistoryWalk, event: StoredEvent) -> dict[str, tuple[str | None, bool]]:
    """Return the values that an event names, by field, and whether each write is deliberate."""
    named: dict[str, tuple[str | None, bool]] = {f"{CUSTOM}{name}": (value, True) for name, (_, value) in walk.custom_writes(event).items()}
    for name, (value, stamp) in walk.writes(event).items():
        if name != "origin" or value is not None:
            named[name] = None if value is None else str(value), bool(stamp[0])
    return named


async def _status_others(
    record: Record, history: Sequence[StoredEvent], set_by: StoredEvent | None, words: StatusWords
) -> AsyncIterator[OtherEvent]:
    """Yield the events that named a status and are not the source of the present one; with the renames that gave it its name."""
    folded, walk, names = replace(record, stamps={}, custom_fields=[]), StatusWalk(), WordsWalk(words)
    restart_status(folded)
    initial = record.initial_status
    last: StoredEvent | None = None
    entries = {id(event) for event in status_entries(history)}
    async for event in in_slices(history):
        if initial is not None and event.effective_time[0] >= record.created_us:
            names.move(folded, record.created_us)
            advance_status(folded, INITIAL, initial, record.created_us, "", walk, names.present)
            initial = None
        named = folded.status
        names.move(folded, event.effective_time[0])
        if is_rename(event) and folded.status != named:
            yield OtherEvent(event, folded.status, f"it gave {named!r} this name; the event that had set the status stays its source")
        refused = event.detail.get("problems", {}).get(STATUS_REFUSED)
        if refused is not None:
            yield OtherEvent(event, refused, next(text for code, text in described(event.detail["problems"]) if code == STATUS_REFUSED))
        if id(event) not in entries:
            continue
        effect, before = walked_effect(event), folded.status
        ignored = why_ignored(folded, effect, event.status, walk, names.present)
        advance_status(folded, effect, event.status, *event.effective_time, walk, names.present)
        if ignored is not None:
            if event is not set_by:
                yield OtherEvent(event, event.status, ignored)
            continue
        if last is not None and last is not set_by:
            yield OtherEvent(last, before, _replaced(event))
        last = event


def _replaced(by: StoredEvent) -> str:
    return f"{by.event} of {by.tool} replaced it at {to_text(by.occurred_us)}"


async def _changes(record: Record, history: Sequence[StoredEvent], words: StatusWords) -> AsyncIterator[ValueChange]:
    """Yield every change of every value, in the order of their places; its end is known after the next one of the same field."""
    present: dict[str, ValueChange] = {}
    async for event, changed in _steps(HistoryWalk(record, history, words), history):
        since = event.effective_time[0]
        for name, (before, value) in sorted(changed.items()):
            if value == before:
                continue
            if name in present:
                present[name].until_us = since
            present[name] = ValueChange(name, value, before, since, None, event)
            yield present[name]


async def _steps(walk: HistoryWalk, history: Iterable[StoredEvent]) -> AsyncIterator[tuple[StoredEvent, dict[str, Change]]]:
    """Yield each event with the values that it may have changed: those before it and after it."""
    derived: dict[str, str | None] = {}
    created = {**walk.fields.shown, **{f"{CUSTOM}{name}": value for name, value in walk.custom.shown.items()}}
    async for event in in_slices(history):
        walk.step(event)
        before, derived = derived, derived_values(walk.folded)
        changed = {name: (before.get(name), value) for name, value in derived.items()}
        changed |= {name: (value, walk.fields.shown[name]) for name, value in walk.fields.before.items()}
        changed |= {f"{CUSTOM}{name}": (value, walk.custom.shown[name]) for name, value in walk.custom.before.items()}
        if created:  # values of a creation that is no event count as the first event's
            changed = {name: (None, value) for name, value in (created | {name: pair[1] for name, pair in changed.items()}).items()}
            created = {}
        yield event, changed


def place_of(change: ValueChange) -> tuple[Micros, str, str]:
    """Return the place of a value in the history: the effective time of its event, and the field."""
    return (*change.event.effective_time, change.field)


def _present_name(record: Record, history: Iterable[StoredEvent], name: str) -> str:
    """Return the present name of a field of the record; raises `Invalid` if it has none of this name."""
    field_names = FieldNames(history)
    names = present_names(record, field_names)
    if name not in names and name.startswith(CUSTOM):
        name = f"{CUSTOM}{field_names.present(name.removeprefix(CUSTOM))}"
    if name not in names:
        near = suggest(name, names)
        advice = f"did you mean {near}?" if near else f"there are {', '.join(names[:MOST_FAULTS])}"
        raise Invalid([Fault("?field", "unknown", f"must be the name of a field of this record; {advice}")])
    return name
