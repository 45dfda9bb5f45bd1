"""Statements on records, each on a set of rows (`sql/statement.py`), and the plan that loads custom fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Generic, TypeVar

from touchbase.event_log.sql.log import CREATION as CREATION_LOG
from touchbase.event_log.sql.log import creation_log
from touchbase.history.events import COMPANY as COMPANY_KIND
from touchbase.history.events import CONTACT as CONTACT_KIND
from touchbase.history.events import VIA_API
from touchbase.history.sql import EVENT
from touchbase.records.models import Company, Contact
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE, RECORD_TYPES, RecordType
from touchbase.records.sql.address_book import BOOK, free_keys, still_free_keys
from touchbase.records.sql.rows import (
    COMPANY,
    CONTACT,
    CUSTOM_FIELD,
    company_of,
    company_row,
    contact_of,
    contact_row,
    custom_field_of,
)
from touchbase.records.sql.status_moves import creation_moves
from touchbase.sql.builders import RECORD, RECORD_MATCH, ROW_KEY, ROW_MATCH, find, insert, key_columns, update
from touchbase.sql.dialect import parameter_table
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Row, Statement, delete

R = TypeVar("R", Contact, Company)

CREATION: Columns = (*ROW_KEY, ("at", "bigint"), ("effect", "text"), ("status", "text"), ("detail", "text"))
"""The columns of a record's first event that differ between creations."""


def _create(table: str, kind: int, columns: Columns, condition: str, name: str = "", held: str = "SELECT 1 WHERE false") -> Statement:
    """Insert records, and for the inserted ones their custom fields, the first event of their history, and a note for the
    full-text index; return their ids."""
    # In the order of their ids, which is that of the commands: of two that give one address the first makes the record.
    inserted = (
        f"INSERT INTO {table} ({names(columns)}) SELECT * FROM p WHERE {condition}{free_keys(kind)} ORDER BY p.id ON CONFLICT DO NOTHING"
    )
    customs = f"INSERT INTO custom_field ({names(CUSTOM_FIELD)})"
    # Values common to all creations are literals, so that they are not sent with each row.
    entries = (
        f"INSERT INTO event ({names(EVENT)}) SELECT r.client, {kind}, r.id, r.at, '', '{table}.created', r.effect, r.status, 'api', 'api', "
        f"NULL, NULL, r.at, {VIA_API}, r.detail, NULL FROM r"
    )
    noted = "INSERT INTO search_pending (client, record_kind, record_id) SELECT"
    there = f"EXISTS (SELECT 1 FROM {table} t WHERE t.client = {{0}}.client AND t.id = {{0}}.{{1}})"
    tables = f"WITH {parameter_table('p', columns)}, {parameter_table('q', CUSTOM_FIELD, len(columns) + 1)}, "
    behind = len(columns) + len(CUSTOM_FIELD) + 1
    insertion = (
        f"made AS ({inserted} RETURNING client, id, created_us, status, {', '.join(BOOK[kind])}), "
        f"more AS ({customs} SELECT q.* FROM q JOIN made ON made.client = q.client AND made.id = q.record_id), "
        f"entries AS ({entries} JOIN made ON made.client = r.client AND made.id = r.id), "
        f"noted AS ({noted} made.client, {kind}, made.id FROM made)"
    )
    ids = f"SELECT id FROM made WHERE {still_free_keys(kind, 'made')}"
    logged = Statement(
        name=f"log_and_{name or f'create_{table}'}",
        columns=columns,
        more_columns=CUSTOM_FIELD,
        last_columns=(*CREATION, *CREATION_LOG),
        postgres=(
            f"{tables}{parameter_table('r', (*CREATION, *CREATION_LOG), behind)}, held AS ({held}), {insertion}, {creation_moves(kind)}, "
            f"{creation_log(table, kind)} {ids}"
        ),
    )
    return Statement(
        name=name or f"create_{table}",
        logged=logged,
        columns=columns,
        more_columns=CUSTOM_FIELD,
        sqlite_set=inserted,
        more_set=f"{customs} SELECT * FROM q WHERE {there.format('q', 'record_id')}",
        last_columns=CREATION,
        last_set=f"{entries} WHERE {there.format('r', 'id')}",
        end_set=f"{noted} r.client, {kind}, r.id FROM r WHERE true",
        inserted_ids=f"SELECT t.id FROM p CROSS JOIN {table} t WHERE t.client = p.client AND t.id = p.id",
        postgres=f"{tables}{parameter_table('r', CREATION, behind)}, {insertion} {ids}",
    )


_COMPANY_IS_THERE = "(p.company_id IS NULL OR EXISTS (SELECT 1 FROM company c WHERE c.client = p.client AND c.id = p.company_id))"
# The statement itself checks for erasures, because the client may have been read before its first one.
_NONE_ERASED = "NOT EXISTS (SELECT 1 FROM erased e WHERE e.client = p.client)"
# The check of the foreign key locks these rows at the end of the statement, when the client's counter is locked already.
_COMPANIES = "SELECT c.id FROM p JOIN company c ON c.client = p.client AND c.id = p.company_id ORDER BY c.client, c.id FOR KEY SHARE OF c"
CREATE_CONTACT = _create("contact", CONTACT_KIND, CONTACT, f"{_COMPANY_IS_THERE} AND {_NONE_ERASED} AND ", held=_COMPANIES)
CREATE_CHECKED_CONTACT = _create("contact", CONTACT_KIND, CONTACT, f"{_COMPANY_IS_THERE} AND ", "create_checked_contact", _COMPANIES)
CREATE_COMPANY = _create("company", COMPANY_KIND, COMPANY, "")
INSERT_CONTACT = insert("contact", CONTACT, "id")
INSERT_COMPANY = insert("company", COMPANY, "id")
_SAME_EMAIL, _SAME_LINKEDIN = (f"t.client = p.client AND t.{column} = p.{column}" for column in ("email_key", "linkedin_key"))
_SAME_DOMAIN = "t.client = p.client AND t.domain = p.domain"
CONTACT_BY_ID = find("contact_by_id", "contact", CONTACT, ROW_KEY, ROW_MATCH, lock=True)
CONTACT_BY_EMAIL = find("contact_by_email", "contact", CONTACT, key_columns("email_key"), _SAME_EMAIL, lock=True)
CONTACT_BY_LINKEDIN = find("contact_by_linkedin", "contact", CONTACT, key_columns("linkedin_key"), _SAME_LINKEDIN, lock=True)
COMPANY_BY_ID = find("company_by_id", "company", COMPANY, ROW_KEY, ROW_MATCH, lock=True)
COMPANY_BY_DOMAIN = find("company_by_domain", "company", COMPANY, key_columns("domain"), _SAME_DOMAIN, lock=True)
CONTACT_TO_SHOW = find("contact_to_show", "contact", CONTACT, ROW_KEY, ROW_MATCH)
COMPANY_TO_SHOW = find("company_to_show", "company", COMPANY, ROW_KEY, ROW_MATCH)
COMPANY_EXISTS = find("company_exists", "company", ROW_KEY, ROW_KEY, ROW_MATCH)
CUSTOM_FIELDS_OF = find("custom_fields_of", "custom_field", CUSTOM_FIELD, RECORD, RECORD_MATCH)
CUSTOM_FIELDS_IN_ORDER = Statement(
    "custom_fields_in_order",
    (*RECORD, ("place", "bigint")),
    body=f"{CUSTOM_FIELDS_OF.body} ORDER BY p.place",
    sqlite_set=CUSTOM_FIELDS_OF.body,
)
"""The same, record by record in the order of `place`, which SQLite keeps by itself."""
FIRST_CUSTOM_FIELDS = 500
"""Custom fields that are read before their size is looked at: the ones of an ordinary page."""
# The columns that events usually change: not the keys, and not an unchanged status, because their indexes cost.
_KEYS = (
    "created_us", "email", "email_key", "further_emails", "linkedin_url", "linkedin_key", "company_id", "external_id", "from_api",
    "initial_status",
)  # fmt: skip
FOLD_STATUS_COLUMNS = tuple(column for column in CONTACT if column[0] not in _KEYS)
FOLD_COLUMNS = tuple(column for column in FOLD_STATUS_COLUMNS if column[0] not in ("status", "status_path"))
FOLD_CONTACT = update("fold_contact", "contact", FOLD_COLUMNS)
FOLD_CONTACT_STATUS = update("fold_contact_status", "contact", FOLD_STATUS_COLUMNS)
UPDATE_CONTACT = update("update_contact", "contact", CONTACT)
UPDATE_COMPANY = update("update_company", "company", COMPANY)
MOVE_CONTACT = update("move_contact", "contact", (*ROW_KEY, ("company_id", "bigint"), ("updated_us", "bigint"), ("stamps", "text")))
"""Updates contacts of which only the company changed: tens of thousands at once, in half the time of `UPDATE_CONTACT`."""
SAVE_CUSTOM_FIELD = Statement(
    "save_custom_field",
    CUSTOM_FIELD,
    body=f"INSERT INTO custom_field ({names(CUSTOM_FIELD)}) SELECT * FROM p WHERE true "
    "ON CONFLICT (client, record_kind, record_id, name) DO UPDATE SET value = excluded.value, updated_us = excluded.updated_us, "
    "priority = excluded.priority, stamped_us = excluded.stamped_us, stamp_key = excluded.stamp_key",
)
DELETE_CUSTOM_FIELDS_OF = delete("delete_custom_fields_of", "custom_field", RECORD)
DELETE_CONTACT = delete("delete_contact", "contact", ROW_KEY)
DELETE_COMPANY = delete("delete_company", "company", ROW_KEY)
MOVE_CONTACTS_TO_COMPANY = Statement(
    "move_contacts_to_company",
    (*ROW_KEY, ("to_id", "bigint"), ("at", "bigint")),
    body="UPDATE contact t SET company_id = p.to_id, updated_us = CASE WHEN p.at > t.updated_us THEN p.at ELSE t.updated_us + 1 END "
    "FROM p WHERE t.client = p.client AND t.company_id = p.id RETURNING t.id",
    by_row=True,
)


@dataclass(frozen=True, slots=True)
class RecordTable(Generic[R]):
    """How records of one type are stored."""

    kind: RecordType[R]
    columns: Columns
    selected: str
    """The columns, in the text of a statement."""
    record_of: Callable[[Row], R]
    row_of: Callable[[R], Row]
    by_id: Statement
    """Finds and locks (`lock_records`)."""
    to_show: Statement
    """Finds records by their ids and locks nothing."""


CONTACTS = RecordTable(
    CONTACT_TYPE,
    CONTACT,
    names(CONTACT),
    contact_of,
    contact_row,
    CONTACT_BY_ID,
    CONTACT_TO_SHOW,
)
COMPANIES = RecordTable(
    COMPANY_TYPE,
    COMPANY,
    names(COMPANY),
    company_of,
    company_row,
    COMPANY_BY_ID,
    COMPANY_TO_SHOW,
)
TABLES: dict[int, RecordTable[Any]] = {CONTACT_KIND: CONTACTS, COMPANY_KIND: COMPANIES}


def lock_records(client: int, kind: int, numbers: Iterable[int]) -> Plan[list[Row]]:
    """Lock records until the transaction ends, in the order of their ids; return the rows of existing ones.

    Plans lock in one order, so that two that share records wait instead of deadlocking: the client (`records/sql/create.lock_clients`), if
    they rely on more than their own record, then the records, then what belongs to them.
    """
    return (yield Execute(TABLES[kind].by_id, [(client, number) for number in sorted(numbers)]))


def lock_existing(client: int, kind: int, numbers: Sequence[int]) -> Plan[list[Row]]:
    """Lock records that must exist, in the order of `numbers`; raises `NotFound` for the first one that does not."""
    rows = {row[1]: row for row in (yield from lock_records(client, kind, numbers))}
    for number in numbers:
        if number not in rows:
            raise RECORD_TYPES[kind].missing(number)
    return [rows[number] for number in numbers]


_BY_CREATION = itemgetter(10, 4)
"""Of a `CUSTOM_FIELD` row: its time of creation, then its id."""


def with_custom_fields(kind: int, records: Sequence[R]) -> Plan[list[R]]:
    """Load all custom fields of these records, also the removed ones, oldest first; return the records."""
    if records:
        by_record = {(record.client, record.id): record for record in records}
        rows = yield Execute(CUSTOM_FIELDS_OF, [(client, kind, number) for client, number in by_record])
        for row in sorted(rows, key=_BY_CREATION):
            by_record[row[0], row[2]].custom_fields.append(custom_field_of(row))
    return list(records)


def with_custom_fields_within(kind: int, records: Sequence[R], page_bytes: int) -> Plan[Sequence[R]]:
    """Load the custom fields of records in their order, until a page has so many bytes; return the records with their fields, at least one.

    0 bytes: no limit. A `Cut` is returned if records are left.
    """
    if not records or not page_bytes:
        return (yield from with_custom_fields(kind, records))
    budget = ByteBudget(page_bytes, (3, 5), FIRST_CUSTOM_FIELDS)
    by_record = {(record.client, record.id): record for record in records}
    keys = [(client, kind, number, place) for place, (client, number) in enumerate(by_record)]
    rows = yield Execute(CUSTOM_FIELDS_IN_ORDER, keys, budget=budget)
    if budget.is_spent:
        last = rows[-1][:3]  # some of its fields may be left
        complete = next(place for *key, place in keys if tuple(key) == last)
        if not complete:
            return Cut((yield from with_custom_fields(kind, records[:1])))
        rows = [row for row in rows if row[:3] != last]
        records = Cut(records[:complete])
    for row in sorted(rows, key=_BY_CREATION):
        by_record[row[0], row[2]].custom_fields.append(custom_field_of(row))
    return records


def load_custom_fields(kind: int, records: Sequence[Contact | Company]) -> Plan[None]:
    """Load the custom fields of records of one kind that have none loaded."""
    loaded: list[Any] = [*records]
    yield from with_custom_fields(kind, loaded)
