"""API keys: making them, recognising their text, giving them successors, and ending them.

A key reads `tb_<env>_<key id>_<secret>_<crc32>`. The checksum tells a typing error from a wrong key
without asking the store; of the whole text only the SHA-256 is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from zlib import crc32

from touchbase.auth.api_key import ApiKey
from touchbase.auth.commands import FindKey, ListKeys, RotateKey, StoreFirstKey, StoreKey
from touchbase.common.timestamps import DAY, LATEST, Micros
from touchbase.errors import NotFound
from touchbase.sql.store import Store

READ = "records:read"
WRITE = "records:write"
ADMIN = "admin"
"""Reading the inbox, replaying, settings, keys; it allows what the other scopes allow besides."""
SCOPES = (READ, WRITE, ADMIN)

ENV = re.compile(r"[a-z0-9]{1,16}")
KEEP_OLD: Micros = DAY
"""How long a key stays valid beside its successor, unless somebody says otherwise."""
KEY_ID = slice(-86, -74)
"""Where the id stands in a key's text, counted from its end, as the env may be of any length."""
_KEY = re.compile(r"tb_[a-z0-9]{1,16}_([0-9a-f]{12})_([0-9a-f]{64})_([0-9a-f]{8})")

Place = tuple[Micros, str]
"""Where a page of keys ends: `created_us` and id of its last key."""


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made. `text` is shown once; `key_id` and `digest` are what is kept."""

    text: str
    key_id: str
    digest: bytes


def make_key(env: str = "live") -> NewKey:
    """A new random key; `env` is part of its text, for people who hold several."""
    key_id = token_hex(6)
    body = f"tb_{env}_{key_id}_{token_hex(32)}"
    text = f"{body}_{crc32(body.encode()):08x}"
    return NewKey(text, key_id, sha256(text.encode()).digest())


def key_parts(text: str) -> tuple[str, bytes] | None:
    """A key's id and the SHA-256 of its text; None when the text is no whole key."""
    match = _KEY.fullmatch(text)
    if match is None or crc32(text[:-9].encode()) != int(match[3], 16):
        return None
    return match[1], sha256(text.encode()).digest()


async def add_key(
    store: Store, client: int | None, scopes: Sequence[str], name: str, at: Micros, *, env: str = "live", expires_us: Micros | None = None
) -> str:
    """Keep a new key for one client (None: any) and answer its text, which nobody can read again; `NotFound`."""
    made = make_key(env)
    await store.write(StoreKey(made.key_id, made.digest, list(scopes), client, name, at, env, expires_us))
    return made.text


async def add_first_key(store: Store, at: Micros) -> str | None:
    """An administrator's key for a store that has none; None when it has one. Of several processes at once one gets it."""
    made = make_key()
    kept = await store.write(StoreFirstKey(StoreKey(made.key_id, made.digest, [ADMIN], None, "first", at)))
    return made.text if kept else None


def rotation_of(key: ApiKey, at: Micros, keep_old: Micros = KEEP_OLD) -> tuple[str, RotateKey]:
    """The text of a successor that may do what the key may, and the command that keeps it; the key itself ends after `keep_old`.

    A key that was to end gets a successor that lasts as long as it was to.
    """
    made = make_key(key.env)
    expires = None if key.expires_us is None else min(LATEST, at + key.expires_us - key.created_us)
    return made.text, RotateKey(key.key_id, made.key_id, made.digest, at, at + keep_old, expires)


async def rotate_key(store: Store, key_id: str, at: Micros, keep_old: Micros = KEEP_OLD) -> tuple[str, ApiKey]:
    """Make and keep a key's successor (`rotation_of`); `NotFound`, and `WrongState` when it is not active or has a successor."""
    text, command = rotation_of(await get_key(store, key_id), at, keep_old)
    return text, await store.write(command)


async def get_key(store: Store, key_id: str) -> ApiKey:
    """One kept key; `NotFound`."""
    found = await store.read(FindKey(key_id))
    if found is None:
        raise NotFound(f"there is no key {key_id[:40]!r}")
    return found


async def list_keys(
    store: Store, at: Micros, limit: int, *, client: int | None = None, state: str | None = None, before: Place | None = None
) -> tuple[list[ApiKey], Place | None]:
    """A page of keys, newest first, and where the next one begins."""
    found = await store.read(ListKeys(limit + 1, at, client, state, before))
    page = found[:limit]
    return page, (page[-1].created_us, page[-1].key_id) if len(found) > limit else None
