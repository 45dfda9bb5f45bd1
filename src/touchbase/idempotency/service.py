"""Doing once what is asked several times: requests that carry an idempotency key.

The answer to such a request is kept in the transaction of its write, so there is no moment at which one
is on disk without the other. Whoever asks again gets what was kept; whoever asks while the first is
still at work waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar

from touchbase.errors import Conflict, KeyReused, RequestInProgress, TouchbaseError
from touchbase.idempotency.commands import FindResponse, Idempotent
from touchbase.idempotency.models import RequestKey, StoredResponse
from touchbase.sql.command import Command
from touchbase.sql.store import Store

T = TypeVar("T")
ToKeep = Callable[[object], StoredResponse]

LONGEST_WAIT = 5.0
"""Seconds for which a request waits for an equal one."""


class ReplayedResponse(Exception):
    """Somebody has had the answer to this request already; nothing was carried out now."""

    def __init__(self, kept: StoredResponse) -> None:
        super().__init__("answered before")
        self.kept = kept


class InFlightKeys:
    """Which requests of this process are at work; those with one key go one after the other."""

    def __init__(self) -> None:
        self._running: dict[tuple[int, str], asyncio.Event] = {}

    @asynccontextmanager
    async def turn(self, request: RequestKey) -> AsyncIterator[None]:
        """Wait for those before us; `RequestInProgress` when that takes too long."""
        place = (request.client, request.key)
        try:
            async with asyncio.timeout(LONGEST_WAIT):
                while (running := self._running.get(place)) is not None:
                    await running.wait()
        except TimeoutError:
            raise RequestInProgress("a request with this Idempotency-Key is still being carried out; send this again in a moment") from None
        ours = self._running[place] = asyncio.Event()
        try:
            yield
        finally:
            del self._running[place]
            ours.set()


async def find_answer(store: Store, request: RequestKey) -> StoredResponse | None:
    """What was answered to this request; `KeyReused` when its key belongs to another."""
    known = await store.read(FindResponse(request))
    found = None if known is None else known.to(request)
    if isinstance(found, KeyReused):
        raise found
    return found


class IdempotentWrites:
    """Carries out the write of one request and keeps its answer with it. Raises `ReplayedResponse` instead when it was done before.

    `to_keep` makes the answer from the command's result, or from its `Conflict`. Other errors keep nothing:
    the request did not run, and once its cause is mended it may be sent again with the same key. Only one
    command of a request may succeed.
    """

    def __init__(self, store: Store, request: RequestKey, to_keep: ToKeep) -> None:
        self._store = store
        self._request = request
        self._to_keep = to_keep

    async def write(self, command: Command[T]) -> T:
        """Carry out the command, or find that it was."""
        made = await self._store.write(Idempotent(self._request, command, partial(self._answer, command)))
        if isinstance(made, StoredResponse):
            raise ReplayedResponse(made)
        return made

    def _answer(self, command: Command[object], result: object) -> StoredResponse | None:
        if isinstance(result, TouchbaseError):
            # A creation that merges into what is there goes on after its conflict.
            is_final = isinstance(result, Conflict) and getattr(command, "on_duplicate", None) != "update"
            return self._to_keep(result) if is_final else None
        return self._to_keep(result)


async def keep_answer(store: Store, request: RequestKey, kept: StoredResponse) -> None:
    """Keep the answer to a request that wrote nothing; raises `ReplayedResponse` when an equal one was faster."""
    before = await store.write(Idempotent(request, None, lambda _: kept))
    if before is not None:
        raise ReplayedResponse(before)
