"""Notes: what people write down about a contact or company for their colleagues.

A note has an entry in the record's history, which says whose note it is: merges, their undo, deletions and erasures take it along.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound, PreconditionFailed, WrongState
from touchbase.event_log.models import EventType, LoggedEvent, by_request
from touchbase.event_log.sql.log import log_events
from touchbase.history import sql as history_sql
from touchbase.history.events import COMPANY, CONTACT, Author
from touchbase.history.sql import event_row
from touchbase.records.record_type import RECORD_TYPES
from touchbase.records.sql.statements import lock_existing
from touchbase.records.writes import request_entry
from touchbase.sql.builders import RECORD, ROW_KEY
from touchbase.sql.ids import Ids
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget, Cut
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

LONGEST_NOTE = 10_000
MOST_NOTES = 1_000
"""Notes on one record."""
NOTED = {CONTACT: "contact.noted", COMPANY: "company.noted"}
"""The events of the entries in histories, by the kind of record."""
CHANGED = "the note changed since it was read: read it again and repeat the change"


@dataclass(frozen=True, slots=True)
class Note:
    """A note of a person, or of a service by its key."""

    id: int
    event_key: str
    by: Author
    text: str
    mentions: list[str]
    """Ids of users."""
    created_us: Micros
    updated_us: Micros


_NOTE: Columns = (
    *ROW_KEY, ("event_key", "text"), ("author", "text"), ("text", "text"), ("mentions", "text"), ("created_us", "bigint"),
    ("updated_us", "bigint"),
)  # fmt: skip
_SHOWN = names(_NOTE[1:], "n.")
_IS_NOTE = f"e.event IN ({', '.join(repr(event) for event in NOTED.values())})"
_OF_RECORD = f"e.client = p.client AND e.record_kind = p.record_kind AND e.record_id = p.record_id AND {_IS_NOTE}"
INSERT_NOTE = Statement("insert_note", _NOTE, body=f"INSERT INTO note ({names(_NOTE)}) SELECT * FROM p WHERE true")
UPDATE_NOTE = Statement(
    "update_note",
    (*ROW_KEY, ("text", "text"), ("mentions", "text"), ("updated_us", "bigint")),
    body="UPDATE note t SET text = p.text, mentions = p.mentions, updated_us = p.updated_us FROM p "
    "WHERE t.client = p.client AND t.id = p.id",
    by_row=True,
)
DELETE_NOTE = delete("delete_note", "note", ROW_KEY)
COUNT_NOTES = Statement(
    "count_notes",
    RECORD,
    body=f"SELECT count(*) FROM p CROSS JOIN event e CROSS JOIN note t WHERE {_OF_RECORD} AND t.client = e.client AND t.event_key = e.key",
)
DELETE_NOTES = Statement(
    "delete_notes",
    RECORD,
    sqlite="DELETE FROM note WHERE client = ?1 AND event_key IN "
    f"(SELECT e.key FROM event e WHERE e.client = ?1 AND e.record_kind = ?2 AND e.record_id = ?3 AND {_IS_NOTE})",
    body=f"DELETE FROM note t USING p CROSS JOIN event e WHERE {_OF_RECORD} AND t.client = e.client AND t.event_key = e.key",
)
"""Run it before the events are deleted."""
NOTES_OF_EVENTS = Statement(
    "notes_of_events",
    (("client", "bigint"), ("event_key", "text")),
    body=f"SELECT {_SHOWN} FROM p CROSS JOIN note n WHERE n.client = p.client AND n.event_key = p.event_key",
)


def _note(row: Row) -> Note:
    return Note(row[0], row[1], Author(**msgspec.json.decode(row[2])), row[3], msgspec.json.decode(row[4]), row[5], row[6])


@command(ids="note")
def create_note(
    ids: Ids, client: int, kind: int, record_id: int, text: str, mentions: Sequence[str], at: Micros, key: str, by: Author
) -> Plan[Note | NotFound | WrongState]:
    """Store a note on a record; `NotFound` without the record, `WrongState` if it has `MOST_NOTES`.

    `key`: The key of its entry in the history, from `new_write_key`.
    """
    # The lock blocks merges, deletions and erasures of the record.
    yield from lock_existing(client, kind, [record_id])
    if (yield Execute(COUNT_NOTES, [(client, kind, record_id)]))[0][0] >= MOST_NOTES:
        return WrongState(f"the {RECORD_TYPES[kind].name} has {MOST_NOTES} notes, the most that one can have; delete an old one first")
    event = request_entry(kind, record_id, "noted", at, key, by)
    note = Note(ids.take("note"), key, by, text, list(mentions), at, at)
    yield Execute(history_sql.INSERT_EVENT, [event_row(client, event)])
    yield Execute(INSERT_NOTE, [(client, note.id, key, encode(by._asdict()), text, encode(note.mentions), at, at)])
    yield from _log(EventType.NOTE_CREATED, client, kind, record_id, note.id, mentions, at, by)
    return note


@command
def change_note(
    client: int, kind: int, record_id: int, id: int, text: str, mentions: Sequence[str], at: Micros, by: Author,
    if_updated_us: Micros | None = None,
) -> Plan[Note | NotFound | PreconditionFailed]:  # fmt: skip
    """Replace text and mentions of a note. `NotFound`; `PreconditionFailed` if `if_updated_us` is another time than the note's."""
    note: Note = yield from _lock(client, kind, record_id, id)
    if if_updated_us not in (None, note.updated_us):
        return PreconditionFailed(CHANGED)
    updated = max(at, note.updated_us + 1)
    yield Execute(UPDATE_NOTE, [(client, id, text, encode(list(mentions)), updated)])
    new = [user for user in mentions if user not in note.mentions]
    yield from _log(EventType.NOTE_UPDATED, client, kind, record_id, id, new, at, by)
    return Note(id, note.event_key, note.by, text, list(mentions), note.created_us, updated)


@command
def delete_note(
    client: int, kind: int, record_id: int, id: int, at: Micros, by: Author, if_updated_us: Micros | None = None
) -> Plan[NotFound | PreconditionFailed | None]:
    """Delete a note with its entry in the history. `NotFound`, `PreconditionFailed` as in `change_note`."""
    note: Note = yield from _lock(client, kind, record_id, id)
    if if_updated_us not in (None, note.updated_us):
        return PreconditionFailed(CHANGED)
    yield Execute(DELETE_NOTE, [(client, id)])
    yield Execute(history_sql.DELETE_EVENT, [(client, kind, record_id, note.created_us, note.event_key)])
    yield from _log(EventType.NOTE_DELETED, client, kind, record_id, id, (), at, by)
    return None


def _lock(client: int, kind: int, record_id: int, id: int) -> Plan[Note]:
    yield from lock_existing(client, kind, [record_id])
    note: Note | None = yield from _find(client, kind, record_id, id)
    if note is None:
        raise NotFound(f"the {RECORD_TYPES[kind].name} with id {record_id} has no note with id {id}")
    return note


def _log(type: EventType, client: int, kind: int, record_id: int, id: int, mentions: Sequence[str], at: Micros, by: Author) -> Plan[None]:
    data = {"note_id": id, "mentions": list(mentions)}
    yield from log_events([LoggedEvent(client, type, at, kind, record_id, cause=by_request(by), data=data)])


def _find(client: int, kind: int, record_id: int, id: int) -> Plan[Note | None]:
    rows = yield Select(
        f"SELECT {_SHOWN} FROM note n JOIN event e ON e.client = n.client AND e.record_kind = ? AND e.record_id = ? "
        "AND e.occurred_us = n.created_us AND e.key = n.event_key WHERE n.client = ? AND n.id = ?",
        (kind, record_id, client, id),
    )
    return _note(rows[0]) if rows else None


@query
def find_note(client: int, kind: int, record_id: int, id: int) -> Plan[Note | None]:
    """The note with this id on this record."""
    return (yield from _find(client, kind, record_id, id))


@query
def list_notes(
    client: int, kind: int, record_id: int, limit: int, before: tuple[Micros, int] | None = None, page_bytes: int = 0
) -> Plan[list[Note]]:
    """Notes on a record, newest first, before the time and id `before`; as many as have `page_bytes`, as a `Cut` if there are more."""
    condition, params = "", [client, kind, record_id]
    if before is not None:
        condition, params = " AND (n.created_us, n.id) < (?, ?)", [*params, *before]
    budget = ByteBudget(page_bytes, (3,)) if page_bytes else None
    rows = yield Select(
        f"SELECT {_SHOWN} FROM event e CROSS JOIN note n WHERE e.client = ? AND e.record_kind = ? AND e.record_id = ? AND {_IS_NOTE} "
        f"AND n.client = e.client AND n.event_key = e.key{condition} ORDER BY n.created_us DESC, n.id DESC LIMIT ?",
        (*params, limit),
        budget=budget,
    )
    notes = [_note(row) for row in rows]
    return Cut(notes) if budget is not None and budget.is_spent else notes


@query
def notes_of_events(client: int, keys: Sequence[str]) -> Plan[dict[str, Note]]:
    """The notes of these entries of histories, by the key of the entry."""
    rows = (yield Execute(NOTES_OF_EVENTS, [(client, key) for key in sorted(keys)])) if keys else []
    return {row[1]: _note(row) for row in rows}
