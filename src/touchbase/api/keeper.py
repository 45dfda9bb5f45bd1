"""Answers that are kept for an idempotency key: written down, read again, and tied to the request's write."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec

from touchbase.api.answers import Answer
from touchbase.api.errors import PROBLEM_JSON, problem, with_request_id
from touchbase.domain.errors import TouchbaseError
from touchbase.domain.once import KeptAnswer, RequestKey
from touchbase.domain.ports import Store, Writes
from touchbase.service.once import OnceWrites, keep_answer

R = TypeVar("R")

REPLAYED = (b"idempotency-replayed", b"true")
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[int, bytes, bytes, list[tuple[bytes, bytes]]]).decode


def to_keep(answer: Answer) -> KeptAnswer:
    """The answer written down; a secret in its body is left out."""
    body = answer.body if answer.kept_body is None else answer.kept_body
    return KeptAnswer(_encode((answer.status, answer.content_type, body, answer.headers)), *(answer.record or (None, None)))


def replayed(kept: KeptAnswer, request_id: str) -> Answer:
    """A kept answer as the answer to this request: the same but for the request's own id."""
    status, content_type, body, headers = _decode(kept.answer)
    if content_type == PROBLEM_JSON:
        body = with_request_id(body, request_id)
    return Answer(status, body, content_type, [*headers, REPLAYED])


class Keeper:
    """Keeps the answer to one request."""

    def __init__(self, store: Store, request: RequestKey) -> None:
        self._store = store
        self._request = request
        self._made: Answer | None = None

    async def settle(self, write: Callable[[Writes], Awaitable[R]], answer: Callable[[R], Answer]) -> Answer:
        """Carry out the write and keep its answer with it; raises `Repeated` when that was done before."""

        def made(result: object) -> KeptAnswer:
            self._made = _told(result) if isinstance(result, TouchbaseError) else answer(result)  # type: ignore[arg-type]
            return to_keep(self._made)

        result = await write(OnceWrites(self._store, self._request, made))
        return answer(result) if self._made is None else self._made

    async def keep(self, answer: Answer) -> None:
        """Keep the answer of a handler that settled nothing, in a transaction of its own; raises `Repeated`."""
        if self._made is None:
            await keep_answer(self._store, self._request, to_keep(answer))


def _told(error: TouchbaseError) -> Answer:
    status, body, headers = problem(error, "")
    return Answer(status, body, PROBLEM_JSON, headers)
