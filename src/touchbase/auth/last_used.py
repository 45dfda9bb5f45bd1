"""Last use of keys and sessions: recorded in memory during a request, and written later for many at once."""

from __future__ import annotations

from touchbase.auth.api_key import MINUTE
from touchbase.auth.sessions import Session, store_session_uses
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
        self._sessions: dict[Session, Micros] = {}

    def record(self, key_id: str, now: Micros) -> None:
        """Record that a key was used now."""
        if now >= self._next.get(key_id, 0):
            self._waiting[key_id] = self._begin_minute(key_id, now)

    def record_session(self, session: Session, now: Micros) -> None:
        """Record that a session was used now."""
        if now >= self._next.get(session.id_hash, 0):
            self._sessions[session] = self._begin_minute(session.id_hash, now)

    def _begin_minute(self, name: str, now: Micros) -> Micros:
        if len(self._next) >= MAX_CACHED:
            self._next.clear()
        minute = now - now % MINUTE
        self._next[name] = minute + MINUTE
        return minute

    async def flush(self, store: Store) -> None:
        """Write the recorded uses; after an error they stay for the next flush."""
        keys, self._waiting = self._waiting, {}
        sessions, self._sessions = self._sessions, {}
        try:
            if keys:
                await store.write(store_key_uses(keys))
                keys = {}
            if sessions:
                users = {session.user_id: at for session, at in sessions.items() if session.user_id is not None}
                await store.write(store_session_uses({session.id_hash: at for session, at in sessions.items()}, users))
        except BaseException as error:
            self._waiting, self._sessions = keys | self._waiting, sessions | self._sessions
            if not isinstance(error, Overloaded):
                raise
