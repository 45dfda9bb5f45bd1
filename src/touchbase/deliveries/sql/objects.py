"""Bodies in object storage: which deliveries name an object, which objects are begun or being removed, and the keys of clients.

A row of `object_removal` is written before an object is uploaded. The transaction that lets a delivery name the object deletes that row;
after a kill in between the object is removed once the row is due.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from secrets import token_bytes

from touchbase.clients.models import DELETING, MOVING
from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import SECOND, Micros
from touchbase.deliveries.delivery import FAILED, RECEIVED
from touchbase.deliveries.sql.statements import AWAY, BODY, BUSY, IS_AWAY
from touchbase.encryption.encrypted_columns import OBJECT_KEY_TABLE, decrypt_row, encrypt_row
from touchbase.sql.builders import ROW_KEY, ROW_MATCH, insert
from touchbase.sql.cell_answers import AnswerMerge, Answers
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

BEGUN_US: Micros = 3600 * SECOND
"""How long an upload may take, and how long the object of a restored body stays for those who were about to read it."""
RETRY_US: Micros = 60 * SECOND
"""Interval between two attempts to remove an object."""
KEY_BYTES = 32

_KEY: Columns = (("client", "bigint"), ("secret", "text"))
_PLACE: Columns = (("client", "bigint"), ("place", "text"))
_REMOVAL: Columns = (*_PLACE, ("is_removing", "bigint"), ("created_us", "bigint"), ("due_us", "bigint"))
_OBJECT: Columns = (*ROW_KEY, ("object", "text"))
INSERT_KEY = insert("object_key", _KEY)
INSERT_REMOVAL = insert("object_removal", _REMOVAL)
END_BEGUN = Statement(
    "end_begun",
    _PLACE,
    body="DELETE FROM object_removal t USING p WHERE t.client = p.client AND t.place = p.place AND t.is_removing = 0 RETURNING t.place",
    by_row=True,
)
END_REMOVAL = delete("end_removal", "object_removal", _PLACE)
CLAIM_REMOVAL = Statement(
    "claim_removal",
    (*_PLACE, ("due_us", "bigint")),
    body="UPDATE object_removal t SET is_removing = 1, due_us = p.due_us FROM p WHERE t.client = p.client AND t.place = p.place "
    "RETURNING t.client, t.place",
    by_row=True,
)
# The conditions are on the row itself, so that they hold after waiting for a replay, a removal, or the deletion of the body.
NAME_OBJECT = Statement(
    "name_object",
    _OBJECT,
    body=f"UPDATE delivery AS t SET object = p.object FROM p WHERE {ROW_MATCH} AND t.state <> '{RECEIVED}' AND t.body_removed IS NULL "
    "AND t.object IS NULL RETURNING t.id",
    by_row=True,
)
LEAVE_OBJECT = Statement(
    "leave_object",
    _OBJECT,
    body="UPDATE delivery AS t SET object = NULL, "
    f"next_attempt_us = CASE WHEN t.{IS_AWAY} THEN t.next_attempt_us - {AWAY} ELSE t.next_attempt_us END "
    f"FROM p WHERE {ROW_MATCH} AND t.object = p.object AND t.body_removed IS NULL RETURNING t.id",
    by_row=True,
)
FAIL_LOST = Statement(
    "fail_lost_body",
    (*_OBJECT, ("error", "text")),
    body=f"UPDATE delivery AS t SET state = '{FAILED}', error = p.error, next_attempt_us = 0 FROM p "
    f"WHERE {ROW_MATCH} AND t.object = p.object AND t.state = '{RECEIVED}' RETURNING t.id",
    by_row=True,
)
FORGET_OBJECT = Statement("forget_object", ROW_KEY, body=f"UPDATE delivery AS t SET object = NULL FROM p WHERE {ROW_MATCH}", by_row=True)
DELETE_BODY = delete("delete_body", "delivery_body", ROW_KEY, "id")
INSERT_BODY = insert("delivery_body", BODY)


@dataclass(slots=True)
class AwayBody:
    """A delivery with what was received; with an `object` the loader reads that from object storage."""

    client: int
    id: int
    object: str | None
    query: str = ""
    headers: bytes = b""
    body: bytes = b""
    lost: str | None = None
    """Why the body cannot be had any more."""


@dataclass(frozen=True, slots=True)
class MovablePage:
    """Deliveries whose bodies are due for object storage, and the delivery (client, id) that the page ends with; None: the last page."""

    due: list[tuple[int, int, int]]
    """Client, id, and bytes."""
    last: tuple[int, int] | None


def place_of(text: str) -> str:
    """Return the object's key in the bucket."""
    return text.partition(" ")[0]


def release_objects(client: int, objects: Sequence[tuple[int, str]], at: Micros) -> Plan[None]:
    """Let these objects (delivery, `object`) be removed; without the salt in the delivery nobody can decrypt them any more."""
    if objects:
        yield Execute(FORGET_OBJECT, [(client, number) for number, _ in objects])
        yield Execute(INSERT_REMOVAL, [(client, place_of(text), 1, at, at) for _, text in objects])


@query(scope=ALL_CLIENTS)
def movable_page(after: tuple[int, int], min_bytes: int, before_us: Micros, most: int) -> Plan[MovablePage]:
    """Examine the next `most` deliveries of all clients: which have bodies of at least `min_bytes`, or were received before `before_us`."""
    is_due = (
        f"d.object IS NULL AND d.body_removed IS NULL AND d.state <> '{RECEIVED}' AND d.size > 0 AND (d.size >= ? OR d.received_us < ?) "
        f"AND c.state NOT IN ('{DELETING}', '{MOVING}')"
    )
    rows = yield Select(
        "WITH w AS (SELECT client, id, object, body_removed, state, size, received_us FROM delivery WHERE (client, id) > (?, ?) "
        f"ORDER BY client, id LIMIT ?) SELECT d.client, d.id, d.size, CASE WHEN {is_due} THEN 1 ELSE 0 END FROM w d "
        "JOIN client c ON c.id = d.client ORDER BY d.client, d.id",
        (*after, most, min_bytes, before_us),
    )
    return MovablePage([(row[0], row[1], row[2]) for row in rows if row[3]], (rows[-1][0], rows[-1][1]) if rows else None)


@query
def bodies_to_move(client: int, ids: list[int]) -> Plan[list[AwayBody]]:
    """Read what was received with these deliveries, as far as it is in the database."""
    marks = ", ".join("?" * len(ids))
    rows = yield Select(
        f"SELECT id, query, headers, body FROM delivery_body WHERE client = ? AND id IN ({marks}) ORDER BY id", (client, *sorted(ids))
    )
    return [AwayBody(client, row[0], None, row[1], bytes(row[2]), bytes(row[3])) for row in rows]


@command(cipher=True, background=True)
def begin_objects(cipher: Cipher, client: int, places: list[str], at: Micros) -> Plan[bytes]:
    """Note objects that are about to be uploaded; return the client's key, which is made with the first object."""
    rows = yield Select(_KEY_OF, (client,))
    if not rows:
        new = (client, b64encode(token_bytes(KEY_BYTES)).decode())
        yield Execute(INSERT_KEY, [(yield from encrypt_row(cipher, OBJECT_KEY_TABLE, _KEY, new))])
        rows = yield Select(_KEY_OF, (client,))
    yield Execute(INSERT_REMOVAL, [(client, place, 0, at, at + BEGUN_US) for place in sorted(places)])
    return _key(cipher, rows[0])


_KEY_OF = "SELECT client, secret FROM object_key WHERE client = ?"


def _key(cipher: Cipher, row: Row) -> bytes:
    return b64decode(decrypt_row(cipher, OBJECT_KEY_TABLE, _KEY, row)[1])


@query(cipher=True)
def find_object_key(cipher: Cipher, client: int) -> Plan[bytes | None]:
    """Return the key of a client's objects, or None if it has none. Raises `DecryptionFailed`."""
    rows = yield Select(_KEY_OF, (client,))
    return _key(cipher, rows[0]) if rows else None


@command(background=True)
def name_objects(client: int, uploaded: list[tuple[int, str]], at: Micros) -> Plan[list[int]]:
    """Let deliveries name their uploaded objects (delivery, `object`), and delete the bodies; return the deliveries for which it was done.

    A delivery that was replayed or lost its body meanwhile stays as it is, and its object is removed.
    """
    begun = yield Execute(END_BEGUN, sorted((client, place_of(text)) for _, text in uploaded))
    places = {row[0] for row in begun}
    named = yield Execute(NAME_OBJECT, sorted((client, number, text) for number, text in uploaded if place_of(text) in places))
    ids = {row[0] for row in named}
    if ids:
        yield Execute(DELETE_BODY, [(client, number) for number in sorted(ids)])
    others = [(client, place_of(text), 1, at, at) for number, text in uploaded if number not in ids and place_of(text) in places]
    if others:
        yield Execute(INSERT_REMOVAL, others)
    return sorted(ids)


@query(scope=ALL_CLIENTS, bodies=list)
def wanted_bodies(most: int) -> Plan[list[AwayBody]]:
    """Return replayed deliveries whose bodies are in object storage, with these bodies."""
    rows = yield Select(
        f"{BUSY} SELECT d.client, d.id, d.object FROM busy b JOIN delivery d ON d.client = b.client AND d.state = 'received' "
        f"AND d.{IS_AWAY} JOIN client c ON c.id = d.client AND c.state <> '{MOVING}' "
        "ORDER BY d.client, d.next_attempt_us, d.id LIMIT ?",
        (most,),
    )
    return [AwayBody(*row) for row in rows]


@command(large=True, background=True)
def restore_body(client: int, body: AwayBody, at: Micros) -> Plan[bool]:
    """Store a body in the database again, so that its delivery can be applied; its object is removed later.

    One that is lost makes the delivery fail.
    """
    assert body.object is not None
    if body.lost is not None:
        return bool((yield Execute(FAIL_LOST, [(client, body.id, body.object, body.lost)])))
    if not (yield Execute(LEAVE_OBJECT, [(client, body.id, body.object)])):
        return False
    yield Execute(INSERT_BODY, [(client, body.id, body.query, body.headers, body.body)])
    yield Execute(INSERT_REMOVAL, [(client, place_of(body.object), 1, at, at + BEGUN_US)])
    return True


@command(scope=ALL_CLIENTS, background=True)
def claim_removals(at: Micros, most: int) -> Plan[list[tuple[int, str]]]:
    """Claim objects (client, place) that are due to be removed; from now on no delivery may name them."""
    rows = yield Select(
        "SELECT client, place FROM object_removal WHERE due_us <= ? "
        f"AND client NOT IN (SELECT id FROM client WHERE state = '{MOVING}') ORDER BY due_us, client, place LIMIT ?",
        (at, most),
    )
    if not rows:
        return []
    claimed = yield Execute(CLAIM_REMOVAL, sorted((*row, at + RETRY_US) for row in rows))
    return [(row[0], row[1]) for row in claimed]


@command(scope=ALL_CLIENTS, background=True)
def end_removals(objects: list[tuple[int, str]]) -> Plan[None]:
    """Forget objects that the object storage has no more."""
    yield Execute(END_REMOVAL, sorted(objects))


@query
def waits_for_objects(client: int, until_us: Micros) -> Plan[bool]:
    """Return whether an object is still to be removed or rewritten, or is being uploaded, since this time or before it."""
    waits = "WHERE client = ? AND created_us <= ?"
    sql = f"SELECT 1 FROM object_removal {waits} UNION ALL SELECT 1 FROM event_file_erasure {waits} LIMIT 1"
    return bool((yield Select(sql, (client, until_us, client, until_us))))


@dataclass(frozen=True, slots=True)
class ObjectCounts:
    """Objects that wait for their removal, since when the oldest does, bodies that a replay waits for, and erasures in files of events."""

    removals: int
    oldest_us: Micros | None
    wanted: int
    erasures: int = 0


def _added(_: object, answers: Answers) -> ObjectCounts:
    oldest = [counts.oldest_us for counts in answers.values() if counts.oldest_us is not None]
    removals, wanted, erasures = (sum(getattr(counts, name) for counts in answers.values()) for name in ("removals", "wanted", "erasures"))
    return ObjectCounts(removals, min(oldest, default=None), wanted, erasures)


@query(scope=ALL_CLIENTS, merge=AnswerMerge(_added))
def count_objects() -> Plan[ObjectCounts]:
    """Count what object storage is to do."""
    removals = yield Select("SELECT count(*), min(created_us) FROM object_removal WHERE is_removing = 1", ())
    waits = f"d.client = b.client AND d.state = 'received' AND d.{IS_AWAY}"
    wanted = yield Select(f"{BUSY} SELECT count(*) FROM busy b JOIN delivery d ON {waits}", ())
    erasures = yield Select("SELECT count(*), min(created_us) FROM event_file_erasure", ())
    oldest = min((row[0][1] for row in (removals, erasures) if row[0][1] is not None), default=None)
    return ObjectCounts(removals[0][0], oldest, wanted[0][0], erasures[0][0])


@query(scope=ALL_CLIENTS)
def any_object() -> Plan[bool]:
    """Return whether a client has bodies in object storage, or had some."""
    return bool((yield Select("SELECT 1 FROM object_key LIMIT 1", ())))
