"""Bodies that arrive before their handler runs, and `Idempotency-Key`: a retried `POST` gets the stored response.

A body may arrive slowly. A key, client or connection that was valid at the first byte may be revoked by the last one, so the handler
checks it after the body.

The router wraps every `POST` that needs a key (`http/routing.py`). A handler that writes uses `call.write_and_respond`, which stores the
response in the write's own transaction.
Source: the draft "The Idempotency-Key HTTP Header Field" (draft-ietf-httpapi-idempotency-key-header).
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from hashlib import blake2b

from touchbase.common.asgi import Message, Receive
from touchbase.errors import Fault, Invalid
from touchbase.http.endpoint import IDEMPOTENCY_KEY, Call, Handler
from touchbase.http.request_body import read_body, unpack
from touchbase.http.response_recorder import ResponseRecorder, replayed
from touchbase.http.responses import Response
from touchbase.idempotency.models import MAX_KEY_LENGTH, RequestKey
from touchbase.idempotency.service import ReplayedResponse, find_response

HEADER = "Idempotency-Key"
# A bare token, or a quoted string of structured fields (RFC 8941): both of visible ASCII.
_BARE = re.compile(rb"[!#-~][!-~]*")
_QUOTED = re.compile(rb'"((?:[!#-\[\]-~]|\\["\\])+)"')
_ESCAPED = re.compile(rb"\\(.)")
Owner = Callable[[Call], Awaitable[tuple[int, str]]]
"""Authorizes a request; returns the number of its client, and the id of the person if others with this number see other things."""


async def of_principal(call: Call) -> tuple[int, str]:
    """Authorize an administrator or a person, who may have yet to choose a client: the handler authorizes again."""
    principal = await call.principal(of_several=True)
    return principal.client or 0, "" if principal.user is None else principal.user.id


async def of_client(call: Call) -> tuple[int, str]:
    """Authorize a request for records."""
    return (await call.client()).number, ""


def buffer_body(handler: Handler, owner: Owner = of_principal) -> Handler:
    """Run the handler after the body has arrived; `owner` authorizes the request before its body is read, the handler again after."""

    async def with_body(call: Call) -> Response:
        await read_whole_body(call, owner)
        return await handler(call)

    return with_body


async def read_whole_body(call: Call, owner: Owner) -> bytes:
    """Authorize the request and read its body; later reads get the same body again."""
    await owner(call)
    limits = call.api.dependencies.limits
    body = await read_body(call.receive, call.headers, call.body_bytes, limits)
    call.receive = receive_buffered(body)
    return body


def receive_buffered(body: bytes) -> Receive:
    """Return what receives a body that was read before."""

    async def receive() -> Message:
        return {"type": "http.request", "body": body, "more_body": False}

    return receive


def idempotent(handler: Handler, owner: Owner = of_principal, *, is_file: bool = False) -> Handler:
    """Wrap the handler of requests with an idempotency key so that it runs once for each key.

    `owner` authorizes the request and returns the number under which responses are stored, so that a stored response is only sent to
    its owner, and one of a person only to this person. `is_file`: The handler reads the body piece by piece; it is not compared.
    """

    async def with_key(call: Call) -> Response:
        request = await _request(call, owner, is_file=is_file)
        api = call.api
        try:
            async with api.in_flight.lock(request):
                stored = await find_response(api.dependencies.store, request)
                if stored is not None:
                    raise ReplayedResponse(stored)
                call.recorder = ResponseRecorder(api.dependencies.store, request)
                response = await handler(call)
                await call.recorder.store(response)
                return response
        except ReplayedResponse as repeated:
            return replayed(repeated.response, call.scope["touchbase.request_id"])

    return with_key


async def _request(call: Call, owner: Owner, *, is_file: bool) -> RequestKey:
    """Return the request's key and fingerprint. Reads the body, unless it is a file; the handler can read it again."""
    keys = [value for name, value in call.scope["headers"] if name == IDEMPOTENCY_KEY]
    body, key = b"" if is_file else await read_whole_body(call, owner), idempotency_key(keys)
    plain = unpack(body, call.headers.get(b"content-encoding", b"") if body else b"", call.body_bytes)
    # Authorize again after the body: the stored response requires a key that is valid now.
    client, person = await owner(call)
    return RequestKey(client, key, fingerprint(call.scope["path"], call.query, plain, person.encode()), call.api.dependencies.clock())


def idempotency_key(keys: list[bytes]) -> str:
    """Parse the key from the header fields; raises `Invalid`."""
    if len(keys) != 1:
        raise _malformed("is given more than once; send one")
    bare, quoted = _BARE.fullmatch(keys[0]), _QUOTED.fullmatch(keys[0])
    if bare is None and quoted is None:
        raise _malformed('must be visible ASCII characters, plain or in double quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"')
    key = keys[0] if quoted is None else _ESCAPED.sub(rb"\1", quoted[1])
    if len(key) > MAX_KEY_LENGTH:
        raise _malformed(f"must have at most {MAX_KEY_LENGTH} characters, and has {len(key)}")
    return key.decode("ascii")


def fingerprint(path: str, query: bytes, body: bytes, person: bytes = b"") -> bytes:
    """Hash a request into sixteen bytes that identify it among the requests of the same owner."""
    raw_path = path.encode("utf-8", "surrogateescape")
    digest = blake2b(b"%d %d " % (len(raw_path), len(query)), digest_size=16)
    for part in (raw_path, query, body, person):
        digest.update(part)
    return digest.digest()


def _malformed(detail: str) -> Invalid:
    return Invalid([Fault(HEADER, "idempotency_key", detail)])
