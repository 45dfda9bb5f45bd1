"""Undo a merge: every event goes back to the record that it is about, and all records are projected again."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from functools import partial

from touchbase.audit import audited
from touchbase.clients.sql.clients import CLIENT_BY_NUMBER, lock_client
from touchbase.common.field_limits import MAX_CUSTOM_FIELDS
from touchbase.common.normalize import ADDRESS_KEYS
from touchbase.common.timestamps import Micros, to_text
from touchbase.conversations.merged import divide_team_state
from touchbase.do_not_contact.models import EMAIL, HARD_BOUNCED, Cause
from touchbase.do_not_contact.sql.entries import add_causes, drop_causes
from touchbase.do_not_contact.sql.opt_outs import addresses_of, further_addresses, is_of_contact
from touchbase.errors import Conflict, NotFound, TouchbaseError, WrongState
from touchbase.event_log.models import by_request
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, NO_AUTHOR, VIA_API, Author, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import CLEARED, DELIBERATE
from touchbase.history.sql import event_of, link_of
from touchbase.history.status import RESUBSCRIBE
from touchbase.identity.lookup import add_records
from touchbase.identity.rekey import release
from touchbase.merging.models import Part, Undone, content_text, parts_of
from touchbase.merging.sql.merge import DELETE_MERGE, END_MERGE, FIND_MERGE, LINKS, REPLACE_MERGE, RETURN_MERGE, STANDING_MERGES
from touchbase.projection.apply import insert_events, new_batch, project_events
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.bin import renew_stamps
from touchbase.projection.companies import existing_company
from touchbase.projection.known_events import REMOVE_EVENT
from touchbase.projection.logged_changes import log_moved_contacts
from touchbase.projection.separate import set_addresses
from touchbase.projection.suppressions import cause_of, is_wanted, lists_contact, reason_of
from touchbase.records.field_projection import MERGE, MERGED_FROM, UNDONE
from touchbase.records.further_emails import by_key, demote
from touchbase.records.models import Contact, Record
from touchbase.records.primary_keys import former_key, former_key_of, keys_of, of_own_creation, own_creation
from touchbase.records.projection import Folded, current_stamp, object_of
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.address_book import BOOK, LOCKED_OWNER_OF
from touchbase.records.sql.address_book import keys_of as present_and_further_keys
from touchbase.records.sql.custom_values import is_renaming
from touchbase.records.sql.rows import contact_of, custom_field_row, move_row
from touchbase.records.sql.statements import TABLES, lock_records
from touchbase.sql.builders import RECORD
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command
from touchbase.sql.statement import Execute, Plan, Row, Select, delete

RECORDS = 21
"""Most records of one merge."""
CONTACTS = 500
"""Contacts of a company that are read at once."""
DELETE_LINK_OF = delete("delete_link_of", "link", (*history_sql.REF, *RECORD[1:]))


@command(
    ids=lambda calls: {"custom_field": MAX_CUSTOM_FIELDS * len(calls), "link": LINKS * RECORDS * len(calls)},
    large=True,
    follow_up=audited("record.merge_undone", "record", lambda call, _: call.id),
)
def undo_merge(
    ids: Ids, client: int, kind: int, id: int, merge: int, since_us: Micros, at: Micros, key: str, by: Author = NO_AUTHOR
) -> Plan[Undone | TouchbaseError]:
    """Divide a merged record into the records that were merged.

    Events from before go back to the record that they came from. Of those since, a webhook's event goes to the record whose address, or
    else object, it names; API writes stay with the survivor. `NotFound` when there is no such merge into this record; `WrongState` when it
    was undone or is too old; `Conflict` when another record has an address of one of them now.

    `since_us`: Merges before this time cannot be undone.
    """
    settings = (yield from lock_client(client)).settings
    rows = yield Execute(FIND_MERGE, [(client, merge)])
    if (refused := _refused(kind, id, merge, since_us, rows)) is not None:
        return refused
    before, parts = parts_of(kind, rows[0][6])
    stored = yield from lock_records(client, kind, [id])
    if not stored:
        return WrongState(f"the {RECORD_TYPES[kind].name} with id {id} was deleted: restore it first")
    survivor: Record = TABLES[kind].record_of(stored[0])
    if (conflict := (yield from _conflict(client, kind, before, parts, survivor, rows[0][4]))) is not None:
        return conflict
    batch = new_batch(client, max(at, rows[0][4] + 1), settings, ids)
    batch.cause = by_request(by)
    add_records(kind, batch.resolvers[kind], stored)
    history = [event_of(row) for row in (yield Execute(history_sql.EVENTS_OF, [(client, kind, id)]))]
    yield Execute(DELETE_LINK_OF, [(client, *ref, kind, id) for ref in _present(kind, before.record)])
    for part in parts:
        renew_stamps(part.record, history)
        yield from _put_back(batch, kind, part, id, history)
    late = yield from _divide(batch, (kind, id), parts, history, merge, rows[0][4])
    yield from _project(batch, kind, before, parts, id, late, ids)
    if kind == COMPANY:
        yield from _return_all_contacts(batch, parts, id, rows[0][4])
    yield Execute(END_MERGE, [(client, merge, batch.now_us)])
    if kind == CONTACT:
        yield from divide_team_state(client, id, before.team, {part.record.id: part.team for part in parts})
        yield from _divide_opt_outs(batch, [id, *(part.record.id for part in parts)])
    records = [batch.resolvers[kind].by_id[number] for number in (id, *(part.record.id for part in parts))]
    for record in records:
        record.custom_fields = []
    yield from records_sql.load_custom_fields(kind, records)
    return Undone(records)


def _refused(kind: int, id: int, merge: int, since_us: Micros, rows: Sequence[Row]) -> TouchbaseError | None:
    name = RECORD_TYPES[kind].name
    if not rows or rows[0][2:4] != (kind, id):
        moved = f": it is one into the {name} with id {rows[0][3]}" if rows and rows[0][2] == kind else "; it may be too old to undo"
        return NotFound(f"there is no merge with id {merge} into the {name} with id {id}{moved}")
    if rows[0][5] is not None:
        return WrongState(f"the merge with id {merge} was undone at {to_text(rows[0][5])}")
    if rows[0][4] < since_us:
        return WrongState(f"the merge with id {merge} is too old to be undone")
    return None


def _conflict(client: int, kind: int, before: Part, parts: Sequence[Part], survivor: Record, merged_us: Micros) -> Plan[Conflict | None]:
    """Return the error if another record has an address or external id of one of these records now.

    An external id that a request has given to the survivor since stays there.
    """
    since = survivor.external_id is not None and current_stamp(survivor, "external_id")[1] > merged_us
    statements = LOCKED_OWNER_OF[kind]
    wanted = [(part.record, column) for part in (before, *parts) for column in statements]
    for record, column in wanted:
        keys = [] if record is before.record and column == "external_id" and since else present_and_further_keys(record, column)
        rows = (yield Execute(statements[column], [(client, key) for key in keys])) if keys else []
        others = [row[2] for row in rows if row[2] != survivor.id or (column == "external_id" and since and survivor.external_id == row[1])]
        if others:
            owner, name = others[0], RECORD_TYPES[kind].name
            what = "the external_id" if column == "external_id" else "an address"
            detail = f"the {name} with id {owner} has {what} of the merged {name} {record.id} now: change, delete or merge that one"
            return Conflict(detail, data={"existing_id": owner})
    return None


def _put_back(batch: ApplyBatch, kind: int, part: Part, survivor: int, history: Sequence[StoredEvent]) -> Plan[None]:
    """Put a merged record into the batch as a new one, with its custom fields and links."""
    client, record, resolver = batch.client, part.record, batch.resolvers[kind]
    batch.logged_as[kind, record.id] = "restored"
    if record.custom_fields:
        yield Execute(
            records_sql.SAVE_CUSTOM_FIELD,
            [custom_field_row(client, kind, record.id, custom_field) for custom_field in record.custom_fields],
        )
    if isinstance(record, Contact):
        demote(record)  # the row of an address that no write had set stays open
    record.updated_us = max(batch.now_us, record.updated_us + 1)
    resolver.by_id[record.id] = resolver.created[record.id] = record
    resolver.statuses[record.id] = record.status
    if isinstance(record, Contact) and (company := _company_named(record, history)) is not None:
        record.company_id = yield from existing_company(batch, company)
        if record.company_id not in (None, company):
            yield from _wait_for_company(client, record.id, company, survivor=record.company_id)
    for name, key in zip(RECORD_TYPES[kind].identities, keys_of(record), strict=True):
        resolved = resolver.by_linkedin if name == "linkedin_url" else resolver.by_primary
        if key is not None and key in resolved:
            release(resolver, resolved[key], name)
            _take_away(resolver.by_id[survivor], name)
        if key is not None:
            resolved[key] = record
    gone: list[Ref] = [("", RECORD_TYPES[kind].name, str(record.id)), *_present(kind, record)]
    yield Execute(DELETE_LINK_OF, [(client, *ref, kind, survivor) for ref in gone])
    if part.links:
        rows = yield Execute(history_sql.LINK_BY_REF, [(client, *ref) for ref in part.links])
        for row in rows:
            link = link_of(row)
            resolver.links.by_ref[link.ref] = link
            if (row[5], row[6]) == (kind, survivor):
                resolver.links.set_record(link.ref, record.id, link.until_us, link.since_us)


def _company_named(contact: Contact, history: Sequence[StoredEvent]) -> int | None:
    """Return the company that the contact's last request named: the record's company may be that one's survivor."""
    stamp = of_own_creation(current_stamp(contact, "company_id"), contact)
    writes = [event.detail.get("fields", {}) for event in history if event.via == VIA_API and event.effective_time == stamp[1:]]
    return next((fields["company_id"] for fields in writes if "company_id" in fields), contact.company_id)


def _wait_for_company(client: int, contact: int, company: int, survivor: int | None) -> Plan[None]:
    """Note a contact's company, to be linked again when that one's merges are undone."""
    for row in (yield Execute(STANDING_MERGES, [(client, COMPANY, survivor)])):
        before, parts = parts_of(COMPANY, row[6])
        for part in parts:
            if part.record.id == company and contact not in part.contacts:
                part.contacts.append(contact)
                yield Execute(REPLACE_MERGE, [(client, row[1], content_text(before, parts))])


def _divide_opt_outs(batch: ApplyBatch, numbers: Sequence[int]) -> Plan[None]:
    """Return to contacts the entries of their events and statuses, and remove the others' entries.

    What names an address is listed under that address, which is one contact's again; the rest was listed under the survivor's.
    """
    words, contacts = batch.settings.words(CONTACT), batch.resolvers[CONTACT].by_id
    own: dict[int, dict[str, Cause]] = {number: {} for number in numbers}
    keys: dict[int, set[str]] = {number: set() for number in numbers}
    for event in map(event_of, (yield Execute(history_sql.EVENTS_OF, [(batch.client, CONTACT, number) for number in numbers]))):
        if not (lists_contact(event, words) or event.effect == RESUBSCRIBE):
            continue
        reason = reason_of(event, words)
        cause = cause_of(event, reason)
        keys[event.record_id].add(cause.key)
        if lists_contact(event, words) and reason != HARD_BOUNCED and is_wanted(reason, batch.settings.suppress_on):
            own[event.record_id][cause.key] = cause
    further = yield from further_addresses((batch.client, number) for number in numbers)
    for number in numbers:
        contact = contacts[number]
        assert isinstance(contact, Contact)
        others = [contact_id for contact_id in numbers if contact_id != number]
        foreign = set[str]().union(*(keys[contact_id] for contact_id in others)) - keys[number]
        addresses = [*further.get((batch.client, number), ()), *addresses_of(contact)]
        yield from drop_causes(batch.client, addresses, partial(_is_foreign, foreign, others), batch.now_us)
        for key in present_and_further_keys(contact, "email_key")[:1]:
            yield from add_causes(batch.client, [((EMAIL, key), cause) for cause in own[number].values()], None, batch.now_us)


def _is_foreign(keys: Container[str], contacts: Sequence[int], cause: Cause) -> bool:
    """Return whether a cause is an event with one of these keys, or a status of one of these contacts."""
    return cause.key in keys or any(is_of_contact(cause, contact) for contact in contacts)


def _take_away(survivor: Record, name: str) -> None:
    """Unset an address of the survivor that was a merged record's; its own history gives it another one afterwards."""
    survivor.stamps.pop(name, None)
    if isinstance(survivor, Contact):
        if name == "email":
            survivor.email = survivor.email_key = None
        else:
            survivor.linkedin_url = survivor.linkedin_key = None


def _present(kind: int, record: Record) -> list[Ref]:
    """Return the refs of a record's present keys."""
    return [("", word, key) for column, word in BOOK[kind].items() if (key := getattr(record, column)) is not None]


def _divide(
    batch: ApplyBatch, target: tuple[int, int], parts: Sequence[Part], history: Sequence[StoredEvent], merge: int, merged_us: Micros
) -> Plan[set[int]]:
    """Move events to the records that they are about; the merge itself stays in the survivor's history, without effect.

    Return the records that get events from since the merge.

    What renamings of custom fields did since is removed, because the values may be of any of the records: `project_events` does it again.
    """
    kind, removed, merges = target[0], list[Row](), list[Row]()
    identities = {ref: part.record.id for part in parts for ref in (*part.links, *_present(kind, part.record))}
    ids = {part.record.id for part in parts}
    late = set[int]()
    times = batch.removed_times.setdefault(target, set())
    renamed = RECORD_TYPES[kind].field_names(batch.settings)
    own = (event for event in history if MERGE not in event.detail and _home(kind, event, ids, identities) is None)
    left = set[str]().union(*map(_listed, own))
    for event in history:
        key = (batch.client, *target, event.occurred_us, event.key)
        is_merge = event.detail.get(MERGE, {}).get("id") == merge
        home = None if is_merge else _home(kind, event, ids, identities)
        is_again = home is None and event.received_us >= merged_us and is_renaming(event, renamed)
        if home is None and not is_merge and not is_again:
            continue
        removed.append(key)
        times.add(event.effective_time)
        if is_again:
            continue
        if is_merge:
            names = [name for name in event.detail if name not in (MERGE, "fields", "custom")]
            undone = {"id": merge, "records": event.detail[MERGE]["records"], "at": batch.now_us}
            event.detail = {name: event.detail[name] for name in names} | {UNDONE: undone}
            event.effect, event.status = "", None
        else:
            assert home is not None
            if MERGED_FROM not in event.detail:
                late.add(home)
            _give_back(event, home)
            if (earlier := _merge_id(event)) is not None:
                merges.append((batch.client, earlier, home))
            yield from _move_links(batch, kind, event, target[1], home, left)
        batch.moved.append(event)
    if removed:
        yield Execute(REMOVE_EVENT, removed)
    if merges:
        yield Execute(RETURN_MERGE, merges)
    return late


def _listed(event: StoredEvent) -> set[str]:
    """Return the keys of the e-mail addresses in an event's list."""
    return {*by_key(event.detail.get("emails", ()))}


def _move_links(batch: ApplyBatch, kind: int, event: StoredEvent, survivor: int, home: int, left: Container[str]) -> Plan[None]:
    """Link the object and the addresses of an event to the event's new record.

    `left`: Addresses in lists of the survivor's own events, which stay there.
    """
    links = batch.resolvers[kind].links
    if (ref := object_of(event)) is not None and links.record_id(ref) is None:
        yield from _load_link(batch, kind, ref)
    if ref is not None:
        links.set_record(ref, home)
    named = event.detail.get("named", {})
    refs = [former_key_of(name, key) for name in RECORD_TYPES[kind].identities if (key := _key(name, named.get(name))) is not None]
    refs += [former_key(CONTACT, key) for key in sorted(_listed(event)) if key not in left]
    for ref in dict.fromkeys(refs):
        if ref not in links.by_ref:
            yield from _load_link(batch, kind, ref)
        if links.record_id(ref) == survivor:
            links.set_record(ref, home, links.by_ref[ref].until_us, links.by_ref[ref].since_us)


def _merge_id(event: StoredEvent) -> int | None:
    """Return the id of the merge that an event is an entry of, also if that was undone."""
    merge: dict[str, int] = event.detail.get(MERGE) or event.detail.get(UNDONE) or {}
    return merge.get("id")


def _home(kind: int, event: StoredEvent, records: set[int], identities: Mapping[Ref, int]) -> int | None:
    """Return the merged record that an event goes to; None for the survivor."""
    came_from = [number for number in event.detail.get(MERGED_FROM, ()) if number in records]
    if came_from or MERGED_FROM in event.detail:
        return came_from[-1] if came_from else None
    if event.via == VIA_API:
        return None
    named = event.detail.get("named", {})
    refs = [former_key_of(name, key) for name in ("email", "domain") if (key := _key(name, named.get(name)))]
    if (object_ := object_of(event)) is not None:
        refs.append(object_)
    elif (about := event.detail.get("about")) is not None:
        refs.append((event.tool, about[0], about[1]))
    if key := _key("linkedin_url", named.get("linkedin_url")):
        refs.append(former_key_of("linkedin_url", key))
    return next((identities[ref] for ref in refs[:1] if ref in identities), None) if refs else None


def _key(name: str, value: str | None) -> str | None:
    return None if value is None else ADDRESS_KEYS[name](value)


def _give_back(event: StoredEvent, home: int) -> None:
    former: list[int] = event.detail.get(MERGED_FROM, [])
    left = former[: former.index(home)] if home in former else []
    event.detail = {name: value for name, value in event.detail.items() if name != MERGED_FROM} | ({MERGED_FROM: left} if left else {})
    if event.key in (own_creation(home), f"api:created:{home}"):  # its former form
        event.key = ""
    event.record_id = home


def _load_link(batch: ApplyBatch, kind: int, ref: Ref) -> Plan[None]:
    for row in (yield Execute(history_sql.LINK_BY_REF, [(batch.client, *ref)])):
        batch.resolvers[kind].links.by_ref[ref] = link_of(row)


def _project(
    batch: ApplyBatch, kind: int, before: Part, parts: Sequence[Part], survivor: int, late: Collection[int], ids: Ids
) -> Plan[None]:
    resolver = batch.resolvers[kind]
    numbers = [survivor, *(part.record.id for part in parts)]
    for number in numbers:
        batch.folded[kind, number] = Folded(changed=True, late=True)
    resolver.touched.add(survivor)
    yield from insert_events(batch)
    rows = yield Execute(history_sql.EVENTS_OF, [(batch.client, kind, number) for number in numbers])
    history = [event_of(row) for row in rows]
    _set_cleared(resolver.by_id[survivor], [event for event in history if event.record_id == survivor])
    histories = {number: [event for event in history if event.record_id == number] for number in numbers}
    yield from set_addresses(batch, kind, [survivor, *sorted(late)], histories)
    if kind == COMPANY:
        batch.separated_companies.add(survivor)
    yield from _set_field_ids(batch, kind, survivor, before)
    yield from project_events(batch, [event for event in history if event.record_id != survivor], ids)


def _set_cleared(record: Record, history: Sequence[StoredEvent]) -> None:
    """Set when a request removed all custom fields of the record: the merge may have taken that from another one."""
    times = [event.effective_time for event in history if event.detail.get("cleared")]
    record.stamps.pop(CLEARED, None)
    if times:
        record.stamps[CLEARED] = (DELIBERATE, *max(times))


def _set_field_ids(batch: ApplyBatch, kind: int, survivor: int, before: Part) -> Plan[None]:
    """Restore the former ids of the survivor's custom fields: the merge may have replaced a field by another record's."""
    ids_by_name = {custom_field.name: custom_field.id for custom_field in before.record.custom_fields}
    rows = yield Execute(records_sql.CUSTOM_FIELDS_OF, [(batch.client, kind, survivor)])
    if any(ids_by_name.get(row[3], row[4]) != row[4] for row in rows):
        yield Execute(records_sql.DELETE_CUSTOM_FIELDS_OF, [(batch.client, kind, survivor)])
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, [(*row[:4], ids_by_name.get(row[3], row[4]), *row[5:]) for row in rows])


def _return_all_contacts(batch: ApplyBatch, parts: Sequence[Part], survivor: int, merged_us: Micros) -> Plan[None]:
    """Link contacts to their companies again, unless a later write linked them to another."""
    for part in parts:
        for start in range(0, len(part.contacts), CONTACTS):
            yield from _return_contacts(batch, part, survivor, merged_us, part.contacts[start : start + CONTACTS])


def _return_contacts(batch: ApplyBatch, part: Part, survivor: int, merged_us: Micros, numbers: Sequence[int]) -> Plan[None]:
    rows = yield from lock_records(batch.client, CONTACT, numbers)
    contacts = [
        contact
        for contact in map(contact_of, rows)
        if contact.company_id == survivor and current_stamp(contact, "company_id")[1] < merged_us
    ]
    for contact in contacts:
        contact.company_id, contact.updated_us = part.record.id, max(batch.now_us, contact.updated_us + 1)
    if contacts:
        yield Execute(records_sql.MOVE_CONTACT, [move_row(contact) for contact in contacts])
        yield from log_moved_contacts(batch, [contact.id for contact in contacts], survivor, part.record.id)


@command(background=True)
def forget_merges(client: int, before_us: Micros, limit: int) -> Plan[int]:
    """Remove merge records from before a time, oldest first; the result is their number."""
    yield Execute(CLIENT_BY_NUMBER, [(client,)])
    rows = yield Select(
        "SELECT id FROM record_merge WHERE client = ? AND merged_us < ? ORDER BY merged_us LIMIT ?",
        (client, before_us, limit),
    )
    gone = (yield Execute(DELETE_MERGE, [(client, row[0]) for row in rows])) if rows else []
    return len(gone)
