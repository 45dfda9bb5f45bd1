"""Authorising: which client a call is for, and whether its key allows what it asks.

In open mode no key is needed: the client is the one that the call names, else `default`. It comes into
being with the first call that makes something, and until then is read as one that has nothing. In keys
mode the key names the client; a key that belongs to no client leaves the choice to the call. How keys are made stands in `api_keys.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest

from touchbase.auth import api_key
from touchbase.auth.api_key import ApiKey
from touchbase.auth.auth_throttle import FailedKeys
from touchbase.auth.commands import FindKey
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.service import ADMIN, KEY_ID, READ, SCOPES, WRITE, add_key, key_parts, make_key
from touchbase.clients.models import ACTIVE, DELETING, SUSPENDED, Client
from touchbase.clients.service import Clients, is_client_id
from touchbase.common.client_address import NOBODY
from touchbase.common.single_flight import SingleFlight
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.errors import ClientSuspended, Fault, Forbidden, InsufficientScope, Invalid, InvalidKey, NotFound, Unauthorized
from touchbase.sql.store import Store

__all__ = ["ADMIN", "READ", "SCOPES", "WRITE", "Authenticator", "Principal", "add_key", "key_parts", "make_key"]

DEFAULT_CLIENT = "default"
CLIENT_HEADER = "X-Client-Id"
NO_SUCH_ADDRESS = "there is no such webhook address; it must end with the id of a client, letter by letter"
FRESH: Micros = SECOND
"""How long a key that another process has revoked may still open something here."""
MOST_REMEMBERED = 10_000
_OVER = {
    api_key.REVOKED: "this key was revoked; ask for another one, or make one with `touchbase keys create`",
    api_key.EXPIRED: "this key has expired; ask for another one, or make one with `touchbase keys create`",
}


@dataclass(frozen=True, slots=True)
class Principal:
    """Who calls: the number of the client that the call is limited to (None: all), and what it may do."""

    client: int | None
    scopes: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Known:
    """A key as it was read from the store, which is believed from `since` to `until`: not after our clock was put back."""

    key: ApiKey
    scopes: frozenset[str]
    since: Micros
    until: Micros


def key_id_of(key: bytes) -> str:
    """The id of a key that was found to be true."""
    return key[KEY_ID].decode("ascii")


class Authenticator:
    """Decides for each call who it is and what it may do. Keys are remembered for `FRESH`, only as digests."""

    def __init__(
        self,
        store: Store,
        clients: Clients,
        clock: Clock,
        *,
        keys_needed: bool,
        uses: KeyUsage | None = None,
        failed_keys: FailedKeys | None = None,
    ) -> None:
        self._store = store
        self._clients = clients
        self._clock = clock
        self._uses = uses or KeyUsage()
        self._failed = failed_keys or FailedKeys()
        self._known: dict[bytes, _Known] = {}
        self._changes = 0
        self._asking: SingleFlight[ApiKey | None] = SingleFlight()
        self.keys_needed = keys_needed

    def cached(self, key: bytes, named: bytes | None, scope: str, now: Micros) -> Client | None:
        """What `client` would answer, where that takes nobody to be asked; None says nothing about the key."""
        known = self._known.get(key[KEY_ID])
        if known is None or not known.since <= now < known.until or scope not in known.scopes:
            return None
        held = known.key
        if not compare_digest(sha256(key).digest(), held.digest):
            return None
        client: Client | None = None
        if named is not None:
            client = self._clients.cached(named.decode("latin-1"), now)
        elif held.client is not None:
            client = self._clients.numbered_at_hand(held.client, now)
        if client is None or client.state != ACTIVE or (held.client is not None and held.client != client.number):
            return None
        self._uses.note(held.key_id, now)
        return client

    async def client(self, key: str | None, named: str | None, scope: str, peer: str = NOBODY, *, makes: bool = True) -> Client:
        """The client that a call about records is for; `peer` is the address that it comes from.

        Where no keys are needed and the call `makes` nothing, a client that is not there stays so: what is answered has nothing.

        Raises `Unauthorized`, `RateLimited` for an address whose keys fail too often, `Forbidden`, `NotFound` for a
        client that is not there, and `Invalid` when the call must name one and does not.
        """
        if not self.keys_needed:
            client_id = _valid(named) if named is not None else DEFAULT_CLIENT
            return _serving(await (self._clients.ensure(client_id) if makes else self._clients.find_or_placeholder(client_id)))
        held = await self._allowed(key, scope, peer)
        if held.client is None:
            if named is None:
                raise Invalid([Fault(CLIENT_HEADER, "required", f"this key belongs to no client; name one in the header {CLIENT_HEADER}")])
            return _serving(await self._clients.get(_valid(named)))
        client = await self._own(held.client)
        if named is not None and named != client.client_id:
            other = await self._clients.find(named)
            if other is None or other.number != client.number:
                raise Forbidden(f"this key belongs to another client than the one named in {CLIENT_HEADER}")
        return client

    async def administrator(self, key: str | None, peer: str = NOBODY) -> int | None:
        """The number of the client that a call about the inbox or settings is limited to; None for all."""
        return (await self.holder(key, ADMIN, peer)).client

    async def holder(self, key: str | None, scope: str, peer: str = NOBODY) -> Principal:
        """Who calls with a key that allows this; raises what `client` does about keys. Without keys, anybody may do anything."""
        if not self.keys_needed:
            return Principal(None, frozenset(SCOPES))
        held = await self._allowed(key, scope, peer)
        if held.client is not None:
            await self._own(held.client)
        return Principal(held.client, _scopes(held))

    async def receiver(self, client_id: str) -> Client:
        """The client of a webhook address; `NotFound`. Only in open mode, and until an administrator has made any client, it is made.

        A suspended one is answered too: its calls are kept.
        """
        if not is_client_id(client_id):
            raise NotFound(NO_SUCH_ADDRESS)
        found = await (self._clients.find(client_id) if self.keys_needed else self._receiver(client_id))
        if found is None or found.state == DELETING:
            raise NotFound(NO_SUCH_ADDRESS)
        return found

    async def _receiver(self, client_id: str) -> Client | None:
        """The client of a webhook address in open mode: its first use makes it, until an administrator has made one."""
        try:
            return await self._clients.ensure(client_id, first_use=True)
        except NotFound:
            return None

    def forget(self, key_id: str) -> None:
        """Ask the store again about this key, which was changed just now."""
        self._known.pop(key_id.encode(), None)
        self._changes += 1

    async def _own(self, number: int) -> Client:
        """The client of a key that is limited to one."""
        try:
            client = await self._clients.by_number(number)
        except NotFound:
            raise InvalidKey("this key is not valid: its client is no longer there") from None
        if client.state == DELETING:
            raise InvalidKey("this key is not valid: its client is being deleted")
        return _serving(client)

    async def _allowed(self, key: str | None, scope: str, peer: str) -> ApiKey:
        if key is None:
            raise Unauthorized("this call needs a key: send it as Authorization: Bearer tb_...")
        held = await self._held(key, peer)
        if scope not in _scopes(held):
            raise InsufficientScope(f"this key lacks the scope {scope}; use one that has it", data={"scope": scope})
        self._uses.note(held.key_id, self._clock())
        return held

    async def _held(self, key: str, peer: str) -> ApiKey:
        parts = key_parts(key)
        known = None if parts is None else self._known.get(parts[0].encode())
        # Whoever shows the secret of a key that was true lately is not guessing.
        guessed = parts is None or known is None or not compare_digest(known.key.digest, parts[1])
        if guessed:
            self._failed.trying(peer, self._clock())
        if parts is None:
            raise InvalidKey("this is no key of ours, or a letter of it is wrong: send it whole, as it was shown")
        held = await self._find(parts[0])
        # An unknown id costs the same comparison as a wrong secret.
        if not compare_digest(held.digest if held is not None else bytes(32), parts[1]) or held is None:
            raise InvalidKey("this key is not valid; `touchbase keys list` shows those that are")
        state = held.state(self._clock())
        if state != api_key.ACTIVE:
            raise InvalidKey(_OVER[state])
        if guessed:
            self._failed.was_true(peer, self._clock())
        return held

    async def _find(self, key_id: str) -> ApiKey | None:
        known = self._known.get(key_id.encode())
        if known is not None and known.since <= self._clock() < known.until:
            return known.key
        return await self._asking.once(key_id, lambda: self._ask(key_id))

    async def _ask(self, key_id: str) -> ApiKey | None:
        place, now = key_id.encode(), self._clock()
        while True:
            changes = self._changes
            found = await self._store.read(FindKey(key_id))
            if changes == self._changes:  # else what we have read may be older than a change that was answered meanwhile
                break
        self._known.pop(place, None)
        if found is not None and found.state(now) == api_key.ACTIVE:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            until = now + FRESH if found.expires_us is None else min(now + FRESH, found.expires_us)
            self._known[place] = _Known(found, _scopes(found), now, until)
        return found


def _scopes(key: ApiKey) -> frozenset[str]:
    """All that a key allows."""
    return frozenset(SCOPES if ADMIN in key.scopes else key.scopes)


def _serving(client: Client) -> Client:
    if client.state == SUSPENDED:
        raise ClientSuspended("this client is suspended; an administrator can resume it")
    if client.state == DELETING:
        raise NotFound(f"client {client.client_id!r} is being deleted")
    return client


def _valid(named: str) -> str:
    if not is_client_id(named):
        raise Invalid([Fault(CLIENT_HEADER, "client_id", "must be 1 to 100 letters, digits and . _ ~ -")])
    return named
