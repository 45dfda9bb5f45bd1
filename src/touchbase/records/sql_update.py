"""Updating records: read the group's records once, change them in memory, write them once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from touchbase.common.field_limits import CUSTOM_FIELDS
from touchbase.errors import Conflict, Fault, Invalid, NotFound, PreconditionFailed, TouchbaseError
from touchbase.history import statements as history_sql
from touchbase.history import status as st
from touchbase.history.events import COMPANY, CONTACT, StoredEvent
from touchbase.history.rows import event_of, event_row
from touchbase.records import statements as records_sql
from touchbase.records.commands import UpdateCompany, UpdateContact
from touchbase.records.field_projection import has_several_objects
from touchbase.records.projection import Record, refold_status
from touchbase.records.rows import company_of, contact_of, custom_field_row
from touchbase.records.sql_create import no_such_company
from touchbase.records.sql_custom_fields import with_custom_fields
from touchbase.records.sql_update_save import save_updates
from touchbase.records.sql_update_write import Update, Write, names_anything, project_record, write_record
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Execute, Plan, Row, Statement

Records = Mapping[tuple[int, int], Record]
"""By client and id."""


def update_needs(commands: Sequence[Update]) -> Mapping[str, int]:
    """The ids that these commands may take."""
    return {"custom_field": sum(len(command.custom) for command in commands), "link": 3 * len(commands)}


@dataclass(slots=True)
class _KeyOwners:
    """Who owns which key within this group, so that two updates cannot both take one."""

    owners: dict[tuple[int, str, str], int] = field(default_factory=dict)
    companies: set[tuple[int, int]] = field(default_factory=set)


def update_contacts(commands: Sequence[UpdateContact], ids: Ids) -> Plan[list[object]]:
    """Change contacts; each command sees what the ones before it did."""
    rows = yield Execute(records_sql.CONTACT_BY_ID, list({(c.client, c.id) for c in commands}))
    loaded = yield from with_custom_fields(CONTACT, [contact_of(row) for row in rows])
    records = {(contact.client, contact.id): contact for contact in loaded}
    taken = _KeyOwners()
    for op, column in ((records_sql.CONTACT_BY_EMAIL, "email_key"), (records_sql.CONTACT_BY_LINKEDIN, "linkedin_key")):
        yield from _owners(taken, op, column, commands, records)
    company_ids = {(c.client, c.changes["company_id"]) for c in commands if c.changes.get("company_id") is not None}
    if company_ids:
        found = yield Execute(records_sql.COMPANY_EXISTS, list(company_ids))
        taken.companies = {(row[0], row[1]) for row in found}
    answers = yield from _update_all(CONTACT, commands, records, rows, taken, ids)
    return answers


def update_companies(commands: Sequence[UpdateCompany], ids: Ids) -> Plan[list[object]]:
    """Change companies; each command sees what the ones before it did."""
    rows = yield Execute(records_sql.COMPANY_BY_ID, list({(c.client, c.id) for c in commands}))
    loaded = yield from with_custom_fields(COMPANY, [company_of(row) for row in rows])
    taken = _KeyOwners()
    records = {(company.client, company.id): company for company in loaded}
    yield from _owners(taken, records_sql.COMPANY_BY_DOMAIN, "domain", commands, records)
    answers = yield from _update_all(COMPANY, commands, records, rows, taken, ids)
    return answers


def _owners(taken: _KeyOwners, op: Statement, column: str, commands: Sequence[Update], records: Records) -> Plan[None]:
    """Note who has the keys that are wanted; a record that wants what it has is known to have it."""
    wanted = [
        (c.client, c.changes[column], records[c.client, c.id]) for c in commands if column in c.changes and (c.client, c.id) in records
    ]
    keys = {(client, str(key)) for client, key, record in wanted if key is not None and key != getattr(record, column)}
    if not keys:
        return
    at = {"email_key": 5, "linkedin_key": 7, "domain": 4}[column]
    rows = yield Execute(op, list(keys))
    taken.owners.update({(row[0], column, row[at]): row[1] for row in rows})


def _update_all(
    kind: int, commands: Sequence[Update], records: Records, rows: Sequence[Row], taken: _KeyOwners, ids: Ids
) -> Plan[list[object]]:
    last = {(asked.client, asked.id): asked for asked in commands}
    answers: list[object] = []
    events: list[Row] = []
    customs: list[Row] = []
    links: list[Row] = []
    changed: dict[tuple[int, int], Record] = {}
    told: dict[tuple[int, int], list[StoredEvent]] = {}
    for asked in commands:
        record = records.get((asked.client, asked.id))
        refusal = _refusal(asked, record, taken)
        if refusal is not None or record is None:
            answers.append(refusal)
            continue
        if names_anything(asked):
            is_late = asked.at < record.updated_us
            write = write_record(kind, asked, record, ids)
            place = (asked.client, asked.id)
            changed[place] = record
            links += [(asked.client, "", word, key, ids.take("link"), kind, record.id) for word, key in write.former]
            unwritten = told.setdefault(place, [])
            unwritten.append(write.entry)
            yield from _fold(kind, record, write, unwritten, is_late=is_late)
            customs += [custom_field_row(asked.client, kind, record.id, one) for one in write.custom]
            if write.shows:
                record.updated_us = max(write.entry.occurred_us, record.updated_us + 1)
            events.append(event_row(asked.client, write.entry))
        answers.append(record if asked is last[asked.client, asked.id] else _as_it_is(record))
    if links:
        yield Execute(history_sql.SAVE_LINK, list({row[:4]: row for row in links}.values()))
    if changed:
        yield from save_updates(kind, changed, {(row[0], row[1]): row for row in rows}, events, customs)
    return answers


def _as_it_is(record: Record) -> Record:
    """A copy: a later command of the group changes the record again, and each answers its own state."""
    return replace(record, stamps=dict(record.stamps), custom_fields=[replace(one) for one in record.custom_fields])


def _fold(kind: int, record: Record, write: Write, unwritten: Sequence[StoredEvent], *, is_late: bool) -> Plan[None]:
    """Fold the entry's status; where it may not be the newest, with all that is in the table and what the group is still to write."""
    entry = write.entry
    is_newest = not entry.effect or st.may_add(record, entry.effect, *entry.place)
    before = (record.status, record.previous_status, record.status_changed_us)
    if entry.effect and is_newest:
        st.advance(record, entry.effect, entry.status, *entry.place)
    if is_late or not is_newest:
        rows = yield Execute(history_sql.EVENTS_OF, [(record.client, kind, record.id)])
        history = [*(event_of(row) for row in rows), *unwritten]
        if not is_newest:
            refold_status(record, history)
        if has_several_objects(history):
            project_record(record, history, write)
    write.shows |= before != (record.status, record.previous_status, record.status_changed_us)


def _refusal(command: Update, record: Record | None, taken: _KeyOwners) -> TouchbaseError | None:
    if record is None:
        what = "contact" if isinstance(command, UpdateContact) else "company"
        return NotFound(f"there is no {what} with id {command.id}")
    if command.if_updated_us is not None and command.if_updated_us != record.updated_us:
        return PreconditionFailed("the record has changed since you read it; read it again and repeat the change")
    company_id = command.changes.get("company_id")
    if company_id is not None and (command.client, company_id) not in taken.companies:
        return no_such_company(int(company_id))
    return _transition(command, record) or _too_many_fields(command, record) or _taken_key(command, taken)


def _too_many_fields(command: Update, record: Record) -> TouchbaseError | None:
    had = {one.name for one in record.custom_fields if one.value is not None}
    has = set() if command.clear_custom else set(had)
    has |= {name for name, value in command.custom.items() if value is not None}
    has -= {name for name, value in command.custom.items() if value is None}
    if len(has) <= max(CUSTOM_FIELDS, len(had)):  # calls may have brought more: then it must only not grow
        return None
    pointer = "/contact_custom_fields_input" if isinstance(command, UpdateContact) else "/company_custom_fields"
    detail = f"the record would have {len(has)} custom fields, and at most {CUSTOM_FIELDS} are possible; take some away first"
    return Invalid([Fault(pointer, "too_many", detail)])


_FIELDS = {"email_key": "email", "linkedin_key": "linkedin_url", "domain": "domain"}
"""The columns that only one record of a client may have, and the field that fills each."""


def _taken_key(command: Update, taken: _KeyOwners) -> TouchbaseError | None:
    """Checked last: a command that passes owns the keys, and one refused for another reason must not."""
    wanted = [(c, str(command.changes[c])) for c in _FIELDS if command.changes.get(c) is not None]
    for column, value in wanted:
        owner = taken.owners.get((command.client, column, value), command.id)
        if owner != command.id:
            detail = f"another record has this {_FIELDS[column]}: id {owner}; change that one, or leave this field out"
            return Conflict(detail, data={"existing_id": owner})
    taken.owners.update({(command.client, column, value): command.id for column, value in wanted})
    return None


def _transition(command: Update, record: Record) -> TouchbaseError | None:
    if command.transitions is None or "status" not in command.changes or command.changes["status"] == record.status:
        return None
    allowed = command.transitions.get(record.status or "")
    if allowed is None or command.changes["status"] in allowed:
        return None
    field_name = "contact_status" if isinstance(command, UpdateContact) else "company_status"
    words = ", ".join(allowed) or "nothing"
    return Invalid([Fault(f"/{field_name}", "transition_not_allowed", f"from {record.status!r} a record may go to: {words}")])
