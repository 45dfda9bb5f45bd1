"""Statements and plans of refused bodies: their content is encrypted, and bound to the client and the digest."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence

import msgspec

from touchbase.common.cipher import Cipher
from touchbase.common.timestamps import Micros
from touchbase.deliveries.sql.body_retention import DroppedBodies
from touchbase.encryption.encrypted_columns import REFUSED_TABLE, decrypt_row, encrypt_values, record_key
from touchbase.erasure_marks import erasure_key_of, find_marks
from touchbase.inbox.refused_bodies import MAX_BODIES, RefusedBody, RefusedContent
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete

REFUSED_BODY: Columns = (
    ("client", "bigint"), ("digest", "text"), ("channel", "text"), ("tool", "text"), ("first_us", "bigint"), ("received_us", "bigint"),
    ("calls", "bigint"), ("size", "bigint"), ("content", "text"), ("replayed_us", "bigint"), ("replayed_by", "text"),
    ("delivery_id", "bigint"),
)  # fmt: skip
_KEY = REFUSED_BODY[:2]
INSERT_REFUSED_BODY = Statement(
    "insert_refused_body",
    REFUSED_BODY,
    body=f"INSERT INTO refused_body ({names(REFUSED_BODY)}) SELECT {names(REFUSED_BODY, 'p.')} FROM p JOIN client c ON c.id = p.client "
    "AND c.state <> 'deleting' WHERE true ON CONFLICT (client, digest) DO UPDATE SET calls = refused_body.calls + excluded.calls, "
    "received_us = excluded.received_us",
)
TRIM_BODIES = Statement(
    "trim_refused_bodies",
    (("client", "bigint"), ("most", "bigint")),
    body="DELETE FROM refused_body t USING p WHERE t.client = p.client AND (t.received_us, t.digest) <= "
    "(SELECT o.received_us, o.digest FROM refused_body o WHERE o.client = p.client ORDER BY o.received_us DESC, o.digest DESC "
    "LIMIT 1 OFFSET p.most)",
    by_row=True,
)
NOTE_REPLAY = Statement(
    "note_refused_replay",
    (*_KEY, ("at", "bigint"), ("by", "text"), ("delivery_id", "bigint")),
    body="UPDATE refused_body AS t SET content = '', size = 0, replayed_us = p.at, replayed_by = p.by, delivery_id = p.delivery_id FROM p "
    "WHERE t.client = p.client AND t.digest = p.digest",
    by_row=True,
)
DELETE_BODY = delete("delete_refused_body", "refused_body", _KEY, "digest")


def store_bodies(bodies: Sequence[RefusedBody], cipher: Cipher) -> Plan[None]:
    """Store refused bodies, except without an encryption key, and except bodies about a person whom its client has erased."""
    if not bodies or not cipher.can_encrypt:
        return
    rows: dict[tuple[int, str], Row] = {}
    for body in bodies:  # one statement changes a row once
        if not (yield from _names_erased(body)):
            rows[body.client, body.digest] = encrypt_values(cipher, REFUSED_TABLE, REFUSED_BODY, _row(body))
    if rows:
        yield from record_key(cipher)
        yield Execute(INSERT_REFUSED_BODY, [rows[key] for key in sorted(rows)])
        yield Execute(TRIM_BODIES, [(client, MAX_BODIES) for client in sorted({body.client for body in bodies})])


def _names_erased(body: RefusedBody) -> Plan[bool]:
    key = (yield from erasure_key_of(body.client)) if body.erased_refs else None
    return key is not None and bool((yield from find_marks(key, body.client, body.erased_refs)))


def _row(body: RefusedBody) -> Row:
    content = body.content
    assert content is not None
    text = encode([content.headers, content.query, b64encode(content.body).decode()])
    return (
        body.client, body.digest, body.channel, body.tool, body.first_us, body.received_us, body.calls, body.size, text, None, None, None,
    )  # fmt: skip


def _body_of(row: Row, cipher: Cipher) -> RefusedBody:
    plain = decrypt_row(cipher, REFUSED_TABLE, REFUSED_BODY, row)
    content = None
    if plain[8]:
        headers, query, body = msgspec.json.decode(plain[8], type=tuple[dict[str, str], str, str])
        content = RefusedContent(headers, query, b64decode(body))
    client, digest, channel, tool, first_us, received_us, calls, size, _, replayed_us, replayed_by, delivery_id = plain
    return RefusedBody(
        client, digest, channel, tool, first_us, received_us, calls, size, content, replayed_us, replayed_by, delivery_id
    )  # fmt: skip


@query(cipher=True)
def get_refused_body(cipher: Cipher, client: int, digest: str) -> Plan[RefusedBody | None]:
    """One refused webhook with its body."""
    rows = yield Select(f"SELECT {names(REFUSED_BODY)} FROM refused_body WHERE client = ? AND digest = ?", (client, digest))
    return _body_of(rows[0], cipher) if rows else None


@query(cipher=True)
def read_refused_bodies(cipher: Cipher, client: int, after: str, limit: int) -> Plan[list[RefusedBody]]:
    """A page of a client's refused webhooks with their bodies, in the order of their digests."""
    rows = yield Select(
        f"SELECT {names(REFUSED_BODY)} FROM refused_body WHERE client = ? AND digest > ? AND content <> '' ORDER BY digest LIMIT ?",
        (client, after, limit),
    )
    return [_body_of(row, cipher) for row in rows]


@command
def note_replay(client: int, digest: str, at: Micros, by: str, delivery_id: int) -> Plan[None]:
    """Note that a refused webhook became a delivery, and remove its body."""
    yield Execute(NOTE_REPLAY, [(client, digest, at, by, delivery_id)])


@query
def size_refused(client: int) -> Plan[int]:
    """Total size in bytes of a client's refused bodies."""
    rows = yield Select("SELECT CAST(COALESCE(sum(size), 0) AS bigint) FROM refused_body WHERE client = ?", (client,))
    total: int = rows[0][0]
    return total


@command(background=True)
def drop_refused(client: int, before_us: Micros = 0, excess: int = 0, digests: Sequence[str] = (), limit: int = 200) -> Plan[DroppedBodies]:
    """Remove refused bodies: `digests`, and of the oldest those from before `before_us` and as many as make up `excess` bytes."""
    rows = yield Select(
        "SELECT digest, size, received_us FROM refused_body WHERE client = ? ORDER BY received_us, digest LIMIT ?",
        (client, limit),
    )
    dropped: dict[str, int] = {}
    current_excess = excess
    for number, size, received_us in rows:
        if received_us >= before_us and current_excess <= 0:
            break
        dropped[number] = size
        current_excess -= size
    current_digests = sorted({*dropped, *digests})
    deleted = (yield Execute(DELETE_BODY, [(client, current_digest) for current_digest in current_digests])) if current_digests else []
    return DroppedBodies(len(deleted), sum(dropped.values()))
