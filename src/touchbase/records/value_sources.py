"""Sources of values: check that an event of its history set each value of a record, and that each link leads to the record of its events.

Before creations through the API were entries, and before events stored the addresses that they name, histories were incomplete:
for records from then only contradictions are differences.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.history.events import VIA_API, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import API_KEY, CARRIED, DELIBERATE, DERIVED, Stamp, beats
from touchbase.records.further_emails import by_key, is_promoted
from touchbase.records.models import Record
from touchbase.records.projection import OF_ABSORBED, current_stamp, field_writes, is_history_complete, object_of, origin_write
from touchbase.records.record_type import IDENTITY_FIELDS, RESOLVED_FIELDS, stamped_fields, type_of

UNSET = "unset, because no event and no write has set it"
Value = str | int | None


@dataclass(frozen=True, slots=True)
class WrongValue:
    """A value that contradicts the record's history."""

    field: str
    stored: Value
    wanted: str


@dataclass(frozen=True, slots=True)
class _Write:
    """One write of a field by an event."""

    value: Value
    stamp: Stamp
    is_in_history: bool = True
    """Whether the history has the value."""
    by_api: bool = False


def wrong_values(record: Record, history: Sequence[StoredEvent], companies: Mapping[Ref, int | None]) -> Iterator[WrongValue]:
    """Yield values that no event has set, or to which an event has set another value; `companies` are the companies by ref."""
    is_strict = record.from_api and is_history_complete(record, history)
    for name in stamped_fields(record):
        writes = [write for event in history for write in _writes(name, event, companies)]
        value, stamp = getattr(record, name), current_stamp(record, name)
        if name == "email" and is_promoted(record):
            value = None
        if name in RESOLVED_FIELDS:
            yield from _resolved(name, value, stamp, writes)
        is_derived = name == "company_id" and stamp == DERIVED  # it follows from the address, not from an event
        if value is not None and not is_derived and not _is_of(writes, value, stamp, record, is_strict=is_strict):
            yield WrongValue(name, value, UNSET)
    for custom_field in record.custom_fields:
        writes = [write for event in history for write in _custom_writes(custom_field.name, event)]
        stamp = (custom_field.priority, custom_field.stamped_us, custom_field.stamp_key)
        if custom_field.value is not None and not _is_of(writes, custom_field.value, stamp, record, is_strict=is_strict):
            yield WrongValue(f"custom field {custom_field.name}", custom_field.value, UNSET)


def _writes(name: str, event: StoredEvent, companies: Mapping[Ref, int | None]) -> Iterator[_Write]:
    at = event.effective_time
    if name == "origin" and (origin := origin_write(event)) is not None:
        yield _Write(*origin)
    if name not in RESOLVED_FIELDS:
        yield from (_Write(value, stamp) for of, value, stamp in field_writes(event) if of == name)
        return
    fields = event.detail.get("fields", {})
    if event.via == VIA_API:
        if name in fields:
            value = fields[name]
            value = companies.get(("", "company", str(value)), value) if name == "company_id" else value
            yield _Write(value, (DELIBERATE, *at), by_api=OF_ABSORBED not in event.detail)
        return
    stamp = (DELIBERATE if "." in event.event else 0, *at)
    if name == "company_id":
        if (ref := company_ref(event)) is not None:
            yield _Write(companies.get(ref), stamp, ref in companies)
        return
    named = event.detail.get("named", {})
    yield _Write(named.get(name), stamp, name in named)


def company_ref(event: StoredEvent) -> Ref | None:
    """Return the ref of the company that a contact's event names."""
    named = event.detail.get("company")
    return None if named is None else (event.tool, f"company:{named[0]}", named[1])


def companies_of(history: Sequence[StoredEvent]) -> Iterator[Ref]:
    """Yield the refs of companies that a contact's history names."""
    for event in history:
        if (ref := company_ref(event)) is not None:
            yield ref
        if event.via == VIA_API and (number := event.detail.get("fields", {}).get("company_id")) is not None:
            yield ("", "company", str(number))


def _custom_writes(name: str, event: StoredEvent) -> Iterator[_Write]:
    custom = event.detail.get("custom", {})
    if name in custom:
        yield _Write(custom[name], (DELIBERATE, *event.effective_time))


def _is_of(writes: Sequence[_Write], value: Value, stamp: Stamp, record: Record, *, is_strict: bool) -> bool:
    """Return whether one of these writes, or one missing from an incomplete history, can have set the value."""
    if any(write.stamp == stamp for write in writes):
        return True  # `consistency/records.py` and `_resolved` compare the value
    if is_strict:
        return False
    if record.from_api and stamp == (DELIBERATE, record.created_us, ""):
        return True
    # In earlier versions a write without a change was not an entry: the value is the one before.
    return stamp[2].startswith(API_KEY) and (any(write.value == value or not write.is_in_history for write in writes) or record.from_api)


def _resolved(name: str, value: Value, stamp: Stamp, writes: Sequence[_Write]) -> Iterator[WrongValue]:
    """Yield an address or a company, set by identity resolution, that differs from its event's or from a later write's."""
    for write in writes:
        if not write.is_in_history:
            continue
        is_its_own = write.stamp[1:] == stamp[1:] and not _is_same(name, write.value, value)
        is_later = write.by_api and stamp[0] >= CARRIED and beats(write.stamp, stamp)
        if is_its_own or is_later:
            yield WrongValue(name, value, "unset by a write" if write.value is None else f"{write.value!r}, set by an event")
            return


def _is_same(name: str, first: Value, second: Value) -> bool:
    if isinstance(first, str) and isinstance(second, str) and name in ADDRESS_KEYS:
        return ADDRESS_KEYS[name](first) == ADDRESS_KEYS[name](second)
    return first == second


FORMER = {field.link: field.name for field in IDENTITY_FIELDS.values()}
"""Fields by the `object_type` of links from their former values."""


def wrong_links(record: Record, history: Sequence[StoredEvent], links: Sequence[Ref]) -> Iterator[tuple[Ref, str]]:
    """Yield links to a record of another kind, or to a record that has none of their events."""
    kind = type_of(record).name
    objects = {object_ for event in history if (object_ := object_of(event)) is not None}
    merged = {(event.tool, str(event.detail["merged_into"])) for event in history if event.detail.get("merged_into")}
    vague = {event.tool for event in history if event.via != VIA_API and object_of(event) is None}
    is_complete = is_history_complete(record, history) if record.from_api else _names_all(record, history)
    addresses = {name: set(_addresses(name, history)) for name in FORMER.values()}
    for ref in links:
        if _kind_of(ref) != kind:
            yield ref, f"it is a link of a {_kind_of(ref)}"
            continue
        is_vague = ref[0] in vague if ref[0] else ref[1] not in FORMER or not is_complete
        is_named = ref in objects or (ref[0], ref[2]) in merged if ref[0] else ref[2] in addresses.get(FORMER.get(ref[1], ""), ())
        if not is_vague and not is_named:
            yield ref, "no event of the record names it"


def _kind_of(ref: Ref) -> str:
    if ref[0]:
        return "company" if ref[1].startswith("company:") else "contact"
    return "company" if ref[1] == "domain" or ref[1].startswith("company") else "contact"


def _names_all(record: Record, history: Sequence[StoredEvent]) -> bool:
    """Return whether events stored their addresses already when the first of these arrived."""
    first = min((event.received_us for event in history), default=None)
    return first == record.created_us and any("named" in event.detail for event in history if event.received_us == first)


def _addresses(name: str, history: Sequence[StoredEvent]) -> Iterator[str | None]:
    for event in history:
        for values in (event.detail.get("named", {}), event.detail.get("fields", {})):
            if values.get(name):
                yield ADDRESS_KEYS[name](values[name])
        if name == "email":
            yield from by_key(event.detail.get("emails", ()))
