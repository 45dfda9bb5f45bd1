"""People of the team: their roles, and the operations that read and change them.

A role holds for all clients or for one. It stands for the scopes of API keys, so a person may do what a key with these scopes may do.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, time, timedelta
from hashlib import sha256
from secrets import token_hex
from typing import Any, Literal
from zoneinfo import ZoneInfo

import msgspec

from touchbase.audit import audited
from touchbase.auth.service import ADMIN, READ, WRITE
from touchbase.auth.sql import LOCK_FIRST_KEY
from touchbase.common.timestamps import DAY, SECOND, Micros, is_zone
from touchbase.errors import NotFound, PreconditionFailed, TouchbaseError, WrongState
from touchbase.sql.filters import Where, among
from touchbase.sql.operation import command, query
from touchbase.sql.rows import Columns, encode, names
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement

VIEWER, OPERATOR, ADMINISTRATOR = "viewer", "operator", "admin"
ROLE_SCOPES: Mapping[str, frozenset[str]] = {
    VIEWER: frozenset((READ,)),
    OPERATOR: frozenset((READ, WRITE)),
    ADMINISTRATOR: frozenset((READ, WRITE, ADMIN)),
}
"""Rights of each role, from the least to the most."""
ROLES = tuple(ROLE_SCOPES)
INVITED, ACTIVE, SUSPENDED = "invited", "active", "suspended"
USER_STATES = (INVITED, ACTIVE, SUSPENDED)
LinkKind = Literal["invitation", "reset", "sign_in"]
INVITATION: LinkKind = "invitation"
RESET: LinkKind = "reset"
SIGN_IN: LinkKind = "sign_in"
MOST_INVITATIONS = 1_000
"""Invitations in their list."""
LINK_LIFETIMES: Mapping[str, Micros] = {INVITATION: 7 * DAY, RESET: DAY, SIGN_IN: 15 * 60 * SECOND}
USED_LINK = "this link was used, replaced or has expired; ask an administrator for another one"


@dataclass(frozen=True, slots=True)
class User:
    """A person. `role` is for all clients; None: only for the clients of `grants`, by their numbers."""

    id: str
    email: str
    name: str
    role: str | None
    state: str
    created_us: Micros
    time_zone: str = ""
    notifications: Mapping[str, Any] = field(default_factory=dict)
    has_password: bool = False
    last_seen_us: Micros | None = None
    version: int = 1
    grants: Mapping[int, str] = field(default_factory=dict)

    def scopes(self, client: int | None) -> frozenset[str]:
        """Return the scopes for one client, or for all."""
        own = ROLE_SCOPES[self.role] if self.role is not None else frozenset()
        return own if client is None or client not in self.grants else own | ROLE_SCOPES[self.grants[client]]

    def clients_with(self, scope: str) -> frozenset[int]:
        """Return the clients for which a grant has the scope."""
        return frozenset(number for number, role in self.grants.items() if scope in ROLE_SCOPES[role])

    def limited(self, scopes: frozenset[str], client: int | None) -> User:
        """Return the person with the rights that a personal key leaves: at most the scopes, and one client if it names one."""
        cap = next((role for role in ROLES if scopes <= ROLE_SCOPES[role]), ADMINISTRATOR)

        def least(role: str) -> str:
            return min(role, cap, key=ROLES.index)

        if client is None:
            role = None if self.role is None else least(self.role)
            return replace(self, role=role, grants={number: least(role) for number, role in self.grants.items()})
        roles = [role for role in (self.role, self.grants.get(client)) if role is not None]
        return replace(self, role=None, grants={client: least(max(roles, key=ROLES.index))} if roles else {})

    @property
    def zone(self) -> ZoneInfo:
        """The time zone; UTC if there is none, or if this system does not have it."""
        return ZoneInfo(self.time_zone if is_zone(self.time_zone) else "UTC")

    def day_ends(self, now: Micros) -> Micros:
        """Return when the person's present day ends."""
        day = datetime.fromtimestamp(now / SECOND, self.zone).date() + timedelta(days=1)
        return int(datetime.combine(day, time(), self.zone).timestamp()) * SECOND

    @property
    def is_admin(self) -> bool:
        """Whether the person may manage people, clients and settings of the installation."""
        return self.role == ADMINISTRATOR and self.state == ACTIVE


@dataclass(frozen=True, slots=True)
class UserChange:
    """Changes of a person; None: unchanged. An empty `role` takes the role for all clients away."""

    name: str | None = None
    role: str | None = None
    grants: Mapping[int, str] | None = None
    state: str | None = None
    time_zone: str | None = None
    notifications: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class OneTimeLink:
    """A link that works once: its secret is stored as a digest only."""

    id: str
    digest: str
    user_id: str
    kind: LinkKind
    created_us: Micros
    expires_us: Micros


def new_user_id() -> str:
    """Return a random id, which is no id of a key."""
    return f"u{token_hex(6)[1:]}"


def new_link(user_id: str, kind: LinkKind, now: Micros) -> tuple[str, OneTimeLink]:
    """Return the secret of a new link, and the link."""
    secret = token_hex(32)
    return secret, OneTimeLink(token_hex(6), link_digest(secret), user_id, kind, now, now + LINK_LIFETIMES[kind])


def link_digest(secret: str) -> str:
    """Return the stored form (hash) of a link's secret."""
    return sha256(secret.encode()).hexdigest()


def no_such_user(user_id: str) -> NotFound:
    """Return the error for an unknown person."""
    return NotFound(f"there is no user {user_id[:100]!r}; GET /team/v1/users lists all")


USER: Columns = (
    ("id", "text"), ("email", "text"), ("name", "text"), ("role", "text"), ("state", "text"), ("created_us", "bigint"),
    ("time_zone", "text"), ("notifications", "text"), ("password", "text"), ("last_seen_us", "bigint"), ("version", "bigint"),
)  # fmt: skip
LINK: Columns = (
    ("id", "text"), ("digest", "text"), ("user_id", "text"), ("kind", "text"), ("created_us", "bigint"), ("expires_us", "bigint"),
)  # fmt: skip
GRANT: Columns = (("user_id", "text"), ("granted_client", "bigint"), ("role", "text"))
_USER, _LINK = names(USER), names(LINK)
_BY_USER: Columns = (("user_id", "text"),)
INSERT_USER = Statement(
    "insert_user", USER, body=f"INSERT INTO user_account ({_USER}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING RETURNING id"
)
UPDATE_USER = Statement(
    "update_user",
    (*USER[:1], *USER[2:5], *USER[6:9], ("version", "bigint")),
    body="UPDATE user_account AS t SET name = p.name, role = p.role, state = p.state, time_zone = p.time_zone, "
    "notifications = p.notifications, password = p.password, version = p.version FROM p WHERE t.id = p.id",
    by_row=True,
)
DELETE_USER = Statement("delete_user", USER[:1], body="DELETE FROM user_account t USING p WHERE t.id = p.id", by_row=True)
INSERT_GRANT = Statement("insert_grant", GRANT, body=f"INSERT INTO user_grant ({names(GRANT)}) SELECT * FROM p WHERE true")
DELETE_GRANTS = Statement("delete_grants", _BY_USER, body="DELETE FROM user_grant t USING p WHERE t.user_id = p.user_id", by_row=True)
STORE_LINK = Statement(
    "store_link",
    LINK,
    body=f"INSERT INTO invitation ({_LINK}) SELECT * FROM p WHERE true ON CONFLICT (user_id, kind) DO UPDATE SET id = excluded.id, "
    "digest = excluded.digest, created_us = excluded.created_us, expires_us = excluded.expires_us",
)
DELETE_LINK = Statement("delete_link", LINK[:1], body="DELETE FROM invitation t USING p WHERE t.id = p.id RETURNING t.id", by_row=True)
DELETE_LINKS = Statement("delete_links", _BY_USER, body="DELETE FROM invitation t USING p WHERE t.user_id = p.user_id", by_row=True)
END_SESSIONS_OF_USER = Statement(
    "end_sessions_of_user", _BY_USER, body="DELETE FROM user_session t USING p WHERE t.user_id = p.user_id", by_row=True
)


def _users(where: Where, order: str = "", limit: int | None = None) -> Plan[list[tuple[User, str | None]]]:
    """Read people with the stored form of their passwords."""
    tail = f"{order} LIMIT ?" if limit is not None else order
    params = where.params if limit is None else (*where.params, limit)
    rows = yield Select(f"SELECT {_USER} FROM user_account WHERE {where}{tail}", params)
    if not rows:
        return []
    marks = ", ".join("?" for _ in rows)
    grants: dict[str, dict[int, str]] = {}
    granted = yield Select(
        f"SELECT {names(GRANT)} FROM user_grant WHERE user_id IN ({marks}) ORDER BY user_id, granted_client", tuple(row[0] for row in rows)
    )
    for user_id, client, role in granted:
        grants.setdefault(user_id, {})[client] = role
    return [(_user(row, grants.get(row[0], {})), row[8]) for row in rows]


def _user(row: Row, grants: Mapping[int, str]) -> User:
    """Return the person of a row; a role that there is not gives no right, and settings that cannot be read are the usual ones."""
    user_id, email, name, role, state, created_us, time_zone, notifications, password, last_seen_us, version = row
    try:
        wanted = msgspec.json.decode(notifications, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        wanted = {}
    lists = {name: value for name, value in wanted.items() if isinstance(value, list) and all(isinstance(word, str) for word in value)}
    wanted = {name: value for name, value in wanted.items() if value is None or isinstance(value, str) or name in lists}
    return User(
        user_id, email, name, role if role in ROLE_SCOPES else None, state, created_us, time_zone, wanted, password is not None,
        last_seen_us, version, {client: role for client, role in grants.items() if role in ROLE_SCOPES},
    )  # fmt: skip


def user_where(where: Where) -> Plan[tuple[User, str | None] | None]:
    """Read one person with the stored form of the password."""
    users = yield from _users(where)
    return users[0] if users else None


def _row(user: User, password: str | None) -> Row:
    return (
        user.id, user.email, user.name, user.role, user.state, user.created_us, user.time_zone, encode(user.notifications), password,
        user.last_seen_us, user.version,
    )  # fmt: skip


def save_user(user: User, password: str | None) -> Plan[None]:
    """Update a person that was read in this transaction."""
    row = _row(user, password)
    yield Execute(UPDATE_USER, [(row[0], *row[2:5], *row[6:9], user.version)])
    yield Execute(DELETE_GRANTS, [(user.id,)])
    if user.grants:
        yield Execute(INSERT_GRANT, [(user.id, client, role) for client, role in sorted(user.grants.items())])


def lock_users() -> Plan[None]:
    """Lock changes of people for this transaction, so that two administrators cannot suspend each other at once."""
    yield Execute(LOCK_FIRST_KEY, [("first_key",)])


def add_user(user: User) -> Plan[bool]:
    """Insert a person with the grants; False if somebody has the e-mail address."""
    if not (yield Execute(INSERT_USER, [_row(user, None)])):
        return False
    if user.grants:
        yield Execute(INSERT_GRANT, [(user.id, client, role) for client, role in sorted(user.grants.items())])
    return True


def has_other_administrator(user_id: str) -> Plan[bool]:
    """Return whether somebody else is an active administrator of all clients."""
    others = yield Select("SELECT 1 FROM user_account WHERE role = ? AND state = ? AND id <> ? LIMIT 1", (ADMINISTRATOR, ACTIVE, user_id))
    return bool(others)


def live_link(digest: str, kinds: tuple[str, ...], at: Micros) -> Plan[OneTimeLink | None]:
    """Return the link with this digest, if it is one of these kinds and has not ended."""
    rows = yield Select(f"SELECT {_LINK} FROM invitation WHERE digest = ? AND expires_us > ?", (digest, at))
    link = OneTimeLink(*rows[0]) if rows else None
    return link if link is not None and link.kind in kinds else None


@command(follow_up=audited("user.invited", "user", lambda call, _: call.user.id))
def invite_user(user: User, link: OneTimeLink) -> Plan[User | WrongState]:
    """Store a person who is invited, and the link to join. `WrongState` if there is a person with this e-mail address."""
    yield from lock_users()
    if not (yield from add_user(user)):
        return WrongState(f"there is a user {user.email} already: change that one, or send a new link with `touchbase users reset`")
    yield Execute(STORE_LINK, [_link_row(link)])
    return user


def _link_row(link: OneTimeLink) -> Row:
    return (link.id, link.digest, link.user_id, link.kind, link.created_us, link.expires_us)


def _made(call: Any, user: User) -> str | None:
    return None if call.link.kind == SIGN_IN else "user.link_created"


@command(follow_up=audited(_made, "user", lambda call, _: call.link.user_id))
def store_link(link: OneTimeLink) -> Plan[User | TouchbaseError]:
    """Store a person's link; it replaces the earlier one of its kind. `NotFound`, and `WrongState` for a suspended person."""
    yield from lock_users()
    stored = yield from user_where(Where("id = ?", link.user_id))
    if stored is None:
        return no_such_user(link.user_id)
    user, _ = stored
    if user.state == SUSPENDED:
        return WrongState(f"{user.email} is suspended: resume the user first")
    yield Execute(STORE_LINK, [_link_row(link)])
    return user


def _changed(call: Any, user: User) -> str | None:
    change = call.change
    if change.state is not None:
        return "user.suspended" if change.state == SUSPENDED else "user.resumed"
    return None if change.role is None and change.grants is None else "user.rights_changed"


@command(follow_up=audited(_changed, "user", lambda call, _: call.user_id))
def change_user(user_id: str, change: UserChange, version: int | None = None) -> Plan[User | TouchbaseError]:
    """Change a person; suspending ends the sessions and links.

    `NotFound`; `PreconditionFailed` if the person has another `version`; `WrongState` if no administrator would be left, and for a state
    that somebody invited cannot have.
    """
    yield from lock_users()
    stored = yield from user_where(Where("id = ?", user_id))
    if stored is None:
        return no_such_user(user_id)
    user, password = stored
    if version is not None and version != user.version:
        return PreconditionFailed("the user has changed since it was read; read it again, and send its ETag in If-Match")
    changed = replace(user, version=user.version + 1, **{
        name: value for name in UserChange.__slots__ if (value := getattr(change, name)) is not None
    })  # fmt: skip
    changed = replace(changed, role=changed.role or None)
    if changed.state == ACTIVE and user.state == INVITED:
        return WrongState(f"{user.email} has not joined yet; `touchbase users reset` makes a new link to join")
    if changed.state == SUSPENDED and user.state == INVITED:
        return WrongState(f"{user.email} has not joined yet: revoke the invitation instead")
    if user.is_admin and not changed.is_admin and not (yield from has_other_administrator(user_id)):
        return WrongState(f"{user.email} is the last administrator of all clients: make another one first")
    yield from save_user(changed, password)
    if changed.state == SUSPENDED:
        yield Execute(END_SESSIONS_OF_USER, [(user_id,)])
        yield Execute(DELETE_LINKS, [(user_id,)])
    return changed


def _used(call: Any, user: User) -> str | None:
    return None if call.password is None else "user.joined"


@command(hidden=("digest", "password"), follow_up=audited(_used, "user", lambda _, user: user.id, actor=lambda _, user: user.id))
def use_link(digest: str, kinds: tuple[str, ...], at: Micros, password: str | None = None, name: str = "") -> Plan[User | NotFound]:
    """Use a link up: its person joins, gets the password, or is returned for signing in. Another password ends all sessions and links.

    `NotFound` for a link that is none of these kinds, was used, replaced or has expired.
    """
    yield from lock_users()
    link = yield from live_link(digest, kinds, at)
    if link is None or not (yield Execute(DELETE_LINK, [(link.id,)])):
        return NotFound(USED_LINK)
    stored = yield from user_where(Where("id = ?", link.user_id))
    if stored is None or stored[0].state == SUSPENDED:
        return NotFound(USED_LINK)
    user, former = stored
    if link.kind == SIGN_IN:
        return user
    if password is not None and former is not None:
        yield Execute(END_SESSIONS_OF_USER, [(user.id,)])
        yield Execute(DELETE_LINKS, [(user.id,)])
    joined = replace(user, state=ACTIVE, name=name or user.name, version=user.version + 1, has_password=(password or former) is not None)
    yield from save_user(joined, password or former)
    return joined


@command(hidden=("password",), follow_up=audited("user.password_changed", "user", lambda call, _: call.user_id))
def set_password(user_id: str, password: str, keep: str) -> Plan[User | NotFound]:
    """Store another password of a person; all sessions end but the one with the hash `keep`. `NotFound`."""
    yield from lock_users()
    stored = yield from user_where(Where("id = ?", user_id))
    if stored is None:
        return no_such_user(user_id)
    changed = replace(stored[0], version=stored[0].version + 1, has_password=True)
    yield from save_user(changed, password)
    yield Select("DELETE FROM user_session WHERE user_id = ? AND id_hash <> ? RETURNING id_hash", (user_id, keep))
    return changed


@command(follow_up=audited("invitation.revoked", "user", lambda _, user_id: user_id))
def revoke_invitation(link_id: str) -> Plan[str | NotFound]:
    """Remove an invited person who has not joined, with the link; return the id of the user. `NotFound`."""
    yield from lock_users()
    rows = yield Select(f"SELECT {_LINK} FROM invitation WHERE id = ? AND kind = ?", (link_id, INVITATION))
    if not rows:
        return NotFound(f"there is no invitation {link_id[:40]!r}; GET /team/v1/invitations lists all")
    user_id = OneTimeLink(*rows[0]).user_id
    yield Execute(DELETE_LINKS, [(user_id,)])
    yield Execute(DELETE_GRANTS, [(user_id,)])
    yield Execute(DELETE_USER, [(user_id,)])
    return user_id


@query(quick=True)
def has_link(digest: str, kinds: Collection[str], at: Micros) -> Plan[bool]:
    """Whether there is a link of these kinds that can be used."""
    rows = yield Select("SELECT kind FROM invitation WHERE digest = ? AND expires_us > ?", (digest, at))
    return any(kind in kinds for (kind,) in rows)


@query(quick=True)
def find_user(user_id: str) -> Plan[User | None]:
    """The person with this id."""
    stored = yield from user_where(Where("id = ?", user_id))
    return None if stored is None else stored[0]


@query(quick=True)
def find_password(email: str) -> Plan[tuple[User, str | None] | None]:
    """The person with this e-mail address in normal form, and the stored form of the password."""
    return (yield from user_where(Where("email = ?", email)))


@query
def list_users(
    limit: int, after: str = "", state: str | None = None, email: str | None = None, sharing: Collection[int] | None = None, own: str = ""
) -> Plan[list[User]]:
    """People by e-mail address, after one; `sharing`: only those who may see one of these clients, and the person `own`."""
    where = Where("email > ?", after)
    where.equal("state", state)
    where.equal("email", email)
    if sharing is not None:
        condition, numbers = among(sharing)
        granted = f"SELECT user_id FROM user_grant WHERE granted_client {condition}"
        where.add(f"(role IS NOT NULL OR id = ? OR id IN ({granted}))", own, *numbers)
    return [user for user, _ in (yield from _users(where, " ORDER BY email", limit))]


@query
def list_invitations() -> Plan[list[tuple[OneTimeLink, User]]]:
    """The latest invitations of people who have not joined, newest first; expired ones too."""
    rows = yield Select(
        f"SELECT {_LINK} FROM invitation WHERE kind = ? AND user_id IN (SELECT id FROM user_account WHERE state = ?) "
        "ORDER BY created_us DESC, id LIMIT ?",
        (INVITATION, INVITED, MOST_INVITATIONS),
    )
    links = [OneTimeLink(*row) for row in rows]
    if not links:
        return []
    where = Where(f"id IN ({', '.join('?' for _ in links)})", *(link.user_id for link in links))
    users = {user.id: user for user, _ in (yield from _users(where))}
    return [(link, users[link.user_id]) for link in links]


@query(quick=True)
def any_user() -> Plan[bool]:
    """Return whether a person has joined."""
    return bool((yield Select("SELECT 1 FROM user_account WHERE state = ? LIMIT 1", (ACTIVE,))))
