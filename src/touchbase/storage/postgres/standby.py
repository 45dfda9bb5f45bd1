"""A streaming standby of the database: it answers queries that may take long, never older than the primary when it was asked."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from touchbase.common.cipher import Cipher
from touchbase.sql.operation import Query, plan_of_query, scope_of
from touchbase.storage.postgres.connection import CONNECT_SECONDS, UNUSABLE, open_pool, read, unavailable

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool
    from touchbase.storage.postgres.row_level_security import Connection

LOG = logging.getLogger("touchbase.databases")
T = TypeVar("T")
READERS = 4
WAIT_SECONDS = 1.0
"""How long a query waits until the standby has replayed what the primary had; then the primary answers."""
_PAUSE_SECONDS = 0.01
RETRY_SECONDS = 5.0
"""Seconds without another attempt after one that failed, so that a standby that is down delays few queries."""
_DATABASE = "system_identifier || ' ' || current_database()"
"""The cluster, which a standby shares, and the database in it: another installation may have one beside it."""
POSITION = f"SELECT pg_current_wal_flush_lsn()::text AS position, {_DATABASE} AS database FROM pg_control_system()"
"""Asked of the primary. Everything that it has acknowledged is before this place of its log."""
_REPLAYED = f"""SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn AS is_there, {_DATABASE} AS database,
extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 AS age FROM pg_control_system()"""
_LAG = """SELECT pg_is_in_recovery() AS is_standby, CASE WHEN pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
ELSE extract(epoch FROM now() - pg_last_xact_replay_timestamp())::float8 END AS lag"""


class StandbyFailed(Exception):
    """The standby cannot answer: the primary is to be asked."""


class Standby:
    """A standby, connected when it is needed first."""

    def __init__(self, url: str, cipher: Cipher) -> None:
        self.reason: str | None = None
        """Why it could not answer the last time; None: it did."""
        self.answered = 0
        """Number of queries that it has answered."""
        self._url = url
        self._cipher = cipher
        self._pool: Pool | None = None
        self._opening = asyncio.Lock()
        self._retry_at = 0.0

    async def read(self, query: Query[T], position: Callable[[], Awaitable[tuple[str, str]]]) -> T:
        """Execute a query; `position` returns the place in the primary's log, and which database it is. Raises `StandbyFailed`."""
        if time.monotonic() < self._retry_at:
            raise StandbyFailed
        place, database = await position()
        try:
            pool = await self._connected()
            async with pool.acquire(timeout=WAIT_SECONDS) as connection:
                await self._catch_up(connection, place, database)
                result = await read(connection, plan_of_query(query, self._cipher), scope_of([query]))
        except (StandbyFailed, asyncpg.PostgresError, *UNUSABLE) as error:  # also a query that conflicts with the replay
            if isinstance(error, asyncpg.QueryCanceledError):
                raise unavailable(error) from error  # it took too long, and would on the primary
            self._note(str(error) or type(error).__name__)
            raise StandbyFailed from error
        self.answered += 1
        self._note(None)
        return result

    async def lag_seconds(self) -> float:
        """Return the age of what the standby has, in seconds; 0 if it has replayed all that it got. Raises `StandbyFailed`."""
        try:
            async with (await self._connected()).acquire(timeout=CONNECT_SECONDS) as connection:
                row = await connection.fetchrow(_LAG)
        except (asyncpg.PostgresError, *UNUSABLE) as error:
            raise StandbyFailed(str(error) or type(error).__name__) from error
        assert row is not None
        if not row["is_standby"]:
            raise StandbyFailed("it is no standby")
        return float(row["lag"] or 0)

    async def close(self) -> None:
        """Close the connections."""
        if self._pool is not None:
            self._pool.terminate()

    async def _connected(self) -> Pool:
        async with self._opening:
            if self._pool is None:
                try:
                    self._pool = await open_pool(self._url, READERS)
                except ValueError as error:  # it may quote the password
                    raise StandbyFailed("TOUCHBASE_READ_DATABASE cannot be parsed: in a password write %40 for @, %2F for /") from error
        return self._pool

    async def _catch_up(self, connection: Connection, place: str, database: str) -> None:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            row = await connection.fetchrow(_REPLAYED, place)
            assert row is not None
            if row["database"] != database:
                raise StandbyFailed("it is a copy of another database")
            if row["is_there"]:
                return
            if row["is_there"] is None:
                raise StandbyFailed("it is no standby")
            if time.monotonic() > until:
                raise StandbyFailed(f"it is behind: its last transaction is {row['age'] or 0:.0f} s old")
            await asyncio.sleep(_PAUSE_SECONDS)

    def _note(self, reason: str | None) -> None:
        if reason is not None:
            self._retry_at = time.monotonic() + RETRY_SECONDS
        if (reason is None) != (self.reason is None):
            LOG.warning("the read database %s", "answers again" if reason is None else f"is not used, the primary answers: {reason}")
        self.reason = reason
