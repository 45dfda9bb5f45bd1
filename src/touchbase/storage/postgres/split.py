"""A superuser's session on one of the two servers of a split: it closes, promotes, opens and drops databases.

A database is closed in two steps. First its transactions are read-only: a setting, after which its sessions are ended. Then, when it is
served elsewhere, it takes no connections.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import asyncpg

from touchbase.errors import UnusableStore
from touchbase.storage.postgres.connection import UNUSABLE, connect_or_explain

if TYPE_CHECKING:
    from touchbase.storage.postgres.row_level_security import Connection

MARK = "touchbase.split"
"""A setting of a database that a split has closed. The standby has replayed all that was written there once it has this value."""
_READ_ONLY = "default_transaction_read_only"
WAIT_SECONDS = 30.0
_PAUSE_SECONDS = 0.01
_LOCK = 0x746F756368
"""The advisory lock that one split of a server holds."""
_SERVER = """SELECT system_identifier, pg_is_in_recovery() AS is_standby, current_setting('synchronous_standby_names') AS waits_for,
current_setting('primary_slot_name') AS slot, current_setting('primary_conninfo') AS conninfo, current_setting('cluster_name') AS cluster,
COALESCE((SELECT status = 'streaming' FROM pg_stat_wal_receiver), false) AS streams, current_database() AS database
FROM pg_control_system()"""
_DATABASES = """SELECT datname, datallowconn,
COALESCE((SELECT setconfig FROM pg_db_role_setting WHERE setdatabase = d.oid AND setrole = 0), '{}') AS settings FROM pg_database d"""
_STARTING = """SELECT pid FROM pg_locks JOIN pg_database d ON d.oid = objid
WHERE locktype = 'object' AND classid = 'pg_database'::regclass AND mode = 'RowExclusiveLock' AND datname = ANY($1)"""
_SESSIONS = """SELECT pid, backend_start FROM pg_stat_activity
WHERE datname = ANY($1) AND backend_type = 'client backend' AND pid <> pg_backend_pid()"""


@dataclass(frozen=True, slots=True)
class Server:
    """One server as it is now."""

    system_identifier: int
    is_standby: bool
    waits_for: str
    """Standbys that its commits wait for."""
    slot: str
    conninfo: str
    cluster: str
    streams: bool
    database: str
    """The one of this session."""


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """One database of a server."""

    takes_connections: bool = True
    is_read_only: bool = False
    mark: str | None = None


class ServerSession:
    """A session on one server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._key = secrets.randbits(62)

    @classmethod
    async def open(cls, url: str) -> Self:
        """Connect as a superuser. Raises `UnusableStore`."""
        session = cls(await connect_or_explain(url))
        try:
            if not await session.value("SELECT rolsuper FROM pg_roles WHERE rolname = current_user"):
                raise UnusableStore("its role is no superuser: name one that is, such as postgres, with a database of the server's own")
            if not await session.value("SELECT pg_try_advisory_lock($1)", _LOCK):
                raise UnusableStore("another split of this server is running: wait until it has ended")
            await session.value("SELECT pg_advisory_lock($1)", session._key)
            await session.value("SET statement_timeout = 0")
            await session.value("SET synchronous_commit = local")
        except BaseException:
            await session.close()
            raise
        return session

    async def close(self) -> None:
        """Close the session, which releases its locks."""
        with suppress(asyncpg.PostgresError, *UNUSABLE):
            await self._connection.close(timeout=5)

    async def value(self, sql: str, *params: object) -> Any:
        """Return the first value of a statement. Raises `UnusableStore`."""
        rows = await self._rows(sql, *params)
        return rows[0][0] if rows else None

    async def _rows(self, sql: str, *params: object) -> list[Any]:
        try:
            return list(await self._connection.fetch(sql, *params))
        except (asyncpg.PostgresError, *UNUSABLE) as error:
            raise UnusableStore(f"PostgreSQL says: {error or type(error).__name__}") from error

    async def look(self) -> Server:
        """Return what the server is."""
        return Server(**(await self._rows(_SERVER))[0])

    async def databases(self) -> dict[str, DatabaseState]:
        """Return the databases of the server."""
        states = {}
        for name, takes_connections, settings in await self._rows(_DATABASES):
            values = dict(setting.split("=", 1) for setting in settings)
            states[name] = DatabaseState(takes_connections, values.get(_READ_ONLY) == "on", values.get(MARK))
        return states

    async def role_at(self, url: str) -> str | None:
        """Return the role of an address that leads to this server; None if it leads elsewhere. Raises `UnusableStore`."""
        connection = await connect_or_explain(url)
        try:
            row = await connection.fetchrow(
                "SELECT current_user, EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 1 AND "
                "classid::bigint << 32 | objid::bigint = $1)",
                self._key,
            )
        finally:
            await connection.close()
        assert row is not None
        return str(row[0]) if row[1] else None

    async def names_synchronous(self, application: str) -> bool:
        """Whether commits here may wait for a standby of this name."""
        sql = (
            "SELECT EXISTS (SELECT FROM pg_stat_replication WHERE application_name = $1 AND sync_state IN ('sync', 'quorum', 'potential'))"
        )
        return bool(await self.value(sql, application))

    async def make_read_only(self, roles: Sequence[tuple[str, str]]) -> None:
        """End the writes in these databases, given with the role that writes there; remove their marks."""
        await self._alter(
            statement
            for name, role in roles
            for statement in (f"{_database(name)} RESET {MARK}", *(f"{target} SET {_READ_ONLY} = on" for target in _targets(name, role)))
        )
        await self._end_sessions([name for name, _ in roles])

    async def mark(self, names: Sequence[str]) -> str:
        """Mark databases in which nothing is written any more; return the place of the mark in the log, flushed."""
        value = secrets.token_hex(8)
        await self._alter(f"{_database(name)} SET {MARK} = '{value}'" for name in names)
        return str(await self.value("SELECT pg_current_wal_flush_lsn()::text"))

    async def open_databases(self, roles: Sequence[tuple[str, str]], *, unmark: bool = False) -> None:
        """Let the databases be written; those who are connected, to read, have to connect again."""
        await self._alter(
            statement
            for name, role in roles
            for statement in (
                f"{_database(name)} ALLOW_CONNECTIONS true",
                *(f"{target} RESET {_READ_ONLY}" for target in _targets(name, role)),
                *([f"{_database(name)} RESET {MARK}"] if unmark else []),
            )
        )
        await self._end_sessions([name for name, _ in roles])

    async def close_databases(self, names: Sequence[str], mark: str) -> None:
        """Take no connections to these databases any more."""
        await self._alter(
            statement
            for name in names
            for statement in (f"{_database(name)} SET {MARK} = '{mark}'", f"{_database(name)} ALLOW_CONNECTIONS false")
        )
        await self._end_sessions(names)

    async def drop(self, name: str) -> None:
        """Drop a database."""
        await self.value(f"DROP DATABASE {_quoted(name)} WITH (FORCE)")

    async def drop_slot(self, slot: str) -> bool:
        """Drop a replication slot, so that the log is not kept for it; return whether it is gone."""
        await self.value("SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1 AND NOT active", slot)
        return not await self.value("SELECT count(*) FROM pg_replication_slots WHERE slot_name = $1", slot)

    async def position(self) -> str:
        """Return the flushed end of the log of a primary."""
        return str(await self.value("SELECT pg_current_wal_flush_lsn()::text"))

    async def lag(self, position: str) -> int:
        """Return how many bytes before this position a standby is."""
        return int(await self.value("SELECT pg_wal_lsn_diff($1::text::pg_lsn, pg_last_wal_replay_lsn())::bigint", position))

    async def wait_for(self, position: str) -> None:
        """Wait until a standby has replayed all that was written before this position. Raises `UnusableStore`."""

        async def is_there() -> bool:
            return await self.lag(position) <= 0

        await _until(is_there, "the second server has not replayed the last writes")

    async def promote(self) -> None:
        """Make a standby a primary."""
        if not await self.value("SELECT pg_promote(true, $1)", int(WAIT_SECONDS)):
            raise UnusableStore(f"the second server was not promoted within {WAIT_SECONDS:.0f} seconds: its log says why")

    async def timeline(self) -> int:
        """Return the timeline of a primary."""
        return int(str(await self.value("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)")), 16)

    async def _alter(self, statements: Iterable[str]) -> None:
        try:
            async with self._connection.transaction():
                for statement in statements:
                    await self._connection.execute(statement)
        except (asyncpg.PostgresError, *UNUSABLE) as error:
            raise UnusableStore(f"PostgreSQL says: {error or type(error).__name__}") from error

    async def _end_sessions(self, names: Sequence[str]) -> None:
        """End the sessions that began before the settings of these databases changed.

        A session that is starting holds a lock on its database from before it reads the settings until it is among the sessions.
        """
        starting = {row[0] for row in await self._rows(_STARTING, names)}

        async def have_started() -> bool:
            return starting.isdisjoint(row[0] for row in await self._rows(_STARTING, names))

        await _until(have_started, "sessions of the first server neither start nor end")
        sessions = {tuple(row) for row in await self._rows(_SESSIONS, names)}
        await self.value("SELECT count(pg_terminate_backend(pid)) FROM unnest($1::int[]) pid", [pid for pid, _ in sessions])

        async def have_ended() -> bool:
            return sessions.isdisjoint(tuple(row) for row in await self._rows(_SESSIONS, names))

        await _until(have_ended, "sessions do not end")


async def first_column(url: str, sql: str, *, writable: bool = False) -> list[Any]:
    """Return the first column of a query in a database, reached as a superuser. Raises `UnusableStore`, also unless it is `writable`."""
    connection = await connect_or_explain(url)
    try:
        if writable and await connection.fetchval("SHOW transaction_read_only") == "on":
            raise UnusableStore("it is read-only")
        return [row[0] for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def _until(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    until = time.monotonic() + WAIT_SECONDS
    while not await condition():
        if time.monotonic() > until:
            raise UnusableStore(f"{what} within {WAIT_SECONDS:.0f} seconds")
        await asyncio.sleep(_PAUSE_SECONDS)


def _targets(name: str, role: str) -> tuple[str, str]:
    # The setting of a role in a database goes before that of the database, and a role's own between the two.
    return _database(name), f"ALTER ROLE {_quoted(role)} IN DATABASE {_quoted(name)}"


def _database(name: str) -> str:
    return f"ALTER DATABASE {_quoted(name)}"


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
