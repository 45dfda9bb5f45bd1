"""What a change did, read from its events: how many records got which value of which field, and the records one by one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from touchbase.event_log.models import FOLLOWS, LoggedEvent
from touchbase.event_log.sql.changes import Change, end_of_change, find_change, find_edit, page_of_change
from touchbase.history.events import COMPANY, CONTACT
from touchbase.sql.builders import ROW_KEY
from touchbase.sql.operation import query
from touchbase.sql.statement import Execute, Plan, Statement

MOST_EVENTS = 5_000
"""Events of a change that a summary reads; of a larger change these are its last ones."""
MOST_VALUES = 5
"""Pairs of values of a field that a summary has one by one, the most frequent ones."""
_OF = "WHERE t.client = p.client AND t.id = p.id"
_NAMES = {
    CONTACT: Statement("contact_names", ROW_KEY, body=f"SELECT t.id, t.first_name, t.last_name, t.email FROM p CROSS JOIN contact t {_OF}"),
    COMPANY: Statement("company_names", ROW_KEY, body=f"SELECT t.id, t.name, NULL, t.domain FROM p CROSS JOIN company t {_OF}"),
}
Key = tuple[str, int | None, int | None]
"""Subject of events: what they are about, and kind and id of the record."""


def subject_of(event: LoggedEvent) -> Key:
    """Return what an event is about."""
    subject = event.type.partition(".")[0]
    number = event.data.get(f"{subject}_id") if event.record_id is None else event.record_id
    return subject, event.record_kind, number


def net_changes(events: Sequence[LoggedEvent]) -> dict[str, tuple[Any, Any]]:
    """Return the differences that events of one subject make together, from the newest one to the oldest."""
    net: dict[str, tuple[Any, Any]] = {}
    for event in events:
        for name, (before, after) in event.changed.items():
            net[name] = before, net[name][1] if name in net else after
    return {name: values for name, values in net.items() if values[0] != values[1]}


class FieldEffect(NamedTuple):
    """Records in which a field got a value in place of another one."""

    record: str
    field: str
    before: Any
    after: Any
    records: int
    is_several: bool = False
    """Whether it stands for several pairs of values, which are left out."""


@dataclass(slots=True)
class Summary:
    """What a change did to how many records."""

    acts: dict[str, int] = field(default_factory=dict)
    """Events by what happened, such as `contact.created`, but for changes of values."""
    fields: list[FieldEffect] = field(default_factory=list)
    is_complete: bool = True
    """Whether all events of the change were read."""


class RecordEffect(NamedTuple):
    """What a change did to one record."""

    record: str
    id: int | None
    name: str
    """Of the contact or company, else its address; blank: it is gone."""
    acts: list[str]
    changed: dict[str, tuple[Any, Any]]


def find_change_or_edit(client: int, id: str) -> Plan[Change | None]:
    """Return the change with this id, or the recent edit that a request with this id made; None if there is none."""
    change: Change | None = yield from find_change.plan(client, id)
    return change if change is not None else (yield from find_edit.plan(client, id))


def _end(change: Change) -> Plan[int]:
    end: int = yield from end_of_change.plan(change.client, change.first_event, change.until_us)
    return end


@query
def summary_of_change(client: int, id: str) -> Plan[Summary | None]:
    """What a change did, by its last events; None if there is no such change."""
    change = yield from find_change_or_edit(client, id)
    if change is None:
        return None
    below = yield from _end(change)
    events: list[LoggedEvent] = []
    while below > change.first_event and len(events) < MOST_EVENTS:
        more, below = yield from _page(change, below, MOST_EVENTS - len(events))
        events += more
    acts: Counter[str] = Counter()
    pairs: dict[tuple[str, str], Counter[tuple[Any, Any]]] = {}
    for event in events:
        subject, _, act = event.type.partition(".")
        if act not in ("updated", "status_changed"):
            acts[event.type] += 1
        if act not in ("created", "restored"):  # with all values of the record
            for name, (before, after) in event.changed.items():
                if name not in FOLLOWS:
                    pairs.setdefault((subject, name), Counter())[_plain(before), _plain(after)] += 1
    fields: list[FieldEffect] = []
    for (subject, name), counted in sorted(pairs.items(), key=lambda item: (-item[1].total(), item[0])):
        shown = counted.most_common(MOST_VALUES)
        fields += [FieldEffect(subject, name, before, after, records) for (before, after), records in shown]
        if remaining := counted.total() - sum(records for _, records in shown):
            fields.append(FieldEffect(subject, name, None, None, remaining, is_several=True))
    return Summary(dict(acts.most_common()), fields, below <= change.first_event)


@query
def effects_of_change(client: int, id: str, limit: int, before: int | None = None) -> Plan[tuple[list[RecordEffect], int | None]]:
    """The last records of a change before a sequence, the newest first, and the sequence before which to go on; None at the end.

    A record is listed twice if its events are not next to each other.
    """
    change = yield from find_change_or_edit(client, id)
    if change is None:
        return [], None
    below = before or (yield from _end(change))
    groups: list[tuple[Key, list[LoggedEvent]]] = []
    while below > change.first_event and len(groups) <= limit:
        events, below = yield from _page(change, below, limit)
        for event in events:
            if groups and groups[-1][0] == subject_of(event):
                groups[-1][1].append(event)
            else:
                groups.append((subject_of(event), [event]))
    has_more = len(groups) > limit or below > change.first_event
    shown = groups[:limit]
    names = yield from _names(client, [key for key, _ in shown])
    effects = [
        RecordEffect(
            subject, number, names.get((kind, number), ""),
            list(dict.fromkeys(event.type.partition(".")[2] for event in reversed(events))),
            {name: values for name, values in net_changes(events).items() if name not in FOLLOWS},
        )
        for (subject, kind, number), events in shown
    ]  # fmt: skip
    return effects, shown[-1][1][-1].sequence if has_more and shown else None


def _page(change: Change, below: int, limit: int) -> Plan[tuple[list[LoggedEvent], int]]:
    page = page_of_change.plan(change.client, change.request_id, change.actor_id, change.first_event, below, limit)
    events, below = yield from page
    return events, below


def _plain(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _names(client: int, subjects: Sequence[Key]) -> Plan[dict[tuple[int | None, int | None], str]]:
    names: dict[tuple[int | None, int | None], str] = {}
    for kind, statement in _NAMES.items():
        numbers = sorted({number for _, of, number in subjects if of == kind and number is not None})
        rows = (yield Execute(statement, [(client, number) for number in numbers])) if numbers else ()
        names |= {(kind, row[0]): " ".join(filter(None, row[1:3])) or row[3] or "" for row in rows}
    return names
