"""HTTP resources of the console: its page for every address below `/console`, its files, and signing in.

They are not part of the public API, so the OpenAPI document leaves them out.

The built files are in memory, each also compressed. The names of assets contain a hash of their content, so that they can be
cached for ever. The page names them relative to its own address, because a proxy may serve the console below a prefix that the
server does not see.
"""

from __future__ import annotations

import contextlib
import gzip
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib import resources
from urllib.parse import parse_qs

from msgspec import Struct
from msgspec.json import Decoder

from touchbase.auth.api_key import ApiKey
from touchbase.auth.authentication import ADMIN, SCOPES, key_scopes
from touchbase.auth.sessions import IDLE_DAYS, LONGEST_DAYS, SESSION, require_same_origin
from touchbase.auth.users import ACTIVE as USER_ACTIVE
from touchbase.auth.users import ADMINISTRATOR, SIGN_IN, User, any_user, find_password, link_digest, new_link, store_link, use_link
from touchbase.clients.models import DELETING, Client
from touchbase.common.asgi import peer_of
from touchbase.common.normalize import find_email_key
from touchbase.common.timestamps import to_text_or_none
from touchbase.console.oidc import OIDC
from touchbase.console.sign_in import SIGN_IN as SIGN_IN_TAG
from touchbase.console.sign_in import SignInWays, provider_out
from touchbase.errors import Fault, Forbidden, Invalid, InvalidKey, NotFound
from touchbase.http.conditional import ETAG, unless_known
from touchbase.http.endpoint import Call
from touchbase.http.responses import Response
from touchbase.http.routing import Route, Success
from touchbase.http.schemas import encode
from touchbase.http.session_cookie import begin_session, record_refused, session_text, unauthenticated_body, with_session
from touchbase.outgoing.api.mail_to_people import can_mail, link_mail

ASSETS = "assets"
"""The folder of all files but the page."""
BASE = b"{base}"
"""In the page: the way from its address to the console's."""
TYPES = {
    "js": b"text/javascript; charset=utf-8",
    "css": b"text/css; charset=utf-8",
    "svg": b"image/svg+xml",
    "woff2": b"font/woff2",
    "txt": b"text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class File:
    """One file as it is sent."""

    content: bytes
    compressed: bytes
    """Empty if the content is compressed by its own format, as fonts are."""
    content_type: bytes
    etag: bytes


def asset(name: str) -> File | None:
    """Return the asset of this name, or None."""
    return _assets().get(name)


@cache
def page(depth: int) -> File:
    """Return the page for an address that is so many segments below `/console`; 0 is `/console` itself."""
    base = b"console/" if depth == 0 else b"../" * (depth - 1)
    content = resources.files("touchbase.console").joinpath("static", "index.html").read_bytes()
    return _file(content.replace(BASE, base), b"text/html; charset=utf-8")


@cache
def _assets() -> Mapping[str, File]:
    folder = resources.files("touchbase.console").joinpath("static", ASSETS)
    return {entry.name: _file(entry.read_bytes(), TYPES[entry.name.rpartition(".")[2]]) for entry in folder.iterdir()}


def _file(content: bytes, content_type: bytes) -> File:
    etag = b'"%s"' % blake2b(content, digest_size=12).hexdigest().encode()
    compressed = b"" if content_type == TYPES["woff2"] else gzip.compress(content, 9, mtime=0)
    return File(content, compressed, content_type, etag)


PATH = "/console"
POLICY = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; base-uri 'none'; "
    b"form-action 'self'; frame-ancestors 'none'"
)
SAFE = (b"content-security-policy", POLICY)
LONGEST_QUERY = 400
MOST_CLIENTS = 10_000
"""Clients that a session lists; further ones are reached by their address. The console reads as many pages for administrators."""
FOR_EVER = b"public, max-age=31536000, immutable"
_GZIP = re.compile(rb"(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


class SignIn(Struct, forbid_unknown_fields=True):
    """Means of a sign-in: a key, a password, or the secret of a link."""

    key: str = ""
    email: str = ""
    password: str = ""
    link: str = ""


class LinkRequest(Struct, forbid_unknown_fields=True):
    """Who wants a link to sign in with."""

    email: str


_decoder = Decoder(SignIn)
_link_decoder = Decoder(LinkRequest)


class NamedClient(Struct, omit_defaults=True):
    """A client for the console's addresses."""

    client_id: str
    handle: str
    name: str
    scopes: list[str] | None = None
    """The person's scopes there; null: as `ConsoleSession.scopes`."""


class NamedUser(Struct):
    """The person who is signed in."""

    id: str
    email: str
    name: str
    role: str | None


class ConsoleSession(Struct):
    """Rights of the console's session."""

    keys_needed: bool
    signed_in: bool
    version: str
    scopes: list[str]
    client_id: str | None = None
    """The client that the key is limited to; null: the person chooses one."""
    key_name: str = ""
    ends_time: str | None = None
    client: NamedClient | None = None
    """The client that `?client=` names, by handle or id, if the key or person may see it."""
    user: NamedUser | None = None
    clients: list[NamedClient] | None = None
    """Clients that a person chooses among, up to `MOST_CLIENTS`; null: all, the key's, or `?client=` names one."""
    passwords: bool = False
    """Whether people may sign in with passwords: whether anybody has joined. Only shown to who is not signed in."""
    links: bool = False
    """Whether they may have a link sent."""
    provider: str = ""
    """The name of the OpenID provider; blank: there is none. Only shown to who is not signed in."""
    provider_only: bool = False
    """Whether there is no other way for people to join and to sign in."""


async def front(call: Call) -> Response:
    """`GET` of the server's own address: lead to the console."""
    return Response(307, content_type=b"text/plain", headers=[(b"location", PATH.strip("/").encode())])


async def shown_page(call: Call) -> Response:
    """`GET` of the page, which is the same for all addresses below the console's; its script shows the screen of the address."""
    depth = str(call.scope["path"]).count("/") - 1
    return _response(call, page(depth), b"no-cache")


async def file(call: Call) -> Response:
    """`GET` of an asset."""
    static_file = asset(call.path("name"))
    if static_file is None:
        raise NotFound("there is no such file; reload the page, it may be from before an upgrade")
    return _response(call, static_file, FOR_EVER)


def _response(call: Call, static_file: File, caching: bytes) -> Response:
    headers = [SAFE, (ETAG, static_file.etag), (b"cache-control", caching), (b"vary", b"accept-encoding")]
    compressed = bool(static_file.compressed) and _GZIP.search(call.headers.get(b"accept-encoding", b"")) is not None
    if compressed:
        headers.append((b"content-encoding", b"gzip"))
    response = unless_known(
        call, Response(200, static_file.compressed if compressed else static_file.content, static_file.content_type, headers)
    )
    return response if response.status == 200 else Response(304, headers=headers[:4])


async def session(call: Call) -> Response:
    """`GET` of this browser's rights; without a session they are empty, and no error."""
    key = call.api.key(call.headers, call.scope)
    authenticator = call.api.authenticator
    if not authenticator.keys_needed or key is None:
        return await _shown(call)
    try:
        text = session_text(call)
        if text is None:
            holder = await authenticator.holder(key.decode("latin-1"), peer_of(call.scope))
            if holder.user_id is not None:
                return await _shown(call, user=await authenticator.person_of(holder), ends=holder.expires_us)
            return await _shown(call, holder, ends=holder.expires_us)
        signed = await authenticator.signed_in(text, peer_of(call.scope))
        if signed.user is not None:
            return await _shown(call, user=signed.user, ends=signed.session.ends_us)
        holder = await authenticator.holder(SESSION + text, peer_of(call.scope))
        return await _shown(call, holder, ends=min(signed.session.ends_us, holder.expires_us or signed.session.ends_us))
    except InvalidKey:
        return with_session(call, await _shown(call), "", None)


async def sign_in(call: Call) -> Response:
    """`POST` of a key, a password or a link's secret: the response has the session as a cookie that scripts cannot read."""
    credentials = await unauthenticated_body(call, _decoder, SignIn)
    peer = peer_of(call.scope)
    if not call.api.authenticator.keys_needed:
        return await _shown(call)
    user = None
    if (credentials.link or credentials.email) and _by_provider_only(call):
        raise Forbidden("this server takes no passwords and links: sign in by the provider, or with an API key")
    try:
        if credentials.link:
            user = await _user_of_link(call, credentials.link)
        elif credentials.email:
            user = await call.api.passwords.user(credentials.email, credentials.password, peer)
    except InvalidKey:
        email = find_email_key(credentials.email)
        stored = None if email is None else await call.api.dependencies.store.read(find_password(email))
        await record_refused(call, None if stored is None else stored[0].id)
        raise
    call.api.authenticator.end_attempt(peer)
    if user is not None:
        text, session = await begin_session(call, user.id)
        return with_session(call, await _shown(call, user=user, ends=session.ends_us), text, session)
    try:
        holder = await call.api.authenticator.holder(credentials.key.strip().replace(SESSION, ""), peer)
    except InvalidKey:
        await record_refused(call)
        raise
    if holder.user_id is not None:
        raise Forbidden("this is a personal key, for programs: sign in as yourself")
    text, session = await begin_session(call, holder.key_id)
    ends = min(session.ends_us, holder.expires_us or session.ends_us)
    return with_session(call, await _shown(call, holder, ends=ends), text, session)


def _by_provider_only(call: Call) -> bool:
    provider = call.api[OIDC]
    return provider is not None and provider.settings.only


async def _user_of_link(call: Call, secret: str) -> User:
    try:
        used: User = await call.api.dependencies.store.write(use_link(link_digest(secret), (SIGN_IN,), call.api.dependencies.clock()))
    except NotFound as error:
        raise InvalidKey("this link was used or has expired; have another one sent") from error
    return used


async def send_link(call: Call) -> Response:
    """`POST` of an e-mail address: somebody active gets a link to sign in with. The response is the same for everybody else."""
    request = await unauthenticated_body(call, _link_decoder, LinkRequest)
    if _by_provider_only(call):
        raise Forbidden("this server sends no links: sign in by the provider, or with an API key")
    parts, email = call.api.dependencies, find_email_key(request.email)
    if email is None:
        raise Invalid([Fault("/email", "email", "must be an e-mail address")])
    if not can_mail(call, email):
        raise NotFound("this server sends no e-mail to this address; sign in with a password or an API key")
    call.api.passwords.check_link(email)
    account = await parts.store.read(find_password(email))
    if account is not None and account[0].state == USER_ACTIVE:
        secret, link = new_link(account[0].id, SIGN_IN, parts.clock())
        link_mail(call, account[0], SIGN_IN, f"{parts.public_url}/console/sign-in#{secret}", parts.store.write(store_link(link)))
    return Response(202, b"{}")


async def sign_out(call: Call) -> Response:
    """`DELETE` of the session; there is nothing wrong with having none."""
    require_same_origin(call.headers)
    text = session_text(call)
    if text is not None:
        with contextlib.suppress(InvalidKey):
            signed = await call.api.authenticator.signed_in(text, peer_of(call.scope))
            await call.api.authenticator.end_session(signed.session.id_hash)
    return with_session(call, Response(204), "", None)


async def _shown(call: Call, holder: ApiKey | None = None, *, user: User | None = None, ends: int | None = None) -> Response:
    parts, clients = call.api.dependencies, call.api.clients
    needed = call.api.authenticator.keys_needed
    is_signed_in = not needed or holder is not None or user is not None
    shown = ConsoleSession(needed, is_signed_in, parts.version, [] if needed else list(SCOPES), ends_time=to_text_or_none(ends))
    named, client = parse_qs(call.scope["query_string"][:LONGEST_QUERY].decode("latin-1")).get("client"), None
    if named and is_signed_in:
        current = await clients.named(named[0])
        if current is not None and _may_see(holder, user, current.number):
            shown.client, client = _named_client(current, user), current.number
    if user is not None:
        shown.user = NamedUser(user.id, user.email, user.name, user.role)
        shown.scopes = sorted(user.scopes(None).union(*(user.scopes(number) for number in user.grants if client in (None, number))))
        if user.role != ADMINISTRATOR and client is None:
            visible = [*(await clients.of(user.grants)).values()] if user.role is None else (await clients.page(MOST_CLIENTS, None))[0]
            shown.clients = [_named_client(client, user) for client in visible if client.state != DELETING and user.scopes(client.number)]
            shown.clients.sort(key=lambda client: client.client_id)
            shown.client_id = shown.clients[0].client_id if len(shown.clients) == 1 else None
    elif holder is not None:
        shown.scopes, shown.key_name = sorted(key_scopes(holder)), holder.name
        shown.client_id = None if holder.client is None else (await clients.by_number(holder.client)).client_id
    elif needed:
        provider = call.api[OIDC]
        shown.provider = "" if provider is None else provider.settings.name
        shown.provider_only = _by_provider_only(call)
        shown.passwords = not _by_provider_only(call) and await parts.store.read(any_user())
        shown.links = shown.passwords and can_mail(call)
    return Response(body=encode(shown), headers=[(b"cache-control", b"no-store")])


def _may_see(holder: ApiKey | None, user: User | None, number: int) -> bool:
    if user is not None:
        return bool(user.scopes(number))
    return holder is None or holder.client in (None, number)


def _named_client(client: Client, user: User | None = None) -> NamedClient:
    return NamedClient(client.client_id, client.handle, client.name, None if user is None else sorted(user.scopes(client.number)))


async def get_ways(call: Call) -> Response:
    """Handle `GET` of the ways to sign in."""
    if await call.administrator() is not None:
        raise Forbidden("the ways to sign in are shown to administrators of all clients")
    call.parameters().done()
    provider, needed = call.api[OIDC], call.api.authenticator.keys_needed
    others = needed and not (provider is not None and provider.settings.only)
    shown = None if provider is None else await provider_out(provider)
    return Response(body=encode(SignInWays(needed, others, others and can_mail(call), shown, IDLE_DAYS, LONGEST_DAYS)))


ROUTES = [
    Route(
        "GET",
        "/team/v1/sign-in",
        get_ways,
        scope=ADMIN,
        operation_id="get_sign_in",
        tag=SIGN_IN_TAG,
        summary="Get the ways to sign in",
        description="How people sign in, and whether the OpenID provider can be reached. Needs a key or a person for all clients.",
        success=(Success(200, "The ways to sign in.", SignInWays),),
    ),
    Route("GET", "/", front, scope=""),
    Route("GET", f"{PATH}/session", session, scope=""),
    Route("POST", f"{PATH}/session", sign_in, scope=""),
    Route("DELETE", f"{PATH}/session", sign_out, scope=""),
    Route("POST", f"{PATH}/links", send_link, scope=""),
    Route("GET", f"{PATH}/{ASSETS}/{{name}}", file, scope=""),
    *(Route("GET", PATH + below, shown_page, scope="") for below in ("", "/", "/{one}", "/{one}/{two}", "/{one}/{two}/{three}")),
]
