"""The worker of company links: follows the events of clients that have the setting, and links the contacts that they concern.

A function of the present records, so it does not matter when it runs. Several processes may run it: each step locks the
client, and continues where the last one ended. Without such a client it is one short query a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable

from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Clock
from touchbase.company_links.domains import lists
from touchbase.company_links.plans import clients_to_link, follow_changes, start_linking
from touchbase.errors import Overloaded
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.company_links")
POLL_SECONDS = 1.0
PAGE = 200
"""Events of one step."""
CLIENTS = 100
"""Clients of one round; each has one step in it."""
PAUSE_SECONDS = 0.01
"""Pause after each step, so that other writes get through."""


class CompanyLinker:
    """Links contacts until it is stopped."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        on_job: Callable[[], None] = lambda: None,
        pause: float = PAUSE_SECONDS,
        outage: Outage | None = None,
    ) -> None:
        self._outage = outage or Outage()
        self._store = store
        self._clock = clock
        self._on_job = on_job
        self._pause_seconds = pause
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Finish the current step, then return from `run`."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until stopped; retry while the store cannot write."""
        while not self._stopping.is_set():
            wait = POLL_SECONDS
            try:
                await self.drain()
                self._outage.works("linking")
            except Overloaded as error:
                self._outage.waits("linking", error)
                wait = max(wait, error.retry_after)
            except Exception:
                LOG.exception("looking for contacts to link failed; it is tried again")
            await self._pause(wait)

    async def drain(self) -> int:
        """Link what is to be linked now; return the number of contacts. A client whose step fails waits for the next call."""
        linked, failed, found = 0, set[int](), True
        while found:
            found, after = False, 0
            while clients := await self._store.read(clients_to_link(CLIENTS, after)):
                after = clients[-1]
                for client in clients:
                    if self._stopping.is_set():
                        return linked
                    if client in failed:
                        continue
                    found, done = True, await self._step_logged(client)
                    linked += done or 0
                    if done is None:
                        failed.add(client)
                    await self._pause(self._pause_seconds)
        return linked

    async def _step_logged(self, client: int) -> int | None:
        """Do a client's next step; return how many contacts it linked, None if it failed."""
        try:
            linked = await self._step(client)
        except Overloaded as error:
            self._outage.waits("linking contacts of a client", error)
        except Exception:
            LOG.exception("linking the contacts of client %d failed; it is tried again", client)
        else:
            self._outage.works("linking contacts of a client")
            return linked
        return None

    async def _step(self, client: int) -> int:
        await on_thread("company_links", lists)
        found = await self._store.write(follow_changes(client, PAGE, self._clock()))
        if found.start:
            await self._store.write(start_linking(client, self._clock()))
            self._on_job()
        if found.linked.wanted:
            found = await self._store.write(follow_changes(client, PAGE, self._clock(), found.linked.wanted))
        return found.linked.contacts

    async def _pause(self, seconds: float) -> None:
        if seconds and not self._stopping.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), seconds)
