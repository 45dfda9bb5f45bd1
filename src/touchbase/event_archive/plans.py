"""Files of events: which are due, the events of one, and its row, which a begun upload gets only if nothing was erased meanwhile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from touchbase.clients.models import DELETING, MOVING
from touchbase.clients.sql.clients import CLIENT_BY_NUMBER, locked
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.deliveries.sql.objects import END_BEGUN, INSERT_REMOVAL, AwayBody, begin_objects, place_of
from touchbase.sql.builders import ROW_KEY, ROW_MATCH
from touchbase.sql.operation import command, query
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.rows import Columns, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

_FILE: Columns = (
    ("client", "bigint"), ("id", "bigint"), ("last_sequence", "bigint"), ("from_us", "bigint"), ("until_us", "bigint"),
    ("events", "bigint"), ("size", "bigint"), ("digest", "text"), ("merges", "text"), ("object", "text"), ("archived_us", "bigint"),
)  # fmt: skip
INSERT_FILE = Statement(
    "insert_event_file",
    _FILE,
    body=f"INSERT INTO event_file ({names(_FILE)}) SELECT {names(_FILE, 'p.')} FROM p WHERE true ON CONFLICT DO NOTHING RETURNING id",
)
REPLACE_FILE = Statement(
    "replace_event_file",
    (*ROW_KEY, ("former", "text"), ("object", "text"), ("events", "bigint"), ("size", "bigint"), ("digest", "text")),
    body="UPDATE event_file AS t SET object = p.object, events = p.events, size = p.size, digest = p.digest FROM p "
    f"WHERE {ROW_MATCH} AND t.object = p.former RETURNING t.id",
    by_row=True,
)
REMOVE_VOIDED = Statement(
    "remove_voided_object",
    (("client", "bigint"), ("place", "text"), ("at", "bigint")),
    body="UPDATE object_removal AS t SET due_us = p.at FROM p WHERE t.client = p.client AND t.place = p.place",
    by_row=True,
)
END_ERASURE = delete(
    "end_event_file_erasure",
    "event_file_erasure",
    (("client", "bigint"), ("record_kind", "bigint"), ("record_id", "bigint"), ("created_us", "bigint")),
)
EVENT = ("sequence", "type", "at", "record_kind", "record_id", "changed", "cause", "data")
"""The columns of the log that a file has."""
_TEXTS = [EVENT.index(name) for name in ("changed", "cause", "data")]
_WORKED_ON = f"c.state NOT IN ('{DELETING}', '{MOVING}')"


@dataclass(slots=True)
class EventFile:
    """A file with the events of a client from one sequence, its `id`, to another."""

    client: int
    id: int
    last_sequence: int
    from_us: Micros
    until_us: Micros
    events: int
    size: int
    digest: str
    """SHA-256 of the file."""
    merges: str
    object: str | None
    """None: the object storage has lost it."""
    archived_us: Micros


@query(scope=ALL_CLIENTS)
def clients_to_archive(before_us: Micros, after: int, limit: int) -> Plan[list[tuple[int, str, int, Micros]]]:
    """Clients behind a number whose oldest event in no file is from before this time: number and id, the event's sequence and time."""
    archived = "COALESCE((SELECT max(f.last_sequence) FROM event_file f WHERE f.client = c.id), 0)"
    first = f"(SELECT min(l.sequence) FROM logged_event l WHERE l.client = c.id AND l.sequence > {archived})"
    rows = yield Select(
        f"SELECT c.id, c.client_id, e.sequence, e.at FROM client c JOIN logged_event e ON e.client = c.id AND e.sequence = {first} "
        f"WHERE c.id > ? AND e.at < ? AND {_WORKED_ON} ORDER BY c.id LIMIT ?",
        (after, before_us, limit),
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


@query
def archived_to(client: int) -> Plan[int]:
    """The sequence up to which the client's events are in files; 0: there is none."""
    return (yield Select("SELECT COALESCE(max(last_sequence), 0) FROM event_file WHERE client = ?", (client,)))[0][0]  # type: ignore[no-any-return]


@query
def events_from(client: int, sequence: int, limit: int, page_bytes: int) -> Plan[list[Row]]:
    """The client's events from a sequence on, as `EVENT`; the page ends after so many bytes."""
    sql = f"SELECT {', '.join(EVENT)} FROM logged_event WHERE client = ? AND sequence >= ? ORDER BY sequence LIMIT ?"
    return (yield Select(sql, (client, sequence, limit), budget=ByteBudget(page_bytes, _TEXTS)))


@command(cipher=True, background=True)
def begin_event_file(cipher: Cipher, client: int, place: str, at: Micros) -> Plan[bytes]:
    """Note a file before its events are read; return the client's key. What is erased from now on voids it (`erase_in_files`)."""
    yield Execute(CLIENT_BY_NUMBER, [(client,)])
    key: bytes = yield from begin_objects.plan(cipher, client, [place], at)
    return key


@command(background=True)
def store_event_file(client: int, file: EventFile, former: str | None, since_us: Micros) -> Plan[bool]:
    """Store the row of an uploaded file, or let it have this object in place of its `former` one; else the upload is removed.

    `since_us`: When the erasure began that waits for the removal of the former one.
    """
    current, at, object_ = (yield from locked(client)), file.archived_us, file.object or ""
    begun = yield Execute(END_BEGUN, [(client, place_of(object_))])
    if not begun:  # something was erased while it was written
        yield Execute(REMOVE_VOIDED, [(client, place_of(object_), at)])
        return False
    stored: list[Row] = []
    if current is not None and current.deletion is None:
        if former is None:
            stored = yield Execute(INSERT_FILE, [tuple(getattr(file, name) for name, _ in _FILE)])
        else:
            stored = yield Execute(REPLACE_FILE, [(client, file.id, former, object_, file.events, file.size, file.digest)])
    if not stored:
        yield Execute(INSERT_REMOVAL, [(client, place_of(object_), 1, at, at)])
    elif former is not None:
        yield Execute(INSERT_REMOVAL, [(client, place_of(former), 1, min(since_us, at), at)])
    return bool(stored)


@command(background=True)
def lose_event_file(client: int, id: int, former: str, since_us: Micros, at: Micros) -> Plan[None]:
    """Note that a file cannot be read any more; what may be left of its object is removed."""
    if (yield Execute(REPLACE_FILE, [(client, id, former, None, 0, 0, "")])):
        yield Execute(INSERT_REMOVAL, [(client, place_of(former), 1, min(since_us, at), at)])


@query
def list_event_files(client: int, after: int, limit: int) -> Plan[list[EventFile]]:
    """The client's files behind one, oldest first."""
    rows = yield Select(f"SELECT {names(_FILE)} FROM event_file WHERE client = ? AND id > ? ORDER BY id LIMIT ?", (client, after, limit))
    return [EventFile(*row) for row in rows]


@query
def find_event_file(client: int, id: int) -> Plan[EventFile | None]:
    """One file; None if the client has none with this id."""
    rows = yield Select(f"SELECT {names(_FILE)} FROM event_file WHERE client = ? AND id = ?", (client, id))
    return EventFile(*rows[0]) if rows else None


@query(bodies=lambda content: [] if content is None else [content])
def read_event_file(client: int, id: int) -> Plan[AwayBody | None]:
    """The content of a file, in its `body`; None if there is none, or it is lost."""
    rows = yield Select("SELECT object FROM event_file WHERE client = ? AND id = ? AND object IS NOT NULL", (client, id))
    return AwayBody(client, id, rows[0][0]) if rows else None


@query(scope=ALL_CLIENTS)
def erasures_in_files(limit: int) -> Plan[list[tuple[int, int, int, Micros]]]:
    """What has to leave the files of one client: its number, kind and id of the record, and the time."""
    first = f"SELECT min(o.client) FROM event_file_erasure o JOIN client c ON c.id = o.client AND {_WORKED_ON}"
    rows = yield Select(
        f"SELECT e.client, e.record_kind, e.record_id, e.created_us FROM event_file_erasure e WHERE e.client = ({first}) "
        "ORDER BY e.record_kind, e.record_id, e.created_us LIMIT ?",
        (limit,),
    )
    return [(row[0], row[1], row[2], row[3]) for row in rows]


@command(background=True)
def end_erasures_in_files(client: int, erasures: Sequence[tuple[int, int, int, Micros]]) -> Plan[None]:
    """Store that no file of the client has these any more."""
    yield Execute(END_ERASURE, sorted(erasures))
