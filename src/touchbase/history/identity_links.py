"""Links: what else leads to a record (a tool's object ids, former keys), and where events wait while nobody knows.

While it is not known which record a ref stands for, events about it wait in a *place*: the link's own id.
Refs whose objects a CRM has merged share one place, so that whatever names one of them has named them all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from touchbase.history.events import EXTERNAL

Ref = tuple[str, str, str]
"""A tool, its word for the kind of object, and the object's id. Tool "" holds former primary keys."""


@dataclass(slots=True)
class Link:
    """What one ref stands for: a record; a place that it shares (record kind EXTERNAL); or nothing yet (None)."""

    ref: Ref
    id: int
    record_kind: int | None = None
    record_id: int | None = None

    @property
    def place(self) -> int | None:
        """Where events about it wait; None once its record is known."""
        if self.record_kind is None:
            return self.id
        return self.record_id if self.record_kind == EXTERNAL else None


@dataclass(slots=True)
class Links:
    """The links to one kind of record that a batch names, kept true as it goes."""

    kind: int
    new_id: Callable[[], int]
    by_ref: dict[Ref, Link] = field(default_factory=dict)
    changed: dict[Ref, Link] = field(default_factory=dict)
    sharing: dict[int, list[Link]] = field(default_factory=dict)
    """Links that share a place, by that place."""
    left: dict[int, Link] = field(default_factory=dict)
    """Places that were left, each with a link that waited there: their events go where it leads now."""

    def record_id(self, ref: Ref) -> int | None:
        """The record that a ref stands for, if that is known."""
        link = self.by_ref.get(ref)
        return link.record_id if link is not None and link.record_kind == self.kind else None

    def park(self, ref: Ref) -> Link:
        """The link under which events about this ref wait."""
        link = self.by_ref.get(ref)
        if link is None:
            link = self.by_ref[ref] = self.changed[ref] = Link(ref, self.new_id())
        elif link.place is None:
            # Its record is not there any more: events wait until somebody names the object again.
            link.record_kind = link.record_id = None
            self.changed[ref] = link
        return link

    def wait_together(self, one: Ref, other: Ref) -> None:
        """Two refs that are one object, of which nobody knows who it is, wait in one place."""
        mine, theirs = self.park(one), self.park(other)
        if mine.place == theirs.place:
            return
        together = [*self._beside(mine), *self._beside(theirs)]
        places = [link.place for link in (mine, theirs) if link.place is not None]
        kept, gone = min(places), max(places)
        self.left[gone] = mine if mine.place == gone else theirs
        self.sharing.pop(gone, None)
        self.sharing[kept] = together
        self._set(together, EXTERNAL, kept)

    def lead(self, ref: Ref, record_id: int) -> None:
        """Let a ref, and those that wait with it, stand for this record."""
        link = self.by_ref.get(ref)
        if link is None:
            self.by_ref[ref] = self.changed[ref] = Link(ref, self.new_id(), self.kind, record_id)
            return
        if link.record_kind == self.kind and link.record_id == record_id:
            return
        together = self._beside(link)
        if link.place is not None:
            self.sharing.pop(link.place, None)
            self.left[link.place] = link
        self._set(together, self.kind, record_id)

    def move(self, gone: int, kept: int) -> None:
        """The record `gone` is now `kept`. In the store that is done for all its links at once."""
        for link in self.by_ref.values():
            if link.record_id == gone and link.record_kind == self.kind:
                link.record_id = kept

    def _beside(self, link: Link) -> list[Link]:
        """All links that wait in this one's place; itself alone when it does not wait."""
        return self.sharing.get(link.place, [link]) if link.place is not None else [link]

    def _set(self, links: list[Link], kind: int, number: int) -> None:
        for link in links:
            link.record_kind, link.record_id = kind, number
            self.changed[link.ref] = link
