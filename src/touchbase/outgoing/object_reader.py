"""Reads the objects of events; requests during a read share the next one."""

from __future__ import annotations

import asyncio
from typing import Any

from touchbase.event_log.models import LoggedEvent
from touchbase.outgoing.shown import Shown
from touchbase.sql.store import Store

Asked = tuple[LoggedEvent, asyncio.Future[Any]]


class ObjectReader:
    """One read of a client's data at a time, so that a thousand requests a second need some hundred reads."""

    def __init__(self, store: Store, show: Shown) -> None:
        self._store = store
        self._show = show
        self._waiting: dict[int, list[Asked]] = {}
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

    async def _answer(self, client: int, requests: list[Asked]) -> None:
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
