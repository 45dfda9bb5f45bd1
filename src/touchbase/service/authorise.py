"""Authorising: which client a call is for, and whether its key allows what it asks.

In open mode no key is needed: the client is the one that the call names, else `default`, and it comes
into being on first use. In keys mode the key names the client; a key that belongs to no client leaves
the choice to the call.

A key reads `tb_<env>_<key id>_<secret>_<crc32>`. The checksum tells a typing error from a wrong key
without asking the store; of the secret only the SHA-256 is kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from secrets import token_hex
from zlib import crc32

from touchbase.domain.client import Client
from touchbase.domain.commands import StoreKey
from touchbase.domain.errors import Fault, Forbidden, Invalid, NotFound, Unauthorized
from touchbase.domain.peer import NOBODY
from touchbase.domain.ports import Clock, Store
from touchbase.domain.queries import ApiKey, FindKey
from touchbase.domain.times import SECOND, Micros
from touchbase.service.clients import Clients, is_client_id
from touchbase.service.failed_keys import FailedKeys

READ = "records:read"
WRITE = "records:write"
ADMIN = "admin"
"""Reading the inbox, replaying, settings; it allows what the other scopes allow besides."""
SCOPES = (READ, WRITE, ADMIN)

DEFAULT_CLIENT = "default"
CLIENT_HEADER = "X-Client-Id"
NO_SUCH_ADDRESS = "there is no such webhook address"
FRESH: Micros = SECOND
MOST_REMEMBERED = 10_000
_KEY = re.compile(r"tb_[a-z0-9]{1,16}_([0-9a-f]{12})_([0-9a-f]{64})_([0-9a-f]{8})")


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made. `text` is shown once; `key_id` and `digest` are what is kept."""

    text: str
    key_id: str
    digest: bytes


def make_key(env: str = "live") -> NewKey:
    """A new random key; `env` is part of its text, for people who hold several."""
    key_id, secret = token_hex(6), token_hex(32)
    body = f"tb_{env}_{key_id}_{secret}"
    return NewKey(f"{body}_{crc32(body.encode()):08x}", key_id, sha256(secret.encode()).digest())


async def add_key(store: Store, client: int | None, scopes: Sequence[str], name: str, at: Micros, *, env: str = "live") -> str:
    """Keep a new key for one client (None: any) and answer its text, which nobody can read again."""
    made = make_key(env)
    await store.write(StoreKey(made.key_id, made.digest, list(scopes), client, name, at))
    return made.text


def key_parts(text: str) -> tuple[str, bytes] | None:
    """A key's id and the SHA-256 of its secret; None when the text is no whole key."""
    match = _KEY.fullmatch(text)
    if match is None or crc32(text[:-9].encode()) != int(match[3], 16):
        return None
    return match[1], sha256(match[2].encode()).digest()


def key_id_of(key: str) -> str:
    """The id of a key that was found to be true."""
    return key.split("_", 3)[2]


class Doorkeeper:
    """Decides for each call who it is and what it may do."""

    def __init__(
        self, store: Store, clients: Clients, clock: Clock, *, keys_needed: bool, failed_keys: FailedKeys | None = None
    ) -> None:  # fmt: skip
        self._store = store
        self._clients = clients
        self._clock = clock
        self._known: dict[str, tuple[ApiKey, Micros]] = {}
        self._failed = failed_keys or FailedKeys()
        self.keys_needed = keys_needed

    async def client(self, key: str | None, named: str | None, scope: str, peer: str = NOBODY) -> Client:
        """The client that a call about records is for; `peer` is the address that it comes from.

        Raises `Unauthorized`, `RateLimited` for an address whose keys fail too often, `Forbidden`, `NotFound` for a
        client that is not there, and `Invalid` when the call must name one and does not.
        """
        if not self.keys_needed:
            return await self._clients.ensure(_valid(named) if named is not None else DEFAULT_CLIENT)
        held = await self._allowed(key, scope, peer)
        if held.client is None:
            if named is None:
                raise Invalid([Fault(CLIENT_HEADER, "required", f"this key belongs to no client; name one in the header {CLIENT_HEADER}")])
            return await self._clients.get(_valid(named))
        client = await self._clients.by_number(held.client)
        if named is not None and named != client.client_id:
            raise Forbidden(f"this key belongs to another client than the one named in {CLIENT_HEADER}")
        return client

    async def administrator(self, key: str | None, peer: str = NOBODY) -> int | None:
        """The number of the client that a call about the inbox or settings is limited to; None for all."""
        return (await self._allowed(key, ADMIN, peer)).client if self.keys_needed else None

    async def receiver(self, client_id: str) -> Client:
        """The client of a webhook address. Where keys are needed it must exist, else it is made; `NotFound`."""
        if not is_client_id(client_id):
            raise NotFound(NO_SUCH_ADDRESS)
        if not self.keys_needed:
            return await self._clients.ensure(client_id)
        found = await self._clients.find(client_id)
        if found is None:
            raise NotFound(NO_SUCH_ADDRESS)
        return found

    async def _allowed(self, key: str | None, scope: str, peer: str) -> ApiKey:
        if key is None:
            raise Unauthorized("this call needs a key: send it as Authorization: Bearer tb_...")
        held = await self._held(key, peer)
        if scope not in held.scopes and ADMIN not in held.scopes:
            raise Forbidden(f"this key lacks the scope {scope}")
        return held

    async def _held(self, key: str, peer: str) -> ApiKey:
        parts = key_parts(key)
        known = None if parts is None else self._known.get(parts[0])
        # Whoever shows the secret of a key that was true lately is not guessing.
        guessed = parts is None or known is None or not compare_digest(known[0].digest, parts[1])
        if guessed:
            self._failed.trying(peer, self._clock())
        if parts is None:
            raise Unauthorized("this is no key of ours, or a letter of it is wrong")
        held = await self._find(parts[0])
        # An unknown id costs the same comparison as a wrong secret.
        if not compare_digest(held.digest if held is not None else bytes(32), parts[1]) or held is None:
            raise Unauthorized("this key is not valid")
        if guessed:
            self._failed.was_true(peer, self._clock())
        return held

    async def _find(self, key_id: str) -> ApiKey | None:
        known, now = self._known.get(key_id), self._clock()
        if known is not None and now - known[1] < FRESH:
            return known[0]
        found = await self._store.read(FindKey(key_id))
        if found is None:
            self._known.pop(key_id, None)
            return None
        if len(self._known) >= MOST_REMEMBERED:
            self._known.clear()
        self._known[key_id] = (found, now)
        return found


def _valid(named: str) -> str:
    if not is_client_id(named):
        raise Invalid([Fault(CLIENT_HEADER, "client_id", "must be 1 to 100 letters, digits and . _ ~ -")])
    return named
