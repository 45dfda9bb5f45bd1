"""API keys: rarely written, so one at a time; but for when they were used, which is noted for many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from touchbase.auth import api_key
from touchbase.auth.api_key import ApiKey
from touchbase.auth.commands import NoteKeyUses, RevokeKey, RotateKey, StoreFirstKey, StoreKey
from touchbase.auth.rows import KEY, key_of, key_row
from touchbase.errors import NotFound, TouchbaseError, WrongState
from touchbase.sql.ids import Ids
from touchbase.sql.rows import names
from touchbase.sql.statement import Execute, Plan, Select, Statement

_ONE = KEY[:1]
INSERT_KEY = Statement(
    "insert_key",
    KEY,
    body=f"INSERT INTO api_key ({names(KEY)}) SELECT * FROM p WHERE p.client IS NULL "
    "OR EXISTS (SELECT 1 FROM client c WHERE c.id = p.client AND c.state <> 'deleting') ON CONFLICT DO NOTHING RETURNING key_id",
)
LOCK_KEY = Statement(
    "lock_key",
    _ONE,
    sqlite=f"SELECT {names(KEY)} FROM api_key WHERE key_id = ?1",
    body=f"SELECT {names(KEY, 't.')} FROM p JOIN api_key t ON t.key_id = p.key_id FOR UPDATE OF t",
)
LOCK_FIRST_KEY = Statement(
    "lock_first_key",
    (("name", "text"),),
    sqlite="SELECT next FROM id_block WHERE name = ?1",
    body="SELECT t.next FROM p JOIN id_block t ON t.name = p.name FOR UPDATE OF t",
)
END_KEY = Statement(
    "end_key",
    (*_ONE, ("expires_us", "bigint"), ("revoked_us", "bigint"), ("replaced_by", "text")),
    sqlite="UPDATE api_key SET expires_us = ?2, revoked_us = ?3, replaced_by = ?4 WHERE key_id = ?1",
    body="UPDATE api_key AS t SET expires_us = p.expires_us, revoked_us = p.revoked_us, replaced_by = p.replaced_by "
    "FROM p WHERE t.key_id = p.key_id",
)
NOTE_USE = Statement(
    "note_key_use",
    (*_ONE, ("at", "bigint")),
    sqlite="UPDATE api_key SET last_used_us = ?2 WHERE key_id = ?1 AND (last_used_us IS NULL OR last_used_us < ?2)",
    body="UPDATE api_key AS t SET last_used_us = p.at FROM p WHERE t.key_id = p.key_id "
    "AND (t.last_used_us IS NULL OR t.last_used_us < p.at)",
)


def store_key(command: StoreKey) -> Plan[NotFound | None]:
    """Keep a key; one id is never used twice."""
    rows = yield Execute(INSERT_KEY, [key_row(_made(command))])
    return None if rows else NotFound("there is no such client any more; a key needs one that is there, or none")


def store_first_key(command: StoreFirstKey) -> Plan[bool]:
    """Keep a key where there is none. Whoever looks holds a row meanwhile, so that two never both see none."""
    yield Execute(LOCK_FIRST_KEY, [("first_key",)])
    there = yield Select("SELECT 1 FROM api_key LIMIT 1", ())
    return not there and bool((yield Execute(INSERT_KEY, [key_row(_made(command.key))])))


def rotate_key(command: RotateKey) -> Plan[ApiKey | TouchbaseError]:
    """Keep a successor, and let the keys before it end."""
    found = yield Execute(LOCK_KEY, [(command.key_id,)])
    if not found:
        return _missing(command.key_id)
    key = key_of(found[0])
    if key.state(command.at) != api_key.ACTIVE:
        return WrongState(f"key {key.key_id} is {key.state(command.at)}; make a new one instead")
    if key.replaced_by is not None:
        return WrongState(f"key {key.key_id} has a successor already, {key.replaced_by}: use or rotate that one, or revoke it")
    successor = replace(
        key, key_id=command.successor_id, digest=command.digest, created_us=command.at, expires_us=command.expires_us,
        last_used_us=None, replaces=key.key_id,
    )  # fmt: skip
    rows = yield Execute(INSERT_KEY, [key_row(successor)])
    if not rows:
        return NotFound("the client of this key is no longer there")
    yield from _end(key, command.keep_until_us, command.successor_id)
    if key.replaces is not None:
        before = yield Execute(LOCK_KEY, [(key.replaces,)])
        for row in before:
            yield from _end(key_of(row), command.at, key.key_id)
    return successor


def _end(key: ApiKey, at: int, successor: str) -> Plan[None]:
    ends = at if key.expires_us is None else min(key.expires_us, at)
    yield Execute(END_KEY, [(key.key_id, ends, key.revoked_us, successor)])


def revoke_key(command: RevokeKey) -> Plan[ApiKey | NotFound]:
    """End a key now."""
    rows = yield Execute(LOCK_KEY, [(command.key_id,)])
    if not rows:
        return _missing(command.key_id)
    key = key_of(rows[0])
    if key.revoked_us is None:
        key.revoked_us = command.at
        yield Execute(END_KEY, [(key.key_id, key.expires_us, key.revoked_us, key.replaced_by)])
    return key


def note_uses(commands: Sequence[NoteKeyUses], ids: Ids) -> Plan[list[object]]:
    """Note when keys were used."""
    latest: dict[str, int] = {}
    for command in commands:
        for key_id, at in command.uses.items():
            latest[key_id] = max(at, latest.get(key_id, at))
    yield Execute(NOTE_USE, sorted(latest.items()))
    return [None] * len(commands)


def _made(c: StoreKey) -> ApiKey:
    return ApiKey(c.key_id, c.digest, tuple(c.scopes), c.client, c.name, c.at, c.env, c.expires_us)


def _missing(key_id: str) -> NotFound:
    return NotFound(f"there is no key {key_id[:40]!r}")
