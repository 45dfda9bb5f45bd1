"""The store on PostgreSQL: a few connections write batches, a pool serves reads and inbox batches."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, suppress
from typing import TYPE_CHECKING, Self, TypeVar

import asyncpg

from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairTurns
from touchbase.encryption.cipher import NO_CIPHER
from touchbase.encryption.encrypted_columns import check_keys, reencrypt
from touchbase.errors import UnusableStore
from touchbase.sql.migrations import out_of_date, packaged, pending
from touchbase.sql.operation import Command, Query, plan_of_query, scope_of
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Plan
from touchbase.sql.store import LoadBodies, Vacuumed, no_object_storage
from touchbase.storage.batch import Committed, probe
from touchbase.storage.postgres import read_batching
from touchbase.storage.postgres.connection import (
    UNUSABLE,
    ReconnectingConnection,
    connect,
    connect_or_explain,
    is_unavailable,
    open_pool,
    read,
    refuse_unsafe,
    retry,
    use_address,
    write,
)
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.read_batching import ReadBatcher
from touchbase.storage.postgres.row_level_security import Connection, rls_problems
from touchbase.storage.postgres.schema import applied, migrate
from touchbase.storage.postgres.standby import POSITION, Standby, StandbyFailed
from touchbase.storage.postgres.writer import PostgresWriter

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool
    from touchbase.storage.postgres.row_level_security import Connection

POOLER_ROUNDS = 3
"""Connections that try to get the first one's session: another client of the pooler may have it at that moment."""
_SESSION = "SELECT pg_backend_pid()"
_ADVICE = (
    "the pooler at this address gives each transaction another session (PgBouncer's transaction or statement mode), and Touchbase needs "
    "a separate session for each connection: set pool_mode = session for this database, or connect to PostgreSQL directly"
)


_FOREIGN_SESSION = (
    asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError, asyncpg.ProtocolViolationError
)  # fmt: skip
"""Errors of a connection whose prepared statement is in another session."""
_NO_TRANSACTIONS = "statement pooling mode"
"""PgBouncer's reason when it closes a connection that began a transaction in statement mode."""


async def refuse_shared_sessions(connection: Connection, another: Callable[[], Awaitable[Connection]]) -> None:
    """Raise `UnusableStore` if this connection's server session can become another connection's.

    With a pooler in transaction mode (PgBouncer) each transaction may run in another session: the session's row-level security
    scope and its prepared statements would then be those of another connection. So a second connection begins a transaction: if it
    gets the session of the first, or the first one moves, sessions are shared. `another` opens one more connection.
    """
    try:
        if await _shares(connection, another):
            raise UnusableStore(_ADVICE)
    except _FOREIGN_SESSION as error:
        raise UnusableStore(_ADVICE) from error
    except asyncpg.ConnectionDoesNotExistError as error:
        if _NO_TRANSACTIONS not in str(error):
            raise
        raise UnusableStore(_ADVICE) from error


async def _shares(connection: Connection, another: Callable[[], Awaitable[Connection]]) -> bool:
    session = await connection.fetchval(_SESSION)
    async with AsyncExitStack() as opened:
        for _ in range(POOLER_ROUNDS):
            second = await another()
            opened.push_async_callback(second.close)
            await second.execute("BEGIN")
            if session == await second.fetchval(_SESSION) or session != await connection.fetchval(_SESSION):
                return True
    return False


T = TypeVar("T")

WRITERS = 3
READERS = 6
CLIENT_READERS = 4
"""Connections that searches, reports and other single queries of clients may use at once; the others are for reads of records, keys and
clients, and for the inbox."""


class PostgresEngine:
    """Executes operations on one PostgreSQL database; several processes may share it."""

    erased_tables: Sequence[str] = ()
    """Tables that erasures delete from."""

    def __init__(self, url: str, pool: Pool, queue_limit: int, cipher: Cipher, warnings: Sequence[str]) -> None:
        self.warnings = warnings
        self.load_bodies: LoadBodies = no_object_storage
        self.standby: Standby | None = None
        """Answers queries that may take long."""
        self._url = url
        self._pool = pool
        self._cipher = cipher
        # Two batchers, so that reads of one record do not wait for pages.
        self._single_reads = ReadBatcher(pool, cipher, read_batching.RECORDS_PER_BATCH)
        self._page_reads = ReadBatcher(pool, cipher, read_batching.PAGES_PER_BATCH)
        self._turns = FairTurns(CLIENT_READERS)
        self._ids = SharedIds(ReconnectingConnection(url))
        self._writer = PostgresWriter(
            url, cipher, self._ids, writers=WRITERS, queue_limit=queue_limit, transaction=self.transaction, single=self.single
        )

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        queue_limit: int,
        as_is: bool = False,
        cipher: Cipher = NO_CIPHER,
        upgrade: bool = True,
    ) -> Self:
        """Open the database at this address; create the schema of an empty one (with `upgrade`), refuse an old one, unless `as_is`."""
        connection = await connect_or_explain(url)
        with _setup_errors():
            try:
                await refuse_shared_sessions(connection, lambda: connect(url))
                await refuse_unsafe(connection)
                if not as_is:
                    await _prepare(connection, upgrade=upgrade)
                    await _encrypt_secrets(connection, cipher)
                warnings = await rls_problems(connection)
            finally:
                await connection.close()
            pool = await open_pool(url, READERS)
        return cls(url, pool, queue_limit, cipher, warnings)

    @staticmethod
    def transaction(plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return the plan of a transaction that writes, with additions of the store's rooms, and the callback after its commit."""
        return plan, lambda: None

    @staticmethod
    def single(plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return the same for a plan that runs outside of a transaction."""
        return plan, lambda: None

    async def use_address(self, url: str) -> None:
        """Go on at another address, where the same database is now: what is being executed ends where it began."""
        self._url = url
        self._writer.use_address(url)
        self._ids.use_address(url)
        await use_address(self._pool, url)

    async def write(self, command: Command[T]) -> T:
        """Execute one command in a batch with the other waiting commands; return after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Execute a query on flushed data."""
        if query.operation.batched:
            result: T = await (self._page_reads if query.operation.page else self._single_reads).submit(query)
            return result

        client: int | None = getattr(query, "client", None)
        if client is None:
            result = await self._read_alone(query)
        else:
            await self._turns.acquire(client)
            try:
                result = await self._read_alone(query)
            finally:
                self._turns.release(client)
        if query.operation.bodies is not None:
            await self.load_bodies(self, query.operation.bodies(result))
        return result

    async def _read_alone(self, query: Query[T]) -> T:
        """Execute one query, on the standby if it may and can."""

        async def attempt() -> T:
            async with self._pool.acquire() as connection:
                return await read(connection, plan_of_query(query, self._cipher), scope_of([query]))

        if self.standby is not None and query.operation.standby:
            with suppress(StandbyFailed):
                return await self.standby.read(query, self._position)
        return await retry(attempt)

    async def _position(self) -> tuple[str, str]:
        """Return the end of the flushed log, and which database it is."""

        async def attempt() -> tuple[str, str]:
            async with self._pool.acquire() as connection:
                row = await connection.fetchrow(POSITION)
            assert row is not None
            return row["position"], row["database"]

        return await retry(attempt)

    async def migrate(self) -> list[str]:
        """Run pending migrations."""
        with _setup_errors():
            # Not from the pool, whose connections limit the time of a statement: a migration of large tables may take an hour.
            connection = await connect(self._url)
            try:
                names = await migrate(connection, packaged("postgres"))
                await _encrypt_secrets(connection, self._cipher)
                return names
            finally:
                await connection.close()

    async def vacuum(self, *, full: bool = False) -> Vacuumed:
        """Vacuum all tables with `full`, else tables of an erasure's deletions. `BLOCKED` while the server cannot, as on a full disk."""
        try:
            await vacuum(self._url, () if full else self.erased_tables)
        except Exception as error:
            if not is_unavailable(error):
                raise
            return Vacuumed.BLOCKED
        return Vacuumed.CLEAN

    async def analyze(self) -> list[str]:
        """Analyze the tables that have doubled since the server did."""

        async def attempt() -> list[str]:
            async with self._pool.acquire() as connection:
                return await analyze_grown(connection)

        return await retry(attempt)

    async def check(self) -> None:
        """Write something that belongs to no record. Raises `Overloaded` when that cannot be flushed."""
        await self.write(probe())

    async def close(self) -> None:
        """Finish the queue, then close all connections."""
        await self._writer.close()
        await self._ids.close()
        await self._pool.close()
        if self.standby is not None:
            await self.standby.close()

    @property
    def queue_depth(self) -> int:
        """Number of commands that wait for a transaction."""
        return self._writer.depth

    @property
    def commands_taken(self) -> int:
        """Number of commands accepted since the store was opened."""
        return self._writer.taken


@contextmanager
def _setup_errors() -> Iterator[None]:
    """Context of opening a store: report errors of PostgreSQL as `UnusableStore`."""
    try:
        yield
    except (asyncpg.PostgresError, *UNUSABLE) as error:
        reason = str(error) or type(error).__name__
        raise UnusableStore(
            f"cannot use this PostgreSQL: {reason}; use a role that owns the database (docs/how-to/run-on-postgresql.md)"
        ) from error


async def _prepare(connection: Connection, *, upgrade: bool) -> None:
    migrations = packaged("postgres")
    versions = await applied(connection)
    if waiting := pending(migrations, versions):
        if versions or not upgrade:
            raise out_of_date(waiting)
        await migrate(connection, migrations)


async def _encrypt_secrets(connection: Connection, cipher: Cipher) -> None:
    """Refuse a store whose encryption key is missing, and encrypt secrets in plain text."""
    if await read(connection, check_keys(cipher), ALL_CLIENTS):
        await write(connection, reencrypt(cipher), ALL_CLIENTS)


_TABLES = "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"


async def vacuum(url: str, tables: Sequence[str] = ()) -> None:
    """Vacuum these tables, or every table, without a timeout.

    The server rewrites the pages that have removed rows. Their bytes may stay in the unused part of a page until other rows take it,
    and in PostgreSQL's own log until its files are reused; no statement can read them.
    """
    connection = await connect(url)
    try:
        await connection.execute("SET statement_timeout = 0")
        names = tables or [row["name"] for row in await connection.fetch(_TABLES)]
        await connection.execute(f"VACUUM {', '.join(names)}")
    finally:
        await connection.close()


FEWEST_ROWS = 500
"""Rows up to which a table is read whole at no cost."""
MOST_ROWS = 1_000_000
"""Rows from which on the server's own ANALYZE comes early enough, and another one would take seconds."""
_DOUBLED = """
SELECT quote_ident(c.relname) AS name FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
WHERE s.schemaname = current_schema() AND s.n_live_tup BETWEEN $1 AND $2 AND s.n_live_tup >= 2 * c.reltuples
  AND pg_has_role(c.relowner, 'USAGE') ORDER BY c.relname
"""


async def analyze_grown(connection: Connection) -> list[str]:
    """Analyze the tables that have doubled since they were analyzed last; return their names, as SQL quotes them.

    The server does it once a minute. A connection plans a statement once and uses the plan until the table has new statistics. A plan
    made for an empty table reads the whole table: each batch of a first import or campaign would read all rows stored before it.
    """
    names: list[str] = [row["name"] for row in await connection.fetch(_DOUBLED, FEWEST_ROWS, MOST_ROWS)]
    if names:
        # Another process may be at it.
        await connection.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(names)}")
    return names
