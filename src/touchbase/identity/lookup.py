"""Identity lookup: loads the records and links that the subjects of a batch may be about into the resolvers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, EXTERNAL, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import SEVERAL, SINCE
from touchbase.history.sql import event_of, link_of
from touchbase.identity.event_subject import EventSubject
from touchbase.identity.resolution import Resolver
from touchbase.records.models import Company, Contact, Record
from touchbase.records.primary_keys import former_key, former_key_of, keys_of, owned_since, primary_key, shown_values
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.search_pending import searched
from touchbase.records.sql.statements import TABLES, lock_records
from touchbase.sql.statement import Execute, Plan, Row


def fill_resolvers(
    client: int, resolvers: Mapping[int, Resolver], subjects: Sequence[EventSubject], also: Iterable[tuple[int, int]] = ()
) -> Plan[None]:
    """Load the records and links that these subjects may be about, and these further records (kind and id)."""
    for kind, resolver in resolvers.items():
        needed = sorted({number for of, number in also if of == kind})
        if needed:
            add_records(kind, resolver, (yield from lock_records(client, kind, needed)))
        mine = [subject for subject in subjects if subject.kind == kind]
        if mine:
            yield from _fill(client, kind, resolver, mine)


def _fill(client: int, kind: int, resolver: Resolver, subjects: Sequence[EventSubject]) -> Plan[None]:
    primaries = {subject.primary for subject in subjects if subject.primary is not None}
    linkedins = {subject.linkedin for subject in subjects if subject.linkedin is not None}
    if primaries:
        op = records_sql.CONTACT_BY_EMAIL if kind == CONTACT else records_sql.COMPANY_BY_DOMAIN
        rows = yield Execute(op, [(client, key) for key in sorted(primaries)])
        add_records(kind, resolver, rows)
    if linkedins and kind == CONTACT:
        rows = yield Execute(records_sql.CONTACT_BY_LINKEDIN, [(client, key) for key in sorted(linkedins)])
        add_records(kind, resolver, rows)
    word = "email" if kind == CONTACT else "domain"
    refs: set[Ref] = {ref for subject in subjects for ref in (subject.ref, subject.merged) if ref is not None}
    refs |= {("", word, key) for key in primaries if key not in resolver.by_primary}
    refs |= {
        ("", word, subject.primary)
        for subject in subjects
        if subject.primary is not None and _may_belong_to_another(resolver, subject, word)
    }
    if kind == CONTACT:
        refs |= {("", "linkedin", key) for key in linkedins if _belongs_or_belonged_to_another(resolver, key, subjects)}
    if refs:
        yield from load_links(client, kind, resolver, refs)
    former_refs = {former_key(kind, primary_key(record) or "") for record in resolver.by_id.values() if SINCE in record.stamps} - refs
    if former_refs:
        yield from load_links(client, kind, resolver, former_refs)
    yield from _fill_claims(client, kind, resolver, subjects)


def _fill_claims(client: int, kind: int, resolver: Resolver, subjects: Sequence[EventSubject]) -> Plan[None]:
    """Load the claims of all objects of a record, if an event gives one of them another address or may unite two records."""
    doubtful = [(subject, numbers) for subject in subjects if (numbers := _ambiguous_records(kind, resolver, subject))]
    if not doubtful:
        return
    objects: dict[int, set[Ref]] = {number: set() for _, numbers in doubtful for number in numbers}
    for row in (yield Execute(history_sql.LINKS_OF, [(client, kind, number) for number in sorted(objects)])):
        if row[1]:
            objects[row[6]].add((row[1], row[2], row[3]))
    together = {frozenset(numbers) for _, numbers in doubtful}
    refs = {numbers: set[Ref]().union(*(objects[number] for number in numbers)) for numbers in together}
    kinds = {numbers: Counter(ref[:2] for ref in refs[numbers]) for numbers in together}
    shared = {
        number
        for subject, numbers in doubtful
        if _has_several(subject, refs[frozenset(numbers)], kinds[frozenset(numbers)])
        for number in numbers
    }
    if not shared:
        return
    histories: dict[int, list[StoredEvent]] = {number: [] for number in shared}
    for row in (yield Execute(history_sql.EVENTS_OF, [(client, kind, number) for number in sorted(shared)])):
        histories[row[2]].append(event_of(row))
    for number, history in histories.items():
        resolver.claims.add_history(number, kind, history)


def _ambiguous_records(kind: int, resolver: Resolver, subject: EventSubject) -> set[int]:
    """Return the records that a subject may be about; an empty set if all its identities lead to the same record."""
    if subject.ref is None or subject.primary is None:
        return set()
    linked, former = (resolver.links.record_id(ref) for ref in (subject.ref, former_key(kind, subject.primary)))
    merged = None if subject.merged is None else resolver.links.record_id(subject.merged)
    owner = resolver.by_primary.get(subject.primary)
    if owner is not None and linked == owner.id and not owner.stamps.keys() & {SINCE, SEVERAL}:
        return set()
    if subject.claim is None and (linked is None or owner is None or linked == owner.id):
        return set()  # events of a campaign tool separate no records
    numbers = {linked, former, merged, None if owner is None else owner.id}
    return {number for number in numbers if number is not None and number in resolver.by_id}


def _has_several(subject: EventSubject, refs: set[Ref], kinds: Counter[tuple[str, str]]) -> bool:
    """Whether records with these objects have two of one type, or will have with the subject's."""
    is_second = subject.ref is not None and subject.ref not in refs and kinds[subject.ref[:2]] > 0
    return is_second or max(kinds.values(), default=0) > 1


def _may_belong_to_another(resolver: Resolver, subject: EventSubject, field_name: str) -> bool:
    """Whether an address may have had another owner when the event happened, or belong to another record's object."""
    record = resolver.by_primary.get(subject.primary or "")
    since = None if record is None else owned_since(record, field_name)
    return since is not None and (subject.ref is not None or subject.stamp[1] < since)


def _belongs_or_belonged_to_another(resolver: Resolver, key: str, subjects: Sequence[EventSubject]) -> bool:
    record = resolver.by_linkedin.get(key)
    since = None if record is None else owned_since(record, "linkedin_url")
    return record is None or (since is not None and any(subject.linkedin == key and subject.stamp[1] < since for subject in subjects))


def load_links(client: int, kind: int, resolver: Resolver, refs: Iterable[Ref]) -> Plan[None]:
    """Load the links of these refs, and the records to which they lead."""
    rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in sorted(refs)])
    for row in rows:
        link = link_of(row)
        resolver.links.by_ref[link.ref] = link
    yield from _fill_shared_places(client, resolver)
    yield from _fill_linked(client, kind, resolver)


def _fill_linked(client: int, kind: int, resolver: Resolver) -> Plan[None]:
    """Load the records to which the loaded links lead."""
    needed = {link.record_id for link in resolver.links.by_ref.values() if link.record_kind == kind and link.record_id is not None}
    if missing := sorted(needed - set(resolver.by_id)):
        add_records(kind, resolver, (yield from lock_records(client, kind, missing)))


def _fill_shared_places(client: int, resolver: Resolver) -> Plan[None]:
    parking_ids = {
        link.parking_id for link in resolver.links.by_ref.values() if link.parking_id is not None and link.record_kind == EXTERNAL
    }
    if not parking_ids:
        return
    rows = yield Execute(history_sql.LINKS_OF, [(client, EXTERNAL, parking_id) for parking_id in sorted(parking_ids)])
    for row in rows:
        link = link_of(row)
        link = resolver.links.by_ref.setdefault(link.ref, link)
        resolver.links.sharing.setdefault(row[6], []).append(link)


def add_records(kind: int, resolver: Resolver, rows: Sequence[Row]) -> None:
    """Add loaded rows to the resolver's maps; skip records that are loaded already."""
    for row in rows:
        if row[1] in resolver.by_id:
            continue
        record: Record = TABLES[kind].record_of(row)
        resolver.by_id[record.id] = record
        resolver.statuses[record.id], resolver.shown[record.id] = record.status, shown_values(record)
        resolver.searched[record.id], resolver.status_paths[record.id] = searched(record), record.status_path
        resolver.loaded_keys[record.id], resolver.external_ids[record.id] = keys_of(record), record.external_id
        if isinstance(record, Contact):
            if record.email_key is not None:
                resolver.by_primary[record.email_key] = record
            if record.linkedin_key is not None:
                resolver.by_linkedin[record.linkedin_key] = record
        elif isinstance(record, Company):
            resolver.by_primary[record.domain] = record


def load_owners(client: int, kind: int, resolver: Resolver, name: str, values: Iterable[str | None]) -> Plan[None]:
    """Load the owners of these addresses, also of further addresses."""
    owners = resolver.by_linkedin if name == "linkedin_url" else resolver.by_primary
    keys = {key for value in values if value is not None and (key := ADDRESS_KEYS[name](value)) is not None}
    if unread := {former_key_of(name, key) for key in keys} - resolver.links.by_ref.keys():
        yield from load_links(client, kind, resolver, unread)
    else:
        yield from _fill_linked(client, kind, resolver)
    if missing := sorted(keys - owners.keys()):
        op = {
            "email": records_sql.CONTACT_BY_EMAIL,
            "domain": records_sql.COMPANY_BY_DOMAIN,
            "linkedin_url": records_sql.CONTACT_BY_LINKEDIN,
        }[name]
        add_records(kind, resolver, (yield Execute(op, [(client, key) for key in missing])))
