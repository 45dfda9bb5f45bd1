"""Sightings: the identities that one event names, before anybody knows whose they are."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.packing import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.events.object_claims import Claim
from touchbase.history.events import Detail, Event
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, Stamp, place_of


@packs_by_position
@dataclass(slots=True)
class EventSubject:
    """The identities that one event names, in normal form, and when."""

    event: Event
    kind: int
    """CONTACT or COMPANY."""
    tool: str
    primary: str | None
    linkedin: str | None
    ref: Ref | None
    at: Micros
    key: str
    received_us: Micros
    may_create: bool | None
    """Whether it may make a record; None: as the client's settings say."""
    detail: Detail
    """What the history keeps of the event besides."""
    own_id: bool = False
    """Whether the key is the tool's own id of the fact: then its time tells nothing more."""
    merged: Ref | None = None
    """The object that `ref` was merged into: both are one from then on, and were so all along."""

    _stamp: Stamp | None = field(default=None, compare=False)

    @property
    def stamp(self) -> Stamp:
        """How strongly the event's own values are meant: a CRM's deliberately, a campaign tool's in passing."""
        if self._stamp is None:
            self._stamp = (DELIBERATE if "." in self.event.event else CARRIED, *place_of(self.at, self.received_us, self.key))
        return self._stamp

    @property
    def claim(self) -> Claim | None:
        """The address that the event says its CRM's object has."""
        is_claim = self.ref is not None and self.primary is not None and "." in self.event.event
        return (self.stamp[1:], self.primary) if is_claim and self.primary is not None else None
