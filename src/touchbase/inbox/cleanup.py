"""Dedupe cleanup: delete expired dedupe keys, so that finding a repeat stays fast in a large store.

Correctness does not depend on it: an expired key never makes a webhook a repeat, even before it is deleted.
"""

from __future__ import annotations

from touchbase.common.timestamps import SECOND, Micros, has_passed
from touchbase.deliveries.delivery import DEDUPE_WINDOW
from touchbase.inbox.sql.commands import forget_dedupe_keys
from touchbase.inbox.sql.queries import old_dedupe_keys
from touchbase.sql.store import Store

BATCH_SIZE = 500
"""Keys deleted in one write, so that other writes wait briefly."""
MAX_BATCHES = 40
"""Writes in one run; the next run continues."""
PAUSE: Micros = 600 * SECOND
"""Time between two complete passes."""
EXPIRE_AFTER: Micros = DEDUPE_WINDOW + 600 * SECOND
"""Age of an expired key; the margin allows for clock skew between machines."""


class DedupeCleanup:
    """Deletes expired dedupe keys in bounded steps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._pause: Micros = 0
        self._ran_us: Micros = 0
        self._cursor: tuple[int, bytes] | None = None

    async def __call__(self, now_us: Micros) -> int:
        """Continue the pass over all dedupe keys, if due; return the number of keys deleted."""
        if not has_passed(self._pause, self._ran_us, now_us):
            return 0
        self._pause, self._ran_us = 0, now_us
        deleted = 0
        for _ in range(MAX_BATCHES):
            keys = await self._store.read(old_dedupe_keys(now_us - EXPIRE_AFTER, BATCH_SIZE, self._cursor))
            deleted += await self._forget(keys, now_us)
            if len(keys) < BATCH_SIZE:
                self._pause, self._cursor = PAUSE, None
                break
            self._cursor = keys[-1]
        return deleted

    async def _forget(self, keys: list[tuple[int, bytes]], now_us: Micros) -> int:
        by_client: dict[int, list[bytes]] = {}
        for client, key in keys:
            by_client.setdefault(client, []).append(key)
        return sum([await self._store.write(forget_dedupe_keys(client, keys, now_us - EXPIRE_AFTER)) for client, keys in by_client.items()])
