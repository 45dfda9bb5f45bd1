"""SQL of API keys: statements, plans and row mapping. Keys are written one at a time; their uses for many keys at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import msgspec

from touchbase.audit import audited
from touchbase.auth import api_key
from touchbase.auth.api_key import REPORT_LINK, ApiKey, no_such_key
from touchbase.common.timestamps import Micros
from touchbase.errors import NotFound, TouchbaseError, WrongState
from touchbase.sql.cell_answers import sorted_page
from touchbase.sql.filters import Where
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

KEY: Columns = (
    ("key_id", "text"), ("digest", "bytea"), ("scopes", "text"), ("client", "bigint"), ("name", "text"), ("created_us", "bigint"),
    ("env", "text"), ("expires_us", "bigint"), ("revoked_us", "bigint"), ("last_used_us", "bigint"), ("replaces", "text"),
    ("replaced_by", "text"), ("user_id", "text"), ("granted_client", "bigint"),
)  # fmt: skip


_decode_scopes = msgspec.json.Decoder(list[str]).decode


def key_of(row: Row) -> ApiKey:
    """Return the API key of a `KEY` row."""
    key_id, digest, scopes, *columns = row
    return ApiKey(key_id, bytes(digest), tuple(_decode_scopes(scopes)), *columns)


def key_row(k: ApiKey) -> Row:
    """Return the key's row, in the order of `KEY`."""
    return (
        k.key_id, k.digest, encode(list(k.scopes)), k.client, k.name, k.created_us, k.env, k.expires_us, k.revoked_us,
        k.last_used_us, k.replaces, k.replaced_by, k.user_id, k.granted_client,
    )  # fmt: skip


_ID = KEY[:1]
INSERT_KEY = Statement(
    "insert_key",
    KEY,
    body=f"INSERT INTO api_key ({names(KEY)}) SELECT * FROM p WHERE p.client IS NULL "
    "OR EXISTS (SELECT 1 FROM client c WHERE c.id = p.client AND c.state <> 'deleting') ON CONFLICT DO NOTHING RETURNING key_id",
)
LOCK_KEY = Statement(
    "lock_key", _ID, body=f"SELECT {names(KEY, 't.')} FROM p JOIN api_key t ON t.key_id = p.key_id", lock=" FOR UPDATE OF t", by_row=True
)
LOCK_FIRST_KEY = Statement(
    "lock_first_key",
    (("name", "text"),),
    body="SELECT t.next FROM p JOIN id_block t ON t.name = p.name",
    lock=" FOR UPDATE OF t",
    by_row=True,
)
END_KEY = Statement(
    "end_key",
    (*_ID, ("expires_us", "bigint"), ("revoked_us", "bigint"), ("replaced_by", "text")),
    body="UPDATE api_key AS t SET expires_us = p.expires_us, revoked_us = p.revoked_us, replaced_by = p.replaced_by "
    "FROM p WHERE t.key_id = p.key_id",
    by_row=True,
)
STORE_KEY_USE = Statement(
    "note_key_use",
    (*_ID, ("at", "bigint")),
    body="UPDATE api_key AS t SET last_used_us = p.at FROM p WHERE t.key_id = p.key_id "
    "AND (t.last_used_us IS NULL OR t.last_used_us < p.at)",
    by_row=True,
)


@command(
    unnamed=ALL_CLIENTS,
    client="key.client",
    follow_up=audited(
        lambda call, _: "report_link.created" if call.key.is_report_link else "key.created",
        "key",
        lambda call, _: call.key.key_id,
        lambda call, _: call.key.client or call.key.granted_client,
    ),
)
def store_key(key: ApiKey) -> Plan[NotFound | None]:
    """Store a key. `NotFound` when its client does not exist, or is being deleted."""
    rows = yield Execute(INSERT_KEY, [key_row(key)])
    return None if rows else NotFound("there is no such client any more; a key needs an existing client, or none")


@command(
    scope=ALL_CLIENTS,
    follow_up=audited(lambda _, is_stored: "key.created" if is_stored else None, "key", lambda call, _: call.key.key_id),
)
def store_first_key(key: ApiKey) -> Plan[bool]:
    """Store this key if the store has none; the result is whether it was stored. Of several at once one is stored."""
    yield Execute(LOCK_FIRST_KEY, [("first_key",)])
    existing = yield Select("SELECT 1 FROM api_key WHERE scopes <> ? LIMIT 1", (encode([REPORT_LINK]),))
    return not existing and bool((yield Execute(INSERT_KEY, [key_row(key)])))


@command(scope=ALL_CLIENTS, follow_up=audited("key.rotated", "key", lambda call, _: call.key_id, lambda _, key: key.client))
def rotate_key(
    key_id: str, successor_id: str, digest: bytes, at: Micros, keep_until_us: Micros, expires_us: Micros | None
) -> Plan[ApiKey | TouchbaseError]:
    """Store a successor with the key's scopes; the key itself ends at `keep_until_us`, or at its own earlier end.

    At most two are active at once: if the key is itself a successor, its predecessor ends now. `NotFound`, and `WrongState` when the key is
    not active or has a successor already.

    `expires_us`: When the successor ends.
    """
    locked = yield Execute(LOCK_KEY, [(key_id,)])
    if not locked:
        return no_such_key(key_id)
    key = key_of(locked[0])
    if key.state(at) != api_key.ACTIVE:
        return WrongState(f"key {key.key_id} is {key.state(at)}; make a new one instead")
    if key.user_id is not None:
        return WrongState(f"key {key.key_id} is personal: its person makes another one, and revokes it")
    if key.replaced_by is not None:
        return WrongState(f"key {key.key_id} has a successor already, {key.replaced_by}: use or rotate that one, or revoke it")
    successor = replace(
        key, key_id=successor_id, digest=digest, created_us=at, expires_us=expires_us,
        last_used_us=None, replaces=key.key_id,
    )  # fmt: skip
    rows = yield Execute(INSERT_KEY, [key_row(successor)])
    if not rows:
        return NotFound("the client of this key no longer exists")
    yield from _end(key, keep_until_us, successor_id)
    if key.replaces is not None:
        before = yield Execute(LOCK_KEY, [(key.replaces,)])
        for row in before:
            yield from _end(key_of(row), at, key.key_id)
    return successor


def _end(key: ApiKey, at: int, successor: str) -> Plan[None]:
    ends = at if key.expires_us is None else min(key.expires_us, at)
    yield Execute(END_KEY, [(key.key_id, ends, key.revoked_us, successor)])


@command(
    scope=ALL_CLIENTS,
    follow_up=audited(
        lambda _, key: "report_link.revoked" if key.is_report_link else "key.revoked",
        "key",
        lambda call, _: call.key_id,
        lambda _, key: key.client or key.granted_client,
    ),
)
def revoke_key(key_id: str, at: Micros) -> Plan[ApiKey | NotFound]:
    """Revoke a key now; a revoked key stays as it is. `NotFound`."""
    rows = yield Execute(LOCK_KEY, [(key_id,)])
    if not rows:
        return no_such_key(key_id)
    key = key_of(rows[0])
    if key.revoked_us is None:
        key.revoked_us = at
        yield Execute(END_KEY, [(key.key_id, key.expires_us, key.revoked_us, key.replaced_by)])
    return key


@command(scope=ALL_CLIENTS, background=True)
def store_key_uses(uses: Mapping[str, Micros]) -> Plan[None]:
    """Store when keys were used last; a time before the stored one changes nothing."""
    yield Execute(STORE_KEY_USE, sorted(uses.items()))


_KEY = names(KEY)


@query(scope=ALL_CLIENTS, quick=True)
def find_key(key_id: str) -> Plan[ApiKey | None]:
    """The stored API key with this id."""
    rows = yield Select(f"SELECT {_KEY} FROM api_key WHERE key_id = ?", (key_id,))
    return key_of(rows[0]) if rows else None


@query(unnamed=ALL_CLIENTS, merge=sorted_page(lambda key: (key.created_us, key.key_id), newest=True))
def list_keys(
    limit: int,
    at: Micros,
    client: int | None = None,
    state: str | None = None,
    before: tuple[Micros, str] | None = None,
    are_links: bool = False,
) -> Plan[list[ApiKey]]:
    """Keys, newest first, or report links; `before` is the (created_us, key_id) of the last key of the page before.

    `at`: The time for which `state` is computed.
    """
    where = Where(f"scopes {'=' if are_links else '<>'} ?", encode([REPORT_LINK]))
    where.equal("client", client)
    if state == api_key.REVOKED:
        where.add("revoked_us IS NOT NULL")
    elif state is not None:
        where.add("revoked_us IS NULL")
        held = "expires_us <= ?" if state == api_key.EXPIRED else "COALESCE(expires_us > ?, true)"
        where.add(held, at)
    if before is not None:
        where.add("(created_us, key_id) < (?, ?)", *before)
    rows = yield Select(f"SELECT {_KEY} FROM api_key WHERE {where} ORDER BY created_us DESC, key_id DESC LIMIT ?", (*where.params, limit))
    return [key_of(row) for row in rows]


@query(scope=ALL_CLIENTS, merge=sorted_page(lambda key: (key.created_us, key.key_id), newest=True))
def list_personal_keys(user_id: str) -> Plan[list[ApiKey]]:
    """Personal keys of one person, newest first."""
    where = Where("user_id = ?", user_id)
    rows = yield Select(f"SELECT {_KEY} FROM api_key WHERE {where} ORDER BY created_us DESC, key_id DESC LIMIT 1000", where.params)
    return [key_of(row) for row in rows]


@query(scope=ALL_CLIENTS, quick=True)
def any_key() -> Plan[bool]:
    """Whether any API key is stored."""
    rows = yield Select("SELECT 1 FROM api_key WHERE scopes <> ? LIMIT 1", (encode([REPORT_LINK]),))
    return bool(rows)
