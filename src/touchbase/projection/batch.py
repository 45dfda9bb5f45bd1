"""Batch: the state shared by the steps that apply one batch of deliveries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from touchbase.clients.models import ClientSettings
from touchbase.common.timestamps import Micros
from touchbase.history.events import COMPANY, CONTACT, EXTERNAL, StoredEvent
from touchbase.history.identity_links import Link
from touchbase.history.last_writer_wins import EffectiveTime
from touchbase.identity.resolution import Resolver
from touchbase.projection.normalization import DeliveryOutcome
from touchbase.records.models import Contact, Record
from touchbase.records.projection import Folded

EventKey = tuple[int, int, Micros, str]
Target = tuple[int, int]
"""Record kind and id."""


@dataclass(slots=True)
class ApplyBatch:
    """The state while one batch is applied."""

    client: int
    now_us: Micros
    settings: ClientSettings
    resolvers: dict[int, Resolver]
    pending: dict[Target, list[StoredEvent]] = field(default_factory=dict)
    """Events to insert, by the record or unresolved link that they belong to."""
    moved: list[StoredEvent] = field(default_factory=list)
    causes: dict[EventKey, list[DeliveryOutcome]] = field(default_factory=dict)
    folded: dict[Target, Folded] = field(default_factory=dict)
    unparked: set[int] = field(default_factory=set)
    """Deliveries whose parked events have a record now."""
    waiting: set[tuple[str, int]] = field(default_factory=set)
    """Keys from the tool that already wait under a link, with the deliveries that repeat them."""
    retimed: list[tuple[Target, EffectiveTime]] = field(default_factory=list)
    """Stored events for which an earlier receipt arrived: their record and old effective time."""
    removed_times: dict[Target, set[EffectiveTime]] = field(default_factory=dict)
    """Old effective times of events that were moved out of a record's history, or within it."""
    separated_companies: set[int] = field(default_factory=set)
    """Companies of which some objects belong to another company now."""
    facts: set[tuple[str, Micros | None]] = field(default_factory=set)
    """The facts in the batch so far: each key with its time, or None for a tool's own id."""
    joined: dict[tuple[str, Micros], tuple[str, Micros]] = field(default_factory=dict)
    """Key and time of the events that joined others, with those of the others (`loaded_events`)."""
    emptied: set[int] = field(default_factory=set)
    """Deliveries that may have no event left, because the record that their events joined already had them."""
    cause: Mapping[str, Any] | None = None
    """The cause of the changes, for the log; None: the deliveries."""
    deliveries: list[int] = field(default_factory=list)
    mappings: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Of deliveries that a saved mapping reads again, what the log has of it in the cause."""
    triggers: dict[Target, list[StoredEvent]] = field(default_factory=dict)
    """The events that are new to each record."""
    customs: dict[Target, dict[str, tuple[str | None, str | None]]] = field(default_factory=dict)
    """The custom fields that changed, with their values before and after the batch."""
    over_budget: set[Target] = field(default_factory=set)
    """Records whose custom fields are too long, or lack some already: their whole history decides which they have."""
    renamed_since: dict[tuple[int, str], Micros] = field(default_factory=dict)
    """Custom fields (kind of record and former name) that were renamed while the restored record was in the bin, each since when."""
    moved_contacts: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Contacts of a company that was united with another one, with both."""
    claimed: list[tuple[Contact, list[str]]] = field(default_factory=list)
    """Addresses that nobody had and that are contacts' further ones now."""
    logged_as: dict[Target, str] = field(default_factory=dict)
    """Event of a record that the log has in place of created or updated."""

    def note_custom(self, target: Target, name: str, before: str | None, after: str | None) -> None:
        """Note the change of a custom field, for the log."""
        noted = self.customs.setdefault(target, {})
        noted[name] = (noted[name][0] if name in noted else before, after)

    def kind_of(self, record: Record) -> int:
        """Return CONTACT or COMPANY."""
        return CONTACT if isinstance(record, Contact) else COMPANY

    def final(self, kind: int, number: int) -> int:
        """Return the record that this one belongs to after all unions."""
        if kind == EXTERNAL or not self.resolvers[kind].united:
            return number
        survivor = {absorbed.id: record.id for absorbed, record in self.resolvers[kind].united}
        while number in survivor:
            number = survivor[number]
        return number

    def retarget(self, event: StoredEvent, target: Target) -> None:
        """Move an event that is to be inserted to another record or link, with its causes."""
        causes = self.causes.pop((event.record_kind, event.record_id, event.occurred_us, event.key), [])
        event.record_kind, event.record_id = target
        self.pending.setdefault(target, []).append(event)
        self.causes.setdefault((*target, event.occurred_us, event.key), []).extend(causes)

    def follow_unions(self) -> None:
        """Move events of records that were united later in the batch to the survivor."""
        for kind, resolver in self.resolvers.items():
            for absorbed, survivor in resolver.united:
                for event in self.pending.pop((kind, absorbed.id), []):
                    self.retarget(event, (kind, survivor.id))
            for number, link in resolver.links.vacated.items():
                target = target_of(link)
                for event in self.pending.pop((EXTERNAL, number), []):
                    if target[0] != EXTERNAL:
                        for outcome in self.causes.get((EXTERNAL, number, event.occurred_us, event.key), []):
                            outcome.parked -= 1
                    self.retarget(event, target)


def target_of(link: Link) -> Target:
    """Return the record that a link leads to, or the link under which its events wait."""
    if link.parking_id is not None:
        return (EXTERNAL, link.parking_id)
    assert link.record_kind is not None
    assert link.record_id is not None
    return (link.record_kind, link.record_id)
