"""The subject of an event: the identities that the event names, before they are resolved to a record."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.frames import packs_by_position
from touchbase.common.timestamps import Micros
from touchbase.history.events import Detail, Event
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import CARRIED, DELIBERATE, EffectiveTime, Stamp, effective_time
from touchbase.identity.object_claims import Claim


@packs_by_position
@dataclass(slots=True)
class EventSubject:
    """The identities that one event names, in normal form, with its time and key."""

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
    """Whether the event may create a record; None: the client's settings decide."""
    detail: Detail
    """Further members of the stored event."""
    own_id: bool = False
    """Whether the key is the tool's own id of the event: then the key alone identifies it, without the time."""
    merged: Ref | None = None
    """The object that `ref` was merged into; both count as one object at all times."""
    absorbs: Ref | None = None
    """An object that was merged into `ref`, by an event that is stored."""

    _stamp: Stamp | None = field(default=None, compare=False)

    @property
    def effective_time(self) -> EffectiveTime:
        """The effective time of the event that is stored of it."""
        return effective_time(self.at, self.received_us, self.key, self.detail.get("position", 0))

    @property
    def stamp(self) -> Stamp:
        """The last-writer-wins stamp of the event's values: DELIBERATE from a CRM, CARRIED from a campaign tool."""
        if self._stamp is None:
            self._stamp = (DELIBERATE if "." in self.event.event else CARRIED, *self.effective_time)
        return self._stamp

    @property
    def claim(self) -> Claim | None:
        """The address that the event gives to its CRM object, with the effective time; None if there is none."""
        is_claim = self.ref is not None and self.primary is not None and "." in self.event.event
        return (self.stamp[1:], self.primary) if is_claim and self.primary is not None else None
