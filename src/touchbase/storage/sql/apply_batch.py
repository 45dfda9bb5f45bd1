"""What is known while one batch of deliveries is applied."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.domain.client import ClientSettings
from touchbase.domain.events import EXTERNAL, StoredEvent
from touchbase.domain.fold import Folded
from touchbase.domain.resolve import Resolver
from touchbase.domain.stamps import Place
from touchbase.domain.times import Micros
from touchbase.storage.sql.sightings import Outcome

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
