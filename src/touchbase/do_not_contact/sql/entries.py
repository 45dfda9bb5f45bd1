"""Plans that change the lists: requests, events, removals and erasures. The entry of an address is a fold of its causes."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from touchbase.audit import audited
from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.addresses import Address, addresses_of_refs
from touchbase.do_not_contact.models import (
    CREATED,
    INSTALLATION,
    MAY_NOT_SHORTEN,
    MAY_NOT_UNBLOCK,
    REFUSED,
    UNCHANGED,
    UPDATED,
    WRITTEN,
    Cause,
    NewEntry,
    Saved,
    fold,
    live_causes,
)
from touchbase.do_not_contact.sql import hashing
from touchbase.do_not_contact.sql.copies import count_change
from touchbase.do_not_contact.sql.statements import (
    CAUSES_OF,
    CLAIM_ENTRY,
    CLAIM_INSTALLATION,
    DELETE_CAUSE,
    DELETE_INSTALLATION,
    ENTRIES_OF,
    ENTRY_BY_ID,
    SAVE_CAUSE,
    UPDATE_ENTRY,
    UPDATE_INSTALLATION,
    EntryRow,
    cause_of,
    cause_row,
    installation_entry,
)
from touchbase.erasure_marks import LOCK_CLIENT, find_erasure_key
from touchbase.errors import Forbidden, NotFound, TouchbaseError
from touchbase.event_log.models import API, DELIVERY, EventType, LoggedEvent
from touchbase.event_log.sql.log import log_events
from touchbase.history.identity_links import Ref
from touchbase.sql.builders import RESERVE_IDS
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Row

ID = "suppression"
Causes = dict[Address, list[Cause]]
BY_REQUEST: Mapping[str, object] = {"origin": API}
SHARED = "shared"
MOST_SHARED = 50
"""Addresses of a deleted contact to which its opt-out is copied."""


@command(ids=lambda calls: {ID: sum(len(call.entries) for call in calls)}, large=True)
def save_entries(
    ids: Ids,
    client: int,
    entries: Sequence[NewEntry],
    at: Micros,
    made_by: str | None = None,
    may_shorten: bool = True,
    is_single: bool = False,
) -> Plan[list[Saved] | TouchbaseError]:
    """Store entries of a client's list, or with `INSTALLATION` of the installation's.

    One for an address that is listed replaces what an earlier request said about it; of several for one address the last one counts.
    `may_shorten`: False: of the stored one of somebody else only a later end is stored; an earlier one is refused, a single one with
    `Forbidden`.
    """
    if client == INSTALLATION:
        return (yield from _save_for_installation(ids, entries, at))
    yield Execute(LOCK_CLIENT, [(client,)])  # an erasure would not see an address that this transaction stores
    stored = yield from hashing.stored_addresses(client, [(entry.kind, entry.value) for entry in entries])
    rows, causes = yield from _claim(client, stored.values(), ids, at)
    outcomes: dict[Address, str] = {}
    written: list[Row] = []
    for address, sent in {stored[entry.kind, entry.value][0]: entry for entry in entries}.items():
        new = sent
        row, earlier = rows[address], causes[address]
        last = next((cause for cause in earlier if cause.key == WRITTEN and cause.at_us > row.removed_us), None)
        is_own = last is None or last.is_over(at) or (made_by is not None and last.is_undone_by(made_by, at))
        if not may_shorten and not is_own and last is not None:
            if last.outlasts(new.until_us):
                outcomes[address] = REFUSED
                continue
            new = replace(new, reason=last.reason, source=last.source, note=last.note, since_us=last.since_us)
        # Otherwise somebody could take another's entry over by a new note, and remove it as one's own.
        cause = _written_cause(new, stored[new.kind, new.value][1], row, last, at, made_by if is_own else None)
        was_listed = row.reason is not None
        if cause is not None:
            written.append(cause_row(client, address, cause))
            causes[address] = [*(entry for entry in earlier if entry.key != WRITTEN), cause]
        outcomes[address] = CREATED if not was_listed else UNCHANGED if cause is None else UPDATED
    if is_single and REFUSED in outcomes.values():
        return Forbidden(MAY_NOT_SHORTEN)
    if written:
        yield Execute(SAVE_CAUSE, written)
    yield from _fold(client, rows.values(), causes, at)
    addresses = [stored[entry.kind, entry.value][0] for entry in entries]
    return [Saved(outcomes[address], rows[address].entry()) for address in addresses]


def _written_cause(new: NewEntry, hashed: bool, row: EntryRow, last: Cause | None, at: Micros, made_by: str | None) -> Cause | None:
    """Return the cause that a request makes; None if the last request said the same."""
    note = "" if hashed else new.note
    if last is not None:
        is_repeated = (new.reason, new.source, note, new.until_us) == (last.reason, last.source, last.note, last.until_us)
        if is_repeated and new.since_us in (None, last.since_us):
            return None
    at = max(at, row.removed_us + 1, 0 if last is None else last.at_us)
    since = new.since_us if new.since_us is not None else at if last is None else last.since_us
    return Cause(WRITTEN, new.reason, new.source, at, since, new.until_us, note, made_by=made_by)


def reserve_entries(count: int) -> Plan[Ids]:
    """Return ids for entries that a plan did not declare, because few of its calls make any; others wait for them until it commits."""
    [(first,)] = yield Execute(RESERVE_IDS, [(ID, count, 0, 0)])
    ids = Ids()
    ids.fill(ID, first, count)
    return ids


def add_causes(
    client: int,
    new: Sequence[tuple[Address, Cause]],
    ids: Ids | None,
    now: Micros,
    hidden: Collection[Address] = (),
    by: Mapping[str, object] = BY_REQUEST,
) -> Plan[None]:
    """Add causes by events and statuses, in the transaction that applies these; repeated causes change nothing.

    Addresses of erased persons are stored as hashes; `hidden` are addresses that an event names together with an erased identity.
    `ids`: None: they are reserved in this transaction.
    `by`: What the event log says of entries that no delivery made.
    """
    if not new:
        return
    stored = yield from hashing.stored_addresses(client, [address for address, _ in new], hidden)
    key = yield from find_erasure_key()
    ids = ids or (yield from reserve_entries(len(stored)))
    rows, causes = yield from _claim(client, stored.values(), ids, now)
    first: dict[tuple[Address, str], Cause] = {}
    for address, cause in new:
        place, hashed = stored[address]
        shown = hashing.hidden_cause(key, client, cause) if key is not None and hashed else cause
        earliest = first.get((place, shown.key))
        if earliest is None or _order(shown) < _order(earliest):
            first[place, shown.key] = shown
    yield Execute(SAVE_CAUSE, [cause_row(client, place, first[place, cause_key]) for place, cause_key in sorted(first)])
    causes = yield from _causes(client, rows)
    yield from _fold(client, rows.values(), causes, now, by=by)


def drop_causes(client: int, addresses: Iterable[Address], is_dropped: Callable[[Cause], bool], now: Micros) -> Plan[None]:
    """Delete causes of addresses that are not about their person: an undone merge or deletion had brought them there."""
    rows = sorted({(client, *address) for address in addresses})
    stored = (yield Execute(CAUSES_OF, rows)) if rows else []
    dropped = sorted((row[:4] for row in stored if is_dropped(cause_of(row))), key=str)
    if not dropped:
        return
    entries = [EntryRow(*row) for row in (yield Execute(ENTRIES_OF, sorted({row[:3] for row in dropped})))]
    # Locks the entries, as whoever else folds their causes does.
    claims = sorted((client, *entry.address, entry.id, entry.hashed, entry.created_us) for entry in entries)
    claimed = [EntryRow(*row) for row in (yield Execute(CLAIM_ENTRY, claims))]
    yield Execute(DELETE_CAUSE, dropped)
    causes = yield from _causes(client, [entry.address for entry in claimed])
    yield from _fold(client, claimed, causes, now)


def share_causes(client: int, contact: int, addresses: Sequence[Address], now: Micros) -> Plan[None]:
    """Extend the causes of some addresses of a contact to all of them, because the record that joins them is deleted.

    `SHARED` and the contact begin the keys of the copies: a restored contact drops them.
    """
    wanted = sorted(set(addresses))[:MOST_SHARED]
    rows = (yield Execute(ENTRIES_OF, [(client, *address) for address in wanted])) if wanted else []
    entries = [entry for entry in (EntryRow(*row) for row in rows) if entry.reason is not None]
    if not entries:
        return
    causes = yield from _causes(client, [entry.address for entry in entries])
    copies: list[tuple[Address, Cause]] = []
    for entry in entries:
        for cause in live_causes(causes[entry.address], entry.removed_us):
            copy = replace(cause, key=f"{SHARED} {contact} {cause.key}", note="")
            copies += [(address, copy) for address in wanted if address != entry.address]
    yield from add_causes(client, copies, None, now)


@command(follow_up=audited("suppression.removed", "suppression", lambda call, _: call.id))
def remove_entry(client: int, id: int, at: Micros, only_of: str | None = None) -> Plan[TouchbaseError | None]:
    """Remove an entry, also for replays of the events that made it. `NotFound`.

    `only_of`: The actor, who may not unblock: `Forbidden` unless the entry is the actor's own of the last hour, and nothing else lists it.
    """
    missing = NotFound(f"there is no suppression with id {id}: list them with GET, they may have been removed")
    if client == INSTALLATION:
        yield from count_change()
        return None if (yield Execute(DELETE_INSTALLATION, [(id,)])) else missing
    yield Execute(LOCK_CLIENT, [(client,)])  # an erasure or deletion would copy the entry as it was
    rows = yield Execute(ENTRY_BY_ID, [(client, id)])
    row = EntryRow(*rows[0]) if rows else None
    if row is None or row.reason is None:
        return missing
    causes = yield from _causes(client, [row.address])
    live = live_causes(causes[row.address], row.removed_us)
    if only_of is not None and not all(cause.is_undone_by(only_of, at) for cause in live):
        return Forbidden(MAY_NOT_UNBLOCK)
    # A cause can lie a little ahead, where another server's clock does; the entry is removed all the same.
    row.removed_us = max(at, row.removed_us + 1, *(cause.at_us for cause in causes[row.address]))
    removed = _event(row, row.reason, EventType.SUPPRESSION_REMOVED, at, {"origin": API})
    row.show(None, at)
    yield Execute(UPDATE_ENTRY, [row.update()])
    yield from log_events([removed])
    return None


def hide_entries(key: bytes, client: int, refs: Iterable[Ref], now: Micros) -> Plan[None]:
    """Replace the addresses of an erased person by their keyed hashes, and delete notes; the entries stay in force."""
    taken = yield from hashing.take_clear_entries(client, addresses_of_refs(refs))
    if not taken:
        return
    places = {row.address: (row.kind, hashing.hashed_value(key, client, row.address)) for row, _ in taken}
    claims = [(client, *places[row.address], row.id, 1, row.created_us) for row, _ in taken]
    claimed = [EntryRow(*row) for row in (yield Execute(CLAIM_ENTRY, sorted(claims)))]
    rows = {row.address: row for row in claimed}
    for row, _ in taken:
        place = rows[places[row.address]]
        place.removed_us = max(place.removed_us, row.removed_us)
    hidden = [
        cause_row(client, places[row.address], hashing.hidden_cause(key, client, cause)) for row, causes in taken for cause in causes
    ]  # fmt: skip
    if hidden:
        yield Execute(SAVE_CAUSE, sorted(hidden, key=lambda cause: cause[:4]))
    causes = yield from _causes(client, rows)
    yield from _fold(client, rows.values(), causes, now, always=True)


def _claim(client: int, stored: Iterable[tuple[Address, bool]], ids: Ids, at: Micros) -> Plan[tuple[dict[Address, EntryRow], Causes]]:
    """Lock the entries of these addresses, new ones included; return them with their causes."""
    claims = [(client, *address, ids.take(ID), int(hashed), at) for address, hashed in dict.fromkeys(stored)]
    # Sorted, so that two transactions that share addresses wait for each other instead of deadlocking.
    rows = [EntryRow(*row) for row in (yield Execute(CLAIM_ENTRY, sorted(claims)))]
    by_address = {row.address: row for row in rows}
    return by_address, (yield from _causes(client, by_address))


def _causes(client: int, addresses: Iterable[Address]) -> Plan[Causes]:
    causes: Causes = {address: [] for address in addresses}
    for row in (yield Execute(CAUSES_OF, [(client, *address) for address in sorted(causes)])):
        causes[row[1], row[2]].append(cause_of(row))
    return causes


def _fold(
    client: int,
    rows: Iterable[EntryRow],
    causes: Causes,
    now: Micros,
    *,
    always: bool = False,
    by: Mapping[str, object] = BY_REQUEST,
) -> Plan[None]:
    """Fold the causes of these entries, and save the entries that change, or with `always` all of them."""
    changed: list[Row] = []
    events: list[LoggedEvent] = []
    for row in rows:
        cause, reason = fold(causes[row.address], row.removed_us), row.reason
        shows = row.shows(cause)
        if not shows:
            row.show(cause, now)
            events.append(_change(row, reason, now, by))
        if always or not shows:
            changed.append(row.update())
    if changed:
        yield Execute(UPDATE_ENTRY, changed)
    if not always:  # else the entries of an erased person became hashes, and stay in force
        yield from log_events(events)


def _change(row: EntryRow, before: str | None, now: Micros, by: Mapping[str, object]) -> LoggedEvent:
    """Return the event of an entry that shows another cause than before; `before` was its reason."""
    if row.delivery_id is not None:
        by = {"origin": DELIVERY, "tool": row.tool, "deliveries": [row.delivery_id]}
    what = EventType.SUPPRESSION_ADDED if row.reason is not None else EventType.SUPPRESSION_REMOVED
    return _event(row, row.reason or before, what, now, by)


def _event(row: EntryRow, reason: str | None, what: EventType, at: Micros, cause: Mapping[str, object]) -> LoggedEvent:
    # Without the address, which an erasure could not find here: the list has it.
    return LoggedEvent(row.client, what, at, cause=cause, data={"suppression_id": row.id, "kind": row.kind, "reason": reason})


def _order(cause: Cause) -> tuple[Micros, int]:
    return cause.at_us, cause.delivery_id or 0


def _save_for_installation(ids: Ids, entries: Sequence[NewEntry], at: Micros) -> Plan[list[Saved]]:
    yield from count_change()
    new = {(entry.kind, entry.value): entry for entry in entries}
    claims: dict[Address, Row] = {}
    for address, wanted in new.items():
        since = at if wanted.since_us is None else wanted.since_us
        claims[address] = (*address, ids.take(ID), at, at, wanted.reason, wanted.source, wanted.note, since, wanted.until_us)
    rows = {row[:2]: row for row in (yield Execute(CLAIM_INSTALLATION, sorted(claims.values(), key=lambda row: row[:2])))}
    changed: list[Row] = []
    saved: dict[Address, Saved] = {}
    for address, row in rows.items():
        wanted, entry = new[address], installation_entry(row)
        if entry.id == claims[address][2]:
            saved[address] = Saved(CREATED, entry)
            continue
        since = entry.since_us if wanted.since_us is None else wanted.since_us
        columns = (wanted.reason, wanted.source, wanted.note, since, wanted.until_us)
        if columns == row[5:]:
            saved[address] = Saved(UNCHANGED, entry)
            continue
        updated = max(at, entry.updated_us + 1)
        changed.append((entry.id, updated, *columns))
        saved[address] = Saved(UPDATED, installation_entry((*row[:4], updated, *columns)))
    if changed:
        yield Execute(UPDATE_INSTALLATION, changed)
    return [saved[entry.kind, entry.value] for entry in entries]
