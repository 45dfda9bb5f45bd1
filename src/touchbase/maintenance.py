"""Housekeeping: what a server does beside its calls: noting key uses and refused calls, removing clients that are being deleted."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from touchbase.auth.last_used import KeyUsage
from touchbase.clients.commands import DeletingClients
from touchbase.clients.models import Client
from touchbase.clients.removal import removal_of
from touchbase.common.timestamps import SECOND, Clock
from touchbase.errors import Overloaded
from touchbase.inbox.refused_service import RefusedWebhooks
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.housekeeping")
PAUSE_SECONDS = 1.0
LONGEST_REST = 0.1


class Maintenance:
    """Looks every second whether there is something to do, until it is stopped."""

    def __init__(
        self, store: Store, clock: Clock, *, uses: KeyUsage | None = None, refused: RefusedWebhooks | None = None, removes: bool = True
    ) -> None:
        self._store = store
        self._clock = clock
        self._uses = uses or KeyUsage()
        self._refused = refused or RefusedWebhooks(clock)
        self._removes = removes
        self._bell = asyncio.Event()
        self._stopping = False

    def wake(self) -> None:
        """There is something to do."""
        self._bell.set()

    def stop(self) -> None:
        """Finish the piece at hand, then return from `run`."""
        self._stopping = True
        self._bell.set()

    async def run(self) -> None:
        """Work until stopped. A store that cannot write now is asked again."""
        while not self._stopping:
            self._bell.clear()
            try:
                await self.round()
            except Overloaded as error:
                LOG.warning("housekeeping waits: %s", error.detail)
            except Exception:
                LOG.exception("a round of housekeeping failed; it is tried again")
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._bell.wait(), PAUSE_SECONDS)
        for notes in (self._uses, self._refused):
            try:
                await notes.flush(self._store)
            except Exception:
                LOG.exception("%s could not be written", "when keys were used last" if notes is self._uses else "refused calls")

    async def round(self) -> None:
        """Do what there is to do now."""
        await self._uses.flush(self._store)
        await self._refused.flush(self._store)
        if self._removes:
            for client in await self._store.read(DeletingClients()):
                await self._remove(client)

    async def _remove(self, client: Client) -> None:
        began = self._clock()
        async with contextlib.aclosing(removal_of(self._store, self._clock, client)) as pieces:
            async for removal in pieces:
                if self._stopping or removal.wait_us:
                    return
                # As long as it took, others have the store to themselves.
                await asyncio.sleep(min(LONGEST_REST, (self._clock() - began) / SECOND))
                await self._uses.flush(self._store)
                await self._refused.flush(self._store)
                began = self._clock()
