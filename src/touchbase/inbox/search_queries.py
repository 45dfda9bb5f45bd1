"""Values of the inbox's search: the person, steps through deliveries, and effects of the deliveries of a page."""

from __future__ import annotations

from dataclasses import dataclass, field

from touchbase.common.timestamps import Micros
from touchbase.deliveries.delivery import Delivery
from touchbase.history.identity_links import Ref


@dataclass(frozen=True, slots=True)
class SoughtPerson:
    """The person that a search is about: the contacts, deleted ones included, and all their addresses."""

    contacts: list[int] = field(default_factory=list)
    addresses: frozenset[Ref] = frozenset()
    erased: bool = False
    """An address that the search names belongs to an erased person: it finds nothing."""


@dataclass(frozen=True, slots=True)
class DeliveryStep:
    """Deliveries that one step has examined."""

    deliveries: list[Delivery]
    """The matching ones, newest first."""
    examined: int
    below: int
    """The id below which the next step begins; 0: none is left."""
    oldest_us: Micros | None
    """When the last examined one was received."""


@dataclass(slots=True)
class DeliveryPerson:
    """A contact that an event of a delivery is about; without addresses while it is deleted."""

    contact_id: int
    email: str | None
    linkedin_url: str | None


@dataclass(slots=True)
class DeliveryEffects:
    """The events that a delivery made, and the people they are about; of its first 100 events."""

    people: list[DeliveryPerson] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    more: bool = False
    """Whether it made more events."""
