"""Connections to PostgreSQL: requirements of the server, how a plan runs, retries, and error messages."""

from __future__ import annotations

import asyncio
import logging
import random
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import asyncpg
import msgspec

from touchbase.common.seldom import Seldom
from touchbase.common.threads import on_thread
from touchbase.errors import BadAddress, ClientMoving, OutcomeUnknown, StoreBusy, StoreUnavailable, UnusableStore
from touchbase.sql.dialect import CLIENTS_SETTING, with_numbers
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.scope import NO_CLIENT, Scope
from touchbase.sql.statement import Execute, Plan, Row, Savepoint, Select, SerializationConflict, Step, T, for_postgres
from touchbase.storage.batch import Around, unchanged
from touchbase.storage.postgres.row_level_security import Connection, begin, set_scope

if TYPE_CHECKING:
    _Connection: TypeAlias = asyncpg.Connection[asyncpg.Record]
else:
    _Connection = asyncpg.Connection

ANSWER_SECONDS = 35.0
"""Longer than a statement may take on the server (`STATEMENT_SECONDS`)."""


class ServingConnection(_Connection):
    """A connection that is closed when a response does not come, because its host is lost or frozen.

    It is not cancelled, as the driver's own time limit does: a commit that waits for a standby and is cancelled becomes visible with
    one copy, and its sender's next attempt would be acknowledged. A closed connection leaves the commit invisible until the standby
    has it.
    """

    async def execute(self, query: str, *args: Any, **options: Any) -> str:
        """Execute a statement, as `asyncpg.Connection.execute`."""
        with self.limit():
            return await super().execute(query, *args, **options)

    async def fetch(self, query: str, *args: Any, **options: Any) -> Any:
        """Execute a statement and return its rows, as `asyncpg.Connection.fetch`."""
        with self.limit():
            return await super().fetch(query, *args, **options)

    @contextmanager
    def limit(self) -> Iterator[None]:
        """Close the connection if the body does not end in time."""
        closing = asyncio.get_running_loop().call_later(ANSWER_SECONDS, self.terminate)
        try:
            yield
        finally:
            closing.cancel()


async def fetch_within(connection: Connection, query: str, args: Sequence[object], budget: ByteBudget) -> list[Row]:
    """Execute a statement in a transaction, and read its rows in portions until the budget is spent."""
    rows: list[Row] = []
    with getattr(connection, "limit", nullcontext)():
        cursor = await connection.cursor(query, *args)
        wanted = budget.rows
        while wanted:
            portion: list[Row] = [*map(tuple, await cursor.fetch(wanted))]
            rows += portion
            is_last = len(portion) < wanted
            wanted = budget.spend(portion)
            if is_last:
                break
    return rows


_encode = msgspec.json.Encoder().encode
_ODD = re.compile(r"\\[bfnrtu]")
"""A JSON escape of a control character. PostgreSQL reads it differently: its backslash only quotes the next character."""


def column_params(step: Execute) -> list[object]:
    """Return the rows as columns: first p's, then q's and r's."""
    return (
        _columns(step.rows, step.statement.columns)
        + _columns(step.more, step.statement.more_columns)
        + _columns(step.last, step.statement.last_columns)
    )


def _columns(rows: Sequence[Row], columns: Sequence[tuple[str, str]]) -> list[object]:
    columns_of_values = zip(*rows, strict=True) if rows else ((),) * len(columns)
    return [values if kind == "bytea" else as_array(values) for (_, kind), values in zip(columns, columns_of_values, strict=True)]


def as_array(values: Sequence[object]) -> str:
    """Encode strings, integers and None as the text of an array.

    The driver inspects each element of a list several times, which took a third of the CPU time of applying events. Bytes, whose
    text would have twice their size, are passed as a list.
    """
    text = _encode(values).decode()
    # Between the brackets a JSON list equals PostgreSQL's array syntax, including `null`.
    return f"{{{text[1:-1]}}}" if _ODD.search(text) is None else f"{{{','.join(map(_element, values))}}}"


def _element(value: object) -> str:
    if value is None:
        return "NULL"
    escaped = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"

MIN_VERSION = 140_000
STATEMENT_SECONDS = 30
CONNECT_SECONDS = 5
SETTINGS = {"application_name": "touchbase"}
"""Startup parameters: only the ones PgBouncer accepts without `ignore_startup_parameters`."""
# A session starts with an empty scope, whatever the default of its role or database.
_SET_UP = f"SET statement_timeout = '{STATEMENT_SECONDS}s'; SET {CLIENTS_SETTING} = '{NO_CLIENT}'"

UNUSABLE = (OSError, asyncpg.InterfaceError, asyncpg.InternalClientError)
"""Errors of the connection: the server cannot be reached, or the connection broke (asyncpg may report an internal error then)."""
RETRYABLE = frozenset({"40001", "40P01"})
"""Serialization failure and deadlock: the server rolled back one of two transactions, which is run again."""
_UNAVAILABLE = ("08", "28", "3D", "53", "55000", "57", "58", "25006", "55P03")
"""SQLSTATE prefixes that do not depend on the command: connection, login, database, resources, operator, system, read-only, locks; 55000:
a database that takes no connections any more."""
MOVING = "TBMOV"
"""SQLSTATE of a write that the fence of a client that moves has refused."""
_CANCELLED = ("57014", "53000", "53100", "53200", "53400", "58")
"""SQLSTATE prefixes that one statement may have caused: timeout, lack of memory or disk space, a file that it reads."""
log = logging.getLogger("touchbase.storage")
_seldom = Seldom()
_NOT_YET = "57P03"
"""The server is starting or stopping, and refused the connection."""
_READ_ONLY = "25006"
OUT_OF_MEMORY = "this process is out of memory; give it more, or lower TOUCHBASE_MAX_BODY_MEMORY"
_WHAT_TO_DO = {
    "53100": "its disk is full; make room, writing goes on by itself",
    "53300": "it has no connection left; raise its max_connections or lower what else uses it",
    _READ_ONLY: "it is read-only; point the address at the primary",
    "57014": f"a statement took more than {STATEMENT_SECONDS} seconds",
}


_REFUSED_LOGINS = {
    "28000": "create the role (CREATE ROLE ... LOGIN), or name another one in the address; pg_hba.conf must allow it",
    "28P01": "check role and password in the address",
    "3D000": "create the database (createdb --owner ROLE NAME), or correct its name in the address",
    "53300": "end other connections, or raise max_connections",
    "57P03": "wait until the server has started",
}
"""The next step by the SQLSTATE of a refused login."""


async def connect(url: str, kind: type[asyncpg.Connection[asyncpg.Record]] = asyncpg.Connection) -> Connection:
    """Open a connection with a statement timeout; the server lists it as `touchbase`."""
    connection = await asyncpg.connect(url, timeout=CONNECT_SECONDS, connection_class=kind, server_settings=SETTINGS)
    await _set_up(connection)
    return connection


async def connect_or_explain(url: str) -> Connection:
    """Connect. Raises `UnusableStore` with the next step. An address that cannot be parsed is not quoted, as it may contain a password."""
    try:
        return await connect(url)
    except (ValueError, asyncpg.PostgresError, *UNUSABLE) as error:
        if isinstance(error, ValueError) and not isinstance(error, asyncpg.InterfaceError):
            raise BadAddress(
                "it cannot be parsed; in a user name or password write %2F for /, %3F for ?, %23 for #, %40 for @ and %3A for :"
            ) from error
        step = _REFUSED_LOGINS.get(getattr(error, "sqlstate", None) or "", "check the address, and that the server runs")
        raise UnusableStore(f"cannot connect to PostgreSQL: {error or type(error).__name__}; {step}") from error


async def _set_up(connection: Connection) -> None:
    """Set the session's parameters after connecting, because a pooler would refuse them as startup parameters.

    A pooler accepts a connection before it has a server for it, so this has a time limit as well.
    """
    try:
        await connection.execute(_SET_UP, timeout=CONNECT_SECONDS)
    except BaseException:
        _terminate(connection)
        raise


def _terminate(connection: Connection) -> None:
    """Close a connection at once. A lost connection of a pool is already closed, and its proxy refuses the call."""
    with suppress(asyncpg.InterfaceError):
        connection.terminate()


class ReconnectingConnection:
    """A connection for one task at a time, which is opened again after it was lost."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connected_to = url
        self._connection: Connection | None = None
        self._scope: Scope | None = None

    def use_address(self, url: str) -> None:
        """Connect to this address from the next task on."""
        self._url = url

    async def connection(self) -> Connection:
        """Return the open connection, or a new one. For statements outside of a transaction with a scope use `with_scope`."""
        if self._connection is not None and self._connected_to != self._url:
            self._connection.terminate()
        if self._connection is None or self._connection.is_closed():
            self._connected_to = url = self._url
            self._connection, self._scope = await connect(url, ServingConnection), NO_CLIENT
        return self._connection

    async def with_scope(self, scope: Scope) -> Connection:
        """Return the connection with this scope in its session; a round trip only if the scope changes.

        Until the server has confirmed the change the scope is unknown, and the next call sets it again.
        """
        connection = await self.connection()
        if self._scope != scope:
            self._scope = None
            await connection.execute(set_scope(scope))
            self._scope = scope
        return connection

    async def close(self) -> None:
        """Close the connection, even if the server does not respond."""
        if self._connection is None or self._connection.is_closed():
            return
        try:
            await self._connection.close(timeout=CONNECT_SECONDS)
        except (asyncpg.PostgresError, *UNUSABLE):
            self._connection.terminate()


async def refuse_unsafe(connection: Connection) -> None:
    """Raise `UnusableStore` for a server that is too old, or that acknowledges commits before they are on disk."""
    # Read with current_setting(…, true): other engines with PostgreSQL's protocol may lack a setting.
    version, fsync, commit = await connection.fetchrow(  # type: ignore[misc]
        "SELECT current_setting('server_version_num')::int, current_setting('fsync', true), current_setting('synchronous_commit', true)"
    )
    refuse_settings(version, fsync, commit)


def refuse_settings(version: int, fsync: str | None, synchronous_commit: str | None) -> None:
    """Raise `UnusableStore` for settings of a server that could lose acknowledged commits."""
    if version < MIN_VERSION:
        raise UnusableStore(f"PostgreSQL {version // 10_000} is too old; touchbase needs version 14 or later")
    if fsync == "off":
        raise UnusableStore("this PostgreSQL runs with fsync=off and can lose all data; set fsync = on in postgresql.conf and reload it")
    if synchronous_commit == "off":
        raise UnusableStore(
            "this PostgreSQL runs with synchronous_commit=off and can lose acknowledged writes; set synchronous_commit = on "
            "(postgresql.conf, or ALTER ROLE … SET synchronous_commit = on) and reload it"
        )


def is_unavailable(error: BaseException) -> bool:
    """Return whether the server cannot execute any command now."""
    if isinstance(error, asyncpg.PostgresError):
        return (error.sqlstate or "").startswith(_UNAVAILABLE)
    return isinstance(error, (MemoryError, *UNUSABLE))


def is_statement_cancelled(error: BaseException | None) -> bool:
    """Return whether the server cancelled one statement, for its time or its resources, and may execute others."""
    return isinstance(error, asyncpg.PostgresError) and (error.sqlstate or "").startswith(_CANCELLED)


def is_connection_lost(error: BaseException) -> bool:
    """Return whether the connection was lost: its last statement may have been executed."""
    if isinstance(error, asyncpg.PostgresError):
        state = error.sqlstate or ""
        return state.startswith(("08", "57P")) and state != _NOT_YET
    return isinstance(error, UNUSABLE)


def is_retryable(error: BaseException) -> bool:
    """Return whether the whole transaction should be run again."""
    return isinstance(error, SerializationConflict) or (isinstance(error, asyncpg.PostgresError) and error.sqlstate in RETRYABLE)


def _is_constraint(error: BaseException) -> bool:
    """Return whether a concurrent write took a key or removed a record between our read and our write; a retry reads it."""
    return isinstance(error, asyncpg.IntegrityConstraintViolationError)


def unavailable(error: BaseException) -> StoreUnavailable:
    """Return the error for a command that could not be written now. The server's message, with addresses and roles, is only logged."""
    line = f"cannot use PostgreSQL now: {str(error) or type(error).__name__}"
    if _seldom.is_due(line):  # each request of an outage comes here
        log.warning("%s", line)
    state = (error.sqlstate or "") if isinstance(error, asyncpg.PostgresError) else ""
    advice = OUT_OF_MEMORY if isinstance(error, MemoryError) else _WHAT_TO_DO.get(state, "the server's log says why")
    return StoreUnavailable(f"cannot use the database now: {advice}", retry_after=5)


def outcome_unknown(error: BaseException) -> OutcomeUnknown:
    """Return the error for a command that may have been committed, or not."""
    log.warning("the connection to PostgreSQL was lost during a commit: %s", str(error) or type(error).__name__)
    return OutcomeUnknown(
        "the connection to the database was lost during the commit, so this may be stored or not; send it again with its "
        "Idempotency-Key, or check first",
        retry_after=5,
    )


@contextmanager
def committing() -> Iterator[None]:
    """Context of a commit: raises `OutcomeUnknown` when the connection is lost within."""
    try:
        yield
    except Exception as error:
        if is_connection_lost(error):
            raise outcome_unknown(error) from error
        raise


_text = cache(for_postgres)


LONGEST_CACHED = 4_000
"""Characters of a `Select` whose text is cached: one of a search may be much longer, and another one each time."""


def _numbered(sql: str) -> str:
    return _short_numbered(sql) if len(sql) <= LONGEST_CACHED else _with_numbers(sql)


def _with_numbers(sql: str) -> str:
    first, *parts = with_numbers(sql, "postgres").split("?")
    return first + "".join(f"${n}{part}" for n, part in enumerate(parts, 1))


_short_numbered = lru_cache(1_000)(_with_numbers)


MAX_LOOP_ROWS = 1_000
MAX_LOOP_ROWS_OF_PLAN = 10_000
"""Rows of one statement, and of all statements so far, that a plan gets or gives in the event loop: with more it goes on on a thread.

A thousand rows take some milliseconds; a full batch of creations or webhooks has fewer than ten thousand in all.
"""


MAX_LOOP_ROWS = 1_000
MAX_LOOP_ROWS_OF_PLAN = 10_000
"""Rows of one statement, and of all statements so far, that a plan gets or gives in the event loop: with more it goes on on a thread.

A thousand rows take some milliseconds; a full batch of creations or webhooks has fewer than ten thousand in all.
"""


async def run(connection: Connection, plan: Plan[T]) -> T:
    """Run a plan to its end in the open transaction, if any, and return its result."""
    is_long, count = False, 0
    try:
        step = next(plan)
        while True:
            rows = await _rows(connection, step)
            passed = max(len(rows), len(step.rows) if isinstance(step, Execute) else 0)
            count += passed
            is_long = is_long or passed > MAX_LOOP_ROWS or count > MAX_LOOP_ROWS_OF_PLAN
            step = await on_thread("plans", _send, plan, rows) if is_long else plan.send([*map(tuple, rows)])
    except StopIteration as stop:
        result: T = stop.value
        return result
    except _PlanEnded as end:
        return end.result  # type: ignore[no-any-return]


class _PlanEnded(Exception):
    """A plan ended on a thread: a future does not take a `StopIteration`."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.result = result


def _send(plan: Plan[T], rows: Sequence[Any]) -> Step:
    try:
        return plan.send([*map(tuple, rows)])
    except StopIteration as stop:
        raise _PlanEnded(stop.value) from None


async def _rows(connection: Connection, step: Step) -> Sequence[Any]:
    if isinstance(step, Select) and step.budget is not None:
        return await fetch_within(connection, _numbered(step.postgres or step.sql), step.params, step.budget)
    if isinstance(step, Select):
        return await connection.fetch(_numbered(step.postgres or step.sql), *step.params)
    if isinstance(step, Savepoint):
        await connection.execute(step.sql)
        return []
    assert isinstance(step, Execute)
    if not (step.rows or step.more):
        return []
    params = column_params(step) if len(step.rows) <= MAX_LOOP_ROWS else await on_thread("plans", column_params, step)
    if step.budget is not None:
        return await fetch_within(connection, _text(step.statement), params, step.budget)
    return await connection.fetch(_text(step.statement), *params)


TRIES = 6
FIRST_PAUSE = 0.005


async def retry(attempt: Callable[[], Awaitable[T]]) -> T:
    """Run `attempt`, retrying after conflicts with other transactions. Raises `Overloaded` when the server is unavailable."""
    for count in range(1, TRIES + 1):
        try:
            return await attempt()
        except Exception as error:
            if is_unavailable(error):
                raise unavailable(error) from error
            if isinstance(error, asyncpg.PostgresError) and error.sqlstate == MOVING:
                raise ClientMoving from error
            if not (is_retryable(error) or (count == 1 and _is_constraint(error))):
                raise
            if count < TRIES:
                # Random pauses, so that the same transactions do not conflict again.
                await asyncio.sleep(FIRST_PAUSE * 2**count * random.random())  # noqa: S311
    raise StoreBusy("too many concurrent writes to the same records; send this again in a moment")


async def write(connection: Connection, plan: Plan[T], scope: Scope, around: Around = unchanged) -> T:
    """Run a plan in one transaction, atomically; it is on disk when this returns."""
    try:
        await connection.execute(begin(scope))
        plan, committed = around(plan)
        result = await run(connection, plan)
        with committing():
            await connection.execute("COMMIT")
        committed()
    except BaseException as error:
        await roll_back(connection, error)
        raise
    return result


async def write_alone(connection: Connection, plan: Plan[T], around: Around = unchanged) -> T:
    """Run a plan with a single statement that writes, which is a transaction by itself; the others only read."""
    try:
        plan, committed = around(plan)
        with committing():
            result = await run(connection, plan)
        committed()
    except Exception as error:
        close_if_unusable(connection, error)
        raise
    return result


def close_if_unusable(connection: Connection, error: BaseException) -> bool:
    """Close a connection that was lost, or whose server is read-only, because a new one may reach the primary; return whether it was."""
    is_read_only = isinstance(error, asyncpg.PostgresError) and error.sqlstate == _READ_ONLY
    is_unusable = is_read_only or isinstance(error, OutcomeUnknown) or is_connection_lost(error)
    if is_unusable:
        _terminate(connection)
    return is_unusable


async def roll_back(connection: Connection, why: BaseException | None = None) -> None:
    """Roll back the transaction; close a connection that cannot, or that this error makes unusable."""
    if why is not None and close_if_unusable(connection, why):
        return
    try:
        await connection.execute("ROLLBACK")
    except (asyncpg.PostgresError, *UNUSABLE):
        _terminate(connection)


async def read(connection: Connection, plan: Plan[T], scope: Scope) -> T:
    """Run a plan that only reads, on one snapshot of the store."""
    try:
        await connection.execute(begin(scope, "ISOLATION LEVEL REPEATABLE READ, READ ONLY"))
        result = await run(connection, plan)
    except BaseException as error:
        await roll_back(connection, error)
        raise
    await roll_back(connection)
    return result


async def open_pool(url: str, size: int) -> Pool:
    """Open the pool of connections for reads and inbox batches; lost connections are replaced."""
    return await asyncpg.create_pool(
        url, min_size=1, max_size=size, connection_class=ServingConnection, init=_set_up, reset=_keep_session, **_POOLED
    )  # fmt: skip


_POOLED: Any = {"timeout": CONNECT_SECONDS, "server_settings": SETTINGS}


async def use_address(pool: Pool, url: str) -> None:
    """Replace each connection of a pool by one to this address, before its next use."""
    pool.set_connect_args(url, **_POOLED)
    await pool.expire_connections()


async def _keep_session(connection: Connection) -> None:
    """Reset nothing between uses, because no use changes its session: that saves a round trip for each read."""
