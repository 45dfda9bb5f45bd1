"""Reads the log for endpoints; endpoints that ask for the same events at the same time share the read."""

from __future__ import annotations

import asyncio

from touchbase.event_log.commands import LoggedPage
from touchbase.event_log.sql.queries import list_logged_events
from touchbase.outgoing.line import BUFFER
from touchbase.outgoing.models import Endpoint
from touchbase.sql.store import Store

Part = tuple[int, int, tuple[str, ...]]
"""Client, the sequence after which to read, and types."""


class LogReader:
    """One read for all endpoints of a client that have read equally far: a new event of a client with 100 endpoints is read once."""

    def __init__(self, store: Store) -> None:
        self._store = store
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
            return await self._store.read(list_logged_events(client, sequence, BUFFER, [*types] or None))
        finally:
            del self._reads[part]
