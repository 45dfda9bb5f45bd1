"""Reads what events are about; requests that ask for it while a read is in progress share the next one."""

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
        self._asked: dict[int, list[Asked]] = {}
        self._reads: dict[int, asyncio.Task[None]] = {}

    async def of(self, client: int, event: LoggedEvent) -> Any:
        """Return what an event is about, as it is after this call; None if it is gone. Raises what the read raises."""
        found: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(client, []).append((event, found))
        if client not in self._reads:
            self._reads[client] = asyncio.create_task(self._read(client), name="objects-of-webhooks")
        return await found

    async def _read(self, client: int) -> None:
        """Read until no request asks."""
        try:
            while asked := self._asked.pop(client, None):
                await self._answer(client, asked)
        finally:
            del self._reads[client]

    async def _answer(self, client: int, asked: list[Asked]) -> None:
        try:
            objects = await self._show.objects(self._store, client, [event for event, _ in asked])
        except BaseException as error:
            for _, future in asked:
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
            return
        for (_, future), shown in zip(asked, objects, strict=True):
            if not future.done():  # the request may have been given up
                future.set_result(shown)
