"""Passwords of people: scrypt with the parameters that OWASP recommends for 16 MB of memory, and a limit of failures per person."""

from __future__ import annotations

import asyncio
import re
from base64 import b64decode, b64encode
from hashlib import scrypt
from hmac import compare_digest
from secrets import token_bytes

from touchbase.auth.auth_throttle import KeyThrottle
from touchbase.auth.users import ACTIVE, User, find_password
from touchbase.common.normalize import find_email_key
from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Clock
from touchbase.errors import InvalidKey, Overloaded
from touchbase.sql.store import Store

SHORTEST, LONGEST = 12, 256
"""Characters of a password."""
COST, BLOCK, PARALLEL = 1 << 14, 8, 5
"""n, r and p of scrypt: 16 MB and a fifth of a second. https://cheatsheetseries.owasp.org/cheatsheets/Password_Storage_Cheat_Sheet.html"""
MEMORY = 64 << 20
"""Bytes that OpenSSL may use for one hash."""
MOST_HASHING = 16
"""Passwords that are hashed or wait for it in a process: a request that waits takes one of the places of all requests."""
TRIES, TRIES_ANYWHERE, LINKS, TRY_SECONDS = 5, 200, 5, 15 * 60
"""Failures with one e-mail address before the next must wait, from one network and from all: else a stranger could lock anybody out.

And how many links to sign in with may be sent to one address: a stranger's go to the same person, who can use them.
"""
WRONG = "the e-mail address or the password is wrong; ask an administrator for a new link if you forgot it"
_FAILED = "have failed; check the password"
HASHING_SECONDS = 5
"""How soon a refused sign-in may be tried again."""
_hashing = asyncio.Semaphore(MOST_HASHING)
_STORED = re.compile(r"scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([A-Za-z0-9+/=]+)\$([A-Za-z0-9+/=]+)")


def _derive(password: str, salt: bytes, log_cost: int, block: int, parallel: int) -> bytes:
    return scrypt(password.encode("utf-8", "surrogatepass"), salt=salt, n=1 << log_cost, r=block, p=parallel, maxmem=MEMORY, dklen=32)


async def _hashed(password: str, salt: bytes, log_cost: int, block: int, parallel: int) -> bytes:
    """Return the hash of a password; raise `Overloaded` if very many others wait."""
    if _hashing.locked():
        raise Overloaded("very many people sign in at once; try again in a moment", retry_after=HASHING_SECONDS)
    async with _hashing:
        return await on_thread("passwords", _derive, password, salt, log_cost, block, parallel)


async def hash_password(password: str) -> str:
    """Return the stored form of a password: parameters, salt and hash."""
    salt, log_cost = token_bytes(16), COST.bit_length() - 1
    derived = await _hashed(password, salt, log_cost, BLOCK, PARALLEL)
    return f"scrypt${log_cost}${BLOCK}${PARALLEL}${b64encode(salt).decode()}${b64encode(derived).decode()}"


async def is_password(password: str, stored: str | None) -> bool:
    """Return whether a password has this stored form; without one it takes as long and is False."""
    match = _STORED.fullmatch(stored or "")
    if match is None:
        await _hashed(password, bytes(16), COST.bit_length() - 1, BLOCK, PARALLEL)
        return False
    log_cost, block, parallel = int(match[1]), int(match[2]), int(match[3])
    derived = await _hashed(password, b64decode(match[4]), log_cost, block, parallel)
    return compare_digest(derived, b64decode(match[5]))


class Passwords:
    """Signs people in by their passwords; an unknown address takes as long, and counts, as a wrong password."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock
        self._failed = KeyThrottle(TRIES, TRY_SECONDS, failures=f"passwords for this address {_FAILED}")
        self._failed_anywhere = KeyThrottle(TRIES_ANYWHERE, TRY_SECONDS, failures=f"passwords for this address, from everywhere, {_FAILED}")
        self._links = KeyThrottle(LINKS, TRY_SECONDS, failures="links for this address were requested; look for the newest in its mailbox")

    async def user(self, email: str, password: str, peer: str) -> User:
        """Return the active person with this password; raise `InvalidKey`, and `RateLimited` after too many failures.

        `peer` is the address of the HTTP client.
        """
        key = find_email_key(email)
        name = key or email.strip().lower()[:LONGEST]
        self._failed.check((name, peer), self._clock())
        self._failed_anywhere.check(name, self._clock())
        stored = None if key is None else await self._store.read(find_password(key))
        try:
            is_right = await is_password(password, None if stored is None else stored[1])
        except Overloaded:
            self._forget(name, peer)  # nothing was tried
            raise
        if not is_right or stored is None or stored[0].state != ACTIVE:
            raise InvalidKey(WRONG)
        self._forget(name, peer)
        return stored[0]

    def check_link(self, email: str) -> None:
        """Count a link to be sent to an address in normal form; raise `RateLimited`."""
        self._links.check(email, self._clock())

    def _forget(self, name: str, peer: str) -> None:
        """Stop counting an attempt."""
        self._failed.succeeded((name, peer), self._clock())
        self._failed_anywhere.succeeded(name, self._clock())
