"""Idempotency: execute a request once, however often it is sent with the same key.

The response is stored in the transaction of the request's write, so neither is ever on disk without the
other. Retries get the stored response; concurrent duplicates wait for the first request.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar, cast

from touchbase.common.timestamps import SECOND, Micros, has_passed
from touchbase.errors import Conflict, KeyReused, RequestInProgress, TouchbaseError
from touchbase.idempotency import sql as idempotency_sql
from touchbase.idempotency.execute_once import execute_once
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.idempotency.sql import delete_responses, expired_responses
from touchbase.sql.operation import Command
from touchbase.sql.store import Store

T = TypeVar("T")
MakeResponse = Callable[[object], StoredResponse]

MAX_WAIT_SECONDS = 5.0
"""Seconds for which a request waits for a concurrent duplicate."""
CLEANUP_BATCH = 500
"""Responses deleted at once: a few milliseconds of the store's time."""
CLEANUP_PAUSE: Micros = 60 * SECOND
"""Pause after a batch that was not full."""


class ReplayedResponse(Exception):
    """The request has a stored response already; nothing was executed now."""

    def __init__(self, response: StoredResponse) -> None:
        super().__init__("the request has a stored response")
        self.response = response


class InFlightKeys:
    """The keys of running requests of this process; requests with one key run one after the other."""

    def __init__(self) -> None:
        self._running: dict[tuple[int, str], asyncio.Event] = {}

    @asynccontextmanager
    async def lock(self, request: RequestKey) -> AsyncIterator[None]:
        """Wait for requests with the same key. Raises `RequestInProgress` when that takes too long."""
        key = (request.client, request.key)
        try:
            async with asyncio.timeout(MAX_WAIT_SECONDS):
                while (running := self._running.get(key)) is not None:
                    await running.wait()
        except TimeoutError:
            raise RequestInProgress("a request with this Idempotency-Key is still in progress; send this again in a moment") from None
        done = self._running[key] = asyncio.Event()
        try:
            yield
        finally:
            del self._running[key]
            done.set()


async def find_response(store: Store, request: RequestKey) -> StoredResponse | None:
    """Return the stored response of this request, or None. Raises `KeyReused` when its key belongs to another request."""
    stored = await store.read(idempotency_sql.find_response(request))
    response = None if stored is None else stored.to(request)
    if isinstance(response, KeyReused):
        raise response
    return response


class IdempotentWrites:
    """Executes the write of one request and stores its response with it. Raises `ReplayedResponse` for a repeated request.

    `make_response` makes the response from the command's result, or from its `Conflict`. After other errors nothing
    is stored: the request did not run, and may be sent again with the same key once the cause is fixed. Only one
    command of a request may succeed.
    """

    def __init__(self, store: Store, request: RequestKey, make_response: MakeResponse) -> None:
        self._store = store
        self._request = request
        self._make_response = make_response

    async def write(self, command: Command[T]) -> T:
        """Execute the command. Raises `ReplayedResponse` when that was done before."""
        result: Any = await self._store.write(execute_once(self._request, command, partial(self._response, command)))
        if isinstance(result, StoredResponse):
            raise ReplayedResponse(result)
        return cast(T, result)

    def _response(self, command: Command[object], result: object) -> StoredResponse | None:
        if isinstance(result, TouchbaseError):
            # A creation that updates an existing record continues after its conflict, and a write that names several contacts joins them.
            creation = getattr(command, "creation", None)
            is_final = isinstance(result, Conflict) and not result.names_several
            is_final &= creation is None or creation.on_duplicate != "update"
            return self._make_response(result) if is_final else None
        return self._make_response(result)


async def store_response(store: Store, request: RequestKey, response: StoredResponse) -> None:
    """Store the response of a request that wrote nothing. Raises `ReplayedResponse` when a duplicate has stored one first."""
    stored = await store.write(execute_once(request, None, lambda _: response))
    if stored is not None:
        raise ReplayedResponse(stored)


class ResponseCleanup:
    """Deletes expired responses, one batch per call, with a pause once none is left.

    An expired response has no effect any more; deleting it only frees its space.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pause: Micros = 0
        self._swept_us: Micros = 0

    async def __call__(self, now_us: Micros) -> int:
        """Delete one batch if one is due; return how many responses were deleted."""
        if not has_passed(self._pause, self._swept_us, now_us):
            return 0
        expired = await self._store.read(expired_responses(now_us, CLEANUP_BATCH))
        by_client: dict[int, list[str]] = {}
        for client, key in expired:
            by_client.setdefault(client, []).append(key)
        deleted = 0
        for client, keys in by_client.items():
            deleted += await self._store.write(delete_responses(client, keys, now_us))
        self._pause, self._swept_us = 0 if len(expired) == CLEANUP_BATCH else CLEANUP_PAUSE, now_us
        return deleted
