"""Plan that changes custom fields of many records without making the values newer: renaming a field, joining two, respelling a value.

Each record gets one entry in its history, an API write that takes effect right after the writes that it changes. A fact that
happened later still wins, whether it arrives before or after this, so the order of arrival makes no difference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.event_log.models import LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, NO_AUTHOR, VIA_API, Author, Detail, StoredEvent
from touchbase.history.last_writer_wins import API_KEY, DELIBERATE, NEVER, EffectiveTime, Stamp, beats
from touchbase.history.sql import event_of, event_row
from touchbase.records.logged_changes import CUSTOM, changes, state_of
from touchbase.records.models import CustomField, Record
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.rows import custom_field_row
from touchbase.records.sql.search_pending import NOTE_FOR_SEARCH
from touchbase.records.sql.statements import TABLES, lock_records
from touchbase.sql.builders import ROW_KEY, update
from touchbase.sql.ids import Ids
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Execute, Plan, Row

Values = Mapping[str, str | None]
"""A record's custom fields by name; None for one that a write removed. One that such a change removed is left out."""
_UPDATED: Columns = (*ROW_KEY, ("updated_us", "bigint"))
TOUCH_CONTACT = update("touch_contact", "contact", _UPDATED)
TOUCH_COMPANY = update("touch_company", "company", _UPDATED)


@dataclass(frozen=True, slots=True)
class ChangeOfValues:
    """One change of custom fields, for any number of records."""

    change: Callable[[Values], Values]
    """From a record's custom fields to the fields that the entry sets; if empty, the record stays as it is."""
    follows: frozenset[str]
    """The fields whose last write the change follows."""
    at: Micros
    key: str
    """Distinguishes this change from others, in the keys of its entries."""
    by: Author = NO_AUTHOR
    reused: str = ""
    """A former name of another field: the change also follows that field's events (with its removal) from before `reused_us`."""
    reused_us: Micros = 0
    is_newer: bool = False
    """Whether the change takes effect at `at`: a decision of now, which older facts that arrive later cannot undo."""
    note: Callable[[tuple[int, int], str, str | None, str | None], None] | None = None
    """Takes the changes of each record (kind and id, field, values before and after) in place of the log."""


MARK = "!"
"""Mark in the keys of entries of such changes, and in no other key. It comes before all their characters: of writes at one time,
the entry follows the one that it changes, and precedes the next."""


def renaming(
    former: str,
    name: str,
    at: Micros,
    key: str,
    reused_us: Micros = 0,
    *,
    note: Callable[[tuple[int, int], str, str | None, str | None], None] | None = None,
) -> ChangeOfValues:
    """Return the change that gives a field another name; of values under both names the later one stays.

    Before `reused_us` the new name was another field's.
    """

    def change(values: Values) -> Values:
        return {former: None, name: values[former]} if former in values else {}

    return ChangeOfValues(change, frozenset({former}), at, key, reused=name, reused_us=reused_us, note=note)


def is_renaming(event: StoredEvent, renamed: Mapping[str, str]) -> bool:
    """Return whether an event is the entry of such a change that took a value from a former name."""
    custom = event.detail.get("custom", {})
    return event.via == VIA_API and MARK in event.key and any(custom.get(name, "") is None for name in renamed)


def change_values(client: int, kind: int, numbers: Sequence[int], what: ChangeOfValues, ids: Ids) -> Plan[dict[int, Micros]]:
    """Change the custom fields of these records; return the records that show other values than before, with their `updated_us`."""
    rows = yield from lock_records(client, kind, numbers)
    records: list[Record] = [*map(TABLES[kind].record_of, rows)]
    yield from records_sql.load_custom_fields(kind, records)
    changed = ((record, dict(what.change(_values(record)))) for record in records)
    wanted = [(record, new) for record, new in changed if new]
    if not wanted:
        return {}
    histories: dict[int, list[StoredEvent]] = {record.id: [] for record, _ in wanted}
    for row in (yield Execute(history_sql.EVENTS_OF, [(client, kind, number) for number in histories])):
        histories[row[2]].append(event_of(row))
    customs: list[Row] = []
    entries: list[Row] = []
    touched: list[Row] = []
    logs: list[LoggedEvent] = []
    for record, new in wanted:
        before = state_of(record)
        entry = _entry(kind, record, new, histories[record.id], what)
        entries.append(event_row(client, entry))
        written = _written(record, entry, what.at, ids)
        customs += [custom_field_row(client, kind, record.id, custom_field) for custom_field, _ in written]
        if any(shows for _, shows in written):
            touched.append((client, record.id, max(what.at, record.updated_us + 1)))
            if what.note is None:
                logs += changes(record, before, what.at, by_request(what.by))
            else:
                for custom_field, _ in written:
                    what.note((kind, record.id), custom_field.name, before.get(f"{CUSTOM}{custom_field.name}"), custom_field.value)
    yield Execute(history_sql.INSERT_EVENT, entries)
    if customs:
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, customs)
    if touched:
        yield Execute(TOUCH_CONTACT if kind == CONTACT else TOUCH_COMPANY, touched)
        yield Execute(NOTE_FOR_SEARCH, [(client, kind, number) for _, number, _ in touched])
        yield from log_events(logs)
    return {number: updated_us for _, number, updated_us in touched}


def _values(record: Record) -> Values:
    return {
        custom_field.name: custom_field.value
        for custom_field in record.custom_fields
        if custom_field.value is not None or MARK not in custom_field.stamp_key
    }


def _entry(kind: int, record: Record, changes: Values, history: Sequence[StoredEvent], what: ChangeOfValues) -> StoredEvent:
    detail: Detail = {"custom": changes}
    if any(what.by):
        detail["by"] = what.by
    time, key = _effective_time(record, history, what)
    return StoredEvent(
        record_kind=kind, record_id=record.id, occurred_us=time, key=key, event=f"{RECORD_TYPES[kind].name}.updated", effect="",
        status=None, tool="api", channel="api", campaign=None, delivery_id=None, received_us=max(what.at, time), via=VIA_API, detail=detail,
    )  # fmt: skip


def _effective_time(record: Record, history: Sequence[StoredEvent], what: ChangeOfValues) -> EffectiveTime:
    """Return the time right after the last write of the fields, also by an object whose value another one hides.

    The record's id in the key keeps the entries of two records apart if these are merged later.
    """
    stamps = [
        (custom_field.priority, custom_field.stamped_us, custom_field.stamp_key)
        for custom_field in record.custom_fields
        if custom_field.name in what.follows
    ]
    for event in history:
        names = {*what.follows, what.reused} if event.received_us < what.reused_us else what.follows
        if event.detail.get("cleared") or not names.isdisjoint(event.detail.get("custom", ())):
            stamps.append((DELIBERATE, *event.effective_time))
    _, last_us, last_key = max(stamps, default=NEVER)
    mine = f"{what.key}.{record.id}"
    if what.is_newer and last_us <= what.at:
        return max((last_us, f"{last_key}{MARK}{mine}"), (what.at, f"{API_KEY}{mine}"))
    return last_us, f"{last_key}{MARK}{mine}"


def _written(record: Record, entry: StoredEvent, at: Micros, ids: Ids) -> list[tuple[CustomField, bool]]:
    """Write the entry's values into the record; return the fields that it wrote, and whether their values changed."""
    stamp: Stamp = (DELIBERATE, *entry.effective_time)
    by_name = {custom_field.name: custom_field for custom_field in record.custom_fields}
    written = []
    for name, value in entry.detail["custom"].items():
        custom_field = by_name.get(name)
        if custom_field is None:
            custom_field = CustomField(ids.take("custom_field"), name, None, at, *NEVER, at)
            record.custom_fields.append(custom_field)
        if beats(stamp, (custom_field.priority, custom_field.stamped_us, custom_field.stamp_key)):
            custom_field.priority, custom_field.stamped_us, custom_field.stamp_key = stamp
            written.append((custom_field, custom_field.value != value))
            if custom_field.value != value:
                custom_field.value, custom_field.updated_us = value, at
    return written
