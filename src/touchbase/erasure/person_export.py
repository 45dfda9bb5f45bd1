"""Export of one person's data: everything stored about a contact, and its deliveries, page by page."""

from __future__ import annotations

from dataclasses import dataclass

from touchbase.common.threads import on_thread
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import Translate
from touchbase.do_not_contact.addresses import addresses_of_refs
from touchbase.do_not_contact.models import Entry
from touchbase.do_not_contact.sql.lookup import find_entries
from touchbase.erasure.models import PersonSource
from touchbase.erasure.sql.persons import find_person, find_sources, read_bodies, read_links
from touchbase.erasure_marks import identities_of
from touchbase.history.events import CONTACT
from touchbase.history.identity_links import Ref
from touchbase.inbox.sql.queries import delivery_events
from touchbase.projection.bin_rows import get_deleted
from touchbase.records.models import Contact
from touchbase.records.read_records import get_record
from touchbase.records.record_type import CONTACT_TYPE
from touchbase.sql.store import Store

LINKS = 10_000
"""Most identities of one person in an export, more than any person has."""


@dataclass(frozen=True, slots=True)
class Exported:
    """One person: the contact, its identities, the tools that sent data, and its entries on the do-not-contact list."""

    contact: Contact
    identities: list[Ref]
    sources: list[PersonSource]
    suppressions: list[Entry]


@dataclass(frozen=True, slots=True)
class ContactDelivery:
    """A delivery about the person; `shared` if it names other people, whose data must not be exported."""

    delivery: Delivery
    shared: bool


async def exported_contact(store: Store, client: int, contact_id: int) -> Contact:
    """Return the contact to export, also one in the bin. `NotFound`."""
    deleted = await store.read(get_deleted(client, CONTACT, contact_id))
    record = None if deleted is None else deleted.record
    return record if isinstance(record, Contact) else await get_record(store, CONTACT_TYPE, client, contact_id)


async def export_person(store: Store, client: int, contact: Contact) -> Exported:
    """Return everything but the timeline, the messages and the deliveries."""
    is_deleted = await store.read(get_deleted(client, CONTACT, contact.id)) is not None
    links = await store.read(read_links(client, LINKS, contact=contact.id, deleted=is_deleted))
    person = await store.read(find_person(client, contact.id))
    listed = await store.read(find_entries(client, addresses_of_refs(person.refs)))
    return Exported(contact, [ref for ref, _ in links.links], await store.read(find_sources(client, contact.id)), listed)


async def export_deliveries(
    store: Store, translate: Translate, client: int, contact_id: int, limit: int, after: int
) -> tuple[list[ContactDelivery], int | None]:
    """Return a page of the deliveries with events of a contact, and the cursor of the next page; those without a body are left out."""
    person = await store.read(find_person(client, contact_id))
    page = await store.read(read_bodies(client, after, limit, contact=contact_id))
    deliveries: list[ContactDelivery] = []
    for delivery in page.deliveries:
        caused = await store.read(delivery_events(client, delivery.id))
        shared = any((event.record_kind, event.record_id) != (CONTACT, contact_id) for event in caused)
        if delivery.lost is None:
            shared = shared or await on_thread("translate", _names_others, delivery, translate, person.refs)
        deliveries.append(ContactDelivery(delivery, shared))
    return deliveries, page.last


def _names_others(delivery: Delivery, translate: Translate, own: set[Ref]) -> bool:
    try:
        translation = translate(delivery)
    except Exception:  # an unreadable delivery may name other people
        return True
    named = [identities_of(translation.tool or "unknown", event) for event in translation.events]
    return any(refs and refs.isdisjoint(own) for refs in named)
