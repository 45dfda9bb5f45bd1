"""Sign-in by an OpenID provider: which person an account there belongs to.

An identity is an issuer and its subject, never an address: addresses change, and are given to other people.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from touchbase.auth.users import (
    ACTIVE,
    ADMINISTRATOR,
    DELETE_LINK,
    DELETE_LINKS,
    END_SESSIONS_OF_USER,
    INVITATION,
    INVITED,
    RESET,
    SUSPENDED,
    OneTimeLink,
    User,
    add_user,
    has_other_administrator,
    live_link,
    lock_users,
    save_user,
    user_where,
)
from touchbase.common.timestamps import Micros
from touchbase.sql.filters import Where
from touchbase.sql.operation import command
from touchbase.sql.rows import Columns, names
from touchbase.sql.statement import Execute, Plan, Select, Statement

Refusal = Literal["bound", "invitation", "link", "not_invited", "suspended", "taken", "unverified"]
"""Why an account signs nobody in.

`bound`: it belongs to somebody else than the link; `invitation`: that of the address has expired; `taken`: the address has another account.
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """An account at a provider, with the provider's present claims."""

    issuer: str
    subject: str
    email: str | None
    """In normal form; None: the provider names none."""
    is_verified: bool
    name: str = ""
    role: str | None = None
    """The role for all clients by the provider's groups, blank for none; None: groups do not decide."""


@dataclass(frozen=True, slots=True)
class SignInOutcome:
    """The person of an account, or the reason of a refused sign-in."""

    user: User | None = None
    refusal: Refusal | None = None


IDENTITY: Columns = (("issuer", "text"), ("subject", "text"), ("user_id", "text"), ("created_us", "bigint"))
INSERT_IDENTITY = Statement(
    "insert_identity", IDENTITY, body=f"INSERT INTO user_identity ({names(IDENTITY)}) SELECT * FROM p WHERE true ON CONFLICT DO NOTHING"
)
DELETE_IDENTITIES = Statement(
    "delete_identities",
    (("issuer", "text"), ("user_id", "text")),
    body="DELETE FROM user_identity t USING p WHERE t.issuer = p.issuer AND t.user_id = p.user_id",
    by_row=True,
)


@command(hidden=("link",))
def sign_in_identity(identity: Identity, at: Micros, newcomer: User | None, link: str | None = None) -> Plan[SignInOutcome]:
    """Return the person of an account at a provider, who joins at its first use; or the reason of a refusal.

    The first use finds the person by the digest of a `link`, of an invitation or for another account, else by a verified address; else
    `newcomer` joins, if it is not None.
    """
    yield from lock_users()
    member: User | Refusal | None = yield from _member(identity)
    bound = None if link is None else (yield from live_link(link, (INVITATION, RESET), at))
    if member is None:
        if link is not None and bound is None:
            return SignInOutcome(refusal="link")
        member = yield from _first_use(identity, at, newcomer, bound)
    elif isinstance(member, User) and bound is not None and bound.user_id != member.id:
        return SignInOutcome(refusal="bound")
    if not isinstance(member, User):
        return SignInOutcome(refusal=member)
    if member.state == SUSPENDED:
        return SignInOutcome(refusal="suspended")
    if bound is not None:
        yield Execute(DELETE_LINK, [(bound.id,)])
    return SignInOutcome((yield from _with_role(member, identity.role)))


def _member(identity: Identity) -> Plan[User | None]:
    """Return the person who has signed in with the account before."""
    rows = yield Select("SELECT user_id FROM user_identity WHERE issuer = ? AND subject = ?", (identity.issuer, identity.subject))
    stored = (yield from user_where(Where("id = ?", rows[0][0]))) if rows else None
    return None if stored is None else stored[0]


def _first_use(identity: Identity, at: Micros, newcomer: User | None, bound: OneTimeLink | None) -> Plan[User | Refusal]:
    """Find the person of a new account, or add one; by a link it replaces the person's former account there, and ends their sessions."""
    stored = None
    if bound is not None:
        stored = yield from user_where(Where("id = ?", bound.user_id))
    elif identity.email is not None and identity.is_verified:
        stored = yield from user_where(Where("email = ?", identity.email))
    if stored is None:
        if newcomer is None or not (yield from add_user(newcomer)):
            return "not_invited" if identity.is_verified else "unverified"
        yield Execute(INSERT_IDENTITY, [(identity.issuer, identity.subject, newcomer.id, at)])
        return newcomer
    user, password = stored
    if user.state == INVITED and bound is None and newcomer is None and not (yield from _is_invited(user, at)):
        return "invitation"
    if user.state != SUSPENDED:
        if (yield Select("SELECT 1 FROM user_identity WHERE issuer = ? AND user_id = ?", (identity.issuer, user.id))):
            if bound is None:
                return "taken"
            yield Execute(DELETE_IDENTITIES, [(identity.issuer, user.id)])
            yield Execute(END_SESSIONS_OF_USER, [(user.id,)])
        yield Execute(INSERT_IDENTITY, [(identity.issuer, identity.subject, user.id, at)])
    if user.state == INVITED:
        user = replace(user, state=ACTIVE, name=user.name or identity.name, version=user.version + 1)
        yield from save_user(user, password)
        yield Execute(DELETE_LINKS, [(user.id,)])
    return user


def _is_invited(user: User, at: Micros) -> Plan[bool]:
    """Return whether the invitation of the person has not ended."""
    return bool((yield Select("SELECT 1 FROM invitation WHERE user_id = ? AND expires_us > ?", (user.id, at))))


def _with_role(user: User, role: str | None) -> Plan[User]:
    """Return the person with the role that the provider's groups say; the last administrator of all clients stays one."""
    if role is None or role == (user.role or ""):
        return user
    if user.role == ADMINISTRATOR and not (yield from has_other_administrator(user.id)):
        return user
    stored = yield from user_where(Where("id = ?", user.id))
    changed = replace(user, role=role or None, version=user.version + 1)
    yield from save_user(changed, None if stored is None else stored[1])
    return changed
