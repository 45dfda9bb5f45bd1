"""Answers that are kept for an idempotency key: written down, read again, and tied to the request's write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from touchbase.errors import TouchbaseError
from touchbase.http.problems import PROBLEM_JSON, problem, with_request_id
from touchbase.http.responses import Response
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.idempotency.service import IdempotentWrites, keep_answer
from touchbase.sql.store import Store, Writes

R = TypeVar("R")

REPLAYED = (b"idempotency-replayed", b"true")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bytes, bytes, list[tuple[bytes, bytes]]]).decode


def to_keep(answer: Response) -> StoredResponse:
    """The answer written down; a secret in its body is left out."""
    body = answer.body if answer.kept_body is None else answer.kept_body
    return StoredResponse(_encode((answer.status, answer.content_type, body, answer.headers)), *(answer.record or (None, None)))


def replayed(kept: StoredResponse, request_id: str) -> Response:
    """A kept answer as the answer to this request: the same but for the request's own id."""
    status, content_type, body, headers = _decode(kept.answer)
    if content_type == PROBLEM_JSON:
        body = with_request_id(body, request_id)
    return Response(status, body, content_type, [*headers, REPLAYED])


class ResponseRecorder:
    """Keeps the answer to one request."""

    def __init__(self, store: Store, request: RequestKey) -> None:
        self._store = store
        self._request = request
        self._made: Response | None = None

    async def settle(self, write: Callable[[Writes], Awaitable[R]], answer: Callable[[R], Response]) -> Response:
        """Carry out the write and keep its answer with it; raises `Repeated` when that was done before."""

        def made(result: object) -> StoredResponse:
            self._made = _told(result) if isinstance(result, TouchbaseError) else answer(result)  # type: ignore[arg-type]
            return to_keep(self._made)

        result = await write(IdempotentWrites(self._store, self._request, made))
        return answer(result) if self._made is None else self._made

    async def keep(self, answer: Response) -> None:
        """Keep the answer of a handler that settled nothing, in a transaction of its own; raises `Repeated`."""
        if self._made is None:
            await keep_answer(self._store, self._request, to_keep(answer))


def _told(error: TouchbaseError) -> Response:
    status, body, headers = problem(error, "")
    return Response(status, body, PROBLEM_JSON, headers)
