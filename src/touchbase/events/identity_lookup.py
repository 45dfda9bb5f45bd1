"""Looking up the records that a batch of sightings names, into the resolvers' maps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.events.event_subject import EventSubject
from touchbase.events.identity_resolution import Resolver
from touchbase.history import statements as history_sql
from touchbase.history.events import CONTACT, EXTERNAL, StoredEvent
from touchbase.history.identity_links import Link, Ref
from touchbase.history.last_writer_wins import SEVERAL, SINCE
from touchbase.history.rows import event_of
from touchbase.records import statements as records_sql
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.primary_keys import former_key, held_since, keys_of, primary_key, shown_values
from touchbase.records.projection import Record
from touchbase.records.rows import company_of, contact_of
from touchbase.sql.statement import Execute, Plan, Row


def fill_resolvers(
    client: int, resolvers: Mapping[int, Resolver], sightings: Sequence[EventSubject], also: Iterable[tuple[int, int]] = ()
) -> Plan[None]:
    """Load every record and link that these sightings may be about, and also these records (kind and id)."""
    for kind, resolver in resolvers.items():
        wanted = sorted({number for of, number in also if of == kind})
        if wanted:
            add_records(
                kind,
                resolver,
                (yield Execute(records_sql.CONTACT_BY_ID if kind == CONTACT else records_sql.COMPANY_BY_ID, [(client, n) for n in wanted])),
            )
        mine = [seen for seen in sightings if seen.kind == kind]
        if mine:
            yield from _fill(client, kind, resolver, mine)


def _fill(client: int, kind: int, resolver: Resolver, sightings: Sequence[EventSubject]) -> Plan[None]:
    primaries = {seen.primary for seen in sightings if seen.primary is not None}
    linkedins = {seen.linkedin for seen in sightings if seen.linkedin is not None}
    if primaries:
        op = records_sql.CONTACT_BY_EMAIL if kind == CONTACT else records_sql.COMPANY_BY_DOMAIN
        rows = yield Execute(op, [(client, key) for key in sorted(primaries)])
        add_records(kind, resolver, rows)
    if linkedins and kind == CONTACT:
        rows = yield Execute(records_sql.CONTACT_BY_LINKEDIN, [(client, key) for key in sorted(linkedins)])
        add_records(kind, resolver, rows)
    word = "email" if kind == CONTACT else "domain"
    refs: set[Ref] = {ref for seen in sightings for ref in (seen.ref, seen.merged) if ref is not None}
    refs |= {("", word, key) for key in primaries if key not in resolver.by_primary}
    refs |= {("", word, seen.primary) for seen in sightings if seen.primary is not None and _may_be_anothers(resolver, seen, word)}
    if kind == CONTACT:
        refs |= {("", "linkedin", key) for key in linkedins if _is_or_was_anothers(resolver, key, sightings)}
    if refs:
        yield from _fill_links(client, kind, resolver, refs)
    passed_on = {former_key(kind, primary_key(one) or "") for one in resolver.by_id.values() if SINCE in one.stamps} - refs
    if passed_on:
        yield from _fill_links(client, kind, resolver, passed_on)
    yield from _fill_claims(client, kind, resolver, sightings)


def _fill_claims(client: int, kind: int, resolver: Resolver, sightings: Sequence[EventSubject]) -> Plan[None]:
    """Load what all objects of a record claim, where an event gives one of several another address, or may unite two records."""
    doubtful = [(seen, numbers) for seen in sightings if (numbers := _in_doubt(kind, resolver, seen))]
    if not doubtful:
        return
    objects: dict[int, set[Ref]] = {number: set() for _, numbers in doubtful for number in numbers}
    for row in (yield Execute(history_sql.LINKS_OF, [(client, kind, number) for number in sorted(objects)])):
        if row[1]:
            objects[row[6]].add((row[1], row[2], row[3]))
    shared = {number for seen, numbers in doubtful if _has_several(seen, [objects[one] for one in numbers]) for number in numbers}
    if not shared:
        return
    histories: dict[int, list[StoredEvent]] = {number: [] for number in shared}
    for row in (yield Execute(history_sql.EVENTS_OF, [(client, kind, number) for number in sorted(shared)])):
        histories[row[2]].append(event_of(row))
    for number, history in histories.items():
        resolver.claims.note_history(number, kind, history)


def _in_doubt(kind: int, resolver: Resolver, seen: EventSubject) -> set[int]:
    """The records of one sighting, where it is not simply about the one that it names in every way."""
    if seen.ref is None or seen.primary is None:
        return set()
    linked, former = (resolver.links.record_id(ref) for ref in (seen.ref, former_key(kind, seen.primary)))
    merged = None if seen.merged is None else resolver.links.record_id(seen.merged)
    owner = resolver.by_primary.get(seen.primary)
    if owner is not None and linked == owner.id and not owner.stamps.keys() & {SINCE, SEVERAL}:
        return set()
    if seen.claim is None and (linked is None or owner is None or linked == owner.id):
        return set()  # a campaign tool's words divide nobody
    numbers = {linked, former, merged, None if owner is None else owner.id}
    return {number for number in numbers if number is not None and number in resolver.by_id}


def _has_several(seen: EventSubject, objects: Sequence[set[Ref]]) -> bool:
    """Whether these records together are two objects of one kind, or will be."""
    kinds = Counter(ref[:2] for ref in {ref for refs in objects for ref in refs} | ({seen.ref} if seen.ref is not None else set()))
    return max(kinds.values()) > 1


def _may_be_anothers(resolver: Resolver, seen: EventSubject, field_name: str) -> bool:
    """Whether an address may have been another record's when the event happened, or be that of another record's object."""
    record = resolver.by_primary.get(seen.primary or "")
    since = None if record is None else held_since(record, field_name)
    return since is not None and (seen.ref is not None or seen.stamp[1] < since)


def _is_or_was_anothers(resolver: Resolver, key: str, sightings: Sequence[EventSubject]) -> bool:
    record = resolver.by_linkedin.get(key)
    since = None if record is None else held_since(record, "linkedin_url")
    return record is None or (since is not None and any(seen.linkedin == key and seen.stamp[1] < since for seen in sightings))


def _fill_links(client: int, kind: int, resolver: Resolver, refs: set[Ref]) -> Plan[None]:
    rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in sorted(refs)])
    for row in rows:
        ref: Ref = (row[1], row[2], row[3])
        resolver.links.by_ref[ref] = Link(ref, row[4], row[5], row[6])
    yield from _fill_shared_places(client, resolver)
    wanted = {link.record_id for link in resolver.links.by_ref.values() if link.record_kind == kind and link.record_id is not None}
    missing = sorted(wanted - set(resolver.by_id))
    if missing:
        op = records_sql.CONTACT_BY_ID if kind == CONTACT else records_sql.COMPANY_BY_ID
        found = yield Execute(op, [(client, number) for number in missing])
        add_records(kind, resolver, found)


def _fill_shared_places(client: int, resolver: Resolver) -> Plan[None]:
    places = {link.place for link in resolver.links.by_ref.values() if link.place is not None and link.record_kind == EXTERNAL}
    if not places:
        return
    rows = yield Execute(history_sql.LINKS_OF, [(client, EXTERNAL, place) for place in sorted(places)])
    for row in rows:
        ref: Ref = (row[1], row[2], row[3])
        link = resolver.links.by_ref.setdefault(ref, Link(ref, row[4], row[5], row[6]))
        resolver.links.sharing.setdefault(row[6], []).append(link)


def add_records(kind: int, resolver: Resolver, rows: Sequence[Row]) -> None:
    """Put loaded rows into the resolver's maps; what is there already stays as it is."""
    for row in rows:
        if row[1] in resolver.by_id:
            continue
        record: Record = contact_of(row) if kind == CONTACT else company_of(row)
        resolver.by_id[record.id] = record
        resolver.statuses[record.id], resolver.shown[record.id] = record.status, shown_values(record)
        resolver.loaded_keys[record.id] = keys_of(record)
        if isinstance(record, Contact):
            if record.email_key is not None:
                resolver.by_primary[record.email_key] = record
            if record.linkedin_key is not None:
                resolver.by_linkedin[record.linkedin_key] = record
        elif isinstance(record, Company):
            resolver.by_primary[record.domain] = record


def load_holders(client: int, kind: int, resolver: Resolver, name: str, values: Iterable[str | None]) -> Plan[None]:
    """Load who has these addresses."""
    known = resolver.by_linkedin if name == "linkedin_url" else resolver.by_primary
    keys = {key for value in values if value is not None and (key := ADDRESS_KEYS[name](value)) is not None}
    if missing := sorted(keys - known.keys()):
        op = {
            "email": records_sql.CONTACT_BY_EMAIL,
            "domain": records_sql.COMPANY_BY_DOMAIN,
            "linkedin_url": records_sql.CONTACT_BY_LINKEDIN,
        }[name]
        add_records(kind, resolver, (yield Execute(op, [(client, key) for key in missing])))
