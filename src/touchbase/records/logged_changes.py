"""Events of the log about records: changes of a write, field by field, as the API shows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from touchbase.common.timestamps import Micros, from_text, to_text
from touchbase.event_log.models import DELIVERY, LoggedEvent, record_event
from touchbase.history.events import COMPANY, CONTACT
from touchbase.history.status_words import PLAIN, StatusWords
from touchbase.records.further_emails import all_emails
from touchbase.records.models import Contact, Record
from touchbase.records.primary_keys import shown_values
from touchbase.records.record_type import RECORD_TYPES, type_of

State = dict[str, Any]
"""The values of a record by the names that the API shows, custom fields as `cf.<name>`; a value that is unset may be left out."""
_TIMES = {"first_sent_us": "first_campaign_email_sent", "last_sent_us": "last_campaign_email_sent", "last_reply_us": "last_reply_received"}
_REPLY = "last_reply_received"
_IS_TIME = frozenset({*_TIMES.values(), "status_changed_at"})
# In the order of `shown_values`.
_NAMES = {
    kind: (*type_.names, type_.status, "previous_status", "status_changed_at", *(_TIMES[name] for name in type_.times), *type_.lists)
    for kind, type_ in RECORD_TYPES.items()
}
_STATUS = {kind: frozenset({type_.status, "previous_status", "status_changed_at"}) for kind, type_ in RECORD_TYPES.items()}
CUSTOM = "cf."
_FURTHER = "further_emails"


def state_of(record: Record, words: StatusWords = PLAIN) -> State:
    """Return the present values of a record with its loaded custom fields."""
    kind = type_of(record).kind
    state = state_of_shown(kind, shown_values(record), words)
    for custom_field in record.custom_fields:
        state[f"{CUSTOM}{custom_field.name}"] = custom_field.value
    return state


def state_of_shown(kind: int, values: Sequence[Any], words: StatusWords = PLAIN) -> State:
    """Return the state that these `shown_values` of a record are, without custom fields."""
    state: State = dict(zip(_NAMES[kind], values, strict=True))
    if words.names:
        for name in (RECORD_TYPES[kind].status, "previous_status"):
            state[name] = words.of(state[name])
    return state


def difference(before: State, after: State) -> dict[str, tuple[Any, Any]]:
    """Return the differences between two states of a record; times as the API shows them."""
    if before == after:
        return {}
    changed: dict[str, tuple[Any, Any]] = {}
    for name in before | after if before else [name for name, value in after.items() if value is not None]:
        old, new = before.get(name), after.get(name)
        if name == _FURTHER and old != new:
            changed["emails"] = (_emails(before), _emails(after))
            continue
        if old != new:
            changed[name] = (_time(old), _time(new)) if name in _IS_TIME else (old, new)
    return changed


def _emails(state: State) -> list[str] | None:
    further: str | None = state.get(_FURTHER)
    return None if further is None else all_emails(state.get("email"), further)


def _time(value: Micros | None) -> str | None:
    return None if value is None else to_text(value)


def creation_event(record: Record, cause: Mapping[str, Any], at: Micros) -> LoggedEvent:
    """Return the event of a record that was created, with all its values."""
    changed: dict[str, Any] = {}
    kind = CONTACT if isinstance(record, Contact) else COMPANY
    for name, value in zip(_NAMES[kind], shown_values(record), strict=True):
        if value is not None:
            changed[name] = (None, to_text(value) if name in _IS_TIME else value)
    for custom_field in record.custom_fields:
        if custom_field.value is not None:
            changed[f"{CUSTOM}{custom_field.name}"] = (None, custom_field.value)
    if isinstance(record, Contact) and changed.pop(_FURTHER, None) is not None:
        changed["emails"] = (None, all_emails(record.email, record.further_emails))
    return LoggedEvent(record.client, record_event(kind, "created"), at, kind, record.id, changed, cause)


def changes(record: Record, before: State, at: Micros, cause: Mapping[str, Any], words: StatusWords = PLAIN) -> list[LoggedEvent]:
    """Return the events of a change of a record: none if no value differs."""
    return events_of(record, difference(before, state_of(record, words)), at, cause)


def events_of(record: Record, changed: Mapping[str, Any], at: Micros, cause: Mapping[str, Any], what: str = "updated") -> list[LoggedEvent]:
    """Return the events of these differences of a record.

    The status and, if a webhook brought it, the last reply have events of their own; `what` names the event of all else.
    """
    events: list[LoggedEvent] = []
    remaining = dict(changed)
    replied = {}
    if remaining and type_of(record).kind == CONTACT and cause.get("origin") == DELIVERY and _is_reply(remaining.get(_REPLY)):
        replied = {_REPLY: remaining.pop(_REPLY)}
    if what == "updated":
        names = _STATUS[type_of(record).kind]
        status = {name: remaining.pop(name) for name in [*remaining] if name in names}
        if status:
            events.append(_event(record, "status_changed", at, status, cause))
    if remaining or what != "updated":
        events.insert(0, _event(record, what, at, remaining, cause))
    if replied:
        events.append(_event(record, "replied", at, replied, cause))
    return events


def _is_reply(values: tuple[Any, Any] | None) -> bool:
    """Return whether a reply is later than the last one."""
    return values is not None and values[1] is not None and (values[0] is None or from_text(values[0]) < from_text(values[1]))


def _event(record: Record, what: str, at: Micros, changed: Mapping[str, Any], cause: Mapping[str, Any]) -> LoggedEvent:
    kind = type_of(record).kind
    return LoggedEvent(record.client, record_event(kind, what), at, kind, record.id, changed, cause)
