"""Plans that merge records by request, with the machinery that unites records when webhooks prove them to be one.

Like inbox batches, a merge locks the client's row, so that what a batch has read of identities stays true until it commits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from touchbase.audit import audited, change_of_request
from touchbase.clients.sql.clients import lock_client, settings_of
from touchbase.common.field_limits import MAX_CUSTOM_FIELDS, MAX_EMAILS
from touchbase.common.timestamps import Micros
from touchbase.conversations.merged import TeamState, team_state
from touchbase.do_not_contact.addresses import addresses_of_refs
from touchbase.do_not_contact.sql.opt_outs import StatusOptOut, addresses_of, list_opt_outs, opted_out_at
from touchbase.errors import Fault, Invalid, TouchbaseError
from touchbase.event_log.models import by_request
from touchbase.event_log.sql.changes import MERGE as MERGE_CHANGE
from touchbase.event_log.sql.changes import note_change
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, NO_AUTHOR, Author, StoredEvent
from touchbase.history.identity_links import Ref
from touchbase.history.last_writer_wins import DELIBERATE, Stamp
from touchbase.history.sql import event_of
from touchbase.history.status import STATUS
from touchbase.history.status_words import StatusWords
from touchbase.identity.lookup import add_records
from touchbase.identity.rekey import assign, release
from touchbase.merging.models import Merge, Part, Policy, content_text
from touchbase.merging.survivorship import MergedRecord, merged
from touchbase.projection.apply import insert_events, new_batch, project_events
from touchbase.projection.batch import ApplyBatch
from touchbase.projection.save import unite_records
from touchbase.records.field_projection import MERGE, MERGED_FROM
from touchbase.records.fields import EXTERNAL_ID
from touchbase.records.further_emails import all_emails
from touchbase.records.models import Contact, Record
from touchbase.records.primary_keys import former_key, former_key_of, owned_since, primary_key
from touchbase.records.projection import Folded
from touchbase.records.record_type import IDENTITY_FIELDS
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.address_book import word_of
from touchbase.records.sql.statements import TABLES, lock_existing
from touchbase.records.writes import changed_since, request_entry
from touchbase.sql.builders import RECORD, RECORD_MATCH, ROW_KEY, ROW_MATCH, find, update
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Statement, delete

MERGE_ROW: Columns = (
    *ROW_KEY, ("record_kind", "bigint"), ("record_id", "bigint"), ("merged_us", "bigint"), ("undone_us", "bigint"), ("content", "text"),
)  # fmt: skip
INSERT_MERGE = Statement("insert_merge", MERGE_ROW, body=f"INSERT INTO record_merge ({names(MERGE_ROW)}) SELECT * FROM p WHERE true")
FIND_MERGE = find("find_merge", "record_merge", MERGE_ROW, ROW_KEY, ROW_MATCH)
# Without the records as they were: erasing one of them does not find the row any more.
END_MERGE = Statement(
    "end_merge",
    (*ROW_KEY, ("undone_us", "bigint")),
    body=f"UPDATE record_merge AS t SET undone_us = p.undone_us, content = '' FROM p WHERE {ROW_MATCH}",
)
STANDING_MERGES = find("standing_merges", "record_merge", MERGE_ROW, RECORD, f"{RECORD_MATCH} AND t.undone_us IS NULL")
REPLACE_MERGE = update("replace_merge", "record_merge", (*ROW_KEY, ("content", "text")))
RETURN_MERGE = Statement(
    "return_merge",
    (*ROW_KEY, ("record_id", "bigint")),
    body=f"UPDATE record_merge AS t SET record_id = p.record_id FROM p WHERE {ROW_MATCH}",
)
DELETE_MERGE = delete("delete_merge", "record_merge", ROW_KEY, "id")
CONTACT_IDS_OF_COMPANY = Statement(
    "contact_ids_of_company",
    ROW_KEY,
    body="SELECT t.id FROM p CROSS JOIN contact t WHERE t.client = p.client AND t.company_id = p.id",
)


LINKS = 50
"""Link ids that the merge of one record may take."""


def _merge_ids(calls: Any) -> dict[str, int]:
    records = sum(1 + len(call.absorbed) for call in calls)
    return {"custom_field": MAX_CUSTOM_FIELDS * records, "link": LINKS * records, "record_merge": len(calls)}


@command(ids=_merge_ids, large=True, follow_up=audited("record.merged", "record", lambda call, _: call.id, change=change_of_request))
def merge_records(
    ids: Ids,
    client: int,
    kind: int,
    id: int,
    absorbed: list[int],
    policy: Policy,
    at: Micros,
    key: str,
    by: Author = NO_AUTHOR,
    if_updated_us: Micros | None = None,
) -> Plan[Merge | TouchbaseError]:
    """Merge records of one kind into another: values, custom fields, histories, links, and a company's contacts.

    It is an entry of the survivor's history, with the values that the policy chose in place of the last written ones, so that every order
    of webhooks and merges gives the same record. `NotFound` for a record that does not exist; `data["id"]` is its id. `PreconditionFailed`
    if `if_updated_us` is not the survivor's `updated_us`.

    `key`: The key of its entry in the history, from `new_write_key`.
    """
    numbers = [id, *absorbed]
    assert len({*numbers}) == len(numbers)  # a record that is part of itself would never be found
    settings = (yield from lock_client(client)).settings
    rows = yield from lock_existing(client, kind, numbers)
    batch = new_batch(client, at, settings, ids)
    resolver = batch.resolvers[kind]
    add_records(kind, resolver, rows)
    records = [resolver.by_id[number] for number in numbers]
    if (changed := changed_since(records[0], if_updated_us)) is not None:
        return changed
    yield from records_sql.load_custom_fields(kind, records)
    current_at = max([at, *(record.updated_us + 1 for record in records)])  # after their last changes, also when our clock was put back
    batch.now_us, batch.cause = current_at, by_request(by)
    merge_event = request_entry(kind, id, "merged", current_at, key, by)
    histories = yield from _histories(client, kind, numbers)
    outcome = merged(records, histories, policy, merge_event, batch.settings.words(kind))
    if (count := sum(1 for custom_field in outcome.record.custom_fields if custom_field.value is not None)) > MAX_CUSTOM_FIELDS:
        return _too_many(count, "custom fields", MAX_CUSTOM_FIELDS)
    emails = [all_emails(record.email, record.further_emails) for record in records if isinstance(record, Contact)]
    if (count := sum(map(len, emails))) > MAX_EMAILS:
        return _too_many(count, "e-mail addresses", MAX_EMAILS)
    parts: list[Part] = []
    for record in records:
        parts.append((yield from _part(client, kind, record)))
    opted_out = _opted_out(records, parts, batch.settings.words(kind), by)
    number = ids.take("record_merge")
    merge_event.detail[MERGE] = {"id": number, "records": absorbed, "addresses": _addresses(kind, parts)}
    _write(merge_event, outcome)
    yield from _unite(batch, kind, records)
    _take_addresses(batch, kind, records[0], outcome, (DELIBERATE, current_at, key))
    for part in parts:
        if (external_id := part.record.external_id) not in (None, outcome.record.external_id):
            batch.resolvers[kind].links.set_record(("", word_of(kind, EXTERNAL_ID), str(external_id)), id)
    batch.pending[kind, id] = [merge_event]
    yield from project_events(batch, (yield from insert_events(batch)), ids)
    yield Execute(INSERT_MERGE, [(client, number, kind, id, current_at, None, content_text(parts[0], parts[1:]))])
    if opted_out:
        yield from _list_opt_outs(opted_out, records[0], current_at)
    yield from note_change(client, MERGE_CHANGE, by, current_at, len(numbers))
    records[0].custom_fields = []
    yield from records_sql.load_custom_fields(kind, [records[0]])
    return Merge(number, records[0], absorbed, outcome.fields, current_at)


def _opted_out(records: Sequence[Record], parts: Sequence[Part], words: StatusWords, by: Author) -> list[StatusOptOut]:
    """Return the contacts whose status opts out, with all their addresses: the survivor may have another status afterwards."""
    opt_outs: list[StatusOptOut] = []
    for record, part in zip(records, parts, strict=True):
        if not isinstance(record, Contact) or not words.opts_out(record.status):
            continue
        if (since := opted_out_at(record, words.opts_out)) is not None:
            addresses = [*addresses_of(record), *addresses_of_refs(part.links)]
            note = f"status {since[1]!r}"
            opt_outs.append(StatusOptOut(record.client, record.id, addresses, since[0], note, by=by_request(by), if_unlisted=True))
    return opt_outs


def _list_opt_outs(opted_out: Sequence[StatusOptOut], survivor: Record, at: Micros) -> Plan[None]:
    """Put these contacts on the list, under the survivor's address if they have none."""
    assert isinstance(survivor, Contact)
    yield from list_opt_outs(
        [person if person.addresses else replace(person, addresses=addresses_of(survivor)) for person in opted_out], at
    )


@query
def preview_merge(client: int, kind: int, id: int, absorbed: list[int], policy: Policy, at: Micros) -> Plan[Merge | None]:
    """Preview of `merge_records`; None if one of the records does not exist."""
    numbers = [id, *absorbed]
    rows = yield Execute(TABLES[kind].to_show, [(client, number) for number in sorted(numbers)])
    by_id: dict[int, Record] = {row[1]: TABLES[kind].record_of(row) for row in rows}
    settings = yield from settings_of(client)
    if settings is None or any(number not in by_id for number in numbers):
        return None
    records = [by_id[number] for number in numbers]
    yield from records_sql.load_custom_fields(kind, records)
    histories = yield from _histories(client, kind, numbers)
    outcome = merged(records, histories, policy, request_entry(kind, id, "merged", at, "api:", NO_AUTHOR), settings.words(kind))
    return Merge(None, outcome.record, absorbed, outcome.fields, at)


def _too_many(count: int, what: str, most: int) -> Invalid:
    detail = f"the merged record would have {count} {what}, and at most {most} are possible; remove some first"
    return Invalid([Fault("/with", "too_many", detail)])


def _write(written: StoredEvent, outcome: MergedRecord) -> None:
    """Add the values that the policy chose in place of the last written ones to the entry."""
    if outcome.writes:
        written.detail["fields"] = outcome.writes
    if outcome.custom:
        written.detail["custom"] = outcome.custom
    if outcome.writes_status:
        written.effect, written.status = STATUS, outcome.status


def _histories(client: int, kind: int, numbers: Sequence[int]) -> Plan[dict[int, list[StoredEvent]]]:
    """Return the events that may set a status or date; the records have the other values of their histories."""
    histories: dict[int, list[StoredEvent]] = {number: [] for number in numbers}
    for row in (yield Execute(history_sql.STATUS_ENTRIES_OF, [(client, kind, number) for number in numbers])):
        histories[row[2]].append(event_of(row))
    return histories


def _part(client: int, kind: int, record: Record) -> Plan[Part]:
    links = yield Execute(history_sql.LINKS_OF, [(client, kind, record.id)])
    contacts = (yield Execute(CONTACT_IDS_OF_COMPANY, [(client, record.id)])) if kind == COMPANY else []
    team = TeamState() if kind == COMPANY else (yield from team_state(client, record.id))
    # Copied, because the merge changes the record.
    copy = replace(record, stamps=dict(record.stamps), custom_fields=[replace(custom_field) for custom_field in record.custom_fields])
    return Part(copy, sorted((row[1], row[2], row[3]) for row in links), sorted(row[0] for row in contacts), team)


def _addresses(kind: int, parts: Sequence[Part]) -> list[str]:
    """Return all present and former e-mail addresses or domains of these records."""
    refs: set[Ref] = {former_key(kind, primary) for part in parts if (primary := primary_key(part.record)) is not None}
    word = former_key(kind, "")[1]
    refs |= {ref for part in parts for ref in part.links if ref[0] == "" and ref[1] == word}
    return sorted(ref[2] for ref in refs)


def _unite(batch: ApplyBatch, kind: int, records: Sequence[Record]) -> Plan[None]:
    """Unite the records with the first one; their events are in `batch.moved` afterwards, each with the record that it is from."""
    survivor, *absorbed = records
    for record in absorbed:
        batch.resolvers[kind].absorb(survivor, record)
    yield from unite_records(batch, _mark)
    batch.folded[kind, survivor.id] = Folded(changed=True, late=True)


def _mark(event: StoredEvent, absorbed: Record) -> None:
    event.detail = {**event.detail, MERGED_FROM: [*event.detail.get(MERGED_FROM, ()), absorbed.id]}


def _take_addresses(batch: ApplyBatch, kind: int, survivor: Record, outcome: MergedRecord, stamp: Stamp) -> None:
    """Set the survivor's addresses and company by the policy."""
    resolver = batch.resolvers[kind]
    for name in IDENTITY_FIELDS:
        if name not in outcome.writes:
            continue
        value, old, since = outcome.writes[name], _key_of(survivor, name), owned_since(survivor, name)
        release(resolver, survivor, name)
        assign(resolver, survivor, name, None if value is None else str(value), stamp)
        survivor.stamps[name] = stamp
        if old is not None and old != _key_of(survivor, name):
            resolver.links.set_record(former_key_of(name, old), survivor.id, since_us=since)
    if isinstance(survivor, Contact) and "company_id" in outcome.writes:
        survivor.company_id = None if (company := outcome.writes["company_id"]) is None else int(company)
        survivor.stamps["company_id"] = stamp


def _key_of(record: Record, name: str) -> str | None:
    key: str | None = getattr(record, IDENTITY_FIELDS[name].key)
    return key
