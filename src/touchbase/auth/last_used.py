"""When keys were used last: noted in memory while a call is answered, and written for many keys at once, later."""

from __future__ import annotations

from touchbase.auth.api_key import MINUTE
from touchbase.auth.commands import NoteKeyUses
from touchbase.common.timestamps import Micros
from touchbase.errors import Overloaded
from touchbase.sql.store import Store

MOST_REMEMBERED = 10_000


class KeyUsage:
    """The uses that this process has seen. Kept to the minute, so that a busy key is written once a minute."""

    def __init__(self) -> None:
        self._next: dict[str, Micros] = {}
        self._waiting: dict[str, Micros] = {}

    def note(self, key_id: str, now: Micros) -> None:
        """A key was used now."""
        if now >= self._next.get(key_id, 0):
            if len(self._next) >= MOST_REMEMBERED:
                self._next.clear()
            minute = now - now % MINUTE
            self._waiting[key_id], self._next[key_id] = minute, minute + MINUTE

    async def flush(self, store: Store) -> None:
        """Write what waits; what cannot be written now waits on."""
        if not self._waiting:
            return
        uses, self._waiting = self._waiting, {}
        try:
            await store.write(NoteKeyUses(uses))
        except BaseException as error:
            self._waiting = uses | self._waiting
            if not isinstance(error, Overloaded):
                raise
