"""Sweeping: answers whose time is over are taken away, a bounded number at a time.

They count for nothing from the moment their time is over; sweeping only gives their space back.
"""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros, has_passed
from touchbase.idempotency.commands import DeleteResponses, ExpiredResponses
from touchbase.sql.store import Store

AT_ONCE = 500
"""Answers taken away in one round: a few thousandths of a second of the store's time."""
PAUSE: Micros = 60 * SECOND
"""How long to leave it when there was less than that."""


class ResponseCleanup:
    """Takes away kept answers whose time is over, whenever it is asked and something may be due."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pause: Micros = 0
        self._swept_us: Micros = 0

    async def __call__(self, now_us: Micros) -> int:
        """Sweep one round if one is due; answers how many answers went."""
        if not has_passed(self._pause, self._swept_us, now_us):
            return 0
        found = await self._store.read(ExpiredResponses(now_us, AT_ONCE))
        by_client: dict[int, list[str]] = {}
        for client, key in found:
            by_client.setdefault(client, []).append(key)
        gone = 0
        for client, keys in by_client.items():
            gone += await self._store.write(DeleteResponses(client, keys, now_us))
        self._pause, self._swept_us = 0 if len(found) == AT_ONCE else PAUSE, now_us
        return gone
