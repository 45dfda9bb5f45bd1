"""Connections to PostgreSQL: what we ask of the server, how a plan runs, and errors in our words."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import asyncpg

from touchbase.errors import OutcomeUnknown, Overloaded, StoreUnavailable, UnusableStore
from touchbase.sql.statement import Execute, Plan, Row, Select, SerializationConflict, T, for_postgres
from touchbase.storage.postgres.array_params import run_columns
from touchbase.storage.postgres.row_level_security import SETTING, Connection, begin, limit
from touchbase.storage.rls_scope import NOBODY, Scope

if TYPE_CHECKING:
    pass

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

OLDEST = 140_000
STATEMENT_SECONDS = 30
CONNECT_SECONDS = 5
SETTINGS = {"application_name": "touchbase"}
"""Startup parameters: only those that PgBouncer accepts without `ignore_startup_parameters`."""
# A session begins with nobody in its scope, whatever its role or database was given as a default.
_SET_UP = f"SET statement_timeout = '{STATEMENT_SECONDS}s'; SET {SETTING} = '{NOBODY}'"

UNUSABLE = (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Errors of the connection: the server is away, or went away (asyncpg may call that an internal error of its own)."""
TRY_AGAIN = frozenset({"40001", "40P01"})
"""Two transactions met: the server gave up one of them, which is run again whole."""
_NOT_NOW = ("08", "28", "3D", "53", "57", "58", "25006", "55P03")
"""SQLSTATE prefixes that say nothing about a command: connection, log-in, database, resources, operator, system, read-only, locks."""
_GIVEN_UP = ("57014", "53000", "53100", "53200", "53400", "58")
"""SQLSTATE prefixes that may be the fault of the one statement: cancelled for its time, no memory or room for it, a file that it reads."""
log = logging.getLogger("touchbase.storage")
_NOT_YET = "57P03"
"""The server starts or stops, and took no connection."""
_READ_ONLY = "25006"
OUT_OF_MEMORY = "this process is out of memory; give it more, or lower TOUCHBASE_MAX_BODY_MEMORY"
_WHAT_TO_DO = {
    "53100": "its disk is full; make room, writing goes on by itself",
    "53300": "it has no connection left; raise its max_connections or lower what else uses it",
    _READ_ONLY: "it is read-only; point the address at the primary",
    "57014": f"a statement took more than {STATEMENT_SECONDS} seconds",
}


async def connect(url: str) -> Connection:
    """One connection, named in the server's list, whose statements cannot hang for ever."""
    connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS, server_settings=SETTINGS)
    try:
        await _set_up(connection)
    except BaseException:
        connection.terminate()
        raise
    return connection


async def _set_up(connection: Connection) -> None:
    """Set the session's parameters, after connecting: as startup parameters a pooler would refuse them."""
    await connection.execute(_SET_UP)


class ReconnectingConnection:
    """One connection for one user at a time, made anew when it was lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: Connection | None = None
        self._scope: Scope | None = None

    async def connection(self) -> Connection:
        """The connection as it is, or a new one; outside of a transaction that has a scope of its own, use `limited`."""
        if self._connection is None or self._connection.is_closed():
            self._connection, self._scope = await connect(self._url), NOBODY
        return self._connection

    async def limited(self, scope: Scope) -> Connection:
        """The connection, its session limited to this scope: a round trip only when it was limited to another one.

        Until the server has said that it is, nobody knows what it is limited to, and it is told again.
        """
        connection = await self.connection()
        if self._scope != scope:
            self._scope = None
            await connection.execute(limit(scope))
            self._scope = scope
        return connection

    async def close(self) -> None:
        """Let go of the connection, also of one that does not answer."""
        if self._connection is None or self._connection.is_closed():
            return
        try:
            await self._connection.close(timeout=CONNECT_SECONDS)
        except (asyncpg.PostgresError, *UNUSABLE):
            self._connection.terminate()


async def refuse_unsafe(connection: Connection) -> None:
    """Refuse a server that is too old, or that acknowledges what is not on disk."""
    # Read with current_setting(…, true): engines that speak PostgreSQL's protocol may lack a setting.
    version, fsync, commit = await connection.fetchrow(  # type: ignore[misc]
        "SELECT current_setting('server_version_num')::int, current_setting('fsync', true), current_setting('synchronous_commit', true)"
    )
    refuse(version, fsync, commit)


def refuse(version: int, fsync: str | None, synchronous_commit: str | None) -> None:
    """Refuse these settings of a server when what it acknowledges could be lost."""
    if version < OLDEST:
        raise UnusableStore(f"PostgreSQL {version // 10_000} is too old; touchbase needs version 14 or later")
    if fsync == "off":
        raise UnusableStore("this PostgreSQL runs with fsync=off and can lose everything; set fsync = on in postgresql.conf and reload it")
    if synchronous_commit == "off":
        raise UnusableStore(
            "this PostgreSQL runs with synchronous_commit=off and loses what it has acknowledged; set synchronous_commit = on "
            "(postgresql.conf, or ALTER ROLE … SET synchronous_commit = on) and reload it"
        )


def is_not_now(error: BaseException) -> bool:
    """Whether the engine cannot do it now, whoever asks."""
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "").startswith(_NOT_NOW)
    return isinstance(error, (MemoryError, *UNUSABLE))


def is_given_up(error: BaseException | None) -> bool:
    """Whether the server gave up one statement, for its time or for what it took, and may well answer another."""
    return isinstance(error, asyncpg.PostgresError) and (error.sqlstate or "").startswith(_GIVEN_UP)


def is_lost(error: BaseException) -> bool:
    """Whether the connection broke off: what it was asked last may have been carried out."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state.startswith(("08", "57P")) and state != _NOT_YET
    return isinstance(error, UNUSABLE)


def is_try_again(error: BaseException) -> bool:
    """Whether the whole transaction is to be run again."""
    return isinstance(error, SerializationConflict) or (isinstance(error, asyncpg.PostgresError) and error.sqlstate in TRY_AGAIN)


def _is_constraint(error: BaseException) -> bool:
    """A key was taken, or a record went, between our look and our write: at the second look the plan sees it."""
    return isinstance(error, asyncpg.IntegrityConstraintViolationError)


def unavailable(error: BaseException) -> StoreUnavailable:
    """The error for callers whose command could not be written now. What it says of addresses and roles is for the log alone."""
    log.warning("cannot use PostgreSQL now: %s", str(error) or type(error).__name__)
    state = (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""
    advice = OUT_OF_MEMORY if isinstance(error, MemoryError) else _WHAT_TO_DO.get(state, "the server's log says why")
    return StoreUnavailable(f"cannot use the database now: {advice}", retry_after=5)


def unknown(error: BaseException) -> OutcomeUnknown:
    """The error for callers whose command may have been committed, or not."""
    log.warning("PostgreSQL went away during a commit: %s", str(error) or type(error).__name__)
    return OutcomeUnknown(
        "the database went away while it committed this, which may be done or not; send it again with its Idempotency-Key, or look first",
        retry_after=5,
    )


@contextmanager
def committing() -> Iterator[None]:
    """Around whatever makes a write last: `OutcomeUnknown` when the connection breaks off within."""
    try:
        yield
    except Exception as error:
        if is_lost(error):
            raise unknown(error) from error
        raise


_text = cache(for_postgres)


@cache
def _numbered(sql: str) -> str:
    first, *rest = sql.split("?")
    return first + "".join(f"${n}{part}" for n, part in enumerate(rest, 1))


async def run(connection: Connection, plan: Plan[T]) -> T:
    """Run a plan to its end, inside whatever transaction is open, and answer what it returns."""
    try:
        wanted = next(plan)
        while True:
            wanted = plan.send(await _rows(connection, wanted))
    except StopIteration as stop:
        result: T = stop.value
        return result


async def _rows(connection: Connection, wanted: Execute | Select) -> list[Row]:
    if isinstance(wanted, Select):
        return [*map(tuple, await connection.fetch(_numbered(wanted.sql), *wanted.params))]
    if not (wanted.rows or wanted.more):
        return []
    return [*map(tuple, await connection.fetch(_text(wanted.op), *run_columns(wanted)))]


TRIES = 6
FIRST_PAUSE = 0.005


async def again(attempt: Callable[[], Awaitable[T]]) -> T:
    """What `attempt` answers, repeated while it meets other transactions; `Overloaded` when the engine is not able."""
    for count in range(1, TRIES + 1):
        try:
            return await attempt()
        except Exception as error:
            if is_not_now(error):
                raise unavailable(error) from error
            if not (is_try_again(error) or (count == 1 and _is_constraint(error))):
                raise
            if count < TRIES:
                # Those who met come back at different times, so that they do not meet again.
                await asyncio.sleep(FIRST_PAUSE * 2**count * random.random())  # noqa: S311
    raise Overloaded("others keep writing the same records; send this again in a moment")


async def write(connection: Connection, plan: Plan[T], scope: Scope) -> T:
    """Run a plan in a transaction of its own; it is on disk when this returns, or nothing of it is."""
    try:
        await connection.execute(begin(scope))
        result = await run(connection, plan)
        with committing():
            await connection.execute("COMMIT")
    except BaseException as error:
        await roll_back(connection, error)
        raise
    return result


async def write_alone(connection: Connection, plan: Plan[T]) -> T:
    """Run a plan of which one statement is all of its write, and so a transaction by itself; the others only read."""
    try:
        with committing():
            return await run(connection, plan)
    except Exception as error:
        give_up_reader(connection, error)
        raise


def give_up_reader(connection: Connection, error: BaseException) -> None:
    """Let go of a server that only reads: a new connection may find the one that writes."""
    if isinstance(error, asyncpg.PostgresError) and error.sqlstate == _READ_ONLY:
        connection.terminate()


async def roll_back(connection: Connection, why: BaseException | None = None) -> None:
    """Leave the transaction; a connection that cannot, or whose server turned out to be read-only, is given up."""
    if why is not None:
        give_up_reader(connection, why)
    try:
        await connection.execute("ROLLBACK")
    except (asyncpg.PostgresError, *UNUSABLE):
        connection.terminate()


async def read(connection: Connection, plan: Plan[T], scope: Scope) -> T:
    """Run a plan that only reads, all its steps on one state of the store."""
    try:
        await connection.execute(begin(scope, "ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        return await run(connection, plan)
    finally:
        await roll_back(connection)


async def open_pool(url: str, size: int) -> Pool:
    """Connections for reads and turns of the inbox; lost ones are replaced."""
    return await asyncpg.create_pool(
        url, min_size=1, max_size=size, timeout=CONNECT_SECONDS, server_settings=SETTINGS, init=_set_up, reset=_as_left
    )


async def _as_left(connection: Connection) -> None:
    """Nothing to reset between users, as none of ours changes its session: that saves a round trip for each read."""
