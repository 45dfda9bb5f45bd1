"""Projection of fields from a record's whole history, object by object.

The usual event is folded in one step (`records/projection.py`). The whole history decides for a record of several objects
of CRMs, whose values do not clear or rename one another, and after an event turned out to be older.

Of one object the last write wins. A field that an object clears removes the object's own value and one of the API, never one of
another object. Of several objects of one kind in one CRM, the first wins; a deleted one comes last.
A later API write replaces the values of all.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.events import VIA_API, StoredEvent
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, NEVER, EffectiveTime, Stamp, beats
from touchbase.records.models import CustomField, Record
from touchbase.records.projection import (
    OF_ABSORBED,
    Object,
    absorptions,
    current_stamp,
    field_writes,
    is_history_complete,
    least_absorbed,
    object_of,
    origin_write,
)

MERGE = "merge"
"""Member of the detail of a merge by request, while it stands."""
UNDONE = "undone"
"""The same of a merge that was undone."""
MERGED_FROM = "merged_from"
"""Member of the detail of an event that came from a merged record: the ids of the records that it was moved from, the first one first."""
API: Object = ("", "", "")
"""The source of values of the API and of campaign tools, which have no object."""


@dataclass(frozen=True, slots=True)
class Written:
    """One written value, its stamp and the object that it is from."""

    value: str | None
    stamp: Stamp
    source: Object = API
    absorbed: int = 0
    """How many times its object was absorbed by another one: of one source the object that absorbed the others wins."""


@dataclass(slots=True)
class Objects:
    """The objects of CRMs in one history: merges, order, and deletions."""

    leader: dict[Object, Object] = field(default_factory=dict)
    absorbed: dict[Object, int] = field(default_factory=dict)
    first: dict[Object, EffectiveTime] = field(default_factory=dict)
    last: dict[Object, tuple[Micros, str, bool]] = field(default_factory=dict)

    @classmethod
    def of_history(cls, history: Sequence[StoredEvent], *, merges: bool = True) -> Objects:
        """Return the objects of a record's events; with `merges` a merge by request makes all objects of a kind one."""
        objects = cls()
        named = [(key, event) for event in history if (key := object_of(event)) is not None]
        if merges and any(MERGE in event.detail for event in history):
            first: dict[tuple[str, str], Object] = {}
            objects.leader = {key: leader for key in sorted({key for key, _ in named}) if (leader := first.setdefault(key[:2], key)) != key}
        for key, event in named:
            if (survivor := event.detail.get("merged_into")) is not None:
                pair = sorted((objects.of(key), objects.of((key[0], key[1], survivor))))
                if pair[0] != pair[1]:
                    objects.leader[pair[1]] = pair[0]
        objects.absorbed = absorptions(history)
        for key, event in named:
            leader, at = objects.of(key), event.effective_time
            objects.first[leader] = min(objects.first.get(leader, at), at)
            removed = event.event.endswith(".deleted") and "merged_into" not in event.detail
            objects.last[leader] = max(objects.last.get(leader, (*at, removed)), (*at, removed))
        return objects

    def written(self, value: str | None, event: StoredEvent) -> Written:
        """Return a value as a CRM's event or a request writes it."""
        object_ = object_of(event)
        absorbed = int(event.via == VIA_API and OF_ABSORBED in event.detail) if object_ is None else self.absorbed.get(object_, 0)
        return Written(value, (DELIBERATE, *event.effective_time), self.source(event), absorbed)

    def source(self, event: StoredEvent) -> Object:
        """Return the object that an event's values are from."""
        object_ = object_of(event)
        if object_ is not None:
            return self.of(object_)
        if event.via == VIA_API or "." not in event.event:
            return API
        # An event from before events stored their object: the tool's first object, because a record usually has one per tool.
        ours = [key for key in self.first if key[0] == event.tool]
        return min(ours, key=self.rank, default=(event.tool, "", ""))

    def of(self, object_: Object) -> Object:
        """Return the object into which this one was merged, else itself."""
        while self.leader.get(object_, object_) != object_:
            object_ = self.leader[object_]
        return object_

    def rank(self, object_: Object) -> tuple[bool, Micros, str]:
        """Return a sort key: the first object comes first, deleted ones last."""
        return (self.last[object_][2], *self.first[object_])


def has_several_objects(history: Iterable[StoredEvent]) -> bool:
    """Return whether a record with this history has several objects."""
    return len({object_ for event in history if (object_ := object_of(event)) is not None}) > 1


class FieldWrites:
    """The writes of one field, as far as they can win: the last carried one, and the last deliberate one of each source."""

    __slots__ = ("_carried", "_latest", "_present", "_present_is_written")

    def __init__(self, present: Written | None = None) -> None:
        """`present`: the stored value, which counts as a write through the API if `add` never gets it."""
        self._present = present
        self._present_is_written = present is None or present.stamp == NEVER
        self._carried: Written | None = None
        self._latest: dict[Object, dict[int, Written]] = {}

    def add(self, write: Written) -> None:
        """Add a write; writes come in any order."""
        if self._present is not None and write.stamp == self._present.stamp:
            self._present_is_written = True
        if write.stamp[0] != DELIBERATE:
            if self._carried is None or beats(write.stamp, self._carried.stamp):
                self._carried = write
        else:
            latest = self._latest.setdefault(write.source, {})
            if write.absorbed not in latest or beats(write.stamp, latest[write.absorbed].stamp):
                latest[write.absorbed] = write

    def winner(self, objects: Objects, removed: Container[EffectiveTime] = ()) -> Written:
        """Return the winner of the writes, of which there is at least one; without the stored value if its stamp is `removed`."""
        if not self._present_is_written and self._present is not None and self._present.stamp[1:] not in removed:
            self.add(self._present)
        if not self._latest:
            assert self._carried is not None
            return self._carried
        api = _least_absorbed(self._latest[API]) if API in self._latest else None
        named = [_least_absorbed(writes) for source, writes in self._latest.items() if source != API]
        standing = [write for write in named if write.value is not None and not (api is not None and beats(api.stamp, write.stamp))]
        if standing:
            return _last([_first_of_kind(writes, objects) for _, writes in _by_kind(standing)])
        cleared = [write for write in named if write.value is None]
        return _last([*([] if api is None else [api]), *cleared] or named)


def projected_fields(
    record: Record, history: Sequence[StoredEvent], objects: Objects, removed: Container[EffectiveTime] = ()
) -> Iterator[tuple[str, Written, Written]]:
    """Yield each of our own fields that a history writes: name, present value, and projected value.

    `gone` are effective times of events that turned out to be older: values with these stamps belong to no event any more.
    """
    writes: dict[str, FieldWrites] = {}
    has_origins = is_history_complete(record, history)

    def add(name: str, write: Written) -> None:
        if name not in writes:
            writes[name] = FieldWrites(Written(getattr(record, name), current_stamp(record, name)))
        writes[name].add(write)

    for event in history:
        for name, value, stamp in field_writes(event):
            add(name, objects.written(value, event) if stamp[0] == DELIBERATE else Written(value, stamp))
        if has_origins and (origin := origin_write(event)) is not None:
            add("origin", Written(*origin))
    for name, of_field in writes.items():
        present = Written(getattr(record, name), current_stamp(record, name))
        yield name, present, of_field.winner(objects, removed)


def named_address(event: StoredEvent, name: str) -> Written | None:
    """Return the address that an event sets in this field; None if it sets none."""
    by_api = event.via == VIA_API
    named = event.detail.get("fields" if by_api else "named", {})
    return Written(named[name], (DELIBERATE if by_api or "." in event.event else CARRIED, *event.effective_time)) if name in named else None


def named_addresses(record: Record, history: Iterable[StoredEvent], name: str, removed: Container[EffectiveTime] = ()) -> list[Written]:
    """Return all addresses that were set in this field of a record, without addresses of absorbed objects."""
    events = list(history)
    writes = [(event, address) for event in events if (address := named_address(event, name)) is not None]
    present = Written(getattr(record, name), current_stamp(record, name))
    is_in_history = present.stamp == NEVER or present.stamp[1:] in removed or any(address.stamp == present.stamp for _, address in writes)
    ours = least_absorbed([event for event, address in writes if address.value is not None], absorptions(events))
    counting = {id(event) for event in ours}
    addresses = [address for event, address in writes if address.value is None or id(event) in counting]
    if not is_in_history and (record.from_api or name in record.stamps):
        addresses.append(present)
    return addresses


def last_address(writes: Sequence[Written]) -> Written:
    """Return the winning address: the last deliberate one, else the first carried one."""
    return _last(writes) if writes else Written(None, NEVER)


def projected_custom_fields(
    fields: Iterable[CustomField], history: Sequence[StoredEvent], objects: Objects, removed: Container[EffectiveTime] = ()
) -> Iterator[tuple[str, Written, Written]]:
    """Yield the projected custom fields of a record, as `projected_fields`."""
    present = {field.name: Written(field.value, (field.priority, field.stamped_us, field.stamp_key)) for field in fields}
    writes: dict[str, FieldWrites] = {}
    for event in history:
        custom = event.detail.get("custom", {})
        if event.detail.get("cleared"):
            custom = {**dict.fromkeys(present), **custom}
        for name in custom.keys() & present.keys():
            if name not in writes:
                writes[name] = FieldWrites(present[name])
            writes[name].add(objects.written(custom[name], event))
    for name, value in present.items():
        if name in writes:
            yield name, value, writes[name].winner(objects, removed)


def _least_absorbed(writes: Mapping[int, Written]) -> Written:
    """Return the write of the absorbing object; if it has no value, the write of an absorbed object."""
    in_order = [writes[absorbed] for absorbed in sorted(writes)]
    return next((write for write in in_order if write.value is not None), in_order[0])


def _first_of_kind(writes: Sequence[Written], objects: Objects) -> Written:
    return min(writes, key=lambda write: objects.rank(write.source)) if len(writes) > 1 else writes[0]


def _by_kind(writes: Iterable[Written]) -> Iterator[tuple[tuple[str, str], list[Written]]]:
    by_kind: dict[tuple[str, str], list[Written]] = {}
    for write in writes:
        by_kind.setdefault(write.source[:2], []).append(write)
    yield from by_kind.items()


def _last(writes: Sequence[Written]) -> Written:
    best = writes[0]
    for write in writes[1:]:
        if beats(write.stamp, best.stamp):
            best = write
    return best
