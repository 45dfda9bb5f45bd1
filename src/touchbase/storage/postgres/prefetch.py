"""Looking ahead: while one turn of a client is applied, what its next one will take is read and translated.

Applying waits for the server between two statements, and translating needs the processor alone: one after the other they left
each other idle. Nothing is claimed ahead. The next turn claims those that are still what they were when we looked, and begins
anew where too few are.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from touchbase.events.event_normalization import NormalizedDelivery
from touchbase.events.inbox_batch import InboxBatch, read_batch, split_large, translate_batch
from touchbase.events.work import Translate
from touchbase.inbox.delivery import Delivery
from touchbase.storage.command_handlers import claim, claim_if_unchanged, peek
from touchbase.storage.postgres.connection import read, run
from touchbase.storage.postgres.row_level_security import Connection
from touchbase.storage.rls_scope import of

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

AT_ONCE = 16
"""Deliveries translated before others have their turn in the event loop: some tenths of a millisecond."""
LARGE = 16 * 1024
"""Bytes of bodies that are as much; a thread translates a body that is larger."""
MOST = 4 * 1024 * 1024
"""Bytes of a turn's bodies from which on the next turn's are not kept in memory as well."""
IN_A_ROW = 32
"""Turns after which one looks at the whole queue again: meanwhile something may have come that stands before the rest, as a replay does."""
KEPT_SECONDS = 1.0
"""What nobody took by then is forgotten: meanwhile somebody may have changed what a client has connected."""
log = logging.getLogger("touchbase.storage")


class Prefetcher:
    """What was looked at ahead, by client."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._looks: dict[int, asyncio.Task[list[NormalizedDelivery]]] = {}
        self._in_a_row: dict[int, int] = {}

    async def turn(self, connection: Connection, client: int, limit: int, translate: Translate, now_us: int) -> InboxBatch:
        """Claim up to `limit` waiting deliveries in the transaction that is open here, and translate them."""
        turn = await self._seen(connection, client, limit)
        in_a_row = 0 if turn is None else self._in_a_row.get(client, 0) + 1
        if turn is None:
            turn = await taken(await run(connection, claim(client, limit, now_us)), translate)
        self._in_a_row.pop(client, None)
        if _is_full(turn, limit) and in_a_row < IN_A_ROW and client not in self._looks:
            self._in_a_row[client] = in_a_row
            self._looks[client] = look = asyncio.create_task(self._look(turn.claimed[-1].delivery, limit, translate, now_us))
            asyncio.get_running_loop().call_later(KEPT_SECONDS, self._forget, client, look)
        return turn

    async def close(self) -> None:
        """Stop looking."""
        looks = [*self._looks.values()]
        for client, look in [*self._looks.items()]:
            self._forget(client, look)
        await asyncio.gather(*looks, return_exceptions=True)

    async def _seen(self, connection: Connection, client: int, limit: int) -> InboxBatch | None:
        """A whole turn of what was looked at ahead; None when there is less."""
        seen = (await self._looked(client))[:limit]
        if len(seen) < limit:
            return None
        as_they_were = await run(connection, claim_if_unchanged(client, [each.delivery for each in seen]))
        return InboxBatch(seen, []) if as_they_were == limit else None

    async def _looked(self, client: int) -> list[NormalizedDelivery]:
        look = self._looks.pop(client, None)
        if look is None:
            return []
        done, _ = await asyncio.wait((look,), timeout=KEPT_SECONDS)
        if not done:
            look.cancel()
        return [claimed for each in done for claimed in each.result()]

    async def _look(self, after: Delivery, limit: int, translate: Translate, now_us: int) -> list[NormalizedDelivery]:
        try:
            async with self._pool.acquire() as connection:
                deliveries = await read(connection, peek(after.client, limit, now_us, after), of(after.client))
            turn = await taken(deliveries, translate)
        except Exception as error:
            log.info("could not look ahead: %s", error)  # the next turn looks for itself
            return []
        return [] if turn.broken or turn.large else turn.claimed

    def _forget(self, client: int, look: asyncio.Task[list[NormalizedDelivery]]) -> None:
        """Let go of a look that nobody took."""
        if self._looks.get(client) is look:
            del self._looks[client]
            self._in_a_row.pop(client, None)
            look.cancel()


def _is_full(turn: InboxBatch, limit: int) -> bool:
    return not (turn.broken or turn.large) and len(turn.claimed) >= limit and sum(len(seen.delivery.body) for seen in turn.claimed) < MOST


async def taken(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """Those that may be worked on together, looked at; the large ones left as they are."""
    light, large = split_large(deliveries)
    turn = await in_slices(light, translate)
    turn.large = large
    return turn


async def in_slices(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """All of them looked at, in a process apart where there is one."""
    return await read_batch(deliveries, translate, lambda: _in_slices(deliveries, translate))


async def _in_slices(deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
    """All of them translated, in the event loop while others have their turn between; what takes long on a thread."""
    turn = InboxBatch([], [])
    for part in _slices(deliveries):
        if len(part[0].body) < LARGE:
            done = translate_batch(part, translate)
            await asyncio.sleep(0)
        else:
            done = await asyncio.to_thread(translate_batch, part, translate)
        turn += done
    return turn


def _slices(deliveries: Sequence[Delivery]) -> Iterator[list[Delivery]]:
    """Together what takes little; alone, as nothing fits beside it, what is large."""
    part: list[Delivery] = []
    weight = 0
    for delivery in deliveries:
        if part and (len(part) == AT_ONCE or weight + len(delivery.body) >= LARGE):
            yield part
            part, weight = [], 0
        part.append(delivery)
        weight += len(delivery.body)
    if part:
        yield part
