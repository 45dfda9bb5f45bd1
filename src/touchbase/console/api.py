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
from touchbase.auth.authentication import SCOPES, key_scopes
from touchbase.auth.sessions import COOKIE, HOST_COOKIE, SESSION, parse, require_same_origin
from touchbase.common.asgi import peer_of
from touchbase.common.timestamps import SECOND, to_text_or_none
from touchbase.errors import InvalidKey, NotFound
from touchbase.http.conditional import ETAG, unless_known
from touchbase.http.endpoint import Call, key_from_headers
from touchbase.http.problems import UnsupportedMediaType
from touchbase.http.request_body import read_json, read_struct
from touchbase.http.responses import Response
from touchbase.http.routing import Route
from touchbase.http.schemas import encode

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
FOR_EVER = b"public, max-age=31536000, immutable"
_GZIP = re.compile(rb"(?:^|[\s,])gzip(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))")


class SignIn(Struct, forbid_unknown_fields=True):
    """The key to sign in with."""

    key: str


MOST_BYTES = 4_096
"""Bytes of the body to sign in with."""
_decoder = Decoder(SignIn)


class NamedClient(Struct):
    """A client for the console's addresses."""

    client_id: str
    handle: str
    name: str


class SessionOut(Struct):
    """What the console may do."""

    keys_needed: bool
    signed_in: bool
    version: str
    scopes: list[str]
    client_id: str | None = None
    """The client that the key is limited to; null: the person chooses one."""
    key_name: str = ""
    ends_time: str | None = None
    client: NamedClient | None = None
    """The client that `?client=` names, by handle or id, if the key may see it."""


async def front(call: Call) -> Response:
    """`GET` of the server's own address: lead to the console."""
    return Response(307, headers=[(b"location", PATH.strip("/").encode())])


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
    """`GET` of what this browser may do; without a session that is nothing, and no error."""
    key = key_from_headers(call.headers)
    if not call.api.authenticator.keys_needed or key is None:
        return await _shown(call, None)
    try:
        holder = await call.api.authenticator.holder(key.decode("latin-1"), peer_of(call.scope))
    except InvalidKey:
        return _with_cookie(call, await _shown(call, None), "", 0)
    ends = parse(key.decode("latin-1").removeprefix(SESSION)).ends_us if key.startswith(SESSION.encode()) else holder.expires_us
    return await _shown(call, holder, ends)


async def sign_in(call: Call) -> Response:
    """`POST` of a key: the response has the session as a cookie that scripts cannot read."""
    require_same_origin(call.headers)
    # A body that is refused counts as a failed key: nothing of it is decompressed or decoded for an address with too many.
    call.api.authenticator.begin_attempt(peer_of(call.scope))
    if call.headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("a key is sent without Content-Encoding; send the body as it is")
    raw = await read_json(call.receive, call.headers, call.api.dependencies.limits, MOST_BYTES)
    credentials = read_struct(raw, _decoder, SignIn, lambda partly: None)
    call.api.authenticator.end_attempt(peer_of(call.scope))
    if not call.api.authenticator.keys_needed:
        return await _shown(call, None)
    holder = await call.api.authenticator.holder(credentials.key.strip().replace(SESSION, ""), peer_of(call.scope))
    text, session = call.api.authenticator.sessions.make(holder, call.api.dependencies.clock())
    seconds = (session.ends_us - call.api.dependencies.clock()) // SECOND
    return _with_cookie(call, await _shown(call, holder, session.ends_us), text, seconds)


async def sign_out(call: Call) -> Response:
    """`DELETE` of the session; there is nothing wrong with having none."""
    require_same_origin(call.headers)
    key = key_from_headers(call.headers)
    if key is not None and key.startswith(SESSION.encode()):
        with contextlib.suppress(InvalidKey):
            await call.api.authenticator.holder(key.decode("latin-1"), peer_of(call.scope))
            await call.api.authenticator.end_session(parse(key.decode("latin-1").removeprefix(SESSION)))
    return _with_cookie(call, Response(204), "", 0)


async def _shown(call: Call, holder: ApiKey | None, ends: int | None = None) -> Response:
    parts = call.api.dependencies
    needed = call.api.authenticator.keys_needed
    shown = SessionOut(needed, not needed or holder is not None, parts.version, [] if needed else list(SCOPES))
    named = parse_qs(call.scope["query_string"][:LONGEST_QUERY].decode("latin-1")).get("client")
    if named and shown.signed_in:
        client = await call.api.clients.named(named[0])
        if client is not None and (holder is None or holder.client in (None, client.number)):
            shown.client = NamedClient(client.client_id, client.handle, client.name)
    if holder is not None:
        shown.scopes, shown.key_name = sorted(key_scopes(holder)), holder.name
        shown.client_id = None if holder.client is None else (await call.api.clients.by_number(holder.client)).client_id
        shown.ends_time = to_text_or_none(ends)
    return Response(body=encode(shown), headers=[(b"cache-control", b"no-store")])


def _with_cookie(call: Call, response: Response, text: str, seconds: int) -> Response:
    """Return the response with the session's cookie: no script reads it, and no other site's page sends it."""
    https = call.scope.get("scheme") == "https" or call.api.dependencies.public_url.startswith("https://")
    # The prefix __Host- asks for Secure and the path /, also behind a proxy that serves the console below a prefix.
    name, path = (HOST_COOKIE, b"/") if https else (COOKIE, call.reached_at("") or b"/")
    cookie = b"%s%s; Path=%s; Max-Age=%d; HttpOnly; SameSite=Strict" % (name, text.encode(), path, seconds)
    response.headers.append((b"set-cookie", cookie + (b"; Secure" if https else b"")))
    return response


ROUTES = [
    Route("GET", "/", front, scope=""),
    Route("GET", f"{PATH}/session", session, scope=""),
    Route("POST", f"{PATH}/session", sign_in, scope=""),
    Route("DELETE", f"{PATH}/session", sign_out, scope=""),
    Route("GET", f"{PATH}/{ASSETS}/{{name}}", file, scope=""),
    *(Route("GET", PATH + below, shown_page, scope="") for below in ("", "/", "/{one}", "/{one}/{two}", "/{one}/{two}/{three}")),
]
