"""Counter of the bytes that clients store."""

from __future__ import annotations

import logging
from collections import deque

from touchbase.clients.sql.stored_bytes import claim_count, due_counts, measure_page, store_count
from touchbase.clients.stored_bytes import CLIENTS_AT_ONCE, LOOK_INTERVAL, PAGES, WARNING_PERCENT, Place
from touchbase.common.timestamps import Clock, Micros, has_passed
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.clients")


class StorageCounter:
    """Counts the stored bytes of the clients of one store, some pages at a time."""

    def __init__(self, store: Store, clock: Clock, default_limit: int) -> None:
        self._store = store
        self._clock = clock
        self._default_limit = default_limit
        self._due: deque[int] = deque()
        self._client: int | None = None
        self._place: Place = (0, None)
        self._bytes = 0
        self._looked_us: Micros = 0

    async def count_pages(self, most: int = PAGES) -> None:
        """Read up to so many pages."""
        for _ in range(most):
            if self._client is None and not await self._begin_next():
                return
            await self._count_page()

    async def _begin_next(self) -> bool:
        """Claim the next client that is due; return whether there is one."""
        while True:
            now = self._clock()
            if not self._due:
                if not has_passed(LOOK_INTERVAL, self._looked_us, now):
                    return False
                self._due.extend(await self._store.read(due_counts(now)))
                if len(self._due) < CLIENTS_AT_ONCE:
                    self._looked_us = now
                if not self._due:
                    return False
            client = self._due.popleft()
            if await self._store.write(claim_count(client, now)):
                self._client, self._place, self._bytes = client, (0, None), 0
                return True

    async def _count_page(self) -> None:
        client = self._client
        assert client is not None
        page = await self._store.read(measure_page(client, self._place))
        self._bytes += page.size
        if page.next is not None:
            self._place = page.next
            return
        self._client = None
        if await self._store.write(store_count(client, self._bytes, self._clock(), self._default_limit)):
            # The client's number: its id is part of an address that accepts webhooks.
            LOG.warning(
                "client %d: it stores more than %d %% of the bytes that it may store; see `touchbase doctor`", client, WARNING_PERCENT
            )
