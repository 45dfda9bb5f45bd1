"""Sessions of the console: the right of a person, or of an API key, in a cookie.

The text of a session is `<id of the person or key>.<random>`; the store has its SHA-256 only. A session ends by signing out, when it was
not used for `IDLE`, `LONGEST` after its start, and with the person's or key's own right; in other processes within a second.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from secrets import token_hex
from typing import Any

from touchbase.audit import audited
from touchbase.auth.users import User, find_user
from touchbase.common.asgi import CONSOLE_HEADER
from touchbase.common.timestamps import DAY, Micros
from touchbase.errors import Forbidden, InvalidKey
from touchbase.sql.filters import Where
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement

IDLE_DAYS, LONGEST_DAYS = 7, 30
IDLE: Micros = IDLE_DAYS * DAY
LONGEST: Micros = LONGEST_DAYS * DAY
SESSION = "\0"
"""The first character of a session in place of a key; no header can contain it, so a session counts in a cookie only."""
COOKIE = b"touchbase_session="
HOST_PREFIX = b"__Host-"
"""Begins a cookie's name where TLS is: browsers take it from this host alone, for all of its paths, so that no other host can set it."""
ENDED = "your session has ended; sign in again"
LONGEST_AGENT = 300
"""Characters of the browser's name that are stored."""
_TEXT = re.compile(r"(u[0-9a-f]{11}|[0-9a-f]{12})\.[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class Session:
    """A session as the store has it: of a person or of a key."""

    id_hash: str
    user_id: str | None
    key_id: str | None
    created_us: Micros
    last_seen_us: Micros
    """To the minute."""
    user_agent: str = ""
    address: str = ""

    @property
    def holder(self) -> str:
        """The id of the person or key."""
        return self.user_id or self.key_id or ""

    @property
    def ends_us(self) -> Micros:
        """When it ends, if it is not used again."""
        return min(self.last_seen_us + IDLE, self.latest_end_us)

    @property
    def latest_end_us(self) -> Micros:
        """When it ends however much it is used."""
        return self.created_us + LONGEST


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A session and its person; None: it is a key's."""

    session: Session
    user: User | None


def new_session(holder: str, now: Micros, user_agent: str, address: str) -> tuple[str, Session]:
    """Return the text of a new session of a person or key, and the session."""
    text = f"{holder}.{token_hex(32)}"
    user_id, key_id = (holder, None) if holder.startswith("u") else (None, holder)
    return text, Session(session_hash(text), user_id, key_id, now, now, user_agent[:LONGEST_AGENT], address)


def session_hash(text: str) -> str:
    """Return the stored form (hash) of a session's text."""
    return sha256(text.encode()).hexdigest()


def check_text(text: str) -> None:
    """Raise `InvalidKey` for a text that can be no session."""
    if _TEXT.fullmatch(text) is None:
        raise InvalidKey(ENDED)


def session_from_headers(headers: Mapping[bytes, bytes], *, https: bool) -> bytes | None:
    """Return the session of a console's request, with `SESSION` before it; None without one. Raises as `require_same_origin` does."""
    if CONSOLE_HEADER not in headers:
        return None
    require_same_origin(headers)
    text = find_cookie(headers, cookie_name(COOKIE, https=https))
    return None if text is None else SESSION.encode() + text


def cookie_name(name: bytes, *, https: bool) -> bytes:
    """Return the name of a cookie as it is set and read: over https only that with `HOST_PREFIX`, as another host may set the other."""
    return HOST_PREFIX + name if https else name


def find_cookie(headers: Mapping[bytes, bytes], name: bytes) -> bytes | None:
    """Return the text of a cookie whose name ends with an equals sign; None without one."""
    cookies = (cookie.strip() for cookie in headers.get(b"cookie", b"").split(b";"))
    return next((cookie.removeprefix(name) for cookie in cookies if cookie.startswith(name)), None)


def require_same_origin(headers: Mapping[bytes, bytes]) -> None:
    """Raise `Forbidden` for a request that is not of the console's own page; browsers say so, and pages cannot change it."""
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None:
        own = site == b"same-origin"
    else:  # not sent over plain HTTP, but by this machine itself
        own = origin is None or origin.partition(b"://")[2].lower() == headers.get(b"host", b"").lower()
    if CONSOLE_HEADER not in headers or not own:
        raise Forbidden("sessions are for the console's own page; other programs send their key as Authorization: Bearer tb_...")


SESSION_ROW: Columns = (
    ("id_hash", "text"), ("user_id", "text"), ("key_id", "text"), ("created_us", "bigint"), ("last_seen_us", "bigint"),
    ("user_agent", "text"), ("address", "text"),
)  # fmt: skip
_SESSION = names(SESSION_ROW)
_USE: Columns = (("id", "text"), ("at", "bigint"))
INSERT_SESSION = Statement(
    "insert_session", SESSION_ROW, body=f"INSERT INTO user_session ({_SESSION}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING"
)
STORE_SESSION_USE = Statement(
    "store_session_use",
    _USE,
    body="UPDATE user_session AS t SET last_seen_us = p.at FROM p WHERE t.id_hash = p.id AND t.last_seen_us < p.at",
    by_row=True,
)
STORE_USER_USE = Statement(
    "store_user_use",
    _USE,
    body="UPDATE user_account AS t SET last_seen_us = p.at FROM p WHERE t.id = p.id AND (t.last_seen_us IS NULL OR t.last_seen_us < p.at)",
    by_row=True,
)


@command(
    hidden=("session",),
    follow_up=audited("session.began", "session", lambda call, _: call.session.id_hash, actor=lambda call, _: call.session.holder),
)
def store_session(session: Session) -> Plan[None]:
    """Store a new session; remove expired ones."""
    now = session.created_us
    yield Select("DELETE FROM user_session WHERE created_us <= ? OR last_seen_us <= ? RETURNING created_us", (now - LONGEST, now - IDLE))
    row = (session.id_hash, session.user_id, session.key_id, now, session.last_seen_us, session.user_agent, session.address)
    yield Execute(INSERT_SESSION, [row])


@command(background=True)
def store_session_uses(sessions: Mapping[str, Micros], users: Mapping[str, Micros]) -> Plan[None]:
    """Store when sessions, by their hashes, and people were seen last; a time before the stored one changes nothing."""
    yield Execute(STORE_SESSION_USE, sorted(sessions.items()))
    if users:
        yield Execute(STORE_USER_USE, sorted(users.items()))


@query(quick=True)
def find_session(id_hash: str) -> Plan[SignedIn | None]:
    """The session of this hash, with its person."""
    rows = yield Select(f"SELECT {_SESSION} FROM user_session WHERE id_hash = ?", (id_hash,))
    if not rows:
        return None
    session = Session(*rows[0])
    if session.user_id is None:
        return SignedIn(session, None)
    user = yield from find_user.plan(session.user_id)
    return None if user is None else SignedIn(session, user)


@query
def list_sessions(at: Micros, user_id: str) -> Plan[list[Session]]:
    """The sessions of a person that have not ended, newest first."""
    where = Where("user_id = ? AND created_us > ? AND last_seen_us > ?", user_id, at - LONGEST, at - IDLE)
    rows = yield Select(f"SELECT {_SESSION} FROM user_session WHERE {where} ORDER BY created_us DESC, id_hash LIMIT 1000", where.params)
    return [Session(*row) for row in rows]


def _ended(call: Any, count: int) -> str | None:
    return "session.ended" if count else None


@command(follow_up=audited(_ended, "user", lambda call, _: call.user_id))
def end_sessions(user_id: str | None = None, id_hash: str | None = None, keep: str = "") -> Plan[int]:
    """End sessions of a person, or the one of a hash, but not the one of the hash `keep`; return their number."""
    assert user_id is not None or id_hash is not None
    where = Where("id_hash <> ?", keep)
    where.equal("user_id", user_id)
    where.equal("id_hash", id_hash)
    return len((yield Select(f"DELETE FROM user_session WHERE {where} RETURNING id_hash", where.params)))
