"""What is known while one batch of deliveries is applied."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.clients.models import ClientSettings
from touchbase.common.timestamps import Micros
from touchbase.events.event_normalization import Outcome
from touchbase.events.identity_resolution import Resolver
from touchbase.history.events import EXTERNAL, StoredEvent
from touchbase.history.identity_links import Link
from touchbase.history.last_writer_wins import Place
from touchbase.records.projection import Folded

EventKey = tuple[int, int, Micros, str]
Target = tuple[int, int]
"""Record kind and id."""


@dataclass(slots=True)
class Batch:
    """What is known while one batch is applied."""

    client: int
    now_us: Micros
    settings: ClientSettings
    resolvers: dict[int, Resolver]
    pending: dict[Target, list[StoredEvent]] = field(default_factory=dict)
    """Events to insert, by the record (or waiting link) they belong to."""
    moved: list[StoredEvent] = field(default_factory=list)
    causes: dict[EventKey, list[Outcome]] = field(default_factory=dict)
    folded: dict[Target, Folded] = field(default_factory=dict)
    unparked: set[int] = field(default_factory=set)
    """Deliveries whose waiting events found their record."""
    waiting: set[tuple[str, int]] = field(default_factory=set)
    """Keys that are the tool's own and wait already, with the deliveries that tell them again."""
    retimed: list[tuple[Target, Place]] = field(default_factory=list)
    """Events whose earlier receipt came now: their record, and the place that they had."""
    left: dict[Target, set[Place]] = field(default_factory=dict)
    """Places of events that have left a record's history, or stand elsewhere in it now."""
    divided: set[int] = field(default_factory=set)
    """Companies of whose objects some are another company's now."""
    told: set[tuple[str, Micros | None]] = field(default_factory=set)
    """The facts that the batch has told so far: each key and, unless that is the tool's own, the time."""
    emptied: set[int] = field(default_factory=set)
    """Deliveries that may have no event left: what they had told was known to the record that theirs joined."""

    def final(self, kind: int, number: int) -> int:
        """The record that this one belongs to after all unions."""
        if kind == EXTERNAL or not self.resolvers[kind].united:
            return number
        kept = {gone.id: one.id for gone, one in self.resolvers[kind].united}
        while number in kept:
            number = kept[number]
        return number

    def retarget(self, event: StoredEvent, target: Target) -> None:
        """Let an event that is to be inserted be of another record or place, with whatever caused it."""
        causes = self.causes.pop((event.record_kind, event.record_id, event.occurred_us, event.key), [])
        event.record_kind, event.record_id = target
        self.pending.setdefault(target, []).append(event)
        self.causes.setdefault((*target, event.occurred_us, event.key), []).extend(causes)

    def follow_unions(self) -> None:
        """Let events resolved to a record that was united later in the batch belong to the one kept."""
        for kind, resolver in self.resolvers.items():
            for gone, kept in resolver.united:
                for event in self.pending.pop((kind, gone.id), []):
                    self.retarget(event, (kind, kept.id))
            for place, link in resolver.links.left.items():
                target = home_of(link)
                for event in self.pending.pop((EXTERNAL, place), []):
                    if target[0] != EXTERNAL:
                        for outcome in self.causes.get((EXTERNAL, place, event.occurred_us, event.key), []):
                            outcome.parked -= 1
                    self.retarget(event, target)


def home_of(link: Link) -> Target:
    """The record that a link leads to, or the place where events about it wait."""
    if link.place is not None:
        return (EXTERNAL, link.place)
    assert link.record_kind is not None
    assert link.record_id is not None
    return (link.record_kind, link.record_id)
