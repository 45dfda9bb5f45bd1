"""Merges that a CRM tells as the deletion of one object and an update of another with the addresses of both.

Both events together say that the objects are one: the deletion then counts as a merge into the other object, whichever arrives first.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, EXTERNAL, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.sql import event_of, event_row
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.lookup import load_links, load_owners
from touchbase.identity.rekey import owner_of
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.known_events import REMOVE_EVENT
from touchbase.records.further_emails import by_key
from touchbase.records.projection import object_of
from touchbase.sql.statement import Execute, Plan

_DELETED = "contact.deleted"
_NONE: Ref = ("", "", "")
Listed = tuple[str, str, str]
"""Tool and type of an object, and an address."""
LISTED = ("", "listed")
"""Beginning of the refs of `listing_ref`."""


def listing_ref(listed: Listed) -> Ref:
    """Return the link from an address to the contact whose object lists it, while another contact has it."""
    tool, object_type, key = listed
    return (*LISTED, f"{key} {tool} {object_type}")


def note_merges(batch: ApplyBatch, subjects: Sequence[EventSubject]) -> Plan[None]:
    """Turn deletions of objects whose addresses another object of their type lists into merges with that one."""
    named = [subject for subject in subjects if subject.kind == CONTACT and subject.ref is not None]
    deletions = [subject for subject in named if subject.event.event == _DELETED and subject.merged is None]
    deletions = [subject for subject in deletions if not subject.event.asks_erasure]
    lists = [subject for subject in named if len(subject.detail.get("emails", ())) > 1]
    links = batch.resolvers[CONTACT].links.by_ref
    waiting = {
        parking_id: subject
        for subject in named
        if subject.primary is not None and (link := links.get(subject.ref or _NONE)) is not None and (parking_id := link.parking_id)
    }
    if not deletions and not lists and not waiting:
        return
    stored = yield from _histories(batch, [*deletions, *lists, *waiting.values()])
    stored += yield from _read(batch, EXTERNAL, waiting)
    state = _Objects(stored, named)
    for listed, survivor in state.listing.items():
        absorbed = state.deleted.get(listed)
        if absorbed is not None and absorbed != survivor:
            yield from load_links(batch.client, CONTACT, batch.resolvers[CONTACT], (absorbed, survivor))
            yield from _merge(batch, absorbed, survivor, named, stored)


def _histories(batch: ApplyBatch, subjects: Sequence[EventSubject]) -> Plan[list[StoredEvent]]:
    """Return the events about these contacts, and of contacts that have or list their addresses."""
    resolver = batch.resolvers[CONTACT]
    keys = {key for subject in subjects for key in _named(subject)}
    yield from load_owners(batch.client, CONTACT, resolver, "email", keys)
    numbers = {owner.id for key in keys if (owner := owner_of(resolver, "email", key)) is not None}
    refs = [subject.ref for subject in subjects if subject.ref is not None]
    numbers |= {number for ref in refs if (number := resolver.links.record_id(ref)) is not None}
    events = yield from _read(batch, CONTACT, numbers)
    listed = {(ref[0], ref[1], key) for event in events if (ref := object_of(event)) is not None for key in _keys(event)}
    if listed:
        yield from load_links(batch.client, CONTACT, resolver, map(listing_ref, listed))
    listing = {number for key in listed if (number := resolver.links.record_id(listing_ref(key))) is not None}
    return events + (yield from _read(batch, CONTACT, listing - numbers))


def _read(batch: ApplyBatch, kind: int, numbers: Iterable[int]) -> Plan[list[StoredEvent]]:
    places = [(batch.client, kind, number) for number in sorted(numbers)]
    return list(map(event_of, (yield Execute(history_sql.EVENTS_OF, places)))) if places else []


def _keys(event: StoredEvent) -> set[str]:
    """Return the addresses that a stored event gives to its object."""
    key = event.detail.get("identity", {}).get("email")
    return {*([] if key is None else [key]), *by_key(event.detail.get("emails", ()))}


def _named(subject: EventSubject) -> set[str]:
    """Return the addresses that an event of a batch gives to its object."""
    return {*([] if subject.primary is None else [subject.primary]), *by_key(subject.detail.get("emails", ()))}


class _Objects:
    """The objects of CRMs in stored histories and a batch: which are deleted, and which list further addresses."""

    def __init__(self, history: Iterable[StoredEvent], subjects: Iterable[EventSubject]) -> None:
        addresses: dict[Ref, set[str]] = {}
        is_deleted: dict[Ref, bool] = {}
        merged = set[Ref]()
        facts = [(ref, event.effective_time, event.event, event.detail, _keys(event)) for event in history if (ref := object_of(event))]
        for subject in subjects:
            if subject.ref is not None and "." in subject.event.event:
                facts.append((subject.ref, subject.effective_time, subject.event.event, subject.detail, _named(subject)))
        for ref, _, name, detail, keys in sorted(facts, key=lambda fact: fact[1]):
            if "merged_into" in detail:
                merged.add(ref)
            if keys and name != _DELETED:
                addresses[ref] = keys
            is_deleted[ref] = name == _DELETED
        self.listing: dict[Listed, Ref] = {}
        """The existing object that lists an address beside another one."""
        self.deleted: dict[Listed, Ref] = {}
        """The deleted object that had an address, if no existing one of its type has it alone."""
        for ref, keys in sorted(addresses.items()):
            for key in keys:
                if is_deleted[ref] and ref not in merged:
                    self.deleted[ref[0], ref[1], key] = ref
                elif not is_deleted[ref] and len(keys) > 1:
                    self.listing[ref[0], ref[1], key] = ref
        for ref, keys in addresses.items():
            if not is_deleted[ref] and len(keys) == 1:
                self.deleted.pop((ref[0], ref[1], min(keys)), None)


def _merge(batch: ApplyBatch, absorbed: Ref, survivor: Ref, subjects: Sequence[EventSubject], stored: Sequence[StoredEvent]) -> Plan[None]:
    """Turn an object's deletion, stored or in the batch, into its merge with the survivor."""
    detail = {"merged_into": survivor[2], "absorbed": True}
    deletions = [event for event in stored if event.event == _DELETED and object_of(event) == absorbed]
    for event in deletions:
        yield Execute(REMOVE_EVENT, [(batch.client, event.record_kind, event.record_id, event.occurred_us, event.key)])
        event.detail = event.detail | detail
        yield Execute(history_sql.INSERT_EVENT, [event_row(batch.client, event)])
    for subject in subjects:
        if subject.ref == absorbed:
            subject.merged, subject.event.absorbed = survivor, True
            if subject.event.event == _DELETED:
                subject.detail |= detail
        elif subject.ref == survivor:
            subject.absorbs = absorbed
