"""`Idempotency-Key`: a `POST` that may be sent again without being carried out again.

A route opts in by wrapping its handler: `POST=once(handler)`. That alone makes repeats get the first
answer; a handler that writes goes through `call.settle`, which keeps the answer in the write's own
transaction. After the draft "The Idempotency-Key HTTP Header Field" (draft-ietf-httpapi-idempotency-key-header).
"""

from __future__ import annotations

import re
from hashlib import blake2b

from touchbase.errors import Fault, Invalid
from touchbase.http.buffer_body import Owner, of_administrator, whole_body
from touchbase.http.endpoint import Call, Handler
from touchbase.http.request_body import unpack
from touchbase.http.response_recorder import ResponseRecorder, replayed
from touchbase.http.responses import Response
from touchbase.idempotency.models import LONGEST_KEY, RequestKey
from touchbase.idempotency.service import ReplayedResponse, find_answer

HEADER = "Idempotency-Key"
IDEMPOTENCY_KEY = b"idempotency-key"
# A token that stands for itself, or a string as structured fields write it (RFC 8941): both of visible ASCII.
_BARE = re.compile(rb"[!#-~][!-~]*")
_QUOTED = re.compile(rb'"((?:[!#-\[\]-~]|\\["\\])+)"')
_ESCAPED = re.compile(rb"\\(.)")


def once(handler: Handler, owner: Owner = of_administrator) -> Handler:
    """The handler, carried out once for each idempotency key; without the header as it is.

    `owner` lets in who may call the handler at all, and answers the number under which keys are kept:
    nobody else gets an answer that was kept for somebody.
    """

    async def honouring(call: Call) -> Response:
        if IDEMPOTENCY_KEY not in call.headers:
            return await handler(call)
        request = await _request(call, owner)
        api = call.api
        try:
            async with api.turns.turn(request):
                kept = await find_answer(api.parts.store, request)
                if kept is not None:
                    raise ReplayedResponse(kept)
                call.keeper = ResponseRecorder(api.parts.store, request)
                answer = await handler(call)
                await call.keeper.keep(answer)
                return answer
        except ReplayedResponse as repeated:
            return replayed(repeated.kept, call.scope["touchbase.request_id"])

    return honouring


async def _request(call: Call, owner: Owner) -> RequestKey:
    """The request with its key. Its body is read, and the handler finds it as if it were not."""
    given = [value for name, value in call.scope["headers"] if name == IDEMPOTENCY_KEY]
    body, key = await whole_body(call, owner), idempotency_key(given)
    plain = unpack(body, call.headers.get(b"content-encoding", b""), call.api.parts.limits.api_body_bytes)
    # Who calls is asked once more: answers are kept for those who may have them now.
    return RequestKey(await owner(call), key, fingerprint(call.scope["path"], call.query, plain), call.api.parts.clock())


def idempotency_key(given: list[bytes]) -> str:
    """The key that these header fields name; raises `Invalid`."""
    if len(given) != 1:
        raise _malformed("is given more than once; send one")
    bare, quoted = _BARE.fullmatch(given[0]), _QUOTED.fullmatch(given[0])
    if bare is None and quoted is None:
        raise _malformed('must be visible ASCII characters, plain or in double quotes, such as "8e03978e-40d5-43dd-bc93-6894a57f9324"')
    key = given[0] if quoted is None else _ESCAPED.sub(rb"\1", quoted[1])
    if len(key) > LONGEST_KEY:
        raise _malformed(f"must have at most {LONGEST_KEY} characters, and has {len(key)}")
    return key.decode("ascii")


def fingerprint(path: str, query: bytes, body: bytes) -> bytes:
    """Sixteen bytes that tell this request from any other of the same owner."""
    place = path.encode("utf-8", "surrogateescape")
    digest = blake2b(b"%d %d " % (len(place), len(query)), digest_size=16)
    for part in (place, query, body):
        digest.update(part)
    return digest.digest()


def _malformed(detail: str) -> Invalid:
    return Invalid([Fault(HEADER, "idempotency_key", detail)])
