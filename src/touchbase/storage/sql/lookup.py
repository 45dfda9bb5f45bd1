"""Looking up the records that a batch of sightings names, into the resolvers' maps."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from touchbase.domain.company import Company
from touchbase.domain.contact import Contact
from touchbase.domain.events import CONTACT, EXTERNAL
from touchbase.domain.fold import Record
from touchbase.domain.links import Link, Ref
from touchbase.domain.primary_keys import api_since, shown_values
from touchbase.domain.resolve import Resolver, Sighting
from touchbase.storage.sql import statements as sql
from touchbase.storage.sql.op import Plan, Row, Step
from touchbase.storage.sql.rows import company_of, contact_of


def fill_resolvers(
    client: int, resolvers: Mapping[int, Resolver], sightings: Sequence[Sighting], also: Iterable[tuple[int, int]] = ()
) -> Plan[None]:
    """Load every record and link that these sightings may be about, and also these records (kind and id)."""
    for kind, resolver in resolvers.items():
        wanted = sorted({number for of, number in also if of == kind})
        if wanted:
            add_records(
                kind, resolver, (yield Step(sql.CONTACT_BY_ID if kind == CONTACT else sql.COMPANY_BY_ID, [(client, n) for n in wanted]))
            )
        mine = [seen for seen in sightings if seen.kind == kind]
        if mine:
            yield from _fill(client, kind, resolver, mine)


def _fill(client: int, kind: int, resolver: Resolver, sightings: Sequence[Sighting]) -> Plan[None]:
    primaries = {seen.primary for seen in sightings if seen.primary is not None}
    linkedins = {seen.linkedin for seen in sightings if seen.linkedin is not None}
    if primaries:
        op = sql.CONTACT_BY_EMAIL if kind == CONTACT else sql.COMPANY_BY_DOMAIN
        rows = yield Step(op, [(client, key) for key in sorted(primaries)])
        add_records(kind, resolver, rows)
    if linkedins and kind == CONTACT:
        rows = yield Step(sql.CONTACT_BY_LINKEDIN, [(client, key) for key in sorted(linkedins)])
        add_records(kind, resolver, rows)
    word = "email" if kind == CONTACT else "domain"
    refs: set[Ref] = {ref for seen in sightings for ref in (seen.ref, seen.merged) if ref is not None}
    refs |= {("", word, key) for key in primaries if key not in resolver.by_primary}
    refs |= {("", word, seen.primary) for seen in sightings if seen.primary is not None and _may_be_anothers(resolver, seen, word)}
    if kind == CONTACT:
        refs |= {("", "linkedin", key) for key in linkedins if _is_or_was_anothers(resolver, key, sightings)}
    if refs:
        yield from _fill_links(client, kind, resolver, refs)


def _may_be_anothers(resolver: Resolver, seen: Sighting, field_name: str) -> bool:
    """Whether an address may have been another record's when the event happened, or be that of another record's object."""
    record = resolver.by_primary.get(seen.primary or "")
    since = None if record is None else api_since(record, field_name)
    return since is not None and (seen.ref is not None or seen.stamp[1] < since)


def _is_or_was_anothers(resolver: Resolver, key: str, sightings: Sequence[Sighting]) -> bool:
    record = resolver.by_linkedin.get(key)
    since = None if record is None else api_since(record, "linkedin_url")
    return record is None or (since is not None and any(seen.linkedin == key and seen.stamp[1] < since for seen in sightings))


def _fill_links(client: int, kind: int, resolver: Resolver, refs: set[Ref]) -> Plan[None]:
    rows = yield Step(sql.LINK_BY_REF, [(client, *ref) for ref in sorted(refs)])
    for row in rows:
        ref: Ref = (row[1], row[2], row[3])
        resolver.links.by_ref[ref] = Link(ref, row[4], row[5], row[6])
    yield from _fill_shared_places(client, resolver)
    wanted = {link.record_id for link in resolver.links.by_ref.values() if link.record_kind == kind and link.record_id is not None}
    missing = sorted(wanted - set(resolver.by_id))
    if missing:
        op = sql.CONTACT_BY_ID if kind == CONTACT else sql.COMPANY_BY_ID
        found = yield Step(op, [(client, number) for number in missing])
        add_records(kind, resolver, found)


def _fill_shared_places(client: int, resolver: Resolver) -> Plan[None]:
    places = {link.place for link in resolver.links.by_ref.values() if link.place is not None and link.record_kind == EXTERNAL}
    if not places:
        return
    rows = yield Step(sql.LINKS_OF, [(client, EXTERNAL, place) for place in sorted(places)])
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
        if isinstance(record, Contact):
            if record.email_key is not None:
                resolver.by_primary[record.email_key] = record
            if record.linkedin_key is not None:
                resolver.by_linkedin[record.linkedin_key] = record
        elif isinstance(record, Company):
            resolver.by_primary[record.domain] = record
