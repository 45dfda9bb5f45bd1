"""HTTP resources of the team: who calls, people, their invitations and sessions.

Administrators of all clients manage people; others see the people who may see one of their clients, and change what is their own.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from touchbase.auth import passwords
from touchbase.auth.authentication import ADMIN, READ, Principal, key_scopes
from touchbase.auth.passwords import hash_password
from touchbase.auth.sessions import Session, end_sessions, find_session, list_sessions, require_same_origin, session_hash
from touchbase.auth.users import (
    INVITATION,
    INVITED,
    MOST_INVITATIONS,
    RESET,
    ROLE_SCOPES,
    USED_LINK,
    USER_STATES,
    LinkKind,
    OneTimeLink,
    User,
    UserChange,
    change_user,
    find_user,
    has_link,
    invite_user,
    link_digest,
    list_invitations,
    list_users,
    new_link,
    new_user_id,
    no_such_user,
    revoke_invitation,
    set_password,
    store_link,
    use_link,
)
from touchbase.clients.models import DELETING, Client
from touchbase.common import field_limits as limits
from touchbase.common.asgi import CONSOLE_HEADER, peer_of
from touchbase.common.timestamps import CLOCK, is_clock, is_zone, to_text, to_text_or_none
from touchbase.conversations.notifications import KINDS as NOTIFIED
from touchbase.errors import Fault, Forbidden, Invalid, InvalidKey, NotFound, PreconditionFailed
from touchbase.http import query_parameters as query
from touchbase.http.conditional import ETAG, if_match, tags_named
from touchbase.http.endpoint import Call
from touchbase.http.people import clients_of, sees
from touchbase.http.query_parameters import LIMIT, PAGE, cursor_text
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success, Tag
from touchbase.http.schemas import PageOf, Time, encode, example, named_enum
from touchbase.http.session_cookie import begin_session, console_address, session_text, with_session
from touchbase.outgoing.api.endpoint_bodies import INSTALLATION
from touchbase.outgoing.api.mail_to_people import can_mail, link_mail
from touchbase.records.validation import email as email_rule
from touchbase.records.validation import raise_if_any

Role = Literal["viewer", "operator", "admin"]
State = Literal["active", "suspended"]
Channel = Literal["browser", "email", "slack"]
assert get_args(Role) == tuple(ROLE_SCOPES)
_ROLE = named_enum("Role", "What a person may do: read; also work; also set up.", get_args(Role))
_STATE = named_enum("UserState", "Whether a person has joined, and may sign in.", USER_STATES)
_CALLER = named_enum("CallerType", "Who calls.", ("anyone", "key", "user"))
_CHANNEL = named_enum("NotificationChannel", "How a person is notified.", ("browser", "email", "slack"))
_CHANGED_STATE = named_enum("NewUserState", "Whether a person may sign in.", ("active", "suspended"))
_CLOCK = {"pattern": f"^{CLOCK}$"}
RoleName = Annotated[str, Meta(extra_json_schema=_ROLE)]
Name = Annotated[str, Meta(max_length=limits.NAME, description="The person's name.")]
Email = Annotated[str, Meta(max_length=limits.EMAIL, description="The person's e-mail address.")]
Zone = Annotated[str, Meta(max_length=limits.NAME, description="IANA time zone in which times are shown; blank: the browser's.")]
Secret = Annotated[str, Meta(max_length=200, description="What stands behind the # of the link.")]
Password = Annotated[str, Meta(max_length=passwords.LONGEST, description=f"At least {passwords.SHORTEST} characters.")]
_FOR_ALL = "The role for all clients; null: only for the clients of `grants`."
_GRANTS = "Roles for single clients; they replace the former ones."
Channels = list[Annotated[Channel, Meta(extra_json_schema=_CHANNEL)]]
Hour = Annotated[str | None, Meta(extra_json_schema=_CLOCK, description="Such as 18:30, in the person's time zone; null: none.")]


class GrantBody(Struct, forbid_unknown_fields=True):
    """The role for one client."""

    client_id: Annotated[str, Meta(max_length=limits.CLIENT_ID)]
    role: Annotated[Role, Meta(description="The role for this client.")]


class Notifications(Struct, forbid_unknown_fields=True):
    """A person's notifications; nothing is sent in the quiet hours."""

    mention: Annotated[Channels, Meta(max_length=3, description="A note names the person.")] = []
    assignment: Annotated[Channels, Meta(max_length=3, description="Something is assigned to the person.")] = []
    reply: Annotated[Channels, Meta(max_length=3, description="A reply in one's own conversations.")] = []
    positive_reply: Annotated[Channels, Meta(max_length=3, description="A reply of somebody interested.")] = []
    critical: Annotated[Channels, Meta(max_length=3, description="Something that needs a person at once.")] = []
    task_due: Annotated[Channels, Meta(max_length=3, description="A task of the person is due.")] = []
    daily_summary: Annotated[
        Channels,
        Meta(max_length=3, description="Once a day what came in, is open, needs somebody and returns from a snooze; not if nothing did."),
    ] = []
    summary_at: Annotated[Hour, Meta(description="Time of the daily summary in the person's time zone; null: 08:00.")] = None
    quiet_from: Hour = None
    quiet_until: Hour = None


class UserOut(Struct):
    """A person of the team."""

    id: str
    email: Annotated[str, Meta(description="In normal form.")]
    name: Annotated[str, Meta(description="The person's name; blank: not known yet.")]
    role: Annotated[RoleName | None, Meta(description="The role for all clients; null: only for the clients of `grants`.")]
    all_clients: Annotated[bool, Meta(description="Whether there is a role for all clients.")]
    grants: Annotated[list[GrantBody], Meta(description="Roles for single clients; the greater of the two roles counts.")]
    state: Annotated[str, Meta(extra_json_schema=_STATE, description="Whether the person has joined, and may sign in.")]
    time_zone: Annotated[str, Meta(description="IANA time zone in which times are shown; blank: the browser's.")]
    notifications: Annotated[Notifications, Meta(description="How the person is notified of what.")]
    has_password: Annotated[bool, Meta(description="Whether the person may sign in with a password.")]
    created_time: Annotated[str, Meta(description="When the person was invited.", extra_json_schema={"format": "date-time"})]
    last_seen_time: Annotated[Time | None, Meta(description="To the minute.")]


class UserPage(PageOf[UserOut]):
    """A page of people, by e-mail address; `next_cursor` is null on the last one."""


class UserPatch(Struct, forbid_unknown_fields=True):
    """Changes of a person. Only administrators change roles, grants and the state."""

    name: Name | UnsetType = UNSET
    role: Annotated[Role | UnsetType | None, Meta(description=_FOR_ALL)] = UNSET
    grants: Annotated[list[GrantBody], Meta(max_length=1000, description=_GRANTS)] | UnsetType = UNSET
    state: Annotated[
        Annotated[State, Meta(extra_json_schema=_CHANGED_STATE)] | UnsetType, Meta(description="Suspended: the person cannot sign in.")
    ] = UNSET
    time_zone: Zone | UnsetType = UNSET
    notifications: Annotated[Notifications | UnsetType, Meta(description="Replaces all of them.")] = UNSET


class InvitationRequest(Struct, forbid_unknown_fields=True):
    """Somebody to invite: with a role for all clients, roles for single ones, or both."""

    email: Email
    name: Name = ""
    role: Annotated[Role | None, Meta(description=_FOR_ALL)] = None
    grants: Annotated[list[GrantBody], Meta(max_length=1000, description=_GRANTS)] = []
    time_zone: Zone = ""


class InvitationOut(Struct):
    """An invitation of somebody who has not joined."""

    id: str
    user: Annotated[UserOut, Meta(description="The person who is invited.")]
    created_time: Time
    expires_time: Annotated[str, Meta(description="When the link ends.", extra_json_schema={"format": "date-time"})]
    is_expired: Annotated[bool, Meta(description="Whether the link has ended; a reset makes a new one.")]


class NewInvitationOut(InvitationOut):
    """A new invitation. `link` is shown once: the response to a repeat with the same Idempotency-Key leaves it out."""

    mailed: Annotated[bool, Meta(description="Whether the link is being sent by e-mail, too.")] = False
    link: Annotated[str | UnsetType, Meta(description="The address to join at.")] = UNSET


class InvitationPage(Struct):
    """The newest invitations of people who have not joined, newest first."""

    data: list[InvitationOut]


class AcceptRequest(Struct, forbid_unknown_fields=True):
    """Use an invitation, or a link for another password."""

    link: Secret
    password: Password
    name: Name = ""


class PasswordRequest(Struct, forbid_unknown_fields=True):
    """Another password of one's own."""

    current: Annotated[str, Meta(max_length=passwords.LONGEST, description="The password of now.")]
    password: Password


example(PasswordRequest, {"current": "correct horse battery", "password": "staple correct battery"})


class NewLinkOut(Struct):
    """A link that works once. It is shown only here."""

    link: Annotated[str, Meta(description="The address to choose a password at.")]
    expires_time: Annotated[str, Meta(description="When the link ends.", extra_json_schema={"format": "date-time"})]
    mailed: Annotated[bool, Meta(description="Whether the link is being sent by e-mail, too.")]


class ClientOfMe(Struct):
    """A client that the caller may see, and the role there."""

    client_id: str
    handle: Annotated[str, Meta(description="Names the client in addresses of the console.")]
    name: Annotated[str, Meta(description="The client's name.")]
    role: Annotated[RoleName, Meta(description="The caller's role for this client.")]


class MeOut(Struct):
    """Caller of a request, with its rights."""

    type: Annotated[Literal["user", "key", "anyone"], Meta(extra_json_schema=_CALLER, description="`anyone`: this server needs no keys.")]
    scopes: Annotated[list[str], Meta(description="For all clients of the caller together.")]
    user: Annotated[
        UserOut | None, Meta(description="The person, with the rights of a personal key; null: a service's key calls, or anyone.")
    ]
    key_id: Annotated[str | None, Meta(description="The API key, also a personal one; null: a person in a browser calls, or anyone.")]
    key_name: Annotated[str, Meta(description="The key's name; blank: no key calls.")]
    clients: Annotated[
        list[ClientOfMe] | None, Meta(description="The clients of a person without a role for all; null: all, or the key's.")
    ]


class SessionOut(Struct):
    """Where a person is signed in."""

    id: str
    created_time: Time
    last_seen_time: Annotated[str, Meta(description="When it was used last, to the minute.", extra_json_schema={"format": "date-time"})]
    ends_time: Annotated[str, Meta(description="When it ends, if it is not used again.", extra_json_schema={"format": "date-time"})]
    user_agent: Annotated[str, Meta(description="The browser, as it names itself.")]
    address: Annotated[str, Meta(description="The network address when it began.")]
    is_current: Annotated[bool, Meta(description="Whether this request belongs to it.")]


class SessionPage(Struct):
    """The sessions of one person, newest first."""

    data: list[SessionOut]


_ANN = {
    "id": "u3f9a1c27b0d", "email": "mira@example.com", "name": "Mira Sandoval", "role": None, "all_clients": False,
    "grants": [{"client_id": "acme", "role": "operator"}], "state": "active", "time_zone": "Europe/Berlin",
    "notifications": msgspec.to_builtins(Notifications(assignment=["browser"], quiet_from="18:30", quiet_until="08:00")),
    "has_password": True, "created_time": "2026-11-02T08:10:00Z", "last_seen_time": "2026-11-20T09:30:00Z",
}  # fmt: skip
example(UserOut, _ANN)
example(UserPatch, {"role": None, "grants": [{"client_id": "acme", "role": "operator"}]})
example(InvitationRequest, {"email": "mira@example.com", "name": "Mira Sandoval", "grants": [{"client_id": "acme", "role": "operator"}]})
example(PasswordRequest, {"current": "correct horse battery", "password": "staple correct horse"})
STATE = query.choice("state", USER_STATES, "People in this state.", member="state")
EMAIL = query.text("email", "The person with this e-mail address.", member="email")
USER_ID = query.text("user_id", "The person; administrators only. Without it: one's own.")


async def me(call: Call) -> Response:
    """`GET` of who calls."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    user, key = principal.user, principal.key
    if user is None:
        shown = MeOut(
            "anyone" if key is None else "key", sorted(principal.scopes if key is None else key_scopes(key)), None,
            None if key is None else key.key_id, "" if key is None else key.name, None,
        )  # fmt: skip
        return Response(body=encode(shown))
    scopes = user.scopes(None).union(*map(user.scopes, user.grants))
    clients = None
    if user.role is None:
        listed = await _present(call, user.grants)
        clients = [ClientOfMe(client.client_id, client.handle, client.name, user.grants[client.number]) for client in listed]
    key_id, key_name = (None, "") if key is None else (key.key_id, key.name)
    if key is not None:
        scopes &= key_scopes(key)
    return _tagged(user, MeOut("user", sorted(scopes), (await _user_out(call, [user]))[0], key_id, key_name, clients))


async def users(call: Call) -> Response:
    """`GET` of a page of people."""
    principal = await call.principal(of_several=True)
    parameters = call.parameters()
    after = parameters.cursor("users", str)
    parameters.done()
    limit, is_limited = parameters[LIMIT], principal.client is not None or principal.clients is not None
    sharing, own = clients_of(principal) if is_limited else None, "" if principal.user is None else principal.user.id
    users = await call.api.dependencies.store.read(list_users(limit + 1, after or "", **parameters.filters, sharing=sharing, own=own))
    shown = users[:limit]
    cursor = cursor_text("users", shown[-1].email) if len(users) > limit else None
    return Response(body=encode(UserPage(await _user_out(call, shown, principal), cursor)))


async def user(call: Call) -> Response:
    """`GET` of one person."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    shown = await _visible_user(call, principal, call.path("user_id"))
    return _tagged(shown, (await _user_out(call, [shown], principal))[0])


async def patch_user(call: Call) -> Response:
    """`PATCH` of one person."""
    principal = await call.principal(of_several=True)
    present = await _visible_user(call, principal, call.path("user_id"))
    has_slack = bool(call.api[INSTALLATION].slack_token)
    request = await call.body(UserPatch, lambda partly: _check_user(partly, has_slack=has_slack))
    _check_user(request, has_slack=has_slack)
    is_own = principal.user is not None and principal.user.id == present.id
    rights = {"/role": request.role, "/grants": request.grants, "/state": request.state}
    if not manages(principal):
        if not is_own:
            raise Forbidden("only an administrator of all clients may change other people")
        if touched := [pointer for pointer, value in rights.items() if value is not UNSET]:
            raise Forbidden(f"only an administrator of all clients may change {touched[0]}; leave it out")
    grants = None if request.grants is UNSET else await _grants_of(call, request.grants)
    change = UserChange(
        None if request.name is UNSET else request.name.strip(),
        None if request.role is UNSET else request.role or "",
        grants,
        request.state or None,
        None if request.time_zone is UNSET else request.time_zone.strip(),
        None if request.notifications is UNSET else msgspec.to_builtins(request.notifications),
    )
    changed = await call.api.dependencies.store.write(change_user(present.id, change, _version_named(call, present)))
    call.api.authenticator.forget_user(present.id)
    return _tagged(changed, (await _user_out(call, [changed], principal))[0])


async def reset_user(call: Call) -> Response:
    """`POST` that makes a link for another password, or to join."""
    await _require_manager(call)
    call.parameters().done()
    parts = call.api.dependencies
    present = await parts.store.read(find_user(call.path("user_id")))
    if present is None:
        raise no_such_user(call.path("user_id"))
    kind: LinkKind = INVITATION if present.state == INVITED else RESET
    secret, link = new_link(present.id, kind, parts.clock())

    def shown(_: User) -> Response:
        text = console_address(call, f"join#{secret}")
        body = NewLinkOut(text, to_text(link.expires_us), can_mail(call, present.email))
        hidden = {"expires_time": body.expires_time, "mailed": body.mailed}
        return Response(201, encode(body), headers=[(b"cache-control", b"no-store")], stored_body=encode(hidden))

    response = await call.write_and_respond(lambda writes: writes.write(store_link(link)), shown)
    _mail(call, present, link, secret)
    return response


async def invitations(call: Call) -> Response:
    """`GET` of the newest invitations."""
    await _require_manager(call)
    call.parameters().done()
    parts = call.api.dependencies
    listed = await parts.store.read(list_invitations())
    people = await _user_out(call, [user for _, user in listed])
    now = parts.clock()
    data = [
        InvitationOut(link.id, user, to_text(link.created_us), to_text(link.expires_us), link.expires_us <= now)
        for (link, _), user in zip(listed, people, strict=True)
    ]
    return Response(body=encode(InvitationPage(data)))


async def invite(call: Call) -> Response:
    """`POST` of an invitation; only this response has its link."""
    await _require_manager(call)
    request = await call.body(InvitationRequest, _check_invitation)
    email = _check_invitation(request)
    now = call.api.dependencies.clock()
    grants = await _grants_of(call, request.grants)
    invited = User(
        new_user_id(), email, request.name.strip(), request.role, INVITED, now, request.time_zone.strip(),
        msgspec.to_builtins(Notifications()), grants=grants,
    )  # fmt: skip
    secret, link = new_link(invited.id, INVITATION, now)
    person = (await _user_out(call, [invited]))[0]

    def shown(_: User) -> Response:
        plain = InvitationOut(link.id, person, to_text(link.created_us), to_text(link.expires_us), False)
        values = {name: getattr(plain, name) for name in plain.__struct_fields__}
        body = NewInvitationOut(**values, mailed=can_mail(call, email), link=console_address(call, f"join#{secret}"))
        headers = [(b"location", call.reached_at(f"/team/v1/users/{invited.id}")), (b"cache-control", b"no-store")]
        return Response(201, encode(body), headers=headers, stored_body=encode(plain))

    response = await call.write_and_respond(lambda writes: writes.write(invite_user(invited, link)), shown)
    _mail(call, invited, link, secret)
    return response


async def revoke(call: Call) -> Response:
    """`DELETE` of an invitation."""
    await _require_manager(call)
    call.parameters().done()
    await call.api.dependencies.store.write(revoke_invitation(call.path("invitation_id")))
    return Response(204)


async def accept(call: Call) -> Response:
    """`POST` of a link's secret with a password: its person joins, and is signed in if the console's page asks."""
    api, peer = call.api, peer_of(call.scope)
    is_page = CONSOLE_HEADER in call.headers
    if is_page:
        require_same_origin(call.headers)
    api.authenticator.begin_attempt(peer)
    request = await call.body(AcceptRequest, _check_password)
    _check_password(request)
    name = request.name.strip()
    digest, kinds, now = link_digest(request.link.strip()), (INVITATION, RESET), api.dependencies.clock()
    if not await api.dependencies.store.read(has_link(digest, kinds, now)):  # nobody makes this server hash without one
        raise NotFound(USED_LINK)
    used = await api.dependencies.store.write(use_link(digest, kinds, now, await hash_password(request.password), name))
    api.authenticator.end_attempt(peer)
    api.authenticator.forget_user(used.id)
    response = Response(body=encode((await _user_out(call, [used]))[0]), headers=[(b"cache-control", b"no-store")])
    if not is_page or not api.authenticator.keys_needed:
        return response
    text, session = await begin_session(call, used.id)
    return with_session(call, response, text, session)


async def change_password(call: Call) -> Response:
    """`PUT` of another password of one's own."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    request = await call.body(PasswordRequest, _check_password)
    _check_password(request)
    user = principal.user
    if user is None or principal.key is not None:
        raise Forbidden("passwords are changed by people who are signed in to the console; keys have none")
    if not user.has_password:
        raise Forbidden("you have no password: ask an administrator for a link to choose one")
    try:
        await call.api.passwords.user(user.email, request.current, peer_of(call.scope))
    except InvalidKey:
        raise Invalid([Fault("/current", "wrong", "is not your password; ask an administrator for a link if you forgot it")]) from None
    stored = await hash_password(request.password)
    await call.api.dependencies.store.write(set_password(user.id, stored, _current_session(call)))
    call.api.authenticator.forget_user(user.id)
    return Response(204)


async def sessions(call: Call) -> Response:
    """`GET` of a person's sessions."""
    parts = call.api.dependencies
    user_id = await owner_of(call)
    listed, current = await parts.store.read(list_sessions(parts.clock(), user_id)), _current_session(call)
    return Response(body=encode(SessionPage([_session_out(session, current) for session in listed])))


async def end_session(call: Call) -> Response:
    """`DELETE` of one session, of one's own or as an administrator."""
    principal = await call.principal(of_several=True)
    call.parameters().done()
    store, id_hash = call.api.dependencies.store, call.path("session_id")
    signed = await store.read(find_session(id_hash))
    is_own = signed is not None and principal.user is not None and signed.session.user_id == principal.user.id
    if signed is None or signed.session.user_id is None or not (is_own or manages(principal)):
        raise NotFound("there is no such session; GET /team/v1/sessions lists yours")
    await call.api.authenticator.end_session(id_hash)
    return Response(204)


async def end_all_sessions(call: Call) -> Response:
    """`DELETE` of all sessions of a person except the requesting one."""
    user_id = await owner_of(call)
    await call.api.dependencies.store.write(end_sessions(user_id=user_id, keep=_current_session(call)))
    call.api.authenticator.forget_user(user_id)
    return Response(204)


def manages(principal: Principal) -> bool:
    """Whether the caller may manage people: an administrator of all clients."""
    return principal.client is None and principal.clients is None and ADMIN in principal.scopes


async def _require_manager(call: Call) -> Principal:
    principal = await call.principal(of_several=True)
    if not manages(principal):
        raise Forbidden("only an administrator of all clients may manage people")
    return principal


async def _visible_user(call: Call, principal: Principal, user_id: str) -> User:
    user = await call.api.dependencies.store.read(find_user(user_id))
    if user is None or not sees(principal, user):
        raise no_such_user(user_id)
    return user


async def owner_of(call: Call, no_person: str = "a key has no sessions; name a user") -> str:
    """Return the person whose sessions or keys a request is about; only administrators may name another one."""
    principal = await call.principal(of_several=True)
    parameters = call.parameters()
    parameters.done()
    own, named = None if principal.user is None else principal.user.id, parameters[USER_ID]
    if named is not None and named != own and not manages(principal):
        raise Forbidden("only an administrator of all clients may see what belongs to other people; leave user_id out")
    user_id = named or own
    if user_id is None:
        raise Invalid([Fault("?user_id", "required", no_person)])
    if named is not None and await call.api.dependencies.store.read(find_user(named)) is None:
        raise no_such_user(named)
    return user_id


def _current_session(call: Call) -> str:
    text = session_text(call)
    return "" if text is None else session_hash(text)


def _session_out(session: Session, current: str) -> SessionOut:
    return SessionOut(
        session.id_hash, to_text(session.created_us), to_text(session.last_seen_us), to_text(session.ends_us), session.user_agent,
        session.address, session.id_hash == current,
    )  # fmt: skip


async def _present(call: Call, numbers: Iterable[int]) -> list[Client]:
    """Return the clients of these numbers that are not being deleted, by id."""
    clients = [client for client in (await call.api.clients.of(numbers)).values() if client.state != DELETING]
    return sorted(clients, key=lambda client: client.client_id)


async def _user_out(call: Call, people: Sequence[User], principal: Principal | None = None) -> list[UserOut]:
    """Return people as shown; grants only for clients that the caller may see, too."""
    limited = principal is not None and (principal.client is not None or principal.clients is not None)
    visible = clients_of(principal) if limited and principal is not None else None
    granted_clients = {number for user in people for number in user.grants}
    ids = {client.number: client.client_id for client in await _present(call, granted_clients)}
    shown = []
    for user in people:
        granted = {ids[number]: role for number, role in user.grants.items() if number in ids and (visible is None or number in visible)}
        grants = msgspec.convert([{"client_id": client_id, "role": role} for client_id, role in granted.items()], list[GrantBody])
        shown.append(
            UserOut(
                user.id, user.email, user.name, user.role, user.role is not None, grants, user.state, user.time_zone,
                _notifications_of(user), user.has_password, to_text(user.created_us),
                to_text_or_none(user.last_seen_us),
            )
        )  # fmt: skip
    return shown


def _notifications_of(user: User) -> Notifications:
    """Return a person's notifications; a former server, or somebody by hand, may have stored others, which are left out."""
    try:
        return msgspec.convert(user.notifications, Notifications)
    except msgspec.ValidationError:
        shown = Notifications()
    for name, value in user.notifications.items():
        with suppress(msgspec.ValidationError):
            setattr(shown, name, getattr(msgspec.convert({name: value}, Notifications), name))
    return shown


def _tagged(user: User, body: Struct) -> Response:
    return Response(body=encode(body), headers=[(ETAG, b'"%d"' % user.version)])


def _version_named(call: Call, present: User) -> int | None:
    """Return the version that the user must have by `If-Match`; None for any."""
    tags = tags_named(call)
    if tags is None:
        return None
    if str(present.version) not in tags:
        raise PreconditionFailed("the user has changed since it was read; read it again, and send its ETag in If-Match")
    return present.version


def _check_user(request: UserPatch, *, has_slack: bool) -> None:
    zone = "" if request.time_zone is UNSET else request.time_zone.strip()
    faults = [] if not zone or is_zone(zone) else [_unknown_zone(zone)]
    if request.notifications is not UNSET:
        faults += _unsent(request.notifications, has_slack)
        faults += [
            Fault(f"/notifications/{name}", "clock", "must be a time of day such as 18:30, or null")
            for name in ("summary_at", "quiet_from", "quiet_until")
            if (clock := getattr(request.notifications, name)) is not None and not is_clock(clock)
        ]
    if request.name is not UNSET and (why := limits.why_no_name(request.name)) is not None:
        faults.append(Fault("/name", "blank", f"{why}; leave it out instead"))
    raise_if_any(faults)


def _unsent(wanted: Notifications, has_slack: bool) -> list[Fault]:
    """Return what somebody would wait for in vain."""
    return [
        Fault(f"/notifications/{name}", "not_sent", "nobody is told in Slack until the operator sets TOUCHBASE_SLACK_TOKEN")
        for name in NOTIFIED
        if "slack" in getattr(wanted, name) and not has_slack
    ]


def _check_invitation(request: InvitationRequest) -> str:
    """Return the e-mail address in normal form; raise `Invalid` with all faults."""
    faults: list[Fault] = []
    email = email_rule(request.email, "/email", faults)
    if request.name and (why := limits.why_no_name(request.name)) is not None:
        faults.append(Fault("/name", "blank", f"{why}; leave it out instead"))
    if request.role is None and not request.grants:
        faults.append(Fault("/role", "required", "give a role for all clients, or grants for single ones"))
    if (zone := request.time_zone.strip()) and not is_zone(zone):
        faults.append(_unknown_zone(zone))
    raise_if_any(faults)
    return email or ""


def _check_password(request: AcceptRequest | PasswordRequest) -> None:
    if isinstance(request, AcceptRequest) and request.name and (why := limits.why_no_name(request.name)) is not None:
        raise Invalid([Fault("/name", "blank", f"{why}; leave it out instead")])
    if len(request.password) < passwords.SHORTEST:
        raise Invalid([Fault("/password", "too_short", f"must have at least {passwords.SHORTEST} characters")])


def _unknown_zone(zone: str) -> Fault:
    return Fault("/time_zone", "time_zone", f"must be an IANA time zone such as Europe/Berlin, and {zone[:40]!r} is none")


async def _grants_of(call: Call, grants: Sequence[GrantBody]) -> dict[int, str]:
    """Return the roles by the numbers of their clients; raise `Invalid` with all faults."""
    roles: dict[int, str] = {}
    faults: list[Fault] = []
    for index, grant in enumerate(grants):
        client = await call.api.clients.named(grant.client_id)
        if client is None or client.state == DELETING:
            faults.append(Fault(f"/grants/{index}/client_id", "client_not_found", f"there is no client {grant.client_id[:100]!r}"))
        elif client.number in roles:
            faults.append(Fault(f"/grants/{index}/client_id", "repeated", "stands here twice; give one role for a client"))
        else:
            roles[client.number] = grant.role
    raise_if_any(faults)
    return roles


def _mail(call: Call, user: User, link: OneTimeLink, secret: str) -> None:
    if can_mail(call, user.email):
        link_mail(call, user, link.kind, console_address(call, f"join#{secret}"))


TEAM = Tag("Team", "People: who may see which clients, invitations, and where they are signed in.")
_ONE = (Success(200, "The user.", UserOut, ("ETag",)),)
_MANAGERS = " For administrators of all clients."
ROUTES = [
    Route(
        "GET", "/team/v1/me", me, scope=READ, operation_id="get_me", tag=TEAM, summary="Get who calls",
        description="The person or key of the request, its rights, and the clients of a person who may not see all.",
        success=(Success(200, "Who calls.", MeOut, ("ETag",)),),
    ),
    Route(
        "PUT", "/team/v1/me/password", change_password, scope=READ, operation_id="change_password", tag=TEAM,
        summary="Change one's password", description="For people who are signed in to the console. All their other sessions end.",
        body=PasswordRequest, success=(Success(204, "It is changed."),), problems=(429,),
    ),
    Route(
        "GET", "/team/v1/users", users, scope=READ, operation_id="list_users", tag=TEAM, summary="List people",
        description="By e-mail address. A key or person of some clients sees the people who may see one of them, with the grants for them.",
        query=(*PAGE, STATE, EMAIL), success=(Success(200, "A page.", UserPage),),
    ),
    Route(
        "GET", "/team/v1/users/{user_id}", user, scope=READ, operation_id="get_user", tag=TEAM, summary="Get one person",
        description="A person whom the caller does not see is a 404.", success=_ONE,
    ),
    Route(
        "PATCH", "/team/v1/users/{user_id}", patch_user, scope=READ, operation_id="update_user", tag=TEAM, summary="Update one person",
        description="People change their own name, time zone and notifications; administrators of all clients everything of everybody. "
        "A role of null leaves the roles of `grants`. Suspending ends all sessions within a second. The last active administrator of all "
        "clients stays one: anything else is a 409.",
        headers=(if_match("user"),), body=UserPatch, success=_ONE, problems=(409, 412),
    ),
    Route(
        "POST", "/team/v1/users/{user_id}/reset", reset_user, scope=ADMIN, operation_id="reset_user", tag=TEAM,
        summary="Make a link for another password",
        description=f"The link works once, for a day; for somebody who has not joined it is a new invitation.{_MANAGERS}",
        success=(Success(201, "The link.", NewLinkOut),), problems=(409,),
    ),
    Route(
        "GET", "/team/v1/invitations", invitations, scope=ADMIN, operation_id="list_invitations", tag=TEAM, summary="List invitations",
        description=f"The newest {MOST_INVITATIONS:,} of people who have not joined; expired ones too. Users in the state `invited` "
        f"are all of them.{_MANAGERS}",
        success=(Success(200, "The invitations.", InvitationPage),), problems=(422,),
    ),
    Route(
        "POST", "/team/v1/invitations", invite, scope=ADMIN, operation_id="invite_user", tag=TEAM, summary="Invite somebody",
        description="The response has a link that works once, for 7 days; it is sent by e-mail too, where the server has a mail server and "
        f"may send to this address. 409: there is a user with this address.{_MANAGERS}",
        body=InvitationRequest, success=(Success(201, "The invitation.", NewInvitationOut, ("Location",)),), problems=(409,),
    ),
    Route(
        "DELETE", "/team/v1/invitations/{invitation_id}", revoke, scope=ADMIN, operation_id="revoke_invitation", tag=TEAM,
        summary="Revoke an invitation", description=f"The link works no longer, and the invited user is removed.{_MANAGERS}",
        success=(Success(204, "The invitation is revoked."),),
    ),
    Route("POST", "/team/v1/invitations/accept", accept, scope=""),  # for the console's page
    Route(
        "GET", "/team/v1/sessions", sessions, scope=READ, operation_id="list_sessions", tag=TEAM, summary="List sessions",
        description="Where a person is signed in to the console. Administrators of all clients may name another one.",
        query=(USER_ID,), success=(Success(200, "The sessions.", SessionPage),), problems=(404,),
    ),
    Route(
        "DELETE", "/team/v1/sessions", end_all_sessions, scope=READ, operation_id="end_sessions", tag=TEAM, summary="End all sessions",
        description="Signs a person out everywhere, but not the session that asks.", query=(USER_ID,),
        success=(Success(204, "The sessions have ended."),), problems=(404,),
    ),
    Route(
        "DELETE", "/team/v1/sessions/{session_id}", end_session, scope=READ, operation_id="end_session", tag=TEAM,
        summary="End one session",
        description="One's own, or as an administrator of all clients anybody's. It ends here at once, in other processes within a second.",
        success=(Success(204, "The session has ended."),),
    ),
]  # fmt: skip
