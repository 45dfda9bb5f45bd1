"""Last use of keys: recorded in memory during a request, and written later for many keys at once."""

from __future__ import annotations

from touchbase.auth.api_key import MINUTE
from touchbase.auth.sql import store_key_uses
from touchbase.common.timestamps import Micros
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

MAX_CACHED = 10_000


class KeyUsage:
    """The uses in this process, to the minute, so that a busy key is written once a minute."""

    def __init__(self) -> None:
        self._next: dict[str, Micros] = {}
        self._waiting: dict[str, Micros] = {}

    def record(self, key_id: str, now: Micros) -> None:
        """Record that a key was used now."""
        if now >= self._next.get(key_id, 0):
            if len(self._next) >= MAX_CACHED:
                self._next.clear()
            minute = now - now % MINUTE
            self._waiting[key_id], self._next[key_id] = minute, minute + MINUTE

    async def flush(self, store: Store) -> None:
        """Write the recorded uses; after an error they stay for the next flush."""
        if not self._waiting:
            return
        uses, self._waiting = self._waiting, {}
        try:
            await store.write(store_key_uses(uses))
        except BaseException as error:
            self._waiting = uses | self._waiting
            if not isinstance(error, Overloaded):
                raise
