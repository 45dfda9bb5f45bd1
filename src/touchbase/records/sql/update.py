"""Plans that update records: read the batch's records once, change them in memory, write them once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any, TypeVar

from touchbase.common.field_limits import CUSTOM_FIELD_BYTES, CUSTOM_FIELDS, MAX_EMAILS, custom_bytes, exceeds_budget
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid, NotFound, TouchbaseError
from touchbase.event_log.models import LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import CONTACT, NO_AUTHOR, StoredEvent
from touchbase.history.last_writer_wins import LEFT_OUT
from touchbase.history.sql import event_of, event_row
from touchbase.history.status import advance_status, may_change_status
from touchbase.history.status_words import StatusWords
from touchbase.records.field_projection import has_several_objects
from touchbase.records.fields import EXTERNAL_ID
from touchbase.records.further_emails import all_emails, by_key, further_emails, set_further_emails
from touchbase.records.logged_changes import changes, state_of
from touchbase.records.models import Company, Contact, Record
from touchbase.records.projection import refold_status
from touchbase.records.record_type import KEY_FIELDS, RECORD_TYPES
from touchbase.records.sql import statements as records_sql
from touchbase.records.sql.address_book import BOOK, LOCKED_OWNER_OF, TAKEN_KEYS, claim_keys, word_of
from touchbase.records.sql.create import guarded, no_such_company
from touchbase.records.sql.rows import COMPANY as COMPANY_COLUMNS
from touchbase.records.sql.rows import CONTACT as CONTACT_COLUMNS
from touchbase.records.sql.rows import company_row, contact_row, custom_field_row
from touchbase.records.sql.same_person import names_another, other_person
from touchbase.records.sql.search_pending import NOTE_FOR_SEARCH, searched, searched_of
from touchbase.records.sql.statements import COMPANIES, CONTACTS, RecordTable, with_custom_fields
from touchbase.records.sql.update_write import Write, fit_record, is_write, project_record, write_record
from touchbase.records.writes import RecordUpdate, changed_since
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row, SerializationConflict, Statement

R = TypeVar("R", Contact, Company)

Key = tuple[int, int]
"""Client and id."""
Records = Mapping[Key, Record]


def _of(columns: Collection[tuple[str, str]]) -> Callable[[Row], Row]:
    picked: Callable[[Row], Row] = itemgetter(*(index for index, column in enumerate(CONTACT_COLUMNS) if column in columns))
    return picked


fold_of, fold_status_of = _of(records_sql.FOLD_COLUMNS), _of(records_sql.FOLD_STATUS_COLUMNS)
"""The parameters of `FOLD_CONTACT` and `FOLD_CONTACT_STATUS`, from a contact's row."""
_KEYS = _of(set(CONTACT_COLUMNS) - set(records_sql.FOLD_STATUS_COLUMNS))
_STATUS: Callable[[Row], Row] = itemgetter(*(CONTACT_COLUMNS.index((name, "text")) for name in ("status", "status_path")))
EMAIL = word_of(CONTACT, KEY_FIELDS["email"])


def update_needs(calls: Any) -> Mapping[str, int]:
    """Return how many ids these updates may take, by name."""
    links = sum(3 + len(call.update.further or ()) for call in calls)
    return {"custom_field": sum(len(call.update.custom) for call in calls), "link": links}


@dataclass(slots=True)
class _KeyOwners:
    """The owners of keys within this batch, so that two updates cannot both take one."""

    owners: dict[tuple[int, str, str], int] = field(default_factory=dict)
    companies: set[Key] = field(default_factory=set)
    further: dict[Key, set[tuple[str, str]]] = field(default_factory=dict)
    """`object_type` and key of the open rows of records whose keys change."""

    is_rekeyed: bool = False
    """Whether a command sets a key that its record does not have."""

    def is_further(self, command: RecordUpdate[Any], word: str, key: object) -> bool:
        """Whether the command's record has a key as a further one."""
        return (word, key) in self.further.get((command.client, command.id), ())


def _update_contacts(commands: Sequence[RecordUpdate[Contact]], ids: Ids) -> Plan[list[object]]:
    """Change contacts; each command sees the changes of the commands before it."""
    return _update(CONTACTS, commands, ids)


update_contacts = guarded(_update_contacts)
update_contacts_of_locked = guarded(_update_contacts, is_locked=True)
"""The same for clients that are locked."""


def update_companies(commands: Sequence[RecordUpdate[Company]], ids: Ids) -> Plan[list[object]]:
    """Change companies; each command sees the changes of the commands before it."""
    return _update(COMPANIES, commands, ids)


def _update(table: RecordTable[R], commands: Sequence[RecordUpdate[Any]], ids: Ids) -> Plan[list[object]]:
    rows = yield Execute(table.by_id, list({(command.client, command.id) for command in commands}))
    loaded = yield from with_custom_fields(table.kind.kind, [table.record_of(row) for row in rows])
    records: Records = {(record.client, record.id): record for record in loaded}
    owned, rekeyed = _KeyOwners(), set[Key]()
    for column, statement in LOCKED_OWNER_OF[table.kind.kind].items():
        keys = _new_keys(column, commands, records)
        if keys:
            rekeyed |= {(c.client, c.id) for c in commands if column in c.changes}
            owned.owners.update({(row[0], column, row[1]): row[2] for row in (yield Execute(statement, list(keys)))})
    rekeyed |= {(c.client, c.id) for c in commands if c.further is not None}
    owned.is_rekeyed = bool(rekeyed)
    if rekeyed:
        rows_of_keys = yield Execute(history_sql.LINKS_OF, [(client, table.kind.kind, number) for client, number in sorted(rekeyed)])
        for row in rows_of_keys:
            if row[1] == "" and row[7] is None:
                owned.further.setdefault((row[0], row[6]), set()).add((row[2], row[3]))
    company_ids = {(c.client, c.changes["company_id"]) for c in commands if c.changes.get("company_id") is not None}
    if company_ids:
        owned.companies = {(row[0], row[1]) for row in (yield Execute(records_sql.COMPANY_EXISTS, list(company_ids)))}
    results = yield from _update_all(table.kind.kind, commands, records, rows, owned, ids)
    return results


def _new_keys(column: str, commands: Sequence[RecordUpdate[Any]], records: Records) -> set[tuple[int, str]]:
    """Return the keys that commands set on records that do not have them yet, with their clients."""
    updates = [(command, records[command.client, command.id]) for command in commands if (command.client, command.id) in records]
    changes = [(command.client, command.changes[column], record) for command, record in updates if column in command.changes]
    if column == "email_key":
        changes += [(command.client, key, record) for command, record in updates for key in command.further or ()]
    return {(client, str(key)) for client, key, record in changes if key is not None and key != getattr(record, column)}


def _update_all(
    kind: int, commands: Sequence[RecordUpdate[Any]], records: Records, rows: Sequence[Row], owned: _KeyOwners, ids: Ids
) -> Plan[list[object]]:
    last = {(command.client, command.id): command for command in commands}
    results: list[object] = []
    events: list[Row] = []
    customs: list[Row] = []
    links: list[Row] = []
    changed: dict[Key, Record] = {}
    unwritten: dict[Key, list[StoredEvent]] = {}
    logs: list[LoggedEvent] = []
    restated: list[_Restatement] = []
    for sent in commands:
        key = (sent.client, sent.id)
        record = records.get(key)
        error = yield from _other_person(sent, record, owned)
        command = _without_further_keys(kind, sent, owned) if sent.by_key and owned.further else sent
        error = error or _error(kind, command, record, owned)
        if error is not None or record is None:
            results.append(error)
            continue
        if is_write(command):
            command = _with_first_email(command, record)
            is_late, before = command.at < record.updated_us, state_of(record, command.words)
            status_entry = (record.status_entry_us, record.status_entry_key)
            write = write_record(kind, command, record, ids)
            changed[key] = record
            if write.former or command.further is not None:
                links += _key_rows(kind, command, record, write, owned, ids)
            entries = unwritten.setdefault(key, [])
            entries.append(write.entry)
            yield from _fold(kind, record, write, entries, command.words, ids, is_late=is_late)
            customs += [custom_field_row(command.client, kind, record.id, custom_field) for custom_field in write.custom]
            if write.shows:
                record.updated_us = max(write.entry.occurred_us, record.updated_us + 1)
                logs += changes(record, before, command.at, by_request(command.by), command.words)
            elif _restates(command, write):
                write.entry.detail["restates"] = True
                restated.append(_Restatement(record, write, status_entry))
            events.append(event_row(command.client, write.entry))
        results.append(record if sent is last[key] else _copy(record))
    yield from _remove_repeated(kind, restated)
    if links:
        opened = {row[:4]: row for row in links}
        yield from history_sql.save_links(list(opened.values()))
        for contact in changed.values():
            new = [row[3] for row in opened.values() if row[6] == contact.id and row[2] == EMAIL and row[7] is None]
            if isinstance(contact, Contact) and (new := [key for key in new if (EMAIL, key) not in owned.further.get(_key(contact), ())]):
                yield from claim_keys(contact, "email_key", new)
    if changed:
        yield from _save(kind, changed.values(), {(row[0], row[1]): row for row in rows}, events, customs)
        if owned.is_rekeyed:
            yield from _check_keys(kind, changed.values(), rows)
    yield from log_events(logs)
    return results


@dataclass(slots=True)
class _Restatement:
    """A write of values that its record has."""

    record: Record
    write: Write
    status_entry: tuple[Micros | None, str | None]
    """The one before it."""

    def replaces(self, earlier: StoredEvent) -> bool:
        """Return whether the earlier event is the same statement of the same source, and nothing shows when it was."""
        record, entry, at = self.record, self.write.entry, earlier.occurred_us
        if not earlier.detail.get("restates") or (earlier.effect, earlier.status) != (entry.effect, entry.status):
            return False
        is_change = record.status_changed_us == at or f'"{at}"' in (record.status_path or "")
        if earlier.effect and (is_change or self.status_entry != (at, earlier.key)):
            return False
        return _statement(earlier) == _statement(entry)


def _statement(event: StoredEvent) -> tuple[object, ...]:
    """Return the values of a write and its source: the API key, and whether a job used it."""
    key_id, request = event.detail.get("by", NO_AUTHOR)
    return event.detail.get("fields"), event.detail.get("custom"), key_id, (request or "").startswith("job:")


def _restates(command: RecordUpdate[Any], write: Write) -> bool:
    return not (write.shows or write.former or command.creates or command.clear_custom or command.further is not None)


def _remove_repeated(kind: int, restated: Sequence[_Restatement]) -> Plan[None]:
    """Remove earlier statements that these repeat: a list that is imported each week adds one entry to a history, not one a week."""
    earlier: dict[Row, _Restatement] = {}
    for restatement in restated:
        times = [time for time in (*restatement.write.replaced, restatement.status_entry) if time[1]]
        earlier |= {(restatement.record.client, kind, restatement.record.id, *time): restatement for time in times}
    rows = (yield Execute(history_sql.EVENT_BY_KEY, list(earlier))) if earlier else []
    repeated = [row[:5] for row in rows if earlier[row[:5]].replaces(event_of(row))]
    if repeated:
        yield Execute(history_sql.DELETE_EVENT, repeated)


def _without_further_keys(kind: int, command: RecordUpdate[Any], owned: _KeyOwners) -> RecordUpdate[Any]:
    """Return the command without the keys that its record has as further ones."""
    fields = [field for field in RECORD_TYPES[kind].keys if owned.is_further(command, word_of(kind, field), command.changes.get(field.key))]
    left_out = {name for field in fields for name in (field.name, field.key)}
    return replace(command, changes={name: value for name, value in command.changes.items() if name not in left_out})


def _with_first_email(command: RecordUpdate[Any], record: Record) -> RecordUpdate[Any]:
    """Return the command with the first of the further addresses in place of none, if it only removes the first one."""
    removes = "email_key" in command.changes and command.changes["email_key"] is None and command.further is None
    if not removes or not (further := by_key(further_emails(record))):
        return command
    key = min(further)
    return replace(command, changes={**command.changes, "email": further.pop(key), "email_key": key}, further=further)


def _key_rows(kind: int, command: RecordUpdate[Any], record: Record, write: Write, owned: _KeyOwners, ids: Ids) -> list[Row]:
    """Return the rows of the keys that the write took from the record, or added to it.

    A key that was replaced is closed, unless a further key took the place of the first one: then that is a further one now.
    """
    rows: list[tuple[str, str, Micros | None, Micros]] = []
    replaced: dict[str, str] = {}
    for key_field, old, text, since in write.former:
        replaces = command.further is not None and not command.adds
        is_promotion = not replaces and owned.is_further(command, key_field.link, command.changes[key_field.key])
        rows.append((key_field.link, old, None if is_promotion else write.entry.occurred_us, since))
        if is_promotion and key_field.link == EMAIL:
            replaced[old] = text
    if isinstance(record, Contact) and (rows or record.further_emails is not None or command.further is not None):
        rows += _further_rows(command, record, write, replaced)
    return [
        (command.client, "", word, key, 0 if owned.is_further(command, word, key) else ids.take("link"), kind, record.id, until, since)
        for word, key, until, since in rows
    ]


def _further_rows(
    command: RecordUpdate[Any], record: Contact, write: Write, replaced: dict[str, str]
) -> list[tuple[str, str, Micros | None, Micros]]:
    """Set the further addresses of a contact, with the `replaced` addresses that stay the person's; return their rows."""
    before, further = record.further_emails, command.further
    present = by_key(further_emails(record))
    emails = present | replaced if further is None or command.adds else {}
    emails |= further or {}
    set_further_emails(record, emails)
    write.shows |= record.further_emails != before
    if further is not None:
        write.entry.detail["emails"] = all_emails(record.email, record.further_emails)
    closed = present.keys() - emails.keys() - {record.email_key}
    rows: list[tuple[str, str, Micros | None, Micros]] = [(EMAIL, key, write.entry.occurred_us, 0) for key in sorted(closed)]
    return rows + [
        (EMAIL, key, None, 0 if key in present else write.entry.occurred_us)
        for key in sorted(emails.keys() - {record.email_key} - replaced.keys())
    ]


def _check_keys(kind: int, changed: Collection[Record], before: Sequence[Row]) -> Plan[None]:
    """Run the transaction again if another one has made a new key of a record a further one of another record since it was read."""
    place = {column: index for index, (column, _) in enumerate(CONTACT_COLUMNS if kind == CONTACT else COMPANY_COLUMNS)}
    had = {(row[0], row[1], column): row[place[column]] for row in before for column in BOOK[kind]}
    new = [
        (record.client, word, key, record.id)
        for record in changed
        for column, word in BOOK[kind].items()
        if (key := getattr(record, column)) is not None and key != had[record.client, record.id, column]
    ]
    if new and (yield Execute(TAKEN_KEYS, new)):
        raise SerializationConflict("another transaction made one of these keys a further one of another record")


def _key(record: Record) -> Key:
    return record.client, record.id


def _copy(record: Record) -> Record:
    """Return a copy: a later command of the batch changes the record again, and each result is the command's own state."""
    return replace(record, stamps=dict(record.stamps), custom_fields=[replace(custom_field) for custom_field in record.custom_fields])


def _fold(
    kind: int, record: Record, write: Write, unwritten: Sequence[StoredEvent], words: StatusWords, ids: Ids, *, is_late: bool
) -> Plan[None]:
    """Fold the entry's status; if the entry may not be the newest, with the stored history and the batch's unwritten entries."""
    entry = write.entry
    is_newest = not entry.effect or may_change_status(record, entry.effect, *entry.effective_time, words)
    before = (record.status, record.previous_status, record.status_changed_us)
    if entry.effect and is_newest:
        advance_status(record, entry.effect, entry.status, *entry.effective_time, words=words)
    if is_late or not is_newest or LEFT_OUT in record.stamps:
        rows = yield Execute(history_sql.EVENTS_OF, [(record.client, kind, record.id)])
        history = [*(event_of(row) for row in rows), *unwritten]
        if not is_newest:
            refold_status(record, history, words)
        if has_several_objects(history):
            project_record(record, history, write)
        if LEFT_OUT in record.stamps:
            fit_record(record, history, write, ids)
    write.shows |= before != (record.status, record.previous_status, record.status_changed_us)


def _error(kind: int, command: RecordUpdate[Any], record: Record | None, owned: _KeyOwners) -> TouchbaseError | None:
    """Return the reason why a command cannot be carried out; None takes its keys."""
    if record is None:
        return NotFound(f"there is no {RECORD_TYPES[kind].name} with id {command.id}")
    if (changed := changed_since(record, command.if_updated_us)) is not None:
        return changed
    company_id = command.changes.get("company_id")
    if company_id is not None and (command.client, company_id) not in owned.companies:
        return no_such_company(int(company_id))
    return _transition_error(kind, command, record) or _too_many(kind, command, record) or _take_keys(kind, command, owned)


def _other_person(command: RecordUpdate[Any], record: Record | None, owned: _KeyOwners) -> Plan[TouchbaseError | None]:
    """Return the reason why a write that was to change the contact with its profile is about another person, by its addresses.

    None if a third contact has one of these: then `_take_keys` names that one, whatever the contact with the profile had before.
    """
    if not command.by_key or command.is_person or not isinstance(record, Contact):
        return None
    emails = {*([] if (key := command.changes.get("email_key")) is None else [str(key)]), *(command.further or ())}
    external_id = command.changes.get(EXTERNAL_ID.name)
    if any(owned.owners.get((command.client, "email_key", key), record.id) != record.id for key in emails):
        return None
    if not (yield from names_another(record, emails, None if external_id is None else str(external_id))):
        return None
    return other_person(record.id)


def _too_many(kind: int, command: RecordUpdate[Any], record: Record) -> TouchbaseError | None:
    if command.adds and command.further and isinstance(record, Contact):
        had = {*by_key(all_emails(record.email, record.further_emails))}
        if len(had | command.further.keys()) > max(MAX_EMAILS, len(had)):
            detail = f"the contact would have more than {MAX_EMAILS} e-mail addresses; remove some first, by a PATCH with `emails`"
            return Invalid([Fault("/emails", "too_many", detail)])
    if not command.custom:
        return None
    had = {custom_field.name for custom_field in record.custom_fields if custom_field.value is not None}
    has = set() if command.clear_custom else set(had)
    has |= {name for name, value in command.custom.items() if value is not None}
    has -= {name for name, value in command.custom.items() if value is None}
    if len(has) <= max(CUSTOM_FIELDS, len(had)):  # webhooks may have added more: then the number must only not grow
        return _too_long_fields(kind, command, record)
    detail = f"the record would have {len(has)} custom fields, and at most {CUSTOM_FIELDS} are possible; remove some first"
    return Invalid([Fault(f"/{RECORD_TYPES[kind].custom_fields}", "too_many", detail)])


def _too_long_fields(kind: int, command: RecordUpdate[Any], record: Record) -> TouchbaseError | None:
    had = {custom_field.name: custom_field.value for custom_field in record.custom_fields}
    has = {} if command.clear_custom else dict(had)
    has |= command.custom
    if not exceeds_budget(has) or (total := custom_bytes(has.items())) <= custom_bytes(had.items()):  # what is too long may get shorter
        return None
    name = max((name for name, value in command.custom.items() if value is not None), key=lambda name: len(has[name] or ""))
    detail = (
        f"the custom fields of the record would have {total} bytes, and at most {CUSTOM_FIELD_BYTES} are possible; the longest of this "
        f"request is {name!r}: shorten it, or remove others"
    )
    return Invalid([Fault(f"/{RECORD_TYPES[kind].custom_fields}", "too_large", detail)])


def _take_keys(kind: int, command: RecordUpdate[Any], owned: _KeyOwners) -> TouchbaseError | None:
    """Take the command's keys. Called last: a command that passes owns them, and one with another error must not."""
    keys = [
        (key_field, str(command.changes[key_field.key]))
        for key_field in KEY_FIELDS.values()
        if command.changes.get(key_field.key) is not None
    ]
    keys += [(KEY_FIELDS["email"], key) for key in command.further or ()]
    for key_field, value in keys:
        owner = owned.owners.get((command.client, key_field.key, value), command.id)
        if owner != command.id:
            detail = f"another record has this {key_field.name}: id {owner}; change that one, or leave this field out"
            if command.by_key:
                detail = f"the keys sent are of two records: {command.id}, and {owner} by its {key_field.name}; merge them"
            conflict = Conflict(detail, data={"existing_id": owner})
            conflict.names_several = command.by_key and kind == CONTACT
            return conflict
    owned.owners.update({(command.client, key_field.key, value): command.id for key_field, value in keys})
    return None


def _transition_error(kind: int, command: RecordUpdate[Any], record: Record) -> TouchbaseError | None:
    present = command.words.of(record.status)
    if command.transitions is None or "status" not in command.changes or command.changes["status"] == present:
        return None
    allowed = command.transitions.get(present or "")
    if allowed is None or command.changes["status"] in allowed:
        return None
    words = ", ".join(allowed) or "nothing"
    pointer = f"/{RECORD_TYPES[kind].status}"
    return Invalid([Fault(pointer, "transition_not_allowed", f"from {present!r} a record may go to: {words}")])


def _save(kind: int, changed: Collection[Record], before: Mapping[Key, Row], events: Sequence[Row], customs: Sequence[Row]) -> Plan[None]:
    """Write records that this transaction has loaded as `before`, their new events and their custom fields."""
    if kind == CONTACT:
        yield from save_contacts([contact_row(record) for record in changed if isinstance(record, Contact)], before)
    else:
        yield Execute(records_sql.UPDATE_COMPANY, [company_row(record) for record in changed if isinstance(record, Company)])
    if events:
        yield Execute(history_sql.INSERT_EVENT, events)
    if customs:
        latest = {(row[0], row[2], row[3]): row for row in customs}
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, list(latest.values()))
    noted = {(row[0], row[2]) for row in customs}
    noted |= {(record.client, record.id) for record in changed if searched(record) != searched_of(kind, before[record.client, record.id])}
    if noted:
        yield Execute(NOTE_FOR_SEARCH, [(client, kind, number) for client, number in sorted(noted)])


def save_contacts(rows: Sequence[Row], before: Mapping[Key, Row]) -> Plan[None]:
    """Write only the columns that can have changed, because every index on a column costs."""
    by_statement: dict[Statement, list[Row]] = {}
    for row in rows:
        old = before[row[0], row[1]]
        if _KEYS(row) != _KEYS(old):
            by_statement.setdefault(records_sql.UPDATE_CONTACT, []).append(row)
        elif _STATUS(row) != _STATUS(old):
            by_statement.setdefault(records_sql.FOLD_CONTACT_STATUS, []).append(fold_status_of(row))
        else:
            by_statement.setdefault(records_sql.FOLD_CONTACT, []).append(fold_of(row))
    for statement, changed in by_statement.items():
        yield Execute(statement, changed)
