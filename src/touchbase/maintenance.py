"""Maintenance in the background: store the process's records, find silent tools, count stored bytes, delete clients' data."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from touchbase.audit import forget_acts
from touchbase.auth.last_used import KeyUsage
from touchbase.clients.models import Client
from touchbase.clients.removal import removal_of
from touchbase.clients.sql.clients import deleting_clients
from touchbase.clients.storage_counter import StorageCounter
from touchbase.common.timestamps import SECOND, Clock, Micros
from touchbase.connections.silence import CallCounts, SilenceCheck
from touchbase.event_log.sql.changes import forget_changes_before
from touchbase.inbox.refused import RefusedWebhooks
from touchbase.jobs.sql import due_job_files, remove_job_files
from touchbase.outgoing.sql.dispatch import forget_attempts
from touchbase.search.service import index_waiting
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.housekeeping")
MAX_YIELD_SECONDS = 0.1
"""Longest pause after each step of a deletion, as long as the step took, so that other writes get half of the time."""
FORGET_INTERVAL: Micros = 3_600 * SECOND
"""Time between two removals of old attempts."""
FORGOTTEN = 1_000
"""Attempts removed in one transaction."""
PIECES = 20
"""Pieces of job files, and jobs, in one step: some 5 MB."""


class Maintenance(Worker):
    """Runs a round of maintenance every second, or when woken, until it is stopped."""

    log, label, failure = LOG, "maintenance", "a round of maintenance failed and will be retried"
    poll_seconds = 1.0

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        uses: KeyUsage | None = None,
        refused: RefusedWebhooks | None = None,
        calls: CallCounts | None = None,
        removes: bool = True,
        attempts_us: Micros = 0,
        audit_us: Micros = 0,
        max_stored_bytes: int = 0,
        installation: Store | None = None,
        outage: Outage | None = None,
    ) -> None:
        super().__init__(outage)
        self._store = store
        self._installation = installation or store
        """The store over all cells: a process has records about clients of all cells, and a removed client leaves the directory."""
        self._clock = clock
        self._uses = uses or KeyUsage()
        self._refused = refused or RefusedWebhooks(clock)
        self._calls = calls or CallCounts(clock)
        self._silences = SilenceCheck(store, clock)
        self._storage = StorageCounter(store, clock, max_stored_bytes)
        self._removes = removes
        self._attempts_us = attempts_us
        """How long attempts of outgoing webhooks are stored; 0: for ever."""
        self._audit_us = audit_us
        """How long entries of the audit log are stored; 0: for ever."""
        self._forgot_us: Micros = 0

    async def run(self) -> None:
        """Run rounds until stopped; then store the process's records."""
        await super().run()
        for name, recorded in (("last uses of keys", self._uses), ("refused webhooks", self._refused), ("calls", self._calls)):
            try:
                await recorded.flush(self._installation)
            except Exception:
                LOG.exception("%s could not be stored", name)

    async def _round(self) -> float:
        await self.round()
        return self.poll_seconds

    async def round(self) -> None:
        """Run one round."""
        await self._uses.flush(self._installation)
        await self._refused.flush(self._installation)
        await self._calls.flush_if_due(self._installation)
        await self._store.analyze()
        await index_waiting(self._store, self._stopping.is_set)
        if self._removes:
            for client in await self._store.read(deleting_clients()):
                await self._remove(client)
            await self._remove_job_files()
            await self._forget_old()
            await self._silences.run_if_due()
            await self._storage.count_pages()

    async def _remove_job_files(self) -> None:
        """Remove the files of jobs that are due, a few pieces at a time."""
        for client, job_id in await self._store.read(due_job_files(self._clock(), PIECES)):
            removed = PIECES
            while removed == PIECES and not self._stopping.is_set():
                removed = await self._store.write(remove_job_files(client, job_id, PIECES, self._clock()))

    async def _forget_old(self) -> None:
        """Remove old attempts of outgoing webhooks and old entries of the audit log and the history, once in a while."""
        now = self._clock()
        if now - self._forgot_us < FORGET_INTERVAL:
            return
        self._forgot_us, before = now, now - self._attempts_us
        removed = FORGOTTEN if self._audit_us else 0
        while removed == FORGOTTEN and not self._stopping.is_set():
            removed = await self._store.write(forget_acts(now - self._audit_us, FORGOTTEN))
            removed = max(removed, await self._store.write(forget_changes_before(now - self._audit_us, FORGOTTEN)))
        removed = FORGOTTEN if self._attempts_us else 0
        while removed == FORGOTTEN and not self._stopping.is_set():
            removed = await self._store.write(forget_attempts(before, FORGOTTEN))

    async def _remove(self, client: Client) -> None:
        began = self._clock()
        async with contextlib.aclosing(removal_of(self._installation, self._clock, client)) as steps:
            async for removal in steps:
                if self._stopping.is_set() or removal.wait_us:
                    return
                await asyncio.sleep(min(MAX_YIELD_SECONDS, (self._clock() - began) / SECOND))
                await self._uses.flush(self._installation)
                await self._refused.flush(self._installation)
                began = self._clock()
