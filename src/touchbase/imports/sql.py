"""Plans of imports: the rows of a batch are found at once, then created and updated by the plans of the API's requests."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, Literal

import msgspec

from touchbase.clients.models import ClientSettings
from touchbase.clients.sql.clients import settings_of
from touchbase.common.timestamps import Micros
from touchbase.do_not_contact.addresses import Address
from touchbase.do_not_contact.models import (
    CLIENT_LIST,
    COMPLAINED,
    DOMAIN,
    EMAIL,
    LINKEDIN_URL,
    REQUESTED,
    UNSUBSCRIBED,
    Addresses,
    Cause,
)
from touchbase.do_not_contact.models import IMPORT as BY_IMPORT
from touchbase.do_not_contact.sql.entries import ID as SUPPRESSION_ID
from touchbase.do_not_contact.sql.entries import add_causes
from touchbase.do_not_contact.sql.lookup import listed_kinds, suppressed_items
from touchbase.do_not_contact.sql.opt_outs import StatusOptOut, list_opt_outs
from touchbase.erasure_marks import LOCK_CLIENT
from touchbase.errors import Conflict, Fault, Invalid, NotFound, PersonErased, PreconditionFailed, TouchbaseError, WrongState
from touchbase.history.events import CONTACT as CONTACT_KIND
from touchbase.history.events import IMPORT, NO_AUTHOR, VIA_API, Author, Detail, Event, StoredEvent, status_word
from touchbase.history.problems import STATUS_REFUSED
from touchbase.history.status import REPLY, SENT
from touchbase.imports.columns import COMPANY, CUSTOM, LAST_REPLY
from touchbase.imports.duplicates import fold_name
from touchbase.imports.report import (
    CREATED,
    DUPLICATE,
    ERASED,
    INVALID,
    KEPT_OPT_OUTS,
    MAPPING_BYTES,
    MOST_MAPPINGS,
    OPT_OUTS_TAKEN,
    UNCHANGED,
    UPDATED,
    ImportOptions,
    RowOutcome,
    StoredMapping,
    same_as,
)
from touchbase.imports.rows import ValidRow
from touchbase.imports.suppressions import suppressed_rows
from touchbase.merging.sql.join import can_join, join_ids, join_owners, named_contacts
from touchbase.records.further_emails import by_key, further_emails
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.add_history import add_history
from touchbase.records.sql.address_book import keys_of
from touchbase.records.sql.create import KeyOwners, create_companies, create_contacts, find_existing, find_owners
from touchbase.records.sql.opt_outs import opt_out_of
from touchbase.records.sql.rows import COMPANY as COMPANY_COLUMNS
from touchbase.records.sql.rows import company_of, contact_of
from touchbase.records.sql.same_person import may_be_one, names_another
from touchbase.records.sql.statements import COMPANY_EXISTS, COMPANY_TO_SHOW, CONTACT_TO_SHOW, with_custom_fields
from touchbase.records.sql.update import update_companies, update_contacts
from touchbase.records.writes import Creation, RecordUpdate, new_write_key, record_of
from touchbase.sql.ids import Ids
from touchbase.sql.operation import NEEDS_TRANSACTION, command, query
from touchbase.sql.rows import encode, names
from touchbase.sql.statement import Execute, Plan, Select, SerializationConflict, Statement, delete

_MAPPING = (("client", "bigint"), ("record", "text"), ("name", "text"), ("mapping", "text"), ("updated_us", "bigint"))
SAVE_MAPPING = Statement(
    "save_mapping",
    _MAPPING,
    body="INSERT INTO import_mapping (client, record, name, mapping, updated_us) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, record, name) DO UPDATE SET mapping = excluded.mapping, updated_us = excluded.updated_us",
)
REMOVE_MAPPING = delete("remove_mapping", "import_mapping", _MAPPING[:3], "name")
# Through the index of names; other letters than those of ASCII have their case on SQLite.
COMPANY_HAVING_NAME = Statement(
    "company_having_name",
    (("client", "bigint"), ("name", "text")),
    body=f"SELECT {names(COMPANY_COLUMNS, 't.')} FROM p CROSS JOIN company t WHERE t.client = p.client AND lower(t.name) = p.name "
    "AND t.name IS NOT NULL",
)
_KEYS = {record_type.name: {field.name: field.key for field in record_type.keys} for record_type in (CONTACT_TYPE, COMPANY_TYPE)}
"""By type of record, the column of each field by which records are found."""
OPTED_OUT = frozenset({UNSUBSCRIBED, COMPLAINED, REQUESTED})
"""Reasons that are a person's own; a status of a file does not lift them."""
_EVENTS = {SENT: "email_sent", REPLY: "email_replied"}
_COMPANY_BY_DOMAIN = frozenset({"company_id", f"{COMPANY}domain"})
_COMPANY_OF_CONTACT = _COMPANY_BY_DOMAIN | {f"{COMPANY}name"}
_Record = Contact | Company


def _import_ids(calls: Any) -> Mapping[str, int]:
    """Return how many ids the rows may take, by name."""
    needs = {"contact": 0, "company": 0, "custom_field": 0, "link": 0, SUPPRESSION_ID: 0}
    for batch in calls:
        companies = {id(row.company): row.company for row in batch.rows if row.company is not None}
        needs[batch.record] += len(batch.rows)
        needs["company"] += len(companies)
        needs["link"] += 3 * len(companies) + 3 * len(batch.rows)
        needs["link"] += 2 * sum(len(further) for row in batch.rows if (further := further_emails(row.creation.record)))
        needs["custom_field"] += sum([len(row.creation.custom) for row in batch.rows])
        needs["custom_field"] += sum(len(company.custom) for company in companies.values())
        joins = sum(can_join(row.creation.record) for row in batch.rows) if batch.record == "contact" else 0
        for name, count in join_ids(joins).items() if joins else ():
            needs[name] = needs.get(name, 0) + count
        needs[SUPPRESSION_ID] += 2 * sum(1 for row in batch.rows if row.opt_out)
    return needs


@dataclass(slots=True)
class _ImportBatch:
    """The rows of one batch on their way."""

    client: int
    record: Literal["contact", "company"]
    rows: list[ValidRow]
    options: ImportOptions
    at: Micros
    settings: ClientSettings
    by: Author
    outcomes: list[RowOutcome | None]
    pending: Sequence[int] = ()
    """The rows of this pass: several rows about one record come in as many passes."""
    later: list[int] = field(default_factory=list)
    first: dict[int, int] = field(default_factory=dict)
    """Row -> the earlier row of the batch about the same record."""
    owners: KeyOwners = field(default_factory=dict)
    named: dict[str, Company] = field(default_factory=dict)
    """Companies by folded name, of the ones that a row may mean by its name."""
    records: dict[int, Any] = field(default_factory=dict)
    ids: dict[int, int] = field(default_factory=dict)
    """Row -> id of its record."""
    kept_opt_outs: set[int] = field(default_factory=set)
    restated: set[int] = field(default_factory=set)
    """Rows whose record has their values already."""
    listed: set[int] = field(default_factory=set)
    """Rows whose status put their contact on the do-not-contact list."""
    joined: dict[int, str] = field(default_factory=dict)
    """Row -> the contacts that it makes one."""
    others: set[int] = field(default_factory=set)
    """Rows whose profile is of a contact with another address: they are about somebody else."""
    cells: dict[int, list[tuple[str, str, str]]] = field(default_factory=dict)
    """Row -> field, value and reason of each cell that is left out."""

    def refuse(self, index: int, error: TouchbaseError) -> None:
        """Set the outcome of a row whose command failed."""
        count = ERASED if isinstance(error, PersonErased) else INVALID
        if count == ERASED:
            self.ids.pop(index, None)
        if isinstance(error, Invalid):
            faults = tuple((fault.pointer[1:], fault.detail) for fault in error.faults)
            self.outcomes[index] = RowOutcome(count, faults=faults)
        else:
            self.outcomes[index] = RowOutcome(count, error.detail)

    @property
    def open(self) -> list[int]:
        """The rows of this pass without an outcome."""
        return [index for index in self.pending if self.outcomes[index] is None]

    def filled_before(self, index: int) -> frozenset[str]:
        """Return the targets of a row that earlier rows about its record have filled, and that stay."""
        names = self.rows[index].filled_before
        if index in self.first and self.options.keeps_first:
            names |= _filled(self.rows[self.first[index]], self.record) | self.filled_before(self.first[index])
        return names


def _filled(row: ValidRow, record: str) -> frozenset[str]:
    kind = CONTACT_TYPE if record == "contact" else COMPANY_TYPE
    filled = {field_.name for field_ in kind.fields if getattr(row.creation.record, field_.name)}
    filled |= {f"{CUSTOM}{name}" for name, _ in row.creation.custom} | row.dates.keys()
    if row.creation.record.status is not None:
        filled.add(kind.status)
    return frozenset(filled | _COMPANY_OF_CONTACT if row.company is not None else filled)


@command(ids=_import_ids, large=True)
def import_rows(
    ids: Ids,
    client: int,
    record: Literal["contact", "company"],
    rows: Sequence[ValidRow],
    options: ImportOptions,
    at: Micros,
    settings: ClientSettings,
    by: Author = NO_AUTHOR,
) -> Plan[list[RowOutcome]]:
    """Create or update the records of these rows; returns the outcome of each, in their order."""
    # Of now: a status may have got another name since the import began.
    current_settings = (yield from settings_of(client)) or settings
    outcomes: list[RowOutcome | None] = [None] * len(rows)
    if not options.dry_run:
        yield Execute(LOCK_CLIENT, [(client,)])  # before any record is locked
    batch = _ImportBatch(client, record, [*rows], options, at, current_settings, by, outcomes, range(len(rows)))
    while batch.pending:
        yield from _import_pass(batch, ids)
        batch.pending, batch.later = batch.later, []
    yield from _take_opt_outs(batch, ids)
    yield from _mark_suppressed(batch)
    for index, cells in batch.cells.items():
        batch.outcomes[index] = _outcome(batch, index)._replace(cells=tuple(cells))
    for index, joined in batch.joined.items():
        batch.outcomes[index] = _outcome(batch, index)._replace(joined=joined)
    return [_outcome(batch, index) for index in range(len(rows))]


def _outcome(batch: _ImportBatch, index: int) -> RowOutcome:
    outcome = batch.outcomes[index]
    assert outcome is not None
    return outcome


def _import_pass(batch: _ImportBatch, ids: Ids) -> Plan[None]:
    yield from _find(batch, ids)
    dry_run = batch.options.dry_run
    if batch.record == "contact" and not dry_run:
        yield from _set_companies(batch, ids)
        yield from _check_companies(batch)
    new = [index for index in batch.open if index not in batch.ids]
    yield from _create(batch, new, ids)
    yield from _update(batch, [index for index in batch.open if index in batch.ids], ids)
    yield from _add_dates(batch)
    for index in batch.open:
        batch.outcomes[index] = RowOutcome(UNCHANGED, id=batch.ids[index]) if index in batch.ids else RowOutcome(CREATED)
    for index in batch.pending:
        outcome, number = _outcome(batch, index), batch.rows[index].same_as
        if index in batch.first:
            number = number or batch.rows[batch.first[index]].row.number
        if number and (outcome.word in (UPDATED, UNCHANGED) or (dry_run and outcome.word == CREATED)):
            outcome = RowOutcome(DUPLICATE, same_as(batch.record, number))
        if not outcome.id and index in batch.ids:
            outcome = outcome._replace(id=batch.ids[index])
        batch.outcomes[index] = outcome


def _join(batch: _ImportBatch, ids: Ids) -> Plan[bool]:
    """Merge contacts that a row names by several keys, if they may be one person; return whether any were merged."""
    if batch.record != "contact" or batch.options.mode == "create":
        return False
    any_joined = False
    for index in batch.pending:
        creation = batch.rows[index].creation
        keys = [(column, key) for column in _KEYS["contact"].values() for key in keys_of(creation.record, column)]
        if len({owner for key in keys if (owner := batch.owners.get((batch.client, *key))) is not None}) > 1:
            contacts = yield from named_contacts(batch.client, creation.record)
            if len(contacts) < 2 or not may_be_one(contacts):
                continue
            survivor, *absorbed = [contact.id for contact in contacts]
            if batch.options.dry_run:
                batch.owners = {key: survivor if owner in absorbed else owner for key, owner in batch.owners.items()}
            elif (yield from join_owners(ids, batch.client, creation.record, batch.at, batch.by)):
                any_joined = True
            else:
                continue
            others = " and ".join(map(str, absorbed))
            batch.joined[index] = f"merges contact {others} into {survivor}: the row has keys of both"
    return any_joined


def _find(batch: _ImportBatch, ids: Ids) -> Plan[None]:
    """Find the records of the rows, and set the outcomes that the mode decides."""
    kind: Any = Contact if batch.record == "contact" else Company
    mode, pending = batch.options.mode, batch.pending
    batch.owners, records = yield from find_existing([batch.rows[index].creation for index in pending], kind)
    if (yield from _join(batch, ids)):
        batch.owners, records = yield from find_existing([batch.rows[index].creation for index in pending], kind)
    batch.records.update(records)
    if batch.record == "contact":
        yield from _leave_profiles_out(batch)
    yield from _load_first(batch, records.keys())
    if batch.record == "company":
        yield from _find_named(batch, [batch.rows[index].creation for index in pending])
    taken: dict[int, int] = {}
    numbers = {batch.rows[index].row.number: index for index in pending}
    by_name: dict[str, int] = {}
    for index in pending:
        row = batch.rows[index]
        owner = _owner(batch, index)
        if owner is None and index in batch.first and index not in batch.others and batch.outcomes[index] is None:
            owner = batch.ids.get(batch.first[index])  # which got the address that they share from a row between them
        if owner is None or owner not in batch.records:
            if batch.outcomes[index] is None and mode == "update":
                fields = [batch.options.match] if batch.options.match else [*_KEYS[batch.record]]
                detail = f"no {batch.record} has this {' or '.join(fields)}, and mode=update creates none"
                batch.outcomes[index] = RowOutcome(INVALID, detail)
            elif batch.outcomes[index] is None and (first := _first_row(batch, index, numbers, by_name)) is not None:
                _postpone(batch, index, first)
        elif owner in taken:
            _postpone(batch, index, taken[owner])
        elif mode == "create" and not (row.same_as and batch.records[owner].created_us >= batch.options.started_us):
            batch.outcomes[index] = RowOutcome(UNCHANGED, id=owner)
            taken[owner] = index
        else:
            taken[owner] = index
            batch.ids[index] = owner


def _leave_profiles_out(batch: _ImportBatch) -> Plan[None]:
    """Take the profile from rows whose addresses are not of the contact that has it: they are about other people.

    A row whose address somebody has is that person's, unless only the profile decides.
    """
    by_profile = batch.options.match == "linkedin_url"
    for index in batch.pending:
        row = batch.rows[index]
        record: Contact = row.creation.record
        owner = batch.owners.get((batch.client, "linkedin_key", record.linkedin_key))
        emails = keys_of(record, "email_key")
        if owner is None or (not by_profile and any((batch.client, "email_key", email) in batch.owners for email in emails)):
            continue
        if (yield from names_another(batch.records[owner], emails, record.external_id)):
            # Not in the row itself: a transaction that runs again needs it.
            alone = replace(record, linkedin_url=None, linkedin_key=None)
            batch.rows[index] = replace(row, creation=replace(row.creation, record=alone))
            batch.others.add(index)
            if row.profile_left_out:
                continue
            detail = f"contact {owner} has it, and another address"
            batch.cells.setdefault(index, []).append(("linkedin_url", str(record.linkedin_url), detail))


def _load_first(batch: _ImportBatch, loaded: Collection[int]) -> Plan[None]:
    """Load the records of the rows that earlier passes imported, for the later rows about them."""
    wanted = {batch.ids.get(batch.first[index], 0) for index in batch.pending if index in batch.first} - {0, *loaded}
    if wanted:
        statement, record_of, kind = (
            (CONTACT_TO_SHOW, contact_of, CONTACT_TYPE.kind)
            if batch.record == "contact"
            else (COMPANY_TO_SHOW, company_of, COMPANY_TYPE.kind)
        )
        rows = yield Execute(statement, [(batch.client, number) for number in sorted(wanted)])
        records: Any = yield from with_custom_fields(kind, [record_of(row) for row in rows])  # type: ignore[type-var]
        batch.records.update({record.id: record for record in records})


def _first_row(batch: _ImportBatch, index: int, numbers: Mapping[int, int], by_name: dict[str, int]) -> int | None:
    """Return the row of this pass that creates the record which a later row is about; None if there is none."""
    row = batch.rows[index]
    if row.same_as in numbers and index not in batch.first:
        return numbers[row.same_as]
    record = row.creation.record
    if isinstance(record, Company) and record.name:
        first = by_name.setdefault(fold_name(record.name), index)
        first_record = batch.rows[first].creation.record
        if first != index and isinstance(first_record, Company) and not (record.domain and first_record.domain):
            return first
    return None


def _postpone(batch: _ImportBatch, index: int, first: int) -> None:
    """Import a row after the one about the same record; a dry run has written nothing that it could fill."""
    if batch.options.dry_run:
        batch.outcomes[index] = RowOutcome(DUPLICATE, same_as(batch.record, batch.rows[first].row.number))
    else:
        batch.later.append(index)
        batch.first[index] = first
        batch.pending = [number for number in batch.pending if number != index]


def _owner(batch: _ImportBatch, index: int) -> int | None:
    """Return the id of a row's record; set the outcome of a row that cannot be matched."""
    record, match = batch.rows[index].creation.record, batch.options.match
    if not batch.owners and not match and isinstance(record, Contact):
        return None
    keys_by_name = _KEYS[batch.record]
    for column in [keys_by_name[match]] if match else keys_by_name.values():
        keys = keys_of(record, column)
        is_left_out = match == "linkedin_url" and (index in batch.others or batch.rows[index].profile_left_out)
        if not keys and match and not is_left_out:
            batch.outcomes[index] = RowOutcome(INVALID, f"has no {match}, by which records are matched")
            return None
        owner = next((owner for key in keys if (owner := batch.owners.get((batch.client, column, key))) is not None), None)
        if owner is not None:
            return owner
    if match:
        for name, column in keys_by_name.items():
            existing = batch.owners.get((batch.client, column, getattr(record, column)))
            if existing is not None and getattr(batch.records[existing], keys_by_name[match]) is None:
                return existing
            if existing is not None and batch.options.mode != "update":
                batch.outcomes[index] = RowOutcome(INVALID, f"{batch.record} {existing} has this {name}, and another {match}")
    elif isinstance(record, Company) and (named := _named(batch, record)) is not None:
        return named.id
    return None


def _find_named(batch: _ImportBatch, creations: Iterable[Creation[Company]]) -> Plan[None]:
    """Find the companies that rows may mean by their names."""
    wanted: set[tuple[int, str]] = set()
    for creation in creations:
        record = creation.record
        if record.name and (not record.domain or (batch.client, "domain", record.domain) not in batch.owners):
            wanted |= {(batch.client, lowered) for lowered in (record.name.lower(), _ascii_lower(record.name))}
    rows = (yield Execute(COMPANY_HAVING_NAME, sorted(wanted))) if wanted else []
    by_name: dict[str, list[Company]] = {}
    for company in {company.id: company for company in map(company_of, rows)}.values():
        by_name.setdefault(fold_name(company.name or ""), []).append(company)
    for name, companies in by_name.items():
        # Of several companies of one name the one without a domain, if any: it came by its name.
        fitting = companies if len(companies) == 1 else [company for company in companies if not company.domain]
        if fitting:
            batch.named[name] = min(fitting, key=lambda company: company.id)
    loaded = yield from with_custom_fields(COMPANY_TYPE.kind, [*batch.named.values()])
    batch.records.update({company.id: company for company in loaded} if batch.record == "company" else {})


def _ascii_lower(name: str) -> str:
    return name.lower() if name.isascii() else "".join(char.lower() if char.isascii() else char for char in name)


def _named(batch: _ImportBatch, record: Company) -> Company | None:
    """Return the company that has a row's name, unless both have a domain."""
    company = batch.named.get(fold_name(record.name or "")) if record.name else None
    return company if company is not None and not (company.domain and record.domain) else None


def _set_companies(batch: _ImportBatch, ids: Ids) -> Plan[None]:
    """Create or find the companies of the open rows, and set their ids in the rows' contacts.

    A company without a domain is the one of its name; one of a name alone gets the domain of a row that has both.
    """
    of_rows: dict[tuple[str, str], Creation[Company]] = {}
    wanting: dict[int, tuple[str, str]] = {}
    for index in batch.open:
        company = batch.rows[index].company
        if company is None:
            continue
        stays = batch.filled_before(index)
        # A row may give the company that an earlier row names its domain.
        if not stays or not stays & (_COMPANY_BY_DOMAIN if company.record.domain else _COMPANY_OF_CONTACT):
            identity = wanting[index] = _identity(company)
            of_rows.setdefault(identity, company)
    if not of_rows:
        return
    existing = yield from find_owners(list(of_rows.values()), Company)
    owners: dict[tuple[str, str], int] = {(str(key), ""): owner for (_, _, key), owner in existing.items()}
    unknown = {identity: company for identity, company in of_rows.items() if identity not in owners}
    if any(company.record.name for company in unknown.values()):
        yield from _find_named(batch, unknown.values())
    adopted, missing = _divide(batch, unknown, owners)
    for company in missing:
        company.on_duplicate, company.by = "error", batch.by
        company.record.created_us = company.record.updated_us = batch.at
    if adopted:
        yield from update_companies(list(adopted.values()), ids)
    if missing:
        results = yield from create_companies(missing, ids)
        for company, result in zip(missing, results, strict=True):
            if isinstance(result, TouchbaseError):
                raise SerializationConflict("a company was created at the same time")
            owners[_identity(company)] = company.record.id
    for index, identity in wanting.items():
        record = batch.rows[index].creation.record
        if isinstance(record, Contact):
            record.company_id = owners.get(identity) or batch.named[identity[1]].id


def _divide(
    batch: _ImportBatch, unknown: Mapping[tuple[str, str], Creation[Company]], owners: dict[tuple[str, str], int]
) -> tuple[dict[int, RecordUpdate[Any]], list[Creation[Company]]]:
    """Divide companies into ones that give an existing company its domain, and new ones; add `owners` of the ones that exist by name."""
    adopted: dict[int, RecordUpdate[Any]] = {}
    missing: list[Creation[Company]] = []
    # Rows with a domain first: of two rows about one company the one gives it, and the other has only the name.
    for identity, company in sorted(unknown.items(), key=lambda item: not item[0][0]):
        named = _named(batch, company.record)
        if named is None or (identity[0] and named.id in adopted):
            missing.append(company)
            if identity[0] and company.record.name:
                batch.named.setdefault(fold_name(company.record.name), company.record)
            continue
        owners[identity] = named.id
        if identity[0]:
            changes: dict[str, str | int | None] = {"domain": identity[0]}
            adopted[named.id] = RecordUpdate[Any](batch.client, named.id, changes, {}, batch.at, new_write_key(), by=batch.by)
    return adopted, missing


def _identity(company: Creation[Company]) -> tuple[str, str]:
    """Return the domain of a company, or without one its folded name."""
    record = company.record
    return (record.domain, "") if record.domain else ("", fold_name(record.name or ""))


def _check_companies(batch: _ImportBatch) -> Plan[None]:
    """Leave out the ids of companies that do not exist."""
    wanted = {
        index: company
        for index in batch.open
        if batch.rows[index].company is None and (company := getattr(batch.rows[index].creation.record, "company_id", None)) is not None
    }
    if not wanted:
        return
    there = {row[1] for row in (yield Execute(COMPANY_EXISTS, sorted({(batch.client, company) for company in wanted.values()})))}
    for index, company in wanted.items():
        if company not in there:
            batch.rows[index].creation.record.company_id = None
            batch.cells.setdefault(index, []).append(("company_id", str(company), "there is no company with this id"))


def _create(batch: _ImportBatch, indexes: Sequence[int], ids: Ids) -> Plan[None]:
    if not indexes or batch.options.dry_run:
        return
    creations: list[Any] = [batch.rows[index].creation for index in indexes]
    for new in creations:
        new.on_duplicate, new.by = "error", batch.by
        new.record.created_us = new.record.updated_us = batch.at
    run: Callable[..., Plan[list[object]]] = create_contacts if batch.record == "contact" else create_companies
    results = yield from run(creations, ids)
    for index, creation, result in zip(indexes, creations, results, strict=True):
        if result is NEEDS_TRANSACTION or isinstance(result, Conflict) or _is_outdated(result):
            raise SerializationConflict("another write came between the search and the creation")
        if isinstance(result, TouchbaseError):
            batch.refuse(index, result)
        else:
            batch.outcomes[index] = RowOutcome(CREATED, id=creation.record.id)
            batch.ids[index] = creation.record.id
    yield from _list_opt_outs(batch, indexes, creations, results)


def _update(batch: _ImportBatch, indexes: Sequence[int], ids: Ids) -> Plan[None]:
    updates: dict[int, Any] = {}
    for index in indexes:
        update = _change(batch, index, batch.records[batch.ids[index]])
        if update is not None:
            updates[index] = update
    if batch.options.dry_run:
        for index in updates.keys() - batch.restated:
            batch.outcomes[index] = RowOutcome(UPDATED)
    if not updates or batch.options.dry_run:
        return
    run: Callable[..., Plan[list[object]]] = update_contacts if batch.record == "contact" else update_companies
    results = yield from run(list(updates.values()), ids)
    for index, result in zip(updates, results, strict=True):
        if result is NEEDS_TRANSACTION or _is_outdated(result):
            raise SerializationConflict("another write came between the search and the change")
        if isinstance(result, TouchbaseError):
            batch.refuse(index, result)
        elif index not in batch.restated:
            batch.outcomes[index] = RowOutcome(UPDATED)
    yield from _list_opt_outs(batch, list(updates), list(updates.values()), results)


def _is_outdated(result: object) -> bool:
    """Return whether a record or company that was found has changed, or is not there any more."""
    is_without_company = isinstance(result, Invalid) and any(fault.code == "company_not_found" for fault in result.faults)
    return is_without_company or isinstance(result, NotFound | PreconditionFailed)


def _list_opt_outs(batch: _ImportBatch, indexes: Sequence[int], writes: Sequence[Any], results: Sequence[object]) -> Plan[None]:
    """Put the contacts on the list whose row has a status that opts out."""
    opts_out = cache(batch.settings.words(CONTACT_KIND).opts_out)
    opt_outs: list[StatusOptOut] = []
    for index, write, result in zip(indexes, writes, results, strict=True):
        contact = record_of(result)
        if not isinstance(contact, Contact) or not (opts_out(contact.status) or opts_out(contact.previous_status)):
            continue
        if (opt_out := opt_out_of(write, result, contact, opts_out, BY_IMPORT)) is not None:
            opt_outs.append(opt_out)
            batch.listed.add(index)
    yield from list_opt_outs(opt_outs, batch.at)


def _imported(batch: _ImportBatch) -> dict[int, RowOutcome]:
    return {
        index: outcome
        for index, outcome in enumerate(batch.outcomes)
        if outcome is not None and outcome.word in (CREATED, UPDATED, UNCHANGED, DUPLICATE)
    }


def _take_opt_outs(batch: _ImportBatch, ids: Ids) -> Plan[None]:
    """Put people who opted out by the file's columns on the do-not-contact list, unless they are on it."""
    wanted: dict[int, Addresses] = {}
    for index in _imported(batch) if any(row.opt_out for row in batch.rows) else ():
        record, existing = batch.rows[index].creation.record, batch.records.get(batch.ids.get(index, 0))
        if batch.rows[index].opt_out and isinstance(record, Contact):
            had = existing if isinstance(existing, Contact) else record
            wanted[index] = Addresses(record.email_key or had.email_key, record.linkedin_key or had.linkedin_key)
    if not wanted:
        return
    listed = yield from listed_kinds([batch.client])
    matches = yield from suppressed_items([(batch.client, addresses) for addresses in wanted.values()], listed, batch.at)
    causes: dict[Address, tuple[Address, Cause]] = {}
    for (index, addresses), match in zip(wanted.items(), matches, strict=True):
        if index in batch.listed:
            batch.outcomes[index] = _outcome(batch, index)._replace(opt_out=OPT_OUTS_TAKEN)
            continue
        if match is not None and match.listed == CLIENT_LIST and match.kind != DOMAIN and match.until_us is None:
            continue
        cause = Cause(f"import:{batch.by.request_id or ''}", batch.rows[index].opt_out, "import", batch.at, batch.at)
        own = {address: (address, cause) for address in ((EMAIL, addresses.email), (LINKEDIN_URL, addresses.linkedin)) if address[1]}
        if own.keys() & causes.keys():
            continue  # another row about the person
        causes |= own  # type: ignore[arg-type]
        batch.outcomes[index] = _outcome(batch, index)._replace(opt_out=OPT_OUTS_TAKEN)
    if causes and not batch.options.dry_run:
        yield from add_causes(batch.client, list(causes.values()), ids, batch.at)


def _mark_suppressed(batch: _ImportBatch) -> Plan[None]:
    """Mark the outcomes of the rows whose person or domain is on a do-not-contact list; they are imported like others."""
    rows = {
        index: (batch.rows[index], batch.records.get(batch.ids.get(index, 0)))
        for index, outcome in _imported(batch).items()
        if outcome.word != DUPLICATE
    }
    reasons = yield from suppressed_rows(batch.client, rows, batch.at)
    for index, reason in reasons.items():
        batch.outcomes[index] = _outcome(batch, index)._replace(suppressed=reason)
        row, existing = rows[index]
        if row.creation.record.status is not None and existing is not None and not row.opt_out and reason in OPTED_OUT:
            batch.kept_opt_outs.add(index)
    for index in batch.kept_opt_outs:
        batch.outcomes[index] = _outcome(batch, index)._replace(opt_out=KEPT_OPT_OUTS)


def _change(batch: _ImportBatch, index: int, existing: _Record) -> RecordUpdate[Any] | None:
    """Return the update that gives a record the values of a row; None if it has none to give.

    A value that the record has is written too, unless it is a key: an older event that arrives later must not replace it.
    """
    creation, stays = batch.rows[index].creation, batch.filled_before(index)
    new, kind = creation.record, CONTACT_TYPE if batch.record == "contact" else COMPANY_TYPE
    if stays & _COMPANY_OF_CONTACT:
        stays |= _COMPANY_OF_CONTACT
    changes: dict[str, str | int | None] = {}
    is_changed = False
    for field_ in kind.fields:
        value = getattr(new, field_.name)
        differs = value != getattr(existing, field_.name)
        if value and (differs or not field_.key) and field_.name not in stays:
            owner = batch.owners.get((batch.client, field_.key, getattr(new, field_.key))) if field_.key else None
            if owner is not None and owner != existing.id:
                batch.cells.setdefault(index, []).append((field_.name, str(value), f"{batch.record} {owner} has it"))
                continue
            changes[field_.name], is_changed = value, is_changed or differs
            if field_.key:
                changes[field_.key] = getattr(new, field_.key)
    words, transitions = batch.settings.words(kind.kind), kind.transitions(batch.settings)
    present = words.of(existing.status)
    if new.status is not None and kind.status not in stays and not (new.status == present and words.opts_out(existing.status)):
        allowed = None if transitions is None else transitions.get(present or "")
        if _keeps_opt_out(batch, creation, existing):
            batch.kept_opt_outs.add(index)
        elif allowed is not None and new.status not in (present, *allowed):
            detail = f"from {present!r} a record may go to: {', '.join(allowed) or 'nothing'}"
            batch.cells.setdefault(index, []).append((kind.status, new.status, detail))
        else:
            changes["status"], is_changed = new.status, is_changed or new.status != present
    values = {custom_field.name: custom_field.value for custom_field in existing.custom_fields}
    custom: dict[str, str | None] = {name: value for name, value in creation.custom if f"{CUSTOM}{name}" not in stays}
    is_changed = is_changed or any(values.get(name) != value for name, value in custom.items())
    added = by_key(further_emails(new))
    if isinstance(existing, Contact):
        added = {key: text for key, text in added.items() if key not in keys_of(existing, "email_key")}
    if not changes and not custom and not added:
        return None
    if not is_changed and not added:
        batch.restated.add(index)
    return RecordUpdate(
        batch.client, existing.id, changes, custom, batch.at, new_write_key(), if_updated_us=existing.updated_us, transitions=transitions,
        by=batch.by, words=words, by_key=True, is_person=True, further=added or None, adds=True,
    )  # fmt: skip


def _keeps_opt_out(batch: _ImportBatch, creation: Creation[Any], existing: _Record) -> bool:
    """Return whether a row carries another status over one that opts out: a list from elsewhere does not know of the opt-out."""
    if not isinstance(existing, Contact) or creation.record.status is None:
        return False
    opts_out = batch.settings.words(CONTACT_KIND).opts_out
    return opts_out(existing.status) and not opts_out(creation.record.status)


def _add_dates(batch: _ImportBatch) -> Plan[None]:
    """Add the dates of the rows that were not refused to their contacts' histories."""
    dated: dict[int, int] = {}
    events: dict[int, list[StoredEvent]] = {}
    for index in batch.pending:
        outcome, row, contact_id = batch.outcomes[index], batch.rows[index], batch.ids.get(index)
        if row.dates and contact_id is not None and (outcome is None or outcome.word in (CREATED, UPDATED)):
            new_events = _events(batch, index, batch.records.get(contact_id), contact_id)
            if new_events:
                dated[contact_id], events[contact_id] = index, new_events
    changed = set(events)
    if events and not batch.options.dry_run:
        changed = yield from add_history(batch.client, events, batch.at, batch.settings.words(CONTACT_KIND), batch.by)
    for contact_id in changed:
        if batch.outcomes[dated[contact_id]] is None:
            batch.outcomes[dated[contact_id]] = RowOutcome(UPDATED)


def _events(batch: _ImportBatch, index: int, existing: Contact | None, contact_id: int) -> list[StoredEvent]:
    """Return the events that the dates of a row are, except facts that the contact shows already."""
    stays = batch.filled_before(index)
    dates = {name: when for name, when in batch.rows[index].dates.items() if name not in stays}
    shown = set() if existing is None else {(SENT, existing.first_sent_us), (SENT, existing.last_sent_us), (REPLY, existing.last_reply_us)}
    facts = {(REPLY if name == LAST_REPLY else SENT, when) for name, when in dates.items()} - shown
    events: list[StoredEvent] = []
    for effect, when in sorted(facts):
        status, detail = _status(batch, effect), Detail({"by": batch.by} if any(batch.by) else {})
        if status is None and (word := status_word(Event(_EVENTS[effect]), effect)):
            detail["problems"] = {STATUS_REFUSED: word}
        events.append(
            StoredEvent(
                CONTACT_KIND, contact_id, when, f"{IMPORT}:{effect}", _EVENTS[effect], effect, status, IMPORT, IMPORT,
                None, None, batch.at, VIA_API, detail,
            )
        )  # fmt: skip
    return events


def _status(batch: _ImportBatch, effect: str) -> str | None:
    """Return the status that a mail or a reply sets, as for webhooks; None if the client has no such status."""
    word, declared = status_word(Event(_EVENTS[effect]), effect), batch.settings.contact_statuses
    if word is None or declared is None:
        return word
    return batch.settings.words(CONTACT_KIND).matching(word, declared.statuses)


MOST_JOINED = 1_000
"""Companies that one import joins with another by their name; the next one goes on."""


@query
def named_twins(client: int) -> Plan[list[tuple[int, int]]]:
    """Companies of which only the name is known, each with the only company that has this name and a domain."""
    sql = (
        "SELECT n.id, min(d.id) FROM company n JOIN company d ON d.client = n.client AND lower(d.name) = lower(n.name) "
        "AND d.name IS NOT NULL AND d.domain <> '' WHERE n.client = ? AND n.domain = '' AND n.name IS NOT NULL "
        "GROUP BY n.id HAVING count(*) = 1 ORDER BY n.id LIMIT ?"
    )
    return [(row[0], row[1]) for row in (yield Select(sql, (client, MOST_JOINED)))]


@command
def save_mapping(client: int, mapping: StoredMapping) -> Plan[TouchbaseError | None]:
    """Store a mapping, or replace the one of this name. `Invalid` if it is too long, `WrongState` above `MOST_MAPPINGS`."""
    text = encode(mapping.mapping)
    if (size := len(text.encode())) > MAPPING_BYTES:
        detail = f"stores a mapping of at most {MAPPING_BYTES:,} bytes, and this one has {size:,}; leave save_as out"
        return Invalid([Fault("/save_as", "too_long", detail)])
    others = "SELECT count(*) FROM import_mapping WHERE client = ? AND record = ? AND name <> ?"
    [(count,)] = yield Select(others, (client, mapping.record, mapping.name))
    if count >= MOST_MAPPINGS:
        path = "/public/v2/import-mappings/" + {"contact": "contacts", "company": "companies"}[mapping.record]
        return WrongState(f"this client has {count} stored mappings, and may have {MOST_MAPPINGS}; remove one (DELETE {path}/NAME)")
    yield Execute(SAVE_MAPPING, [(client, mapping.record, mapping.name, text, mapping.updated_us)])
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
