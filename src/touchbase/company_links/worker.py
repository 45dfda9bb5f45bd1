"""The worker of company links: follows the events of clients that have the setting, and links the contacts that they concern.

A function of the present records, so it does not matter when it runs. Several processes may run it: each step locks the
client, and continues where the last one ended. Without such a client it is one short query a second.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from touchbase.common.threads import on_thread
from touchbase.common.timestamps import Clock
from touchbase.company_links.domains import lists
from touchbase.company_links.plans import clients_to_link, follow_changes, start_linking
from touchbase.sql.outage import Outage
from touchbase.sql.store import Store
from touchbase.sql.worker import Worker

LOG = logging.getLogger("touchbase.company_links")
PAGE = 200
"""Events of one step."""
CLIENTS = 100
"""Clients of one round; each has one step in it."""
PAUSE_SECONDS = 0.01
"""Pause after each step, so that other writes get through."""


class CompanyLinker(Worker):
    """Links contacts until it is stopped."""

    log, label, failure = LOG, "linking", "looking for contacts to link failed; it is tried again"
    poll_seconds, slows_down = 1.0, True

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        on_job: Callable[[], None] = lambda: None,
        pause: float = PAUSE_SECONDS,
        outage: Outage | None = None,
    ) -> None:
        super().__init__(outage)
        self._store = store
        self._clock = clock
        self._on_job = on_job
        self._pause_seconds = pause

    async def _round(self) -> float:
        if await self.drain():
            self._idle_rounds = 0
        return self.poll_seconds

    async def drain(self) -> int:
        """Link all waiting contacts; return their number. A client whose step fails waits for the next call."""
        linked, failed, has_clients = 0, set[int](), True
        while has_clients:
            has_clients, after = False, 0
            while clients := await self._store.read(clients_to_link(CLIENTS, after)):
                after = clients[-1]
                for client in clients:
                    if self._stopping.is_set():
                        return linked
                    if client in failed:
                        continue
                    has_clients, done = True, await self._step_logged(client)
                    linked += done or 0
                    if done is None:
                        failed.add(client)
                    await self._pause(self._pause_seconds)
        return linked

    async def _step_logged(self, client: int) -> int | None:
        """Do a client's next step; return how many contacts it linked, None if it failed."""
        with self._attempt("linking contacts of a client", f"linking the contacts of client {client} failed; it is tried again"):
            return await self._step(client)
        return None

    async def _step(self, client: int) -> int:
        await on_thread("company_links", lists)
        step = await self._store.write(follow_changes(client, PAGE, self._clock()))
        if step.start:
            await self._store.write(start_linking(client, self._clock()))
            self._on_job()
        if step.linked.wanted:
            step = await self._store.write(follow_changes(client, PAGE, self._clock(), step.linked.wanted))
        return step.linked.contacts
