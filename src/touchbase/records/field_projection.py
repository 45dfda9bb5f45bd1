"""Projection of fields: which values a record's whole history gives, object by object.

The usual event folds in one step (`records/projection.py`). The whole history decides where it must: a record of several objects
of CRMs, whose values do not clear or rename one another, and a fact that turned out to be older.

Of one object the last write counts. What an object leaves empty clears its own value and one of the API, never one of another
object. Of several objects of one kind in one CRM, the first to come names the record; one that was deleted there comes last.
A later write of the API replaces them all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.events import VIA_API, StoredEvent
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, NEVER, Place, Stamp, beats
from touchbase.records.custom_field import CustomField
from touchbase.records.projection import Record, field_writes, held_stamp, is_told_whole, origin_write

Object = tuple[str, str, str]
"""A tool, its word for the kind of object, and the object's id."""
API: Object = ("", "", "")
"""Stands for no object: values of the API and of campaign tools."""


@dataclass(frozen=True, slots=True)
class Written:
    """One value, which write it is of, and which object that was about."""

    value: str | None
    stamp: Stamp
    source: Object = API


@dataclass(slots=True)
class Objects:
    """The objects of CRMs in one history: which are one by a merge, and which came first."""

    leader: dict[Object, Object] = field(default_factory=dict)
    first: dict[Object, Place] = field(default_factory=dict)
    last: dict[Object, tuple[Micros, str, bool]] = field(default_factory=dict)

    @classmethod
    def of_history(cls, history: Iterable[StoredEvent]) -> Objects:
        """Those that the events of a history are about."""
        objects = cls()
        named = [(one, event) for event in history if (one := object_of(event)) is not None]
        for one, event in named:
            if (survivor := event.detail.get("merged_into")) is not None:
                pair = sorted((objects.of(one), objects.of((one[0], one[1], survivor))))
                objects.leader[pair[1]] = pair[0]
        for one, event in named:
            leader, at = objects.of(one), event.place
            objects.first[leader] = min(objects.first.get(leader, at), at)
            gone = event.event.endswith(".deleted") and "merged_into" not in event.detail
            objects.last[leader] = max(objects.last.get(leader, (*at, gone)), (*at, gone))
        return objects

    def source(self, event: StoredEvent) -> Object:
        """The object that an event's values are of."""
        one = object_of(event)
        if one is not None:
            return self.of(one)
        if event.via == VIA_API or "." not in event.event:
            return API
        # An event of before events said so: the tool's first object, as a record has one of each tool as a rule.
        ours = [each for each in self.first if each[0] == event.tool]
        return min(ours, key=self.rank, default=(event.tool, "", ""))

    def of(self, one: Object) -> Object:
        """The object that one is by a merge."""
        while self.leader.get(one, one) != one:
            one = self.leader[one]
        return one

    def rank(self, one: Object) -> tuple[bool, Micros, str]:
        """Smaller for what comes first; what was deleted comes last."""
        return (self.last[one][2], *self.first[one])


def object_of(event: StoredEvent) -> Object | None:
    """The object that a CRM's event is about."""
    named = event.detail.get("object")
    return None if named is None or event.via == VIA_API else (event.tool, named[0], named[1])


def has_several_objects(history: Iterable[StoredEvent]) -> bool:
    """Whether the fields of a record with this history are those of several objects."""
    return len({one for event in history if (one := object_of(event)) is not None}) > 1


def projected_fields(record: Record, history: Sequence[StoredEvent], gone: Container[Place] = ()) -> Iterator[tuple[str, Written, Written]]:
    """Our own fields that a history writes: each name, what the record holds, and what it must hold.

    `gone` are places of events that turned out to be older: what they had set is of no event any more.
    """
    writes: dict[str, list[Written]] = {}
    objects = Objects.of_history(history)
    has_origins = is_told_whole(record, history)
    for event in history:
        source = objects.source(event)
        for name, value, stamp in field_writes(event):
            writes.setdefault(name, []).append(Written(value, stamp, source))
        if has_origins and (origin := origin_write(event)) is not None:
            writes.setdefault("origin", []).append(Written(*origin))
    for name, each in writes.items():
        held = Written(getattr(record, name), held_stamp(record, name))
        yield name, held, _settled(each, held, objects, gone)


def named_address(event: StoredEvent, name: str) -> Written | None:
    """The address under this name that an event gives its record; None where it gives none."""
    by_api = event.via == VIA_API
    named = event.detail.get("fields" if by_api else "named", {})
    return Written(named[name], (DELIBERATE if by_api or "." in event.event else CARRIED, *event.place)) if name in named else None


def named_addresses(record: Record, history: Iterable[StoredEvent], name: str, gone: Container[Place] = ()) -> list[Written]:
    """All addresses under this name that a record has been given."""
    writes = [one for event in history if (one := named_address(event, name)) is not None]
    held = Written(getattr(record, name), held_stamp(record, name))
    is_told = held.stamp == NEVER or held.stamp[1:] in gone or any(each.stamp == held.stamp for each in writes)
    if not is_told and (record.from_api or name in record.stamps):
        writes.append(held)
    return writes


def last_address(writes: Sequence[Written]) -> Written:
    """The address of these that a record has: the last one that is meant, else the first that is carried along."""
    return _last(writes) if writes else Written(None, NEVER)


def projected_custom_fields(
    fields: Iterable[CustomField], history: Sequence[StoredEvent], gone: Container[Place] = ()
) -> Iterator[tuple[str, Written, Written]]:
    """The same of the custom fields of a record."""
    fields = list(fields)
    writes: dict[str, list[Written]] = {}
    objects = Objects.of_history(history)
    for event in history:
        custom = event.detail.get("custom", {})
        if event.detail.get("cleared"):
            custom = {**{one.name: None for one in fields}, **custom}
        for name, value in custom.items():
            writes.setdefault(name, []).append(Written(value, (DELIBERATE, *event.place), objects.source(event)))
    for one in fields:
        if one.name in writes:
            held = Written(one.value, (one.priority, one.stamped_us, one.stamp_key))
            yield one.name, held, _settled(writes[one.name], held, objects, gone)


def _settled(writes: list[Written], held: Written, objects: Objects, gone: Container[Place]) -> Written:
    """The winner; a value that no event of the history has set is one of a creation through the API."""
    if held.stamp != NEVER and held.stamp[1:] not in gone and all(each.stamp != held.stamp for each in writes):
        writes = [*writes, held]
    return winner(writes, objects)


def winner(writes: Sequence[Written], objects: Objects) -> Written:
    """Which of these writes of one value counts."""
    deliberate = [each for each in writes if each.stamp[0] == DELIBERATE]
    if not deliberate:
        return _last(writes)
    by_api = [each for each in deliberate if each.source == API]
    latest = {source: _last(each) for source, each in _by_source(deliberate) if source != API}
    told = [_last(by_api)] if by_api else []
    standing = [each for each in latest.values() if each.value is not None and not (told and beats(told[0].stamp, each.stamp))]
    if standing:
        return _last([_first_of_kind(each, objects) for _, each in _by_kind(standing)])
    return _last([*told, *(each for each in latest.values() if each.value is None)] or list(latest.values()))


def _first_of_kind(writes: Sequence[Written], objects: Objects) -> Written:
    return min(writes, key=lambda each: objects.rank(each.source)) if len(writes) > 1 else writes[0]


def _by_source(writes: Iterable[Written]) -> Iterator[tuple[Object, list[Written]]]:
    found: dict[Object, list[Written]] = {}
    for each in writes:
        found.setdefault(each.source, []).append(each)
    yield from found.items()


def _by_kind(writes: Iterable[Written]) -> Iterator[tuple[tuple[str, str], list[Written]]]:
    found: dict[tuple[str, str], list[Written]] = {}
    for each in writes:
        found.setdefault(each.source[:2], []).append(each)
    yield from found.items()


def _last(writes: Sequence[Written]) -> Written:
    best = writes[0]
    for each in writes[1:]:
        if beats(each.stamp, best.stamp):
            best = each
    return best
