"""API keys: create, parse, rotate and list them.

The text of a key is `tb_<env>_<key id>_<secret>_<crc32>`. The checksum detects typing errors without a read of the
store; only the SHA-256 of the text is stored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from zlib import crc32

from touchbase.auth import sql as auth_sql
from touchbase.auth.api_key import KEY_TEXT, ApiKey, no_such_key
from touchbase.auth.sql import find_key, store_first_key, store_key
from touchbase.common.timestamps import DAY, LATEST, Micros
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

READ = "records:read"
WRITE = "records:write"
ADMIN = "admin"
"""Reading the inbox, replay, settings, keys; it includes the other scopes."""
SCOPES = (READ, WRITE, ADMIN)

ENV = re.compile(r"[a-z0-9]{1,16}")
KEEP_OLD: Micros = DAY
"""The default time for which a key stays valid after it got a successor."""
KEY_ID = slice(-86, -74)
"""The position of the id in a key's text, from the end, because the length of the env varies."""

Cursor = tuple[Micros, str]
"""Cursor of a page of keys: `created_us` and id of its last key."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key. `text` is shown once; `key_id` and `digest` are stored."""

    text: str
    key_id: str
    digest: bytes


def make_key(env: str = "live") -> NewKey:
    """Generate a random key; `env` is part of its text, to tell several keys apart."""
    key_id = token_hex(6)
    body = f"tb_{env}_{key_id}_{token_hex(32)}"
    text = f"{body}_{crc32(body.encode()):08x}"
    return NewKey(text, key_id, sha256(text.encode()).digest())


def key_parts(text: str) -> tuple[str, bytes] | None:
    """Return a key's id and the SHA-256 of its text; None if the text is not a complete key."""
    match = KEY_TEXT.fullmatch(text)
    if match is None or crc32(text[:-9].encode()) != int(match[3], 16):
        return None
    return match[1], sha256(text.encode()).digest()


async def add_key(
    store: Store, client: int | None, scopes: Sequence[str], name: str, at: Micros, *, env: str = "live", expires_us: Micros | None = None
) -> str:
    """Store a new key for one client (None: any) and return its text, which cannot be read again; raise `NotFound`."""
    new_key = make_key(env)
    await store.write(store_key(ApiKey(new_key.key_id, new_key.digest, tuple(scopes), client, name, at, env, expires_us)))
    return new_key.text


async def add_first_key(store: Store, at: Micros) -> str | None:
    """Store an administrator's key if the store has no key, and return its text, else None. Of several processes at once one gets it."""
    new_key = make_key()
    stored = await store.write(store_first_key(ApiKey(new_key.key_id, new_key.digest, (ADMIN,), None, "first", at)))
    return new_key.text if stored else None


def rotation_of(key: ApiKey, at: Micros, keep_old: Micros = KEEP_OLD) -> tuple[str, Command[ApiKey]]:
    """Return the text of a successor with the key's scopes, and the command that stores it; the key itself ends after `keep_old`.

    The successor of a key with an end has the same lifetime.
    """
    new_key = make_key(key.env)
    expires = None if key.expires_us is None else min(LATEST, at + key.expires_us - key.created_us)
    return new_key.text, auth_sql.rotate_key(key.key_id, new_key.key_id, new_key.digest, at, at + keep_old, expires)


async def rotate_key(store: Store, key_id: str, at: Micros, keep_old: Micros = KEEP_OLD) -> tuple[str, ApiKey]:
    """Store a key's successor (`rotation_of`); raise `NotFound`, and `WrongState` if the key is not active or has a successor."""
    text, command = rotation_of(await get_key(store, key_id), at, keep_old)
    return text, await store.write(command)


async def get_key(store: Store, key_id: str) -> ApiKey:
    """Return one key; raise `NotFound`."""
    api_key = await store.read(find_key(key_id))
    if api_key is None or api_key.is_report_link:
        raise no_such_key(key_id)
    return api_key


async def list_keys(
    store: Store, at: Micros, limit: int, *, client: int | None = None, state: str | None = None, before: Cursor | None = None
) -> tuple[list[ApiKey], Cursor | None]:
    """Return a page of keys, newest first, and the cursor of the next."""
    keys = await store.read(auth_sql.list_keys(limit + 1, at, client, state, before))
    page = keys[:limit]
    return page, (page[-1].created_us, page[-1].key_id) if len(keys) > limit else None
