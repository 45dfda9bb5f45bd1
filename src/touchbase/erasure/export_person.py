"""Exporting one person's data: everything that is kept about a contact, and the calls that told it, page by page."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from touchbase.common.timestamps import Micros
from touchbase.erasure.commands import FindPerson, ReadBodies, ReadLinks
from touchbase.events.work import Translate
from touchbase.history.events import CONTACT, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.inbox.delivery import Delivery
from touchbase.inbox.queries import DeliveryEvents
from touchbase.records.commands import GetHistory
from touchbase.records.models import Contact
from touchbase.records.read_records import get_record
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.records.timeline import TimelineEntry, timeline
from touchbase.sql.store import Store
from touchbase.suppression.suppression_keys import named_by

LINKS = 10_000
"""Identities of one person in an export; nobody has as many."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where data about somebody came from: how many events one tool told, first and last."""

    channel: str
    tool: str
    events: int
    first_us: Micros
    last_us: Micros


@dataclass(frozen=True, slots=True)
class Exported:
    """One person: the contact, its whole timeline, every identity that leads to it, and who told."""

    contact: Contact
    timeline: list[TimelineEntry]
    identities: list[Ref]
    sources: list[Source]


@dataclass(frozen=True, slots=True)
class ExportedCall:
    """A call that told of them; `shared` where it tells of others too, whose data is not theirs to see."""

    delivery: Delivery
    shared: bool


async def export_person(store: Store, client: int, contact_id: int) -> Exported:
    """Everything but the calls. `NotFound`."""
    contact = await get_record(store, CONTACT_TYPE, client, contact_id)
    history = await store.read(GetHistory(client, CONTACT, contact_id))
    told, _ = await timeline(store, contact, len(history) + 1, None)
    links = await store.read(ReadLinks(client, LINKS, contact=contact_id))
    return Exported(contact, told, [ref for ref, _ in links.links], _sources(history))


def _sources(history: list[StoredEvent]) -> list[Source]:
    by_tool: dict[tuple[str, str], list[Micros]] = {}
    for event in history:
        by_tool.setdefault((event.channel, event.tool), []).append(event.received_us)
    return [Source(*names, len(times), min(times), max(times)) for names, times in sorted(by_tool.items())]


async def export_calls(
    store: Store, translate: Translate, client: int, contact_id: int, limit: int, after: int
) -> tuple[list[ExportedCall], int | None]:
    """A page of the calls that caused events of a contact, and where the next page begins. Calls whose bodies are gone are left out."""
    person = await store.read(FindPerson(client, contact_id))
    page = await store.read(ReadBodies(client, after, limit, contact=contact_id))
    calls: list[ExportedCall] = []
    for delivery in page.deliveries:
        caused = await store.read(DeliveryEvents(client, delivery.id))
        shared = any((event.record_kind, event.record_id) != (CONTACT, contact_id) for event in caused)
        calls.append(ExportedCall(delivery, shared or await asyncio.to_thread(_names_others, delivery, translate, person.refs)))
    return calls, page.last


def _names_others(delivery: Delivery, translate: Translate, own: set[Ref]) -> bool:
    try:
        translation = translate(delivery)
    except Exception:  # what can no longer be read may be of anybody
        return True
    named = [named_by(translation.tool or "unknown", event) for event in translation.events]
    return any(refs and refs.isdisjoint(own) for refs in named)
