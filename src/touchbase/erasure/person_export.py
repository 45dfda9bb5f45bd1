"""Export of one person's data: everything stored about a contact, and its deliveries, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.bin import GetDeleted
from touchbase.clients import FindClientByNumber
from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Micros
from touchbase.do_not_contact import Entry, FindEntries, addresses_of_refs
from touchbase.erasure.commands import FindPerson, ReadBodies, ReadLinks
from touchbase.events import Translate
from touchbase.history import CONTACT, PLAIN, Ref, StoredEvent
from touchbase.inbox import Delivery, DeliveryEvents
from touchbase.messages import Message, MessagesOfContact
from touchbase.records import CONTACT_TYPE, Contact, GetHistory, TimelineEntry, explain, get_record
from touchbase.sql.store import Store
from touchbase.suppression import identities_of

LINKS = 10_000
"""Most identities of one person in an export, more than any person has."""


@dataclass(frozen=True, slots=True)
class Source:
    """One tool that sent events about the person: their number, and the times of the first and the last."""

    channel: str
    tool: str
    events: int
    first_us: Micros
    last_us: Micros


@dataclass(frozen=True, slots=True)
class Exported:
    """One person: the contact, its whole timeline, its identities, the tools that sent data, its entries on the do-not-contact list,
    and its messages."""

    contact: Contact
    timeline: list[TimelineEntry]
    identities: list[Ref]
    sources: list[Source]
    suppressions: list[Entry]
    messages: list[Message]


@dataclass(frozen=True, slots=True)
class ContactDelivery:
    """A delivery about the person; `shared` if it names other people, whose data must not be exported."""

    delivery: Delivery
    shared: bool


async def export_person(store: Store, client: int, contact_id: int) -> Exported:
    """Return everything but the deliveries, also of a contact in the bin. `NotFound`."""
    deleted = await store.read(GetDeleted(client, CONTACT, contact_id))
    found = None if deleted is None else deleted.record
    contact = found if isinstance(found, Contact) else await get_record(store, CONTACT_TYPE, client, contact_id)
    history = await store.read(GetHistory(client, CONTACT, contact_id))
    owner = await store.read(FindClientByNumber(client))
    words = PLAIN if owner is None else owner.settings.words(CONTACT)
    entries = [TimelineEntry(event, changed) for event, changed in await explain(contact, history, words)]
    links = await store.read(ReadLinks(client, LINKS, contact=contact_id, deleted=deleted is not None))
    person = await store.read(FindPerson(client, contact_id))
    listed = await store.read(FindEntries(client, addresses_of_refs(person.refs)))
    messages = await store.read(MessagesOfContact(client, contact_id))
    return Exported(contact, entries, [ref for ref, _ in links.links], _sources(history), listed, messages)


def _sources(history: list[StoredEvent]) -> list[Source]:
    by_tool: dict[tuple[str, str], list[Micros]] = {}
    for event in history:
        by_tool.setdefault((event.channel, event.tool), []).append(event.received_us)
    return [Source(*names, len(times), min(times), max(times)) for names, times in sorted(by_tool.items())]


async def export_deliveries(
    store: Store, translate: Translate, client: int, contact_id: int, limit: int, after: int
) -> tuple[list[ContactDelivery], int | None]:
    """Return a page of the deliveries with events of a contact, and the cursor of the next page; those without a body are left out."""
    person = await store.read(FindPerson(client, contact_id))
    page = await store.read(ReadBodies(client, after, limit, contact=contact_id))
    found: list[ContactDelivery] = []
    for delivery in page.deliveries:
        caused = await store.read(DeliveryEvents(client, delivery.id))
        shared = any((event.record_kind, event.record_id) != (CONTACT, contact_id) for event in caused)
        found.append(ContactDelivery(delivery, shared or await on_thread("translate", _names_others, delivery, translate, person.refs)))
    return found, page.last


def _names_others(delivery: Delivery, translate: Translate, own: set[Ref]) -> bool:
    try:
        translation = translate(delivery)
    except Exception:  # an unreadable delivery may name other people
        return True
    named = [identities_of(translation.tool or "unknown", event) for event in translation.events]
    return any(refs and refs.isdisjoint(own) for refs in named)
