"""Retention: what has to go some day and hurries nobody: searches of erasures that were left, and bodies kept long enough.

It works in small pages with a rest after each, beside the inbox worker. Several processes may do it at once: what one has done
the other does not find any more.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Coroutine
from dataclasses import dataclass

from touchbase.clients.commands import ListClients
from touchbase.clients.models import SUSPENDED, Client
from touchbase.common.timestamps import DAY, SECOND, Clock, Micros, has_passed
from touchbase.erasure.commands import Erasure, OpenErasures
from touchbase.erasure.service import Eraser
from touchbase.errors import Overloaded
from touchbase.inbox.commands import CountPrunable, DropUnrecognised, PruneBodies, SizeUnrecognised
from touchbase.sql.store import Store

LOG = logging.getLogger("touchbase.retention")

LOOK_SECONDS = 5.0
"""How often we look for erasures that were left."""
RETAIN_EVERY: Micros = 3600 * SECOND
MEASURE_EVERY: Micros = 60 * SECOND
"""How often we look for bodies that nobody understood: in between, the rate in bytes bounds what comes."""
PAGE = 200
REST_SECONDS = 0.05
"""After each page, for those who wait to write."""


def due_before(client: Client, now: Micros) -> Micros | None:
    """Bodies of calls applied before this moment were kept long enough; None where they are kept for ever."""
    days = client.settings.keep_bodies_days
    return None if days is None else now - days * DAY


async def count_due(store: Store, client: Client, now: Micros) -> int:
    """How many bodies of a client were kept long enough."""
    before = due_before(client, now)
    return 0 if before is None else await store.read(CountPrunable(client.number, before))


async def retain(store: Store, client: Client, now: Micros, page: int = PAGE) -> int:
    """Remove one page of a client's bodies that were kept long enough; answers how many."""
    before = due_before(client, now)
    return 0 if before is None else await store.write(PruneBodies(client.number, before, page, now))


@dataclass(frozen=True, slots=True)
class Unproven:
    """How long, and up to which size for each client, the bodies of calls stay that nobody understood and nothing verified; 0: no end."""

    days: int = 0
    most_bytes: int = 0


class Retention:
    """Removes what is due until it is stopped."""

    def __init__(self, store: Store, eraser: Eraser, clock: Clock, *, rest: float = REST_SECONDS, unproven: Unproven = Unproven()) -> None:
        self._store = store
        self._eraser = eraser
        self._clock = clock
        self._rest = rest
        self._unproven = unproven
        self._measured_us: Micros = 0
        self._retained_us: Micros = 0
        self._left_over = set[int]()
        self._scrubbed = True
        self._stopping = asyncio.Event()

    def stop(self) -> None:
        """Finish the page at hand, then return from `run`."""
        self._stopping.set()

    async def run(self) -> None:
        """Work until stopped. A store that cannot write now is asked again."""
        while not self._stopping.is_set():
            wait = LOOK_SECONDS
            try:
                await self.once()
            except Overloaded as error:
                wait = max(wait, error.retry_after)
            except Exception:
                LOG.exception("retention failed; it is tried again")
            await self._pause(wait)

    async def once(self) -> None:
        """Do what is due. Where it fails for one client it is tried again with the next look, and the others go on."""
        await self._search()
        if has_passed(MEASURE_EVERY, self._measured_us, self._clock()) and (self._unproven.days or self._unproven.most_bytes):
            self._measured_us = self._clock()
            for client in await self._store.read(ListClients()):
                await self._is_done(self._drop_unproven(client.number))
        is_due = has_passed(RETAIN_EVERY, self._retained_us, self._clock())
        if is_due or self._left_over:
            clients = [each for each in await self._store.read(ListClients()) if is_due or each.number in self._left_over]
            self._left_over = {each.number for each in clients if not await self._is_done(self._keep_up(each))}
        if is_due:
            self._retained_us = self._clock()
            # Late calls about erased people were dropped meanwhile, and stand in the log.
            self._scrubbed = self._scrubbed and not any(each.has_erased for each in clients)
        if not self._scrubbed and not self._stopping.is_set():
            self._scrubbed = await self._store.vacuum()

    async def _drop_unproven(self, client: int) -> None:
        """Drop a client's bodies that nobody understood and nothing verified, as far as they are too old or too many."""
        now, ends = self._clock(), self._unproven
        before = now - ends.days * DAY if ends.days else 0
        excess = await self._store.read(SizeUnrecognised(client)) - ends.most_bytes if ends.most_bytes else 0
        count, size = PAGE, 0
        while count == PAGE and not self._stopping.is_set():
            dropped = await self._store.write(DropUnrecognised(client, before, max(0, excess - size), PAGE, now))
            count, size = dropped.count, size + dropped.size
            self._scrubbed = self._scrubbed and not count
            await self._pause(self._rest)

    async def _search(self) -> None:
        for left in await self._store.read(OpenErasures()):
            await self._is_done(self._finish(left))
            self._scrubbed = False

    async def _finish(self, erasure: Erasure) -> None:
        while erasure.done_us is None and not self._stopping.is_set():
            erasure = await self._eraser.step(erasure)
            await self._pause(self._rest)

    async def _is_done(self, work: Coroutine[None, None, None]) -> bool:
        """Do a client's work; what fails is told, and keeps nobody else's from being done."""
        try:
            await work
        except Overloaded as error:
            LOG.warning("retention of a client waits: %s", error.detail)
            return False
        except Exception:
            LOG.exception("retention of a client failed; it is tried again")
            return False
        return True

    async def _keep_up(self, client: Client) -> None:
        await self._retain(client)
        if client.state == SUSPENDED and client.has_erased:
            await self._look_again(client)

    async def _look_again(self, client: Client) -> None:
        """What came for a suspended client since is not applied, so nobody else would find whom it tells of."""
        while not self._stopping.is_set() and not await self._eraser.search_pending(client.number):
            await self._pause(self._rest)

    async def _retain(self, client: Client) -> None:
        removed = PAGE
        while removed == PAGE and not self._stopping.is_set():
            removed = await retain(self._store, client, self._clock())
            self._scrubbed = self._scrubbed and not removed
            await self._pause(self._rest)

    async def _pause(self, seconds: float) -> None:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)
