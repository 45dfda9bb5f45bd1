"""`POST /mcp`: the Model Context Protocol over HTTP ("streamable HTTP", without streams and sessions).

It is not part of the public API, so the OpenAPI document leaves it out; `docs/how-to/let-an-agent-work.md` describes it.
"""

from __future__ import annotations

import msgspec

from touchbase.audit import MCP_REQUEST
from touchbase.auth.authentication import SCOPES, key_scopes
from touchbase.common.asgi import HEADER, LONGEST_REQUEST_ID, peer_of, send_inner
from touchbase.errors import Unauthorized
from touchbase.http.endpoint import CLIENT_ID, Call, key_from_headers
from touchbase.http.responses import Response
from touchbase.http.routing import Route
from touchbase.http.schemas import encode
from touchbase.mcp.conversation import PARSE_ERROR, AgentSession, Holder
from touchbase.mcp.requests import InnerAnswer, InnerRequest

PATH = "/mcp"
PASSED_ON = (b"authorization", b"x-api-key", b"x-master-api-key", b"x-client-id", b"user-agent")
"""Headers of the caller's request that each request of a tool has too. Sessions of the console are for its page only."""


async def answer(call: Call) -> Response:
    """`POST` of one JSON-RPC message."""
    holder = await _holder(call)
    raw = await call.json()
    try:
        message = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        wrong = {"code": PARSE_ERROR, "message": "the body is not JSON, or a text in it has half of a surrogate pair"}
        return Response(400, encode({"jsonrpc": "2.0", "id": None, "error": wrong}))
    answered = await AgentSession(holder, lambda request: _ask(call, request)).answer(message)
    if answered.message is None:
        return Response(answered.http_status)
    return Response(answered.http_status, msgspec.json.encode(answered.message), headers=[(b"cache-control", b"no-store")])


async def _holder(call: Call) -> Holder:
    """Return who calls; raises the errors of keys, with which HTTP clients ask for another one."""
    parts = call.api.dependencies
    named = call.headers.get(CLIENT_ID)
    if not call.api.authenticator.keys_needed:
        return Holder(
            "none: this server needs no keys", frozenset(SCOPES), None if named is None else named.decode("latin-1"), parts.version
        )
    key = key_from_headers({name: value for name, value in call.headers.items() if name in PASSED_ON})
    if key is None:
        raise Unauthorized("no API key was sent: set the header Authorization: Bearer tb_...")
    holder = await call.api.authenticator.holder(key.decode("latin-1"), peer_of(call.scope))
    number, scopes = holder.client, frozenset(key_scopes(holder))
    if holder.user_id is not None:
        user = await call.api.authenticator.person_of(holder)
        number = next(iter(user.grants)) if user.role is None and len(user.grants) == 1 else None
        scopes &= user.scopes(None).union(*map(user.scopes, user.grants))
    client = None if number is None else (await call.api.clients.by_number(number)).client_id
    if client is None and named is not None:
        client = named.decode("latin-1")
    return Holder(holder.name, scopes, client, parts.version)


async def _ask(call: Call, request: InnerRequest) -> InnerAnswer:
    """Send a request of a tool through the whole application, as the caller: keys, scopes, limits and logs apply as to any request."""
    own = [(name, value) for name, value in call.scope["headers"] if name in PASSED_ON and not (name == CLIENT_ID and request.client_id)]
    if request.client_id is not None:
        own.append((CLIENT_ID, request.client_id.encode("latin-1", "replace")))
    request_id = f"{MCP_REQUEST}{call.scope['touchbase.request_id']}"  # the log has a line for the caller's request
    own.append((HEADER, request_id[:LONGEST_REQUEST_ID].encode("ascii")))
    headers = [*own, *request.headers, (b"content-type", b"application/json")]
    sent = send_inner(call.api.application, request.method, request.path, request.query_string, headers, request.content, call.scope)
    status, body = await sent
    return InnerAnswer(status, msgspec.json.decode(body) if body else None)


ROUTES = [Route("POST", PATH, answer, scope="")]
