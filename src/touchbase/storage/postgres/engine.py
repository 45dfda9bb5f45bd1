"""The store on PostgreSQL: a few connections write batches, a pool serves reads and inbox batches."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import asyncpg

import touchbase.storage.operations  # noqa: F401 - each class of calls gets its plan
from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairTurns
from touchbase.connections.sql.encrypted_columns import check_keys, reencrypt
from touchbase.deliveries.claiming import claim_named
from touchbase.deliveries.work import DryRunResult, Translate, WorkReport
from touchbase.encryption.cipher import NO_CIPHER
from touchbase.erasure.sql.texts import ERASED_TABLES
from touchbase.errors import UnusableStore
from touchbase.projection.apply import IN_USE, NOT_DELETED
from touchbase.projection.inbox_batch import InboxBatch
from touchbase.sql.migrations import out_of_date, packaged, pending
from touchbase.sql.operation import Command, Query, plan_of_query, scope_of
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.store import Vacuumed
from touchbase.storage.batch import probe
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
    run,
    write,
)
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.inbox_batch import Take, Worker
from touchbase.storage.postgres.pooler import refuse_shared_sessions
from touchbase.storage.postgres.prefetch import Prefetcher, prepare
from touchbase.storage.postgres.read_batching import ReadBatcher
from touchbase.storage.postgres.row_level_security import Connection, rls_problems
from touchbase.storage.postgres.schema import applied, migrate
from touchbase.storage.postgres.statistics import analyze_grown
from touchbase.storage.postgres.vacuum import vacuum
from touchbase.storage.postgres.writer import Writer

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

T = TypeVar("T")

WRITERS = 3
READERS = 6
CLIENT_READERS = 4
"""Connections that searches, reports and other single queries of clients may use at once; the others are for reads of records, keys and
clients, and for the inbox."""


class PostgresStore:
    """Stores records in one PostgreSQL database; several processes may share it."""

    batch_size_under_load = 32
    """Deliveries per batch while HTTP clients write. A batch blocks no other write, and most of a small batch's cost is round trips."""
    blocked_share = 0.2
    """Share of a batch's time during which it blocks the event loop; most of the time it waits for the server."""

    def __init__(self, url: str, pool: Pool, queue_limit: int, cipher: Cipher, warnings: Sequence[str]) -> None:
        self.warnings = warnings
        self._url = url
        self._pool = pool
        self._cipher = cipher
        # Two batchers, so that reads of one record do not wait for pages.
        self._single_reads = ReadBatcher(pool, cipher, read_batching.RECORDS_PER_BATCH)
        self._page_reads = ReadBatcher(pool, cipher, read_batching.PAGES_PER_BATCH)
        self._turns = FairTurns(CLIENT_READERS)
        self._prefetcher = Prefetcher(pool)
        self._ids = SharedIds(ReconnectingConnection(url))
        self._writer = Writer(url, cipher, self._ids, writers=WRITERS, queue_limit=queue_limit)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        queue_limit: int,
        as_is: bool = False,
        cipher: Cipher = NO_CIPHER,
        upgrade: bool = True,
    ) -> PostgresStore:
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

    async def write(self, command: Command[T]) -> T:
        """Execute one command in a batch with the other waiting commands; return after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Execute a query on flushed data."""
        if query.operation.batched:
            result: T = await (self._page_reads if query.operation.page else self._single_reads).submit(query)
            return result

        async def attempt() -> T:
            async with self._pool.acquire() as connection:
                return await read(connection, plan_of_query(query, self._cipher), scope_of([query]))

        client: int | None = getattr(query, "client", None)
        if client is None:
            return await retry(attempt)
        await self._turns.acquire(client)
        try:
            return await retry(attempt)
        finally:
            self._turns.release(client)

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client in one transaction."""

        async def take(connection: Connection) -> InboxBatch:
            return await self._prefetcher.claim(connection, client, limit, translate, now_us)

        return await self._apply(client, now_us, take, translate, IN_USE)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries, even of a suspended client, in one transaction."""

        async def take(connection: Connection) -> InboxBatch:
            return await prepare(await run(connection, claim_named(client, ids)), translate)

        return await self._apply(client, now_us, take, translate, NOT_DELETED)

    async def _apply(self, client: int, now_us: int, take: Take, translate: Translate, states: Container[str]) -> WorkReport:
        attempts = count()

        async def attempt() -> WorkReport:
            async with self._pool.acquire() as connection:
                return await Worker(connection, self._ids, client, now_us, attempts, states).work(take, translate)

        return await retry(attempt)

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """Return what applying these deliveries again would change; nothing is stored."""

        async def attempt() -> DryRunResult:
            async with self._pool.acquire() as connection:
                return await Worker(connection, self._ids, client, now_us).dry_run(ids, translate)

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

    async def vacuum(self, *, whole: bool = False) -> Vacuumed:
        """Vacuum all tables with `whole`; else those that an erasure deletes from. `BLOCKED` while the server cannot, as on a full disk."""
        try:
            await vacuum(self._url, () if whole else ERASED_TABLES)
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
        await self._prefetcher.close()
        await self._ids.close()
        await self._pool.close()

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
    known = await applied(connection)
    if waiting := pending(migrations, known):
        if known or not upgrade:
            raise out_of_date(waiting)
        await migrate(connection, migrations)


async def _encrypt_secrets(connection: Connection, cipher: Cipher) -> None:
    """Refuse a store whose encryption key is missing, and encrypt secrets in plain text."""
    if await read(connection, check_keys(cipher), ALL_CLIENTS):
        await write(connection, reencrypt(cipher), ALL_CLIENTS)
