"""Authentication: the client of a request, and whether its key or the session of its person allows the request.

Without keys the client is the one that the request names, else `default`. The first request that writes creates it;
until then reads treat it as empty. With keys, the key identifies the client; a key of no client leaves the choice
to the request. `auth/service.py` creates keys. A person (`auth/users.py`) may see several clients: the request names one of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from hmac import compare_digest

from touchbase.auth import api_key
from touchbase.auth.api_key import ApiKey
from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.auth.last_used import KeyUsage
from touchbase.auth.service import ADMIN, KEY_ID, READ, SCOPES, WRITE, add_key, key_parts, make_key
from touchbase.auth.sessions import ENDED, SESSION, SignedIn, check_text, end_sessions, find_session, session_hash
from touchbase.auth.sql import find_key
from touchbase.auth.users import ACTIVE as USER_ACTIVE
from touchbase.auth.users import User, find_user
from touchbase.clients.models import ACTIVE, DELETING, SUSPENDED, Client
from touchbase.clients.service import Clients, is_client_id
from touchbase.common.asgi import LOCAL_PEER
from touchbase.common.cache import Cache
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.errors import ClientSuspended, Fault, Forbidden, InsufficientScope, Invalid, InvalidKey, NotFound, Unauthorized
from touchbase.sql.store import Store

__all__ = ["ADMIN", "READ", "SCOPES", "WRITE", "Authenticator", "Principal", "add_key", "key_parts", "make_key"]

DEFAULT_CLIENT = "default"
CLIENT_HEADER = "X-Client-Id"
NO_SUCH_ADDRESS = "there is no such webhook address; it must end with the exact id of a client"
FRESH: Micros = SECOND
"""How long a key is cached: so long a key that another process has revoked may still be accepted here."""
_OVER = {
    api_key.REVOKED: "this key was revoked; request another one, or create one with `touchbase keys create`",
    api_key.EXPIRED: "this key has expired; request another one, or create one with `touchbase keys create`",
}


NO_LINK = "there is no report at this address; copy the whole link, or ask for another one"
PERSON = SESSION + "u"
"""The beginning of a person's session in place of a key."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The holder of a key, or a person: the number of the client that the request is limited to (None: all), and the scopes."""

    client: int | None
    scopes: frozenset[str]
    clients: frozenset[int] | None = None
    """Of a person: the clients among which the request must choose, as it names none; None: there is nothing to choose."""
    user: User | None = None
    key: ApiKey | None = None


OPERATOR_KEY = ApiKey("", b"", (ADMIN,), None, "operator")
"""The rights of whoever runs a command on the store: it is stored nowhere, and no text matches it."""


@dataclass(frozen=True, slots=True)
class _CachedKey:
    """A cached key, with all its scopes; a personal key has its person instead, whose rights every request reads."""

    key: ApiKey
    scopes: frozenset[str]
    user: User | None = None


def key_id_of(key: bytes) -> str:
    """Return the id in the text of a valid key, or of a session."""
    return (key[1:13] if key.startswith(SESSION.encode()) else key[KEY_ID]).decode("ascii")


class Authenticator:
    """Authenticates requests. Keys are cached for `FRESH`, only as digests."""

    def __init__(
        self,
        store: Store,
        clients: Clients,
        clock: Clock,
        *,
        keys_needed: bool,
        uses: KeyUsage | None = None,
        failed_keys: KeyThrottle | None = None,
        keyless: ApiKey | None = None,
    ) -> None:
        """`keyless`: the rights of requests without a key; None: they are refused."""
        self._store = store
        self._clients = clients
        self._clock = clock
        self._keyless = keyless
        self._uses = uses or KeyUsage()
        self._failed = failed_keys or KeyThrottle()
        self._keys: Cache[bytes, _CachedKey] = Cache(clock, FRESH, valid_until=_valid_until)
        self._sessions: Cache[str, SignedIn] = Cache(clock, FRESH, valid_until=lambda signed, now: min(now + FRESH, signed.session.ends_us))
        """By the hashes of their texts."""
        self.keys_needed = keys_needed

    def cached(self, key: bytes, named: bytes | None, scope: str, now: Micros) -> Client | None:
        """Return the result of `client` if caches have it; None says nothing about the key."""
        entry = self._keys.get(key[KEY_ID], now)
        if entry is None or scope not in entry.scopes:
            return None
        stored = entry.key
        if not compare_digest(sha256(key).digest(), stored.digest):
            return None
        client: Client | None = None
        if named is not None:
            client = self._clients.cached(named.decode("latin-1"), now)
        elif stored.client is not None:
            client = self._clients.cached_by_number(stored.client, now)
        if client is None or client.state != ACTIVE or (stored.client is not None and stored.client != client.number):
            return None
        self._uses.record(stored.key_id, now)
        return client

    async def client(self, key: str | None, named: str | None, scope: str, peer: str = LOCAL_PEER, *, makes: bool = True) -> Client:
        """Return the client of a request on records; `peer` is the address of the HTTP client.

        Without keys, a client that does not exist is created only if the request `makes` something, else an empty one is returned.

        Raises `Unauthorized`, `RateLimited` for an address whose keys fail too often, `Forbidden`, `NotFound` for a
        client that does not exist, and `Invalid` if the request must name one and does not.
        """
        named = None if named is None else await self._clients.id_of(named)
        if not self.keys_needed:
            client_id = _valid(named) if named is not None else DEFAULT_CLIENT
            return _serving(await (self._clients.ensure(client_id) if makes else self._clients.find_or_placeholder(client_id)))
        if key is not None and key.startswith(PERSON):
            return await self._client_of_person(await self.person(key, peer), named, scope)
        stored = await self._allowed(key, scope, peer)
        if stored.user_id is not None:
            return await self._client_of_person(await self.person_of(stored), named, scope)
        if stored.client is None:
            if named is None:
                raise Invalid([Fault(CLIENT_HEADER, "required", f"this key belongs to no client; name one in the header {CLIENT_HEADER}")])
            client = await self._clients.get(_valid(named))
            # The operator works on suspended clients too.
            return client if stored is self._keyless and client.state == SUSPENDED else _serving(client)
        client = await self._own(stored.client)
        if named is not None and named != client.client_id:
            named_client = await self._clients.find(named)
            if named_client is None or named_client.number != client.number:
                raise Forbidden(f"this key belongs to another client than the one named in {CLIENT_HEADER}")
        return client

    async def principal(
        self, key: str | None, scope: str, peer: str = LOCAL_PEER, *, named: Callable[[], str | None] = lambda: None
    ) -> Principal:
        """Return the holder of a key or a person with this scope; raise the key errors of `client`. Without keys every scope is allowed.

        `named`: returns the client that the request names; it limits a person who may not see all clients.
        """
        if not self.keys_needed:
            return Principal(None, frozenset(SCOPES))
        if key is not None and key.startswith(PERSON):
            return await self._principal_of(await self.person(key, peer), named(), scope)
        stored = await self._allowed(key, scope, peer)
        if stored.user_id is not None:
            return replace(await self._principal_of(await self.person_of(stored), named(), scope), key=stored)
        if stored.client is not None:
            await self._own(stored.client)
        return Principal(stored.client, key_scopes(stored), key=stored)

    async def person(self, session: str, peer: str = LOCAL_PEER) -> User:
        """Return the person of a session; raise `InvalidKey`, and `RateLimited` for an address whose keys fail too often."""
        user = (await self.signed_in(session.removeprefix(SESSION), peer)).user
        if user is None:
            raise InvalidKey(ENDED)
        return user

    async def person_of(self, key: ApiKey) -> User:
        """Return the person of a personal key, with the rights that it leaves; raise `InvalidKey` if the person is not active."""
        entry = self._keys.get(key.key_id.encode(), self._clock())
        user = (await self._store.read(find_user(key.user_id or ""))) if entry is None else entry.user
        if user is None or user.state != USER_ACTIVE:
            raise InvalidKey("the person of this key is suspended; ask an administrator")
        return user.limited(key_scopes(key), key.granted_client)

    async def _client_of_person(self, user: User, named: str | None, scope: str) -> Client:
        """Return the client of a person's request on records."""
        if named is None and user.role is None and len(user.grants) == 1:
            return _serving(_needing(user, await self._clients.by_number(next(iter(user.grants))), scope))
        if named is None:
            raise Invalid([Fault(CLIENT_HEADER, "required", f"you may see several clients; name one in the header {CLIENT_HEADER}")])
        return _serving(_needing(user, _visible(user, named, await self._clients.find(_valid(named))), scope))

    async def _principal_of(self, user: User, named: str | None, scope: str) -> Principal:
        if scope in user.scopes(None):
            return Principal(None, user.scopes(None), user=user)
        if named is not None:
            client = _needing(user, _visible(user, named, await self._clients.named(_valid(named))), scope)
            return Principal(client.number, user.scopes(client.number), user=user)
        clients = user.clients_with(scope)
        if not clients:
            raise _role_lacks(scope)
        if len(clients) > 1:
            return Principal(None, frozenset().union(*map(user.scopes, clients)), clients, user)
        (only,) = clients
        return Principal((await self._own(only)).number, user.scopes(only), user=user)

    async def receiver(self, client_id: str) -> Client:
        """Return the client of a webhook address; raise `NotFound`. Without keys, and before an administrator creates one, it is created.

        A suspended client is returned too: its webhooks are stored.
        """
        if not is_client_id(client_id):
            raise NotFound(NO_SUCH_ADDRESS)
        client = await (self._clients.find(client_id) if self.keys_needed else self._receiver(client_id))
        if client is None or client.state == DELETING:
            raise NotFound(NO_SUCH_ADDRESS)
        return client

    async def _receiver(self, client_id: str) -> Client | None:
        """Return the client of a webhook address without keys: its first use creates it, until an administrator has created one."""
        try:
            return await self._clients.ensure(client_id, first_use=True)
        except NotFound:
            return None

    async def holder(self, key: str, peer: str = LOCAL_PEER) -> ApiKey:
        """Return the stored key of a key or session, whatever its scopes; raise the key errors of `client`."""
        stored = await self._key_of(key, peer)
        if stored.client is not None:
            await self._own(stored.client)
        return stored

    def begin_attempt(self, peer: str) -> None:
        """Count a request whose key is in its body as a failed key, before the body is read; raise `RateLimited`."""
        if self.keys_needed:
            self._failed.check(peer, self._clock())

    def end_attempt(self, peer: str) -> None:
        """Stop counting a request whose body had a key, which is checked and counted by itself."""
        if self.keys_needed:
            self._failed.succeeded(peer, self._clock())

    async def end_session(self, id_hash: str) -> None:
        """End a session before its time: here at once, in other processes within `FRESH`."""
        await self._store.write(end_sessions(id_hash=id_hash))
        self._sessions.forget(id_hash)

    def forget_user(self, user_id: str) -> None:
        """Remove the sessions and keys of a changed person from the cache."""
        self._sessions.forget_where(lambda _, signed: signed.session.user_id == user_id)
        self._keys.forget_where(lambda _, entry: entry.key.user_id == user_id)

    async def signed_in(self, text: str, peer: str = LOCAL_PEER) -> SignedIn:
        """Return a session with its person; raise `InvalidKey` if it has ended. The caller checks the key of a key's session."""
        check_text(text)
        id_hash, now = session_hash(text), self._clock()
        is_unknown = self._sessions.peek(id_hash) is None
        if is_unknown:
            self._failed.check(peer, now)
        signed = self._sessions.get(id_hash, now)
        if signed is None:
            signed = await self._sessions.read(id_hash, lambda: self._store.read(find_session(id_hash)))
        if signed is None or signed.session.ends_us <= now or not text.startswith(f"{signed.session.holder}."):
            raise InvalidKey(ENDED)
        if signed.user is not None and signed.user.state != USER_ACTIVE:
            raise InvalidKey("you are suspended; ask an administrator")
        if is_unknown:
            self._failed.succeeded(peer, now)
        self._uses.record_session(signed.session, now)
        return signed

    def forget(self, key_id: str) -> None:
        """Remove a changed key from the cache."""
        self._keys.forget(key_id.encode())

    async def _own(self, number: int) -> Client:
        """Return the client of a key that is limited to one."""
        try:
            client = await self._clients.by_number(number)
        except NotFound:
            raise InvalidKey("this key is not valid: its client no longer exists") from None
        if client.state == DELETING:
            raise InvalidKey("this key is not valid: its client is being deleted")
        return _serving(client)

    async def _allowed(self, key: str | None, scope: str, peer: str) -> ApiKey:
        if key is None:
            if self._keyless is not None:
                return self._keyless
            raise Unauthorized("this request needs a key: send it as Authorization: Bearer tb_...")
        stored = await self._key_of(key, peer)
        if scope not in key_scopes(stored):
            raise InsufficientScope(f"this key lacks the scope {scope}; use one that has it", data={"scope": scope})
        self._uses.record(stored.key_id, self._clock())
        return stored

    async def _key_of(self, key: str, peer: str) -> ApiKey:
        """Return the stored key of a key or a session."""
        if key.startswith(SESSION):
            return await self._key_of_session(key.removeprefix(SESSION), peer)
        return await self._stored_key(key, peer)

    async def report_link(self, text: str, peer: str) -> tuple[ApiKey, Client | None]:
        """Return a report link and its client, None if the link has ended; raise `InvalidKey` for another text, and as `client` does."""
        stored = await self._matching(text, peer)
        if not stored.is_report_link or stored.client is None:
            raise InvalidKey(NO_LINK)
        if stored.state(self._clock()) != api_key.ACTIVE:
            return stored, None
        self._uses.record(stored.key_id, self._clock())
        return stored, await self._own(stored.client)

    async def _stored_key(self, key: str, peer: str) -> ApiKey:
        stored = await self._matching(key, peer)
        if stored.is_report_link:
            raise InvalidKey("this is the link of a report, and no key: open it in a browser")
        return _active(stored, self._clock())

    async def _matching(self, key: str, peer: str) -> ApiKey:
        """Return the key or link with this text, in any state; raise `InvalidKey`, and `RateLimited` for an address with many failures."""
        parts = key_parts(key)
        entry = None if parts is None else self._keys.peek(parts[0].encode())
        # A text that matches a cached key is not an attempt to guess one.
        unknown = parts is None or entry is None or not compare_digest(entry.key.digest, parts[1])
        if unknown:
            self._failed.check(peer, self._clock())
        if parts is None:
            raise InvalidKey("invalid API key: copy the whole key, starting with tb_")
        stored = await self._find(parts[0])
        # An unknown id costs the same comparison as a wrong secret.
        if not compare_digest(stored.digest if stored is not None else bytes(32), parts[1]) or stored is None:
            raise InvalidKey("this key is not valid; `touchbase keys list` shows valid keys")
        if unknown and stored.state(self._clock()) == api_key.ACTIVE:
            self._failed.succeeded(peer, self._clock())
        return stored

    async def _key_of_session(self, text: str, peer: str) -> ApiKey:
        session = (await self.signed_in(text, peer)).session
        stored = None if session.key_id is None else await self._find(session.key_id)
        if stored is None:
            raise InvalidKey(ENDED)
        return _active(stored, self._clock())

    async def _find(self, key_id: str) -> ApiKey | None:
        entry = self._keys.get(key_id.encode(), self._clock())
        if entry is None:
            entry = await self._keys.read(key_id.encode(), lambda: self._read(key_id))
        return None if entry is None else entry.key

    async def _read(self, key_id: str) -> _CachedKey | None:
        api_key = await self._store.read(find_key(key_id))
        if api_key is None or api_key.user_id is None:
            return None if api_key is None else _CachedKey(api_key, key_scopes(api_key))
        return _CachedKey(api_key, frozenset(), await self._store.read(find_user(api_key.user_id)))


def _active(key: ApiKey, now: Micros) -> ApiKey:
    state = key.state(now)
    if state != api_key.ACTIVE:
        raise InvalidKey(_OVER[state])
    return key


def _valid_until(entry: _CachedKey, now: Micros) -> Micros:
    """Return until when a key may be cached; not at all if it is not active."""
    if entry.key.state(now) != api_key.ACTIVE:
        return now
    return now + FRESH if entry.key.expires_us is None else entry.key.expires_us


def key_scopes(key: ApiKey) -> frozenset[str]:
    """Return all scopes of a key."""
    return frozenset(SCOPES if ADMIN in key.scopes else key.scopes)


def _role_lacks(scope: str) -> InsufficientScope:
    return InsufficientScope(f"your role does not have the scope {scope} here; ask an administrator", data={"scope": scope})


def _visible(user: User, named: str, client: Client | None) -> Client:
    """Return a client that the person may see; raise `NotFound`, which is the same for others and for unknown ids."""
    if client is None or client.state == DELETING or not user.scopes(client.number):
        raise NotFound(f"there is no client {named!r}")
    return client


def _needing(user: User, client: Client, scope: str) -> Client:
    """Return a client for which the person has the scope."""
    if scope not in user.scopes(client.number):
        raise _role_lacks(scope)
    return client


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
