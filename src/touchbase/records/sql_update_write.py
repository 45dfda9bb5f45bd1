"""One write through the API on one record in memory: its fields and custom fields, and the entry that says so in the history."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from touchbase.common.field_limits import MOST_HELD
from touchbase.history import status as st
from touchbase.history.events import CONTACT, VIA_API, Detail, StoredEvent
from touchbase.history.last_writer_wins import CLEARED, DELIBERATE, LAST_WRITE, NEVER, Place, Stamp, beats
from touchbase.records.commands import UpdateCompany, UpdateContact
from touchbase.records.custom_field import CustomField
from touchbase.records.field_projection import projected_custom_fields, projected_fields
from touchbase.records.projection import Record, held_stamp, origin_write, write_field
from touchbase.sql.ids import Ids

Update = UpdateContact | UpdateCompany

_KEYS = {"email": ("email", "email_key"), "linkedin_url": ("linkedin", "linkedin_key"), "domain": ("domain", "domain")}
"""Fields by which a record is found: the word of links from a former one, and the column that holds its normal form."""


@dataclass(slots=True)
class Write:
    """What one write did to its record."""

    entry: StoredEvent
    custom: list[CustomField] = field(default_factory=list)
    """Those whose value or stamp is another."""
    former: list[tuple[str, str]] = field(default_factory=list)
    """Keys that lead to the record though it does not have them: a late call that names one is about the same person."""
    shows: bool = False
    """Whether a caller sees other values than before."""


def names_anything(command: Update) -> bool:
    """Whether a command is a write at all; an empty patch is none."""
    return bool(command.changes or command.custom or command.clear_custom or command.creates)


def write_record(kind: int, asked: Update, record: Record, ids: Ids) -> Write:
    """Change the record, all but its status, which is folded from the entry."""
    command = _in_turn(asked, record)
    stamp: Stamp = (DELIBERATE, command.at, command.key)
    made = Write(_entry(kind, command))
    _write_fields(command, record, stamp, made)
    _write_custom(command, record, stamp, made, ids)
    if command.creates:
        if (origin := origin_write(made.entry)) is not None:
            made.shows |= write_field(record, "origin", *origin)
        if not record.from_api:
            record.from_api, record.created_us = True, command.at
    record.stamps[LAST_WRITE] = stamp
    return made


def project_record(record: Record, history: Sequence[StoredEvent], made: Write) -> None:
    """Give a record of several objects what its whole history gives: events later than the write may have been applied before it."""
    for name, _, best in projected_fields(record, history):
        made.shows |= getattr(record, name) != best.value
        setattr(record, name, best.value)
        record.stamps[name] = best.stamp
    known = {one.name: one for one in record.custom_fields}
    for name, held, best in projected_custom_fields(record.custom_fields, history):
        one = known[name]
        if one.value != best.value:
            one.value, one.updated_us, made.shows = best.value, made.entry.occurred_us, True
        if (held.value, held.stamp) != (best.value, best.stamp):
            one.priority, one.stamped_us, one.stamp_key = best.stamp
            made.custom.append(one)


def _in_turn(asked: Update, record: Record) -> Update:
    """The command, after the record's last write through the API also when our clock was put back: what is asked for last must stay."""
    last = _last_write(record)
    return asked if (asked.at, asked.key) > last else replace(asked, at=last[0] + 1)


def _last_write(record: Record) -> Place:
    if (known := record.stamps.get(LAST_WRITE)) is not None:
        return known[1:]
    places = [stamp[1:] for stamp in record.stamps.values()]
    places += [(one.stamped_us, one.stamp_key) for one in record.custom_fields]
    places.append((record.status_entry_us or 0, record.status_entry_key or ""))
    created = [(record.created_us, "")] if record.from_api else []
    return max([place for place in places if place[1].startswith("api:")] + created, default=(0, ""))


def _entry(kind: int, command: Update) -> StoredEvent:
    what = "contact" if kind == CONTACT else "company"
    detail: Detail = {"by": command.by} if any(command.by) else {}
    named = {name: value for name, value in command.changes.items() if name != "status" and (name in _KEYS or not name.endswith("_key"))}
    if named:
        detail["fields"] = named
    if command.custom:
        detail["custom"] = command.custom
    if command.clear_custom:
        detail["cleared"] = True
    effect, status = "", None
    if "status" in command.changes:
        effect, status = st.INITIAL if command.creates else st.STATUS, command.changes["status"]
    return StoredEvent(
        record_kind=kind, record_id=command.id, occurred_us=command.at, key=command.key,
        event=f"{what}.created" if command.creates else f"{what}.updated", effect=effect, status=None if status is None else str(status),
        tool="api", channel="api", campaign=None, delivery_id=None, received_us=command.at, via=VIA_API, detail=detail,
    )  # fmt: skip


def _write_fields(command: Update, record: Record, stamp: Stamp, made: Write) -> None:
    for name, value in made.entry.detail.get("fields", {}).items():
        wins = beats(stamp, held_stamp(record, name))
        made.shows |= wins and getattr(record, name) != value
        if name in _KEYS:
            word, column = _KEYS[name]
            old, new = getattr(record, column), command.changes[column]
            former = old if wins else new
            if former is not None and old != new:
                made.former.append((word, str(former)))
            if wins:
                setattr(record, column, new)
        if wins:
            record.stamps[name] = stamp
            setattr(record, name, value)


def _write_custom(command: Update, record: Record, stamp: Stamp, made: Write, ids: Ids) -> None:
    by_name = {one.name: one for one in record.custom_fields}
    wanted: dict[str, str | None] = {}
    if command.clear_custom:
        wanted = dict.fromkeys(by_name)
        if beats(stamp, record.stamps.get(CLEARED, NEVER)):
            record.stamps[CLEARED] = stamp
    wanted.update(command.custom)
    for name, value in wanted.items():
        one = by_name.get(name)
        if one is None:
            if value is None and len(record.custom_fields) >= MOST_HELD:
                continue  # a name that nobody has set must not make a full record grow
            one = CustomField(ids.take("custom_field"), name, None, command.at, *NEVER, command.at)
            record.custom_fields.append(one)
        if beats(stamp, (one.priority, one.stamped_us, one.stamp_key)):
            one.priority, one.stamped_us, one.stamp_key = stamp
            if one.value != value:
                one.value, one.updated_us, made.shows = value, command.at, True
            made.custom.append(one)
