"""Signing in to the console: bodies with credentials, and the cookie of the session."""

from __future__ import annotations

from typing import TypeVar

from msgspec import Struct
from msgspec.json import Decoder

from touchbase.auth.sessions import COOKIE, SESSION, Session, cookie_name, find_cookie, new_session, require_same_origin, store_session
from touchbase.common.asgi import peer_of
from touchbase.common.timestamps import SECOND
from touchbase.http.endpoint import Call
from touchbase.http.problems import UnsupportedMediaType
from touchbase.http.request_body import read_json, read_struct
from touchbase.http.responses import Response

S = TypeVar("S", bound=Struct)
MOST_BYTES = 4_096
"""Bytes of the body to sign in with."""


async def unauthenticated_body(call: Call, decoder: Decoder[S], kind: type[S]) -> S:
    """Read a body that has credentials; it counts as a failed key until `end_attempt`.

    Nothing of it is decompressed or decoded for an address with too many failures.
    """
    require_same_origin(call.headers)
    call.api.authenticator.begin_attempt(peer_of(call.scope))
    if call.headers.get(b"content-encoding", b"identity").strip().lower() not in (b"", b"identity"):
        raise UnsupportedMediaType("a key is sent without Content-Encoding; send the body as it is")
    raw = await read_json(call.receive, call.headers, call.api.dependencies.limits, MOST_BYTES)
    return read_struct(raw, decoder, kind, lambda partly: None)


async def begin_session(call: Call, holder: str) -> tuple[str, Session]:
    """Store a session of a person or key, by id; return its text, for `with_session`, and the session."""
    agent = call.headers.get(b"user-agent", b"").decode("latin-1")
    text, session = new_session(holder, call.api.dependencies.clock(), agent, peer_of(call.scope))
    await call.api.dependencies.store.write(store_session(session))
    return text, session


async def record_refused(call: Call, user_id: str | None = None) -> None:
    """Log a refused sign-in for the audit, unless many were logged just now; `user_id`: the named person."""
    if call.api.refused_sign_ins.take(1, call.api.dependencies.clock()):
        await call.record("session.refused", "user", user_id)


def session_text(call: Call) -> str | None:
    """Return the text of the request's session; None without one. Raises as `session_from_headers` does."""
    key = call.api.key(call.headers, call.scope)
    if key is None or not key.startswith(SESSION.encode()):
        return None
    return key.decode("latin-1").removeprefix(SESSION)


def with_session(call: Call, response: Response, text: str, session: Session | None) -> Response:
    """Return the response with the session's cookie, without one if `session` is None: no script reads it, and no other site sends it."""
    seconds = 0 if session is None else session.latest_end_us // SECOND - session.created_us // SECOND
    return with_cookie(call, response, COOKIE, text, seconds)


def with_cookie(call: Call, response: Response, name: bytes, text: str, seconds: int, *, same_site: str = "Strict") -> Response:
    """Return the response with a cookie that no script reads; `name` ends with an equals sign, 0 seconds remove the cookie."""
    https = call.api.is_https(call.scope)
    # The prefix __Host- asks for Secure and the path /, also behind a proxy that serves the console below a prefix.
    path = b"/" if https else call.reached_at("") or b"/"
    named = cookie_name(name, https=https)
    cookie = b"%s%s; Path=%s; Max-Age=%d; HttpOnly; SameSite=%s" % (named, text.encode(), path, seconds, same_site.encode())
    response.headers.append((b"set-cookie", cookie + (b"; Secure" if https else b"")))
    return response


def cookie_text(call: Call, name: bytes) -> str | None:
    """Return the text of the request's cookie of a name that ends with an equals sign; None without one."""
    text = find_cookie(call.headers, cookie_name(name, https=call.api.is_https(call.scope)))
    return None if text is None else text.decode("latin-1")


def console_address(call: Call, path: str) -> str:
    """Return the address of a page of the console as the caller reaches it."""
    base = call.api.dependencies.public_url
    if not base:
        host = call.headers.get(b"host", b"127.0.0.1").decode("latin-1")
        base = f"{call.scope.get('scheme', 'http')}://{host}"
    return f"{base}/console/{path}"
