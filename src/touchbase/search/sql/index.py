"""Plans that keep the full-text index: they read the records that writes have noted, and store their words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from touchbase.clients.sql.removal import DELETE_WORDS
from touchbase.custom_fields.uses import outdate_parts
from touchbase.history.events import COMPANY, CONTACT
from touchbase.records.sql.rows import COMPANY as COMPANY_COLUMNS
from touchbase.records.sql.rows import CONTACT as CONTACT_COLUMNS
from touchbase.records.sql.rows import company_of, contact_of
from touchbase.records.sql.search_pending import NOTE_FOR_SEARCH
from touchbase.records.sql.statements import with_custom_fields_within
from touchbase.search.words import indexed_words, rowid
from touchbase.sql.builders import RECORD, ROW_KEY, ROW_MATCH
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, lock

INDEXED_BYTES = 1_048_576
"""Bytes of custom fields of the records that one transaction indexes, of at least one record."""
# Two transactions that index one record could store its words in the wrong order. The subquery has no row, but locks the table as the reads
# of its records do: an erasure that has locked it waits for the notes that this transaction takes next.
LOCK = lock(
    "lock_search_index",
    (("client", "bigint"),),
    "SELECT pg_advisory_xact_lock(1400138083, CAST(p.client % 2147483647 AS integer)) FROM p "
    "LEFT JOIN LATERAL (SELECT t.id FROM contact t WHERE t.client = p.client LIMIT 0 FOR KEY SHARE OF t) x ON true",
)
TAKE_PENDING = Statement(
    "take_search_pending",
    (("client", "bigint"), ("most", "bigint")),
    sqlite="DELETE FROM search_pending WHERE client = ?1 AND (record_kind, record_id) IN (SELECT record_kind, record_id "
    "FROM search_pending WHERE client = ?1 ORDER BY record_kind, record_id LIMIT ?2) RETURNING record_kind, record_id",
    body="DELETE FROM search_pending t USING p WHERE t.client = p.client AND t.ctid = ANY(ARRAY(SELECT s.ctid FROM search_pending s "
    "WHERE s.client = (SELECT client FROM p) ORDER BY s.record_kind, s.record_id LIMIT (SELECT most FROM p) FOR UPDATE SKIP LOCKED)) "
    "RETURNING t.record_kind, t.record_id",
)
# A removal of the record waits for the lock, and then finds the words. A record that a write has locked is left out: that write may
# wait for the note of the record, which this transaction has taken.
_LOCK = " ORDER BY t.client, t.id FOR KEY SHARE OF t SKIP LOCKED"
CONTACT_TO_INDEX = Statement(
    "contact_to_index", ROW_KEY, body=f"SELECT {names(CONTACT_COLUMNS, 't.')} FROM p CROSS JOIN contact t WHERE {ROW_MATCH}", lock=_LOCK
)
COMPANY_TO_INDEX = Statement(
    "company_to_index", ROW_KEY, body=f"SELECT {names(COMPANY_COLUMNS, 't.')} FROM p CROSS JOIN company t WHERE {ROW_MATCH}", lock=_LOCK
)
EXISTING_TO_INDEX = Statement(
    "existing_to_index",
    RECORD,
    body=f"SELECT p.record_kind, p.record_id FROM p WHERE (p.record_kind = {CONTACT} AND EXISTS (SELECT 1 FROM contact t "
    f"WHERE t.client = p.client AND t.id = p.record_id)) OR (p.record_kind = {COMPANY} AND EXISTS (SELECT 1 FROM company t "
    "WHERE t.client = p.client AND t.id = p.record_id))",
)
_WORDS: Columns = (("client", "bigint"), ("record", "bigint"), ("words", "text"))
# SQLite's index is changed word by word: to write a word of a record costs it much more than to read the words that it has.
WORDS_OF = Statement(
    "search_words_of",
    _WORDS[:2],
    sqlite_set="SELECT p.record, COALESCE(w.words, '') FROM p LEFT JOIN search_words w ON w.record = p.record",
    body="SELECT p.record, '' FROM p WHERE false",
)
"""Record and words; no row on PostgreSQL, whose index has the words of a record in one row."""
# Many rows at once: after each statement FTS5 writes what it has to its tables, which takes longer than the words themselves.
ADD_WORDS = Statement(
    "add_search_words",
    _WORDS,
    sqlite_set="INSERT INTO search_index (rowid, words) SELECT record, words FROM p",
    body="SELECT 1 FROM p WHERE false",
)
REMOVE_WORDS = Statement(
    "take_search_words",
    _WORDS,
    sqlite_set="INSERT INTO search_index (search_index, rowid, words) SELECT 'delete', record, words FROM p",
    body="SELECT 1 FROM p WHERE false",
)
STORE_WORDS = Statement(
    "store_search_words",
    _WORDS,
    sqlite_set="INSERT INTO search_words (record, words) SELECT record, words FROM p WHERE true "
    "ON CONFLICT (record) DO UPDATE SET words = excluded.words",
    body="INSERT INTO search_index (client, record, words) SELECT p.client, p.record, CAST(p.words AS tsvector) FROM p WHERE true "
    "ON CONFLICT (client, record) DO UPDATE SET words = excluded.words WHERE search_index.words IS DISTINCT FROM excluded.words",
)


@command(background=True)
def index_records(client: int, most: int = 100) -> Plan[int]:
    """Bring up to `most` noted records of a client into the index; fewer if they have very many custom fields.

    The result is less than `most` only if no other notes were waiting, except of records that writes have locked.
    """
    yield Execute(LOCK, [(client,)])
    taken = yield Execute(TAKE_PENDING, [(client, most)])
    noted = {(kind, number) for kind, number in taken}
    yield from outdate_parts(client, noted)
    contacts = yield Execute(CONTACT_TO_INDEX, sorted((client, number) for kind, number in noted if kind == CONTACT))
    companies = yield Execute(COMPANY_TO_INDEX, sorted((client, number) for kind, number in noted if kind == COMPANY))
    existing: dict[int, list[Any]] = {CONTACT: [*map(contact_of, contacts)], COMPANY: [*map(company_of, companies)]}
    left = {(kind, record.id) for kind, records in existing.items() for record in records}
    absent = sorted((client, *note) for note in noted - left)
    locked = {(kind, number) for kind, number in (yield Execute(EXISTING_TO_INDEX, absent))} if absent else set()
    yield from forget_words(client, noted - left - locked)
    for kind, records in existing.items():
        loaded = yield from with_custom_fields_within(kind, records, INDEXED_BYTES)
        yield from _store_words(sorted((client, rowid(kind, record.id), indexed_words(record)) for record in loaded))
        left -= {(kind, record.id) for record in loaded}
        if len(loaded) < len(records):
            break
    if left or locked:
        yield Execute(NOTE_FOR_SEARCH, [(client, kind, number) for kind, number in sorted(left | locked)])
    return most if left else len(taken)


def _store_words(rows: Sequence[Row]) -> Plan[None]:
    """Bring the words of records into the index."""
    stored: dict[int, str] = dict((yield Execute(WORDS_OF, [row[:2] for row in rows])))
    changed = [row for row in rows if stored.get(row[1]) != row[2]]
    for statement, old, new in ((REMOVE_WORDS, 1, 0), (ADD_WORDS, 0, 1)) if stored else ():
        texts = ((row, (row[2], stored[row[1]])) for row in changed)
        differing = [(*row[:2], _difference(pair[old], pair[new])) for row, pair in texts]
        yield Execute(statement, [row for row in differing if row[2]])
    if changed:
        yield Execute(STORE_WORDS, changed)


def _difference(words: str, others: str) -> str:
    """Return the words that are not among the others."""
    return " ".join(sorted({*words.split()} - {*others.split()})) if words and others else words


def forget_words(client: int, records: Iterable[tuple[int, int]]) -> Plan[None]:
    """Remove records of a client, by kind and id, from the index."""
    if gone := sorted((client, rowid(kind, number)) for kind, number in records):
        yield Execute(DELETE_WORDS, gone)


@query(scope=ALL_CLIENTS)
def next_to_index(after: int = 0) -> Plan[int | None]:
    """The number of the next client after `after` with records to index."""
    rows = yield Select("SELECT client FROM search_pending WHERE client > ? ORDER BY client LIMIT 1", (after,))
    return rows[0][0] if rows else None
