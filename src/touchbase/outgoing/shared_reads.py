"""Reads for endpoints: events of the log, and their objects. Requests for the same at the same time share a read."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from touchbase.common.timestamps import Clock, clock
from touchbase.event_log.models import LoggedEvent, LoggedPage
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.outgoing.audit_log import acts_after
from touchbase.outgoing.line import BUFFER
from touchbase.outgoing.models import EVERY_CLIENT, Endpoint, Record
from touchbase.sql.store import Store


@dataclass(frozen=True, slots=True)
class Shown:
    """Reads a client's records for sending, in the form of the API."""

    objects: Callable[[Store, int, Sequence[LoggedEvent]], Awaitable[list[Any]]]
    """Return the subject of each event in its present state; None if it is gone."""
    record: Callable[[Store, int, Record], Awaitable[dict[str, Any] | None]]
    """Returns a record; None if there is none any more."""


Waiting = tuple[LoggedEvent, asyncio.Future[Any]]


class ObjectReader:
    """One read of a client's data at a time, so that a thousand requests a second need some hundred reads."""

    def __init__(self, store: Store, show: Shown) -> None:
        self._store = store
        self._show = show
        self._waiting: dict[int, list[Waiting]] = {}
        self._reads: dict[int, asyncio.Task[None]] = {}

    async def of(self, client: int, event: LoggedEvent) -> Any:
        """Return an event's object, read after this call; None if it is gone. Raises the read's exception."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(client, []).append((event, future))
        if client not in self._reads:
            self._reads[client] = asyncio.create_task(self._read(client), name="objects-of-webhooks")
        return await future

    async def _read(self, client: int) -> None:
        """Read until no request asks."""
        try:
            while requests := self._waiting.pop(client, None):
                await self._answer(client, requests)
        finally:
            del self._reads[client]

    async def _answer(self, client: int, requests: list[Waiting]) -> None:
        try:
            objects = await self._show.objects(self._store, client, [event for event, _ in requests])
        except BaseException as error:
            for _, future in requests:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), shown in zip(requests, objects, strict=True):
            if not future.done():  # the request may have been given up
                future.set_result(shown)


Part = tuple[int, int, tuple[str, ...]]
"""Client, the sequence after which to read, and types."""


class LogReader:
    """One read for all endpoints of a client that have read equally far: a new event of a client with 100 endpoints is read once."""

    def __init__(self, store: Store, home: Store | None = None, clock: Clock = clock) -> None:
        """`home`: the store that has the acts of all cells."""
        self._store, self._home, self._clock = store, home or store, clock
        self._reads: dict[Part, asyncio.Task[LoggedPage]] = {}

    async def after(self, endpoint: Endpoint, sequence: int) -> LoggedPage:
        """Return the events after a sequence that an endpoint may want. Raises the read's exception."""
        part = (endpoint.client, sequence, tuple(endpoint.types))
        read = self._reads.get(part)
        if read is None:
            read = self._reads[part] = asyncio.create_task(self._read(part), name="log-of-webhooks")
        return await asyncio.shield(read)  # one that is cancelled leaves the others theirs

    async def _read(self, part: Part) -> LoggedPage:
        client, sequence, types = part
        try:
            if client == EVERY_CLIENT:
                return await acts_after(self._home, sequence, self._clock(), BUFFER)
            return await self._store.read(list_logged_events(client, sequence, BUFFER, [*types] or None))
        finally:
            del self._reads[part]
