"""Prefetch: while one batch of a client is applied, its next batch is read and translated.

Applying waits for the server between statements, and translating needs the CPU only, so the two overlap well. Prefetched
deliveries are not claimed. The next batch claims the unchanged ones, and reads the queue again if there are too few.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from touchbase.common.threads import on_thread
from touchbase.deliveries.claiming import claim, claim_if_unchanged, peek
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import Translate
from touchbase.projection.inbox_batch import InboxBatch, read_batch, split_large, translate_batch
from touchbase.projection.normalization import NormalizedDelivery
from touchbase.sql.scope import scope_for
from touchbase.storage.postgres.connection import read, run
from touchbase.storage.postgres.row_level_security import Connection

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

SLICE_DELIVERIES = 16
"""Deliveries translated at once in the event loop: some tenths of a millisecond."""
SLICE_BYTES = 16 * 1024
"""Bytes of bodies translated at once in the event loop; a thread translates a larger body."""
MAX_PREFETCH_BYTES = 4 * 1024 * 1024
"""After a batch with more bytes the next one is not prefetched, to limit memory."""
MAX_CONSECUTIVE = 32
"""Prefetched batches in a row, before the queue is read from its start again: a replay, for example, adds deliveries at the front."""
LIFETIME_SECONDS = 1.0
"""Prefetched batches expire, because the client's connections may have changed."""
log = logging.getLogger("touchbase.storage")


class Prefetcher:
    """Prefetched deliveries, by client."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._tasks: dict[int, asyncio.Task[list[NormalizedDelivery]]] = {}
        self._consecutive: dict[int, int] = {}

    async def claim(self, connection: Connection, client: int, limit: int, translate: Translate, now_us: int) -> InboxBatch:
        """Claim up to `limit` waiting deliveries in the connection's open transaction, and translate them."""
        batch = await self._claim_prefetched(connection, client, limit)
        consecutive = 0 if batch is None else self._consecutive.get(client, 0) + 1
        if batch is None:
            batch = await prepare(await run(connection, claim(client, limit, now_us)), translate)
        self._consecutive.pop(client, None)
        if _is_full(batch, limit) and consecutive < MAX_CONSECUTIVE and client not in self._tasks:
            self._consecutive[client] = consecutive
            self._tasks[client] = task = asyncio.create_task(self._prefetch(batch.claimed[-1].delivery, limit, translate, now_us))
            asyncio.get_running_loop().call_later(LIFETIME_SECONDS, self._expire, client, task)
        return batch

    async def close(self) -> None:
        """Cancel all prefetching."""
        tasks = [*self._tasks.values()]
        for client, task in [*self._tasks.items()]:
            self._expire(client, task)
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _claim_prefetched(self, connection: Connection, client: int, limit: int) -> InboxBatch | None:
        """Claim a full batch of prefetched deliveries; None when there are fewer, or some have changed."""
        deliveries = (await self._prefetched(client))[:limit]
        if len(deliveries) < limit:
            return None
        unchanged = await run(connection, claim_if_unchanged(client, [delivery.delivery for delivery in deliveries]))
        return InboxBatch(deliveries, []) if unchanged == limit else None

    async def _prefetched(self, client: int) -> list[NormalizedDelivery]:
        task = self._tasks.pop(client, None)
        if task is None:
            return []
        done, _ = await asyncio.wait((task,), timeout=LIFETIME_SECONDS)
        if not done:
            task.cancel()
        return [claimed for task in done for claimed in task.result()]

    async def _prefetch(self, after: Delivery, limit: int, translate: Translate, now_us: int) -> list[NormalizedDelivery]:
        try:
            async with self._pool.acquire() as connection:
                deliveries = await read(connection, peek(after.client, limit, now_us, after), scope_for(after.client))
            batch = await prepare(deliveries, translate)
        except Exception as error:
            log.info("could not prefetch deliveries: %s", error)  # the next batch reads the queue itself
            return []
        return [] if batch.broken or batch.large else batch.claimed

    def _expire(self, client: int, task: asyncio.Task[list[NormalizedDelivery]]) -> None:
        """Drop prefetched deliveries that no batch has claimed."""
        if self._tasks.get(client) is task:
            del self._tasks[client]
            self._consecutive.pop(client, None)
            task.cancel()


def _is_full(batch: InboxBatch, limit: int) -> bool:
    if batch.broken or batch.large or len(batch.claimed) < limit:
        return False
    return sum(len(normalized.delivery.body) for normalized in batch.claimed) < MAX_PREFETCH_BYTES


async def prepare(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """Translate the deliveries that one transaction may apply; large ones are returned untranslated."""
    light, large = split_large(deliveries)
    batch = await translate_in_slices(light, translate)
    batch.large = large
    return batch


async def translate_in_slices(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """Translate deliveries in the translator process if there is one, else in slices."""
    return await read_batch(deliveries, translate, lambda: _in_slices(deliveries, translate))


async def _in_slices(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """Translate small slices in the event loop, with other tasks in between, and large bodies on a thread."""
    batch = InboxBatch([], [])
    for part in _slices(deliveries):
        if len(part[0].body) < SLICE_BYTES:
            done = translate_batch(part, translate)
            await asyncio.sleep(0)
        else:
            done = await on_thread("translate", translate_batch, part, translate)
        batch += done
    return batch


def _slices(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """Yield slices of small deliveries; a large delivery is a slice by itself."""
    part: list[Delivery] = []
    size = 0
    for delivery in deliveries:
        if part and (len(part) == SLICE_DELIVERIES or size + len(delivery.body) >= SLICE_BYTES):
            yield part
            part, size = [], 0
        part.append(delivery)
        size += len(delivery.body)
    if part:
        yield part
