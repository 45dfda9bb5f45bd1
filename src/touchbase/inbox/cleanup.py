"""Sweeping: calls too old to be repeated are no longer recognised, so that looking for one stays quick in a large store.

Whether a call is a repeat never depends on it: a call that is too old counts as none while it is still there.
"""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros, has_passed
from touchbase.inbox.commands import ForgetDedupeKeys
from touchbase.inbox.delivery import REPEAT_WINDOW
from touchbase.inbox.queries import OldDedupeKeys
from touchbase.sql.store import Store

AT_ONCE = 500
"""Calls forgotten in one write, so that others wait for few."""
ROUNDS = 40
"""How many such writes until others have their turn."""
PAUSE: Micros = 600 * SECOND
"""How long to leave it when all were looked at."""
FORGOTTEN_AFTER: Micros = REPEAT_WINDOW + 600 * SECOND
"""The rest allows for the clocks of several machines."""


class DedupeCleanup:
    """Forgets calls that are too old to be repeated, whenever it is asked and some may be due."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pause: Micros = 0
        self._swept_us: Micros = 0
        self._place: tuple[int, bytes] | None = None

    async def __call__(self, now_us: Micros) -> int:
        """Go on with the walk through all that are recognised, if one is due; answers how many were forgotten."""
        if not has_passed(self._pause, self._swept_us, now_us):
            return 0
        self._pause, self._swept_us = 0, now_us
        gone = 0
        for _ in range(ROUNDS):
            found = await self._store.read(OldDedupeKeys(now_us - FORGOTTEN_AFTER, AT_ONCE, self._place))
            gone += await self._forget(found, now_us)
            if len(found) < AT_ONCE:
                self._pause, self._place = PAUSE, None
                break
            self._place = found[-1]
        return gone

    async def _forget(self, found: list[tuple[int, bytes]], now_us: Micros) -> int:
        by_client: dict[int, list[bytes]] = {}
        for client, key in found:
            by_client.setdefault(client, []).append(key)
        return sum(
            [await self._store.write(ForgetDedupeKeys(client, keys, now_us - FORGOTTEN_AFTER)) for client, keys in by_client.items()]
        )
