"""Statements and plans of refused bodies: their content is encrypted, and bound to the client and the digest."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from touchbase.connections.sql.encrypted_columns import REFUSED_TABLE, decrypt_row, encrypt_values, record_key
from touchbase.encryption.cipher import Cipher
from touchbase.inbox.commands import DroppedBodies
from touchbase.inbox.refused_bodies import (
    MAX_BODIES,
    DropRefused,
    GetRefusedBody,
    NoteReplay,
    ReadRefusedBodies,
    RefusedBody,
    RefusedContent,
    SizeRefused,
)
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, delete
from touchbase.suppression.server_secret import erasure_key_of
from touchbase.suppression.sql import find_marks

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
    sqlite="DELETE FROM refused_body WHERE client = ?1 AND (received_us, digest) <= "
    "(SELECT received_us, digest FROM refused_body WHERE client = ?1 ORDER BY received_us DESC, digest DESC LIMIT 1 OFFSET ?2)",
    body="DELETE FROM refused_body t USING p WHERE t.client = p.client AND (t.received_us, t.digest) <= "
    "(SELECT o.received_us, o.digest FROM refused_body o WHERE o.client = p.client ORDER BY o.received_us DESC, o.digest DESC "
    "LIMIT 1 OFFSET p.most)",
)
NOTE_REPLAY = Statement(
    "note_refused_replay",
    (*_KEY, ("at", "bigint"), ("by", "text"), ("delivery_id", "bigint")),
    sqlite="UPDATE refused_body SET content = '', size = 0, replayed_us = ?3, replayed_by = ?4, delivery_id = ?5 "
    "WHERE client = ?1 AND digest = ?2",
    body="UPDATE refused_body AS t SET content = '', size = 0, replayed_us = p.at, replayed_by = p.by, delivery_id = p.delivery_id FROM p "
    "WHERE t.client = p.client AND t.digest = p.digest",
)
DELETE_BODY = delete("delete_refused_body", "refused_body", _KEY, "digest")


def store_bodies(bodies: Sequence[RefusedBody], cipher: Cipher) -> Plan[None]:
    """Store refused bodies, but none without an encryption key, and none that names a person whom its client has erased."""
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


def get_refused_body(query: GetRefusedBody, cipher: Cipher) -> Plan[RefusedBody | None]:
    """Run `GetRefusedBody`."""
    rows = yield Select(f"SELECT {names(REFUSED_BODY)} FROM refused_body WHERE client = ? AND digest = ?", (query.client, query.digest))
    return _body_of(rows[0], cipher) if rows else None


def read_refused_bodies(query: ReadRefusedBodies, cipher: Cipher) -> Plan[list[RefusedBody]]:
    """Run `ReadRefusedBodies`."""
    rows = yield Select(
        f"SELECT {names(REFUSED_BODY)} FROM refused_body WHERE client = ? AND digest > ? AND content <> '' ORDER BY digest LIMIT ?",
        (query.client, query.after, query.limit),
    )
    return [_body_of(row, cipher) for row in rows]


def note_replay(command: NoteReplay) -> Plan[None]:
    """Run `NoteReplay`."""
    yield Execute(NOTE_REPLAY, [(command.client, command.digest, command.at, command.by, command.delivery_id)])


def size_refused(query: SizeRefused) -> Plan[int]:
    """Run `SizeRefused`."""
    rows = yield Select("SELECT CAST(COALESCE(sum(size), 0) AS bigint) FROM refused_body WHERE client = ?", (query.client,))
    total: int = rows[0][0]
    return total


def drop_refused(command: DropRefused) -> Plan[DroppedBodies]:
    """Run `DropRefused`."""
    rows = yield Select(
        "SELECT digest, size, received_us FROM refused_body WHERE client = ? ORDER BY received_us, digest LIMIT ?",
        (command.client, command.limit),
    )
    dropped: dict[str, int] = {}
    excess = command.excess
    for number, size, received_us in rows:
        if received_us >= command.before_us and excess <= 0:
            break
        dropped[number] = size
        excess -= size
    digests = sorted({*dropped, *command.digests})
    deleted = (yield Execute(DELETE_BODY, [(command.client, each) for each in digests])) if digests else []
    return DroppedBodies(len(deleted), sum(dropped.values()))


CIPHER_ANSWERS: Mapping[type, Any] = {GetRefusedBody: get_refused_body, ReadRefusedBodies: read_refused_bodies}
"""The plans of queries that take the store's cipher."""
