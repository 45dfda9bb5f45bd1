"""Sessions of the console: an API key's permission in a cookie, without the key.

The text of a session is `<key id>.<end>.<random>.<signature>`. The signature covers the digest of the stored key, so a session is
valid only as long as its key, and with a signing key that is not in the store: who reads the store cannot make a session.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from hmac import compare_digest
from hmac import new as hmac
from secrets import token_bytes, token_hex

from touchbase.auth.api_key import ApiKey
from touchbase.common.timestamps import SECOND, Micros
from touchbase.errors import Forbidden, InvalidKey

LIFETIME_HOURS = 12
"""From signing in to the end of a session; use does not prolong it."""
LIFETIME: Micros = LIFETIME_HOURS * 3600 * SECOND
SESSION = "\0"
"""The first character of a session in place of a key; no header can contain it, so a session counts in a cookie only."""
COOKIE = b"touchbase_session="
HOST_COOKIE = b"__Host-" + COOKIE
"""The cookie's name where TLS is: browsers take it from this host alone, for all of its paths, so that no other host can set it."""
CONSOLE_HEADER = b"x-touchbase-console"
"""A page of another origin cannot send it: no origin is allowed to by CORS."""
ENDED = "your session has ended; sign in again with your key"
_TEXT = re.compile(r"([0-9a-f]{12})\.([0-9a-f]{1,16})\.([0-9a-f]{32})\.([0-9a-f]{64})")
_RANDOM = token_bytes(32)
"""Made before server processes are forked, so that they share it."""


@dataclass(frozen=True, slots=True)
class Session:
    """A session's key and end."""

    key_id: str
    ends_us: Micros
    nonce: str
    signature: str

    @property
    def digest(self) -> bytes:
        """The stored mark of an ended session."""
        return sha256(self.nonce.encode()).digest()


class Sessions:
    """Makes and checks sessions. With no `secret` they end when the server does."""

    def __init__(self, secret: str = "") -> None:
        self._signing_key = hmac(secret.encode() or _RANDOM, b"touchbase console session", sha256).digest()

    def make(self, key: ApiKey, now: Micros) -> tuple[str, Session]:
        """Return the text of a new session of this key, which ends with the key at the latest."""
        ends = min(now + LIFETIME, key.expires_us or now + LIFETIME)
        body = f"{key.key_id}.{ends:x}.{token_hex(16)}"
        text = f"{body}.{self._sign(body, key)}"
        return text, parse(text)

    def check(self, session: Session, key: ApiKey | None, now: Micros) -> ApiKey:
        """Return the key of a session; raise `InvalidKey` if it was not made here or its time is over.

        The caller checks the key's state, and whether the session was ended before its time.
        """
        body = f"{session.key_id}.{session.ends_us:x}.{session.nonce}"
        signed = self._sign(body, key) if key is not None else ""
        if key is None or not compare_digest(signed, session.signature) or session.ends_us <= now:
            raise InvalidKey(ENDED)
        return key

    def _sign(self, body: str, key: ApiKey) -> str:
        return hmac(self._signing_key, key.digest + body.encode(), sha256).hexdigest()


def parse(text: str) -> Session:
    """Return the parts of a session's text; raise `InvalidKey`."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise InvalidKey(ENDED)
    return Session(match[1], int(match[2], 16), match[3], match[4])


def session_from_headers(headers: dict[bytes, bytes]) -> bytes | None:
    """Return the session of a console's request, with `SESSION` before it; None without one. Raises as `require_same_origin` does."""
    if CONSOLE_HEADER not in headers:
        return None
    require_same_origin(headers)
    cookies = [cookie.strip() for cookie in headers.get(b"cookie", b"").split(b";")]
    for name in (HOST_COOKIE, COOKIE):
        for cookie in cookies:
            if cookie.startswith(name):
                return SESSION.encode() + cookie.removeprefix(name)
    return None


def require_same_origin(headers: dict[bytes, bytes]) -> None:
    """Raise `Forbidden` for a request that is not of the console's own page; browsers say so, and pages cannot change it."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        own = site == b"same-origin"
    else:  # not sent over plain HTTP, but by this machine itself
        own = origin is None or origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
    if CONSOLE_HEADER not in headers or not own:
        raise Forbidden("sessions are for the console's own page; other programs send their key as Authorization: Bearer tb_...")
