"""Records that the full-text index does not have yet, or not as they are: each write notes its record here, in its own transaction.

`search/sql/index.py` brings the index up to date. A note costs a write much less than the index would.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, itemgetter

from touchbase.history.events import CONTACT
from touchbase.records.models import Contact, Record
from touchbase.records.record_type import COMPANY_TYPE, CONTACT_TYPE
from touchbase.records.sql.rows import COMPANY as COMPANY_COLUMNS
from touchbase.records.sql.rows import CONTACT as CONTACT_COLUMNS
from touchbase.sql.builders import RECORD
from touchbase.sql.rows import Columns
from touchbase.sql.statement import Row, Statement

NOTE_FOR_SEARCH = Statement(
    "note_for_search",
    RECORD,
    sqlite_set="INSERT INTO search_pending (client, record_kind, record_id) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING",
    # An update, because it waits for a transaction that works the same note off: it may not have seen this write.
    body="INSERT INTO search_pending (client, record_kind, record_id) SELECT * FROM p "
    "ON CONFLICT (client, record_kind, record_id) DO UPDATE SET record_id = excluded.record_id",
)

_of_contact, _of_company = attrgetter(*CONTACT_TYPE.words), attrgetter(*COMPANY_TYPE.words)


def _in_row(columns: Columns, names: tuple[str, ...]) -> Callable[[Row], Row]:
    places = [name for name, _ in columns]
    picked: Callable[[Row], Row] = itemgetter(*(places.index(name) for name in names))
    return picked


_of_contact_row, _of_company_row = _in_row(CONTACT_COLUMNS, CONTACT_TYPE.words), _in_row(COMPANY_COLUMNS, COMPANY_TYPE.words)


def searched(record: Record) -> Row:
    """Return the values of a record that are in the index, without custom fields."""
    values: Row = _of_contact(record) if isinstance(record, Contact) else _of_company(record)
    return values


def searched_of(kind: int, row: Row) -> Row:
    """Return the searched texts of a record's row."""
    values: Row = _of_contact_row(row) if kind == CONTACT else _of_company_row(row)
    return values
