"""Separation of records: CRM objects with different present addresses are separate records (decision 33).

Events of another record leave this record's history and join the other as if they came first now. The remaining record is projected
again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

from touchbase.common.normalize import ADDRESS_KEYS, linkedin_key
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE, NEVER, SEVERAL, SINCE
from touchbase.history.sql import event_of, link_of
from touchbase.identity.lookup import load_owners
from touchbase.identity.object_claims import Separation, Share, linkedin_owners, objects_differ, plan_separation, without_linkedin_keys
from touchbase.identity.rekey import assign, current_key, leave_written_email, owner_of, release
from touchbase.identity.resolution import Resolver
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.known_events import REMOVE_EVENT
from touchbase.projection.save import unite_record
from touchbase.records.field_projection import Written, last_address, named_addresses
from touchbase.records.models import Record
from touchbase.records.primary_keys import former_key, former_key_of, primary_key
from touchbase.records.record_type import RECORD_TYPES
from touchbase.sql.statement import Execute, Plan

Histories = dict[int, list[StoredEvent]]
"""Whole histories by record, including the batch's events."""


def separate_records(batch: ApplyBatch) -> Plan[None]:
    """Separate records whose objects differ, and records with facts whose time became earlier."""
    for (kind, number), _ in batch.retimed:
        batch.resolvers[kind].doubtful.append({number})
    for kind, resolver in sorted(batch.resolvers.items()):
        for numbers in _components(batch, kind, resolver):
            histories = yield from _histories(batch, kind, resolver, numbers)
            separation = _separation(kind, resolver, histories)
            if separation is None:
                yield from _settle(batch, kind, numbers, histories)
            elif (yield from _unite(batch, kind, separation.to_unite)):
                histories = yield from _histories(batch, kind, resolver, numbers & resolver.by_id.keys())
                separation = _separation(kind, resolver, histories)
            if separation is not None:
                yield from _separate(batch, kind, separation, histories)


def _separation(kind: int, resolver: Resolver, histories: Histories) -> Separation | None:
    return plan_separation(kind, histories, {number: primary_key(resolver.by_id[number]) for number in histories})


def _unite(batch: ApplyBatch, kind: int, pairs: Sequence[tuple[int, int]]) -> Plan[bool]:
    """Unite these records, unless both were created through the API; return whether any were united."""
    resolver, before = batch.resolvers[kind], len(batch.resolvers[kind].united)
    for pair in pairs:
        first, second = (resolver.by_id[batch.final(kind, number)] for number in pair)
        if first is not second and not (first.from_api and second.from_api):
            resolver.unite(first, second)
    batch.follow_unions()
    for gone, survivor in resolver.united[before:]:
        yield from unite_record(batch, kind, gone, survivor)
    return len(resolver.united) > before


def _settle(batch: ApplyBatch, kind: int, numbers: set[int], histories: Histories) -> Plan[None]:
    """Set the addresses of unseparated records from their whole histories.

    Records that stayed separate are united first, if the events of a parked merge make their objects one.
    """
    resolver = batch.resolvers[kind]
    pairs = [pair for pair in resolver.separate_pairs if numbers >= {batch.final(kind, ref) for ref in pair}]
    has_united = not objects_differ(kind, histories) and (yield from _unite(batch, kind, pairs))
    left = numbers & resolver.by_id.keys()
    if has_united:
        histories = yield from _histories(batch, kind, resolver, left)
    elif not any(SEVERAL in resolver.by_id[number].stamps for number in left):
        return
    for number in left:
        leave_written_email(resolver, resolver.by_id[number])
    old = {number: primary_key(resolver.by_id[number]) for number in left}
    yield from set_addresses(batch, kind, sorted(left), histories)
    for number, address in old.items():
        if address is not None and address != primary_key(resolver.by_id[number]):
            resolver.links.set_record(former_key(kind, address), number, batch.now_us)


def _components(batch: ApplyBatch, kind: int, resolver: Resolver) -> list[set[int]]:
    """Group the records that have to be considered together."""
    components: list[set[int]] = []
    for numbers in resolver.doubtful:
        component = {final for number in numbers if (final := batch.final(kind, number)) in resolver.by_id}
        for overlapping in [overlap for overlap in components if overlap & component]:
            components.remove(overlapping)
            component |= overlapping
        if component:
            components.append(component)
    return components


def _histories(batch: ApplyBatch, kind: int, resolver: Resolver, numbers: set[int]) -> Plan[Histories]:
    histories: Histories = {number: [] for number in sorted(numbers)}
    if stored := sorted(numbers - set(resolver.created)):
        for row in (yield Execute(history_sql.EVENTS_OF, [(batch.client, kind, number) for number in stored])):
            histories[row[2]].append(event_of(row))
    for event in chain(batch.moved, *batch.pending.values()):
        if event.record_kind == kind and (number := batch.final(kind, event.record_id)) in numbers:
            histories[number].append(event)
    return histories


def _separate(batch: ApplyBatch, kind: int, separation: Separation, histories: Histories) -> Plan[None]:
    resolver = batch.resolvers[kind]
    for share in separation.shares:
        if share.record_id is None:
            share.record_id = resolver.create_separate(share.address, min(event.received_us for event in share.joining)).id
    if kind == COMPANY:
        batch.separated_companies |= histories.keys()
    yield from _move_events(batch, kind, separation, histories)
    yield from _move_links(batch, kind, separation)
    yield from _move_addresses(batch, kind, separation, histories)


def _move_events(batch: ApplyBatch, kind: int, separation: Separation, histories: Histories) -> Plan[None]:
    """Move events to another history; delete a stored event from its old one."""
    moved = {id(event) for event in batch.moved}
    pending = {id(event) for events in batch.pending.values() for event in events}
    gone = []
    for share in separation.shares:
        assert share.record_id is not None
        for event in share.joining:
            before = batch.final(kind, event.record_id)
            histories[before] = [history for history in histories[before] if history is not event]
            histories.setdefault(share.record_id, []).append(event)
            batch.removed_times.setdefault((kind, before), set()).add(event.effective_time)
            if id(event) in pending:
                old = batch.pending[kind, event.record_id]
                old[:] = [ref for ref in old if ref is not event]
                batch.retarget(event, (kind, share.record_id))
                continue
            if id(event) not in moved:
                gone.append((batch.client, kind, before, event.occurred_us, event.key))
                batch.moved.append(event)
            event.record_id = share.record_id
    if gone:
        yield Execute(REMOVE_EVENT, gone)


def _move_links(batch: ApplyBatch, kind: int, separation: Separation) -> Plan[None]:
    """Point the links of objects and former addresses to their present record."""
    resolver = batch.resolvers[kind]
    homes = {ref: share for share in separation.shares for ref in share.objects}
    homes |= {former_key(kind, address): share for address, share in separation.former.items()}
    yield from _load_links(batch.client, resolver, homes)
    for ref, share in homes.items():
        assert share.record_id is not None
        resolver.links.set_record(ref, share.record_id, None if ref[0] else batch.now_us)


def _load_links(client: int, resolver: Resolver, refs: Iterable[Ref]) -> Plan[None]:
    if missing := sorted(ref for ref in refs if ref not in resolver.links.by_ref):
        for row in (yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in missing])):
            link = link_of(row)
            resolver.links.by_ref[link.ref] = link


def _move_addresses(batch: ApplyBatch, kind: int, separation: Separation, histories: Histories) -> Plan[None]:
    """Set each record's addresses from its history."""
    resolver = batch.resolvers[kind]
    records = {resolver.by_id[share.record_id or 0].id: share for share in separation.shares}
    yield from set_addresses(batch, kind, records, histories)
    for number, share in records.items():
        _record_since(resolver, resolver.by_id[number], share)


def set_addresses(batch: ApplyBatch, kind: int, numbers: Iterable[int], histories: Histories) -> Plan[None]:
    """Set these records' addresses from their histories."""
    resolver = batch.resolvers[kind]
    records = [resolver.by_id[number] for number in numbers]
    for name in RECORD_TYPES[kind].identities:
        writes = {
            record.id: named_addresses(record, histories[record.id], name, batch.removed_times.get((kind, record.id), set()))
            for record in records
        }
        if name == "linkedin_url":
            yield from _assign_linkedin_keys(batch, resolver, writes)
        best = {number: last_address(write) for number, write in writes.items()}
        yield from load_owners(batch.client, kind, resolver, name, [write.value for write in best.values()])
        changing = [record for record in records if not _keeps_address(batch, kind, record, name, best)]
        for record in changing:
            release(resolver, record, name)
        for record in changing:
            assign(resolver, record, name, best[record.id].value, best[record.id].stamp)


def _keeps_address(batch: ApplyBatch, kind: int, record: Record, name: str, best: dict[int, Written]) -> bool:
    """Whether a record keeps its address: a record outside the separation has the best one, and no record in it wants this one."""
    owner = owner_of(batch.resolvers[kind], name, best[record.id].value)
    if owner is None or owner.id in best or record.stamps.get(name, NEVER)[1:] in batch.removed_times.get((kind, record.id), ()):
        return False
    wanted = {ADDRESS_KEYS[name](write.value) for number, write in best.items() if number != record.id and write.value is not None}
    return current_key(record, name) not in wanted


def _assign_linkedin_keys(batch: ApplyBatch, resolver: Resolver, writes: dict[int, list[Written]]) -> Plan[None]:
    """Reduce each record to its LinkedIn addresses, and point the links of addresses that are not shown to it."""
    in_order = sorted(writes, key=lambda number: primary_key(resolver.by_id[number]) or "")
    owners = linkedin_owners({number: writes[number] for number in in_order})
    refs = {key: former_key_of("linkedin_url", key) for key in owners}
    yield from _load_links(batch.client, resolver, refs.values())
    yield from load_owners(batch.client, CONTACT, resolver, "linkedin_url", refs)
    for key in owners:
        owner, former = resolver.by_linkedin.get(key), resolver.links.record_id(refs[key])
        for number in (former, None if owner is None else owner.id):
            if number is not None and number not in writes:
                owners[key] = number  # a record outside the separation keeps its address
    for number, write in writes.items():
        writes[number] = own = without_linkedin_keys(write, {key for key, of in owners.items() if of != number})
        shown = linkedin_key(last_address(own).value or "")
        for key in (key for key, of in owners.items() if of == number):
            if key != shown or resolver.links.record_id(refs[key]) is not None:
                resolver.links.set_record(refs[key], number, batch.now_us)


def _record_since(resolver: Resolver, record: Record, share: Share) -> None:
    if share.since is not None and primary_key(record) == share.address:
        record.stamps[SINCE] = (DELIBERATE, *share.since)
    else:
        record.stamps.pop(SINCE, None)
    resolver.rekeyed[record.id] = record
