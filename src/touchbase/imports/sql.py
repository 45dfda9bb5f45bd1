"""Plans of imports: the rows of a batch are found at once, then created and updated by the plans of the API's requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.timestamps import Micros
from touchbase.errors import Conflict, Fault, Invalid, PersonErased, TouchbaseError, WrongState
from touchbase.history.events import CONTACT as CONTACT_KIND
from touchbase.history.events import IMPORT, NO_AUTHOR, VIA_API, Author, Detail, Event, StoredEvent, status_word
from touchbase.history.problems import STATUS_REFUSED
from touchbase.history.status import REPLY, SENT
from touchbase.imports.columns import LAST_REPLY
from touchbase.imports.report import (
    CREATED,
    DUPLICATE,
    ERASED,
    INVALID,
    MAPPING_BYTES,
    MOST_MAPPINGS,
    UNCHANGED,
    UPDATED,
    Mode,
    RowOutcome,
    StoredMapping,
)
from touchbase.imports.rows import ValidRow
from touchbase.imports.suppressions import suppressed_rows
from touchbase.records.further_emails import by_key, further_emails
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.add_history import add_history
from touchbase.records.sql.address_book import keys_of
from touchbase.records.sql.create import KeyOwners, create_companies, create_contacts, find_existing
from touchbase.records.sql.update import update_companies, update_contacts
from touchbase.records.writes import Creation, RecordUpdate, new_write_key
from touchbase.sql.ids import Ids
from touchbase.sql.operation import NEEDS_TRANSACTION, command, query
from touchbase.sql.rows import encode
from touchbase.sql.statement import Execute, Plan, Select, SerializationConflict, Statement, delete

_MAPPING = (("client", "bigint"), ("record", "text"), ("name", "text"), ("mapping", "text"), ("updated_us", "bigint"))
SAVE_MAPPING = Statement(
    "save_mapping",
    _MAPPING,
    body="INSERT INTO import_mapping (client, record, name, mapping, updated_us) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, record, name) DO UPDATE SET mapping = excluded.mapping, updated_us = excluded.updated_us",
)
REMOVE_MAPPING = delete("remove_mapping", "import_mapping", _MAPPING[:3], "name")
_KEYS = {each.name: {field.name: field.key for field in each.keys} for each in (CONTACT_TYPE, COMPANY_TYPE)}
"""By type of record, the column of each field by which records are found."""
_EVENTS = {SENT: "email_sent", REPLY: "email_replied"}
_Record = Contact | Company


def _import_ids(calls: Any) -> Mapping[str, int]:
    """Return how many ids the rows may take, by name."""
    needs = {"contact": 0, "company": 0, "custom_field": 0, "link": 0}
    for batch in calls:
        companies = {id(row.company): row.company for row in batch.rows if row.company is not None}
        needs[batch.record] += len(batch.rows)
        needs["company"] += len(companies)
        needs["link"] += sum(3 + 2 * len(further_emails(row.creation.record)) for row in batch.rows)
        needs["custom_field"] += sum(len(row.creation.custom) for row in batch.rows)
        needs["custom_field"] += sum(len(company.custom) for company in companies.values())
    return needs


@dataclass(slots=True)
class _ImportBatch:
    """The rows of one batch on their way."""

    client: int
    record: Literal["contact", "company"]
    rows: Sequence[ValidRow]
    mode: Mode
    match: str
    at: Micros
    settings: ClientSettings
    by: Author
    dry_run: bool
    outcomes: list[RowOutcome | None]
    owners: KeyOwners = field(default_factory=dict)
    records: Mapping[int, Any] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    """Row -> id of its record."""

    def refuse(self, index: int, error: TouchbaseError) -> None:
        """Set the outcome of a row whose command failed."""
        count = ERASED if isinstance(error, PersonErased) else INVALID
        reason = "; ".join(f"{fault.pointer[1:]}: {fault.detail}" for fault in error.faults) if isinstance(error, Invalid) else error.detail
        self.outcomes[index] = RowOutcome(count, reason)

    @property
    def open(self) -> list[int]:
        """The rows without an outcome."""
        return [index for index, outcome in enumerate(self.outcomes) if outcome is None]


@command(ids=_import_ids, large=True)
def import_rows(
    ids: Ids,
    client: int,
    record: Literal["contact", "company"],
    rows: Sequence[ValidRow],
    mode: Mode,
    match: str,
    at: Micros,
    settings: ClientSettings,
    by: Author = NO_AUTHOR,
    dry_run: bool = False,
) -> Plan[list[RowOutcome]]:
    """Create or update the records of these rows; returns the outcome of each, in their order.

    `match`: The only field by which existing records are found; blank: all that identify one.
    `dry_run`: Return the outcomes without writing; an address of an erased person shows only when it is written.
    """
    # Of now: a status may have got another name since the import began.
    current_settings = (yield from settings_of(client)) or settings
    outcomes: list[RowOutcome | None] = [None] * len(rows)
    batch = _ImportBatch(client, record, rows, mode, match, at, current_settings, by, dry_run, outcomes)
    yield from _find(batch)
    if not dry_run and record == "contact":
        yield from _set_companies(batch, ids)
    new = [index for index in batch.open if index not in batch.ids]
    yield from _create(batch, new, ids)
    yield from _update(batch, [index for index in batch.open if index not in new], ids)
    yield from _add_dates(batch)
    for index in batch.open:
        batch.outcomes[index] = RowOutcome(UNCHANGED if index in batch.ids else CREATED)
    yield from _mark_suppressed(batch)
    return [outcome for outcome in batch.outcomes if outcome is not None]


def _find(batch: _ImportBatch) -> Plan[None]:
    """Find the records of the rows, and set the outcomes that the mode decides."""
    kind: Any = Contact if batch.record == "contact" else Company
    batch.owners, batch.records = yield from find_existing([row.creation for row in batch.rows], kind)
    taken: dict[int, int] = {}
    for index in batch.open:
        owner = _owner(batch, index)
        if owner is None or owner not in batch.records:
            if batch.outcomes[index] is None and batch.mode == "update":
                names = [batch.match] if batch.match else [*_KEYS[batch.record]]
                batch.outcomes[index] = RowOutcome(
                    INVALID, f"no {batch.record} has this {' or '.join(names)}, and mode=update creates none"
                )
        elif batch.mode == "create":
            batch.outcomes[index] = RowOutcome(UNCHANGED)
        elif owner in taken:
            number = batch.rows[taken[owner]].row.number
            batch.outcomes[index] = RowOutcome(DUPLICATE, f"is the same {batch.record} as row {number}")
        else:
            taken[owner] = index
            batch.ids[index] = owner


def _owner(batch: _ImportBatch, index: int) -> int | None:
    """Return the id of a row's record; set the outcome of a row that cannot be matched."""
    record = batch.rows[index].creation.record
    known = _KEYS[batch.record]
    for column in [known[batch.match]] if batch.match else known.values():
        keys = keys_of(record, column)
        if not keys and batch.match:
            batch.outcomes[index] = RowOutcome(INVALID, f"has no {batch.match}, by which records are matched")
        owner = next((owner for key in keys if (owner := batch.owners.get((batch.client, column, key))) is not None), None)
        if owner is not None:
            return owner
    if batch.match:
        for name, column in known.items():
            other = batch.owners.get((batch.client, column, getattr(record, column)))
            if other is not None and batch.mode != "update":
                batch.outcomes[index] = RowOutcome(INVALID, f"{batch.record} {other} has this {name}, and another {batch.match}")
    return None


def _set_companies(batch: _ImportBatch, ids: Ids) -> Plan[None]:
    """Create or find the companies of the open rows, and set their ids in the rows' contacts."""
    companies = {row.company.record.domain: row.company for index in batch.open if (row := batch.rows[index]).company is not None}
    if not companies:
        return
    found, _ = yield from find_existing(list(companies.values()), Company)
    owners = {str(key): owner for (_, _, key), owner in found.items()}
    missing = [company for domain, company in companies.items() if domain not in owners]
    for company in missing:
        company.on_duplicate, company.by = "error", batch.by
        company.record.created_us = company.record.updated_us = batch.at
    if missing:
        results = yield from create_companies(missing, ids)
        for company, result in zip(missing, results, strict=True):
            if isinstance(result, TouchbaseError):
                raise SerializationConflict("a company was created at the same time")
            owners[company.record.domain] = company.record.id
    for index in batch.open:
        row = batch.rows[index]
        if row.company is not None and isinstance(row.creation.record, Contact):
            row.creation.record.company_id = owners[row.company.record.domain]


def _create(batch: _ImportBatch, indexes: Sequence[int], ids: Ids) -> Plan[None]:
    if not indexes or batch.dry_run:
        return
    creations: list[Any] = [batch.rows[index].creation for index in indexes]
    for each in creations:
        each.on_duplicate, each.by = "error", batch.by
        each.record.created_us = each.record.updated_us = batch.at
    run: Callable[..., Plan[list[object]]] = create_contacts if batch.record == "contact" else create_companies
    results = yield from run(creations, ids)
    for index, creation, result in zip(indexes, creations, results, strict=True):
        if result is NEEDS_TRANSACTION or isinstance(result, Conflict):
            raise SerializationConflict("another write came between the search and the creation")
        if isinstance(result, TouchbaseError):
            batch.refuse(index, result)
        else:
            batch.outcomes[index] = RowOutcome(CREATED)
            batch.ids[index] = creation.record.id


def _update(batch: _ImportBatch, indexes: Sequence[int], ids: Ids) -> Plan[None]:
    updates: dict[int, Any] = {}
    for index in indexes:
        update = _change(batch, batch.rows[index].creation, batch.records[batch.ids[index]])
        if update is not None:
            updates[index] = update
    if batch.dry_run:
        for index in updates:
            batch.outcomes[index] = RowOutcome(UPDATED)
    if not updates or batch.dry_run:
        return
    run: Callable[..., Plan[list[object]]] = update_contacts if batch.record == "contact" else update_companies
    results = yield from run(list(updates.values()), ids)
    for index, result in zip(updates, results, strict=True):
        if result is NEEDS_TRANSACTION:
            raise SerializationConflict("the client's first erasure came at the same time")
        if isinstance(result, TouchbaseError):
            batch.refuse(index, result)
        else:
            batch.outcomes[index] = RowOutcome(UPDATED)


def _mark_suppressed(batch: _ImportBatch) -> Plan[None]:
    """Mark the outcomes of the rows whose person or domain is on a do-not-contact list; they are imported like others."""
    rows = {
        index: (batch.rows[index], batch.records.get(batch.ids.get(index, 0)))
        for index, outcome in enumerate(batch.outcomes)
        if outcome is not None and outcome.word in (CREATED, UPDATED, UNCHANGED)
    }
    for index, reason in (yield from suppressed_rows(rows, batch.at)).items():
        outcome = batch.outcomes[index]
        assert outcome is not None
        batch.outcomes[index] = outcome._replace(suppressed=reason)


def _change(batch: _ImportBatch, creation: Creation[Any], existing: _Record) -> RecordUpdate[Any] | None:
    """Return the update that gives a record the values of a row; None if it has them."""
    new, kind = creation.record, CONTACT_TYPE if batch.record == "contact" else COMPANY_TYPE
    changes: dict[str, str | int | None] = {}
    for each in kind.fields:
        value = getattr(new, each.name)
        if value is not None and value != getattr(existing, each.name):
            changes[each.name] = value
            if each.key:
                changes[each.key] = getattr(new, each.key)
    words = batch.settings.words(kind.kind)
    if new.status is not None and new.status != words.of(existing.status):
        changes["status"] = new.status
    present = {custom_field.name: custom_field.value for custom_field in existing.custom_fields}
    custom: dict[str, str | None] = {name: value for name, value in creation.custom if present.get(name) != value}
    added = by_key(further_emails(new))
    if isinstance(existing, Contact):
        added = {key: text for key, text in added.items() if key not in keys_of(existing, "email_key")}
    if not changes and not custom and not added:
        return None
    transitions = kind.transitions(batch.settings)
    return RecordUpdate(
        batch.client, existing.id, changes, custom, batch.at, new_write_key(), transitions=transitions, by=batch.by, words=words,
        by_key=True, further=added or None, adds=True,
    )  # fmt: skip


def _add_dates(batch: _ImportBatch) -> Plan[None]:
    """Add the dates of the rows that were not refused to their contacts' histories."""
    dated: dict[int, int] = {}
    events: dict[int, list[StoredEvent]] = {}
    for index, contact_id in batch.ids.items():
        outcome, row = batch.outcomes[index], batch.rows[index]
        if row.dates and (outcome is None or outcome.word in (CREATED, UPDATED)):
            made = _events(batch, row, contact_id, batch.records.get(contact_id))
            if made:
                dated[contact_id], events[contact_id] = index, made
    changed = set(events)
    if events and not batch.dry_run:
        changed = yield from add_history(batch.client, events, batch.at, batch.settings.words(CONTACT_KIND), batch.by)
    for contact_id in changed:
        if batch.outcomes[dated[contact_id]] is None:
            batch.outcomes[dated[contact_id]] = RowOutcome(UPDATED)


def _events(batch: _ImportBatch, row: ValidRow, contact_id: int, existing: Contact | None) -> list[StoredEvent]:
    """Return the events that the dates of a row are, except facts that the contact shows already."""
    shown = set() if existing is None else {(SENT, existing.first_sent_us), (SENT, existing.last_sent_us), (REPLY, existing.last_reply_us)}
    facts = {(REPLY if name == LAST_REPLY else SENT, when) for name, when in row.dates.items()} - shown
    made: list[StoredEvent] = []
    for effect, when in sorted(facts):
        status, detail = _status(batch, effect), Detail({"by": batch.by} if any(batch.by) else {})
        if status is None and (asked := status_word(Event(_EVENTS[effect]), effect)):
            detail["problems"] = {STATUS_REFUSED: asked}
        made.append(
            StoredEvent(
                CONTACT_KIND, contact_id, when, f"{IMPORT}:{effect}", _EVENTS[effect], effect, status, IMPORT, IMPORT,
                None, None, batch.at, VIA_API, detail,
            )
        )  # fmt: skip
    return made


def _status(batch: _ImportBatch, effect: str) -> str | None:
    """Return the status that a mail or a reply sets, as for webhooks; None if the client has no such status."""
    word, declared = status_word(Event(_EVENTS[effect]), effect), batch.settings.contact_statuses
    if word is None or declared is None:
        return word
    return batch.settings.words(CONTACT_KIND).matching(word, declared.statuses)


@command
def save_mapping(client: int, mapping: StoredMapping) -> Plan[TouchbaseError | None]:
    """Store a mapping, or replace the one of this name. `Invalid` if it is too long, `WrongState` above `MOST_MAPPINGS`."""
    one, text = mapping, encode(mapping.mapping)
    if (size := len(text.encode())) > MAPPING_BYTES:
        detail = f"stores a mapping of at most {MAPPING_BYTES:,} bytes, and this one has {size:,}; leave save_as out"
        return Invalid([Fault("/save_as", "too_long", detail)])
    others = "SELECT count(*) FROM import_mapping WHERE client = ? AND record = ? AND name <> ?"
    [(count,)] = yield Select(others, (client, one.record, one.name))
    if count >= MOST_MAPPINGS:
        path = "/public/v2/import-mappings/" + {"contact": "contacts", "company": "companies"}[one.record]
        return WrongState(f"this client has {count} stored mappings, and may have {MOST_MAPPINGS}; remove one (DELETE {path}/NAME)")
    yield Execute(SAVE_MAPPING, [(client, one.record, one.name, text, one.updated_us)])
    return None


@command
def remove_mapping(client: int, record: str, name: str) -> Plan[bool]:
    """Remove a mapping; return whether there was one."""
    return bool((yield Execute(REMOVE_MAPPING, [(client, record, name)])))


@query
def list_mappings(client: int, record: str) -> Plan[list[StoredMapping]]:
    """The stored mappings of one type of record, by name."""
    rows = yield Select(
        "SELECT record, name, mapping, updated_us FROM import_mapping WHERE client = ? AND record = ? ORDER BY name",
        (client, record),
    )
    return [StoredMapping(row[0], row[1], msgspec.json.decode(row[2]), row[3]) for row in rows]
