"""The cookie of the console's session: made when somebody signs in, removed when they sign out."""

from __future__ import annotations

from touchbase.auth.sessions import COOKIE, HOST_COOKIE, SESSION, Session, new_session, store_session
from touchbase.common.asgi import peer_of
from touchbase.common.timestamps import SECOND
from touchbase.http.endpoint import Call, key_from_headers
from touchbase.http.responses import Response


async def begin_session(call: Call, holder: str) -> tuple[str, Session]:
    """Store a session of a person or key, by id; return its text, for `with_session`, and the session."""
    agent = call.headers.get(b"user-agent", b"").decode("latin-1")
    text, session = new_session(holder, call.api.dependencies.clock(), agent, peer_of(call.scope))
    await call.api.dependencies.store.write(store_session(session))
    return text, session


def session_text(call: Call) -> str | None:
    """Return the text of the request's session; None without one. Raises as `session_from_headers` does."""
    key = key_from_headers(call.headers)
    if key is None or not key.startswith(SESSION.encode()):
        return None
    return key.decode("latin-1").removeprefix(SESSION)


def with_session(call: Call, response: Response, text: str, session: Session | None) -> Response:
    """Return the response with the session's cookie, without one if `session` is None: no script reads it, and no other site sends it."""
    https = call.scope.get("scheme") == "https" or call.api.dependencies.public_url.startswith("https://")
    # The prefix __Host- asks for Secure and the path /, also behind a proxy that serves the console below a prefix.
    name, path = (HOST_COOKIE, b"/") if https else (COOKIE, call.reached_at("") or b"/")
    seconds = 0 if session is None else session.latest_end_us // SECOND - session.created_us // SECOND
    cookie = b"%s%s; Path=%s; Max-Age=%d; HttpOnly; SameSite=Strict" % (name, text.encode(), path, seconds)
    response.headers.append((b"set-cookie", cookie + (b"; Secure" if https else b"")))
    return response


def console_address(call: Call, path: str) -> str:
    """Return the address of a page of the console as the caller reaches it."""
    base = call.api.dependencies.public_url
    if not base:
        host = call.headers.get(b"host", b"127.0.0.1").decode("latin-1")
        base = f"{call.scope.get('scheme', 'http')}://{host}"
    return f"{base}/console/{path}"
