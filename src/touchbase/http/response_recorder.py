"""Stored responses of idempotency keys: encoded, decoded, and stored in the request's own transaction."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from touchbase.errors import TouchbaseError
from touchbase.http.problems import PROBLEM_JSON, problem, with_request_id
from touchbase.http.responses import Response
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.idempotency.service import IdempotentWrites, store_response
from touchbase.sql.store import Store, Writes

R = TypeVar("R")

REPLAYED = (b"idempotency-replayed", b"true")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bytes, bytes, list[tuple[bytes, bytes]]]).decode


def to_stored(response: Response) -> StoredResponse:
    """Encode a response for the store, without secrets in its body."""
    body = response.body if response.stored_body is None else response.stored_body
    return StoredResponse(_encode((response.status, response.content_type, body, response.headers)), *(response.record or (None, None)))


def replayed(stored: StoredResponse, request_id: str) -> Response:
    """Decode a stored response, with this request's id."""
    status, content_type, body, headers = _decode(stored.encoded)
    if content_type == PROBLEM_JSON:
        body = with_request_id(body, request_id)
    return Response(status, body, content_type, [*headers, REPLAYED])


class ResponseRecorder:
    """Stores the response to one request."""

    def __init__(self, store: Store, request: RequestKey) -> None:
        self._store = store
        self._request = request
        self._response: Response | None = None
        self._unstored = False

    async def write_and_respond(self, write: Callable[[Writes], Awaitable[R]], respond: Callable[[R], Response]) -> Response:
        """Execute the write and store its response in one transaction; raises `ReplayedResponse` if it was executed before."""

        def record_response(result: object) -> StoredResponse:
            self._response = _problem_response(result) if isinstance(result, TouchbaseError) else respond(result)  # type: ignore[arg-type]
            return to_stored(self._response)

        result = await write(IdempotentWrites(self._store, self._request, record_response))
        return respond(result) if self._response is None else self._response

    def skip(self) -> None:
        """Store nothing: the request is a dry run, and its key stays free for the real one."""
        self._unstored = True

    async def store(self, response: Response) -> None:
        """Store the response of a handler without a write, in a separate transaction; raises `ReplayedResponse`."""
        if self._response is None and not self._unstored:
            await store_response(self._store, self._request, to_stored(response))


def _problem_response(error: TouchbaseError) -> Response:
    status, body, headers = problem(error, "")
    return Response(status, body, PROBLEM_JSON, headers)
