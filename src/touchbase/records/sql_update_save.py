"""Writing what updates changed: only the columns that they can have changed, because every index that holds one costs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from operator import itemgetter

from touchbase.history import statements as history_sql
from touchbase.history.events import CONTACT
from touchbase.records import statements as records_sql
from touchbase.records.company import Company
from touchbase.records.contact import Contact
from touchbase.records.projection import Record
from touchbase.records.rows import CONTACT as CONTACT_COLUMNS
from touchbase.records.rows import company_row, contact_row
from touchbase.sql.statement import Execute, Plan, Row, Statement

Key = tuple[int, int]
"""Client and id."""


def _of(columns: Collection[tuple[str, str]]) -> Callable[[Row], Row]:
    picked: Callable[[Row], Row] = itemgetter(*(place for place, column in enumerate(CONTACT_COLUMNS) if column in columns))
    return picked


fold_of, fold_status_of = _of(records_sql.FOLD_COLUMNS), _of(records_sql.FOLD_STATUS_COLUMNS)
"""What `FOLD_CONTACT` and `FOLD_CONTACT_STATUS` take of a contact's row."""
_KEYS = _of(set(CONTACT_COLUMNS) - set(records_sql.FOLD_STATUS_COLUMNS))
_STATUS = CONTACT_COLUMNS.index(("status", "text"))


def save_updates(
    kind: int,
    changed: Mapping[Key, Record],
    before: Mapping[Key, Row],
    events: Sequence[Row],
    customs: Sequence[Row],
) -> Plan[None]:
    """Write records that this transaction has loaded as `before`, their new events and their custom fields."""
    records = changed.values()
    if kind == CONTACT:
        yield from _save_contacts([contact_row(record) for record in records if isinstance(record, Contact)], before)
    else:
        yield Execute(records_sql.UPDATE_COMPANY, [company_row(record) for record in records if isinstance(record, Company)])
    if events:
        yield Execute(history_sql.INSERT_EVENT, events)
    if customs:
        latest = {(row[0], row[2], row[3]): row for row in customs}
        yield Execute(records_sql.SAVE_CUSTOM_FIELD, list(latest.values()))


def _save_contacts(rows: Sequence[Row], before: Mapping[Key, Row]) -> Plan[None]:
    by_op: dict[Statement, list[Row]] = {}
    for row in rows:
        old = before[row[0], row[1]]
        if _KEYS(row) != _KEYS(old):
            by_op.setdefault(records_sql.UPDATE_CONTACT, []).append(row)
        elif row[_STATUS] != old[_STATUS]:
            by_op.setdefault(records_sql.FOLD_CONTACT_STATUS, []).append(fold_status_of(row))
        else:
            by_op.setdefault(records_sql.FOLD_CONTACT, []).append(fold_of(row))
    for op, some in by_op.items():
        yield Execute(op, some)
