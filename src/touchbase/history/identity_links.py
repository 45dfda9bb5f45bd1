"""Identity links: references to a record (a tool's object ids, former keys), and where events are parked.

While the record of a ref is unknown, events about it are parked under the id of a link.
Refs whose objects a CRM has merged share one such id, so that one resolved ref resolves them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.history.events import EXTERNAL

Ref = tuple[str, str, str]
"""Tool, object type and object id. Tool "" is for the keys of a person or company (`records/sql/address_book.py`)."""

Period = tuple[Micros, Micros, int]
"""Since when and until when a record had a key."""
NO_END: Micros = 2**62


def distance(period: Period, at: Micros) -> tuple[int, Micros]:
    """Return how near the time of an owner is: around `at`, else before it, else after it."""
    since, until, _ = period
    if since <= at < until:
        return 0, until  # the first to end: of others it may not be known when they began
    return (1, -until) if until <= at else (2, since)


@dataclass(slots=True)
class Link:
    """The target of one ref: a record; a shared parking id (record kind EXTERNAL); or none yet (None)."""

    ref: Ref
    id: int
    record_kind: int | None = None
    record_id: int | None = None
    until_us: Micros | None = None
    """Until when the record had the key; None: it has it, or the ref is an object's."""
    since_us: Micros = 0
    """Since when the record had the key; 0: not known, or always."""

    @property
    def parking_id(self) -> int | None:
        """The id under which events about it are parked; None once its record is known."""
        if self.record_kind is None:
            return self.id
        return self.record_id if self.record_kind == EXTERNAL else None


@dataclass(slots=True)
class Links:
    """The links to one kind of record that a batch names, updated as the batch proceeds."""

    kind: int
    new_id: Callable[[], int]
    by_ref: dict[Ref, Link] = field(default_factory=dict)
    changed: dict[Ref, Link] = field(default_factory=dict)
    sharing: dict[int, list[Link]] = field(default_factory=dict)
    """Links that share a parking id, by that id."""
    former: dict[Ref, list[Period]] = field(default_factory=dict)
    """Existing records that had a key before the one in its link, and when."""
    losers: set[int] = field(default_factory=set)
    """Records that have lost a key to another one."""
    vacated: dict[int, Link] = field(default_factory=dict)
    """Parking ids that are not used any more, each with a link that had it: its events move to the link's target."""

    def record_id(self, ref: Ref) -> int | None:
        """Return the record of a ref, or None if it is unknown."""
        link = self.by_ref.get(ref)
        return link.record_id if link is not None and link.record_kind == self.kind else None

    def owner_at(self, ref: Ref, at: Micros) -> Period | None:
        """Return the time of the record that had a key at `at`, by its link or before; None if there is none."""
        former, link = self.former.get(ref, ()), self.by_ref.get(ref)
        if not former and link is None:  # nearly every address
            return None
        periods: list[Period] = []
        if link is not None and (number := self.record_id(ref)) is not None:
            periods.append((link.since_us, NO_END if link.until_us is None else link.until_us, number))
        return min([*periods, *former], key=lambda period: distance(period, at), default=None)

    def park(self, ref: Ref) -> Link:
        """Return the link under which events about this ref are parked."""
        link = self.by_ref.get(ref)
        if link is None:
            link = self.by_ref[ref] = self.changed[ref] = Link(ref, self.new_id())
        elif link.parking_id is None:
            # Its record does not exist any more: events are parked until an event identifies the object again.
            link.record_kind = link.record_id = None
            self.changed[ref] = link
        return link

    def merge_parking(self, ref: Ref, equal_ref: Ref) -> None:
        """Park the events of two refs under one id: they are one object, whose record is unknown."""
        first, second = self.park(ref), self.park(equal_ref)
        if first.parking_id == second.parking_id:
            return
        merged = [*self._sharing_with(first), *self._sharing_with(second)]
        parking_ids = [link.parking_id for link in (first, second) if link.parking_id is not None]
        target, source = min(parking_ids), max(parking_ids)
        self.vacated[source] = first if first.parking_id == source else second
        self.sharing.pop(source, None)
        self.sharing[target] = merged
        self._set(merged, EXTERNAL, target)

    def set_record(self, ref: Ref, record_id: int, until_us: Micros | None = None, since_us: Micros | None = None) -> None:
        """Set the record of a ref and of all refs that share its parking id.

        With `until_us` the record had the key until then; a key that is the record's already stays open. `since_us`: None: not known.
        """
        link = self.by_ref.get(ref)
        if link is None:
            self.by_ref[ref] = self.changed[ref] = Link(ref, self.new_id(), self.kind, record_id, until_us, since_us or 0)
            return
        if link.record_kind == self.kind and link.record_id == record_id:
            if until_us is None:
                self.set_until(link, None)
            return
        if not ref[0] and link.record_kind == self.kind and link.record_id is not None:
            self.losers.add(link.record_id)
        link.until_us, link.since_us = until_us, since_us or 0
        sharing = self._sharing_with(link)
        if link.parking_id is not None:
            self.sharing.pop(link.parking_id, None)
            self.vacated[link.parking_id] = link
        self._set(sharing, self.kind, record_id)

    def set_until(self, link: Link, until_us: Micros | None) -> None:
        """Open the row of a key, or close it."""
        if link.until_us != until_us:
            link.until_us = until_us
            self.changed[link.ref] = link

    def move(self, source: int, target: int) -> None:
        """Move the links of the record `source` to `target`, here only: one statement moves all of them in the store."""
        for link in self.by_ref.values():
            if link.record_id == source and link.record_kind == self.kind:
                link.record_id = target

    def _sharing_with(self, link: Link) -> list[Link]:
        """Return all links that share this one's parking id; only itself if it has none."""
        return self.sharing.get(link.parking_id, [link]) if link.parking_id is not None else [link]

    def _set(self, links: list[Link], kind: int, number: int) -> None:
        for link in links:
            link.record_kind, link.record_id = kind, number
            self.changed[link.ref] = link
