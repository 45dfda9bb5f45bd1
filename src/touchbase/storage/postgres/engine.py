"""The store on PostgreSQL: groups written on a few lanes, reads and turns of the inbox through a pool."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from touchbase.connections.encrypted_columns import check_keys, reencrypt
from touchbase.encryption.cipher import NO_SEALER
from touchbase.encryption.protocol import Cipher
from touchbase.errors import BadAddress, UnusableStore
from touchbase.events.inbox_batch import InboxBatch
from touchbase.events.work import DryRunResult, Translate, WorkReport
from touchbase.sql.command import Command, Query
from touchbase.sql.migrations import out_of_date, packaged, pending
from touchbase.storage.batch import PROBES, Handlers, Probe
from touchbase.storage.command_handlers import COMMANDS, IN_USE, NOT_DELETED, QueryHandlers, claim_named, with_sealer
from touchbase.storage.idempotent_batch import with_once
from touchbase.storage.postgres import read_batching
from touchbase.storage.postgres.connection import (
    UNUSABLE,
    ReconnectingConnection,
    again,
    connect,
    open_pool,
    read,
    refuse_unsafe,
    run,
    write,
)
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.inbox_batch import Take, Worker
from touchbase.storage.postgres.pooler import refuse_shared_sessions
from touchbase.storage.postgres.prefetch import Prefetcher, taken
from touchbase.storage.postgres.read_batching import ReadBatcher
from touchbase.storage.postgres.row_level_security import Connection, rls_problems
from touchbase.storage.postgres.schema import applied, migrate
from touchbase.storage.postgres.vacuum import vacuum
from touchbase.storage.postgres.writer import Writer
from touchbase.storage.query_handlers import PAGES, TOGETHER
from touchbase.storage.rls_scope import EVERYBODY, scope_of

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

T = TypeVar("T")

LANES = 3
READERS = 6


class PostgresStore:
    """Keeps records in one PostgreSQL database; several processes may share it."""

    batch_size_under_load = 32
    """A turn holds up no write of others, and most of what a short one costs is asking."""
    blocked_share = 0.2
    """For what it takes of the event loop; most of its time it waits for the server."""

    def __init__(self, url: str, pool: Pool, handlers: Handlers, queue_limit: int, sealer: Cipher, warnings: Sequence[str]) -> None:
        self.warnings = warnings
        self._url = url
        self._pool = pool
        self._sealer = sealer
        self._answer = QueryHandlers(sealer)
        # Apart, so that whoever wants one record does not wait for pages.
        self._records, self._pages = ReadBatcher(pool, read_batching.RECORDS), ReadBatcher(pool, read_batching.PAGES)
        self._ahead = Prefetcher(pool)
        self._ids = SharedIds(ReconnectingConnection(url))
        self._writer = Writer(url, handlers, self._ids, lanes=LANES, queue_limit=queue_limit)

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        queue_limit: int,
        as_is: bool = False,
        commands: Handlers = COMMANDS,
        sealer: Cipher = NO_SEALER,
        upgrade: bool = True,
    ) -> PostgresStore:
        """Open the database at this address; an empty one gets its schema (with `upgrade`), an outdated one is refused, unless `as_is`."""
        try:
            connection = await connect(url)
        except (ValueError, asyncpg.PostgresError, *UNUSABLE) as error:
            raise _unreachable(error) from error
        with _told():
            try:
                await refuse_shared_sessions(connection, lambda: connect(url))
                await refuse_unsafe(connection)
                if not as_is:
                    await _prepare(connection, upgrade=upgrade)
                    await _make_sealed(connection, sealer)
                warnings = await rls_problems(connection)
            finally:
                await connection.close()
            pool = await open_pool(url, READERS)
        handlers = with_once({**with_sealer(commands, sealer), **PROBES})
        return cls(url, pool, handlers, queue_limit, sealer, warnings)

    async def write(self, command: Command[T]) -> T:
        """Carry out one command in a group with those that wait beside it; answers after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Answer a query from what is flushed."""
        if type(query) in TOGETHER:
            answer: T = await (self._pages if type(query) in PAGES else self._records).ask(query)
            return answer

        async def attempt() -> T:
            async with self._pool.acquire() as connection:
                return await read(connection, self._answer(query), scope_of([query]))

        return await again(attempt)

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client in one transaction."""

        async def take(connection: Connection) -> InboxBatch:
            return await self._ahead.turn(connection, client, limit, translate, now_us)

        return await self._turn(client, now_us, take, translate, IN_USE)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries in one transaction, though their client be suspended."""

        async def take(connection: Connection) -> InboxBatch:
            return await taken(await run(connection, claim_named(client, ids)), translate)

        return await self._turn(client, now_us, take, translate, NOT_DELETED)

    async def _turn(self, client: int, now_us: int, take: Take, translate: Translate, states: Container[str]) -> WorkReport:
        attempts = count()

        async def attempt() -> WorkReport:
            async with self._pool.acquire() as connection:
                return await Worker(connection, self._ids, client, now_us, attempts, states).work(take, translate)

        return await again(attempt)

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """What applying these deliveries again would change; nothing of it is kept."""

        async def attempt() -> DryRunResult:
            async with self._pool.acquire() as connection:
                return await Worker(connection, self._ids, client, now_us).dry_run(ids, translate)

        return await again(attempt)

    async def migrate(self) -> list[str]:
        """Run pending migrations."""
        with _told():
            async with self._pool.acquire() as connection:
                names = await migrate(connection, packaged("postgres"))
                await _make_sealed(connection, self._sealer)
                return names

    async def vacuum(self, *, whole: bool = False) -> bool:
        """Leave it to the server, which gives removed rows up at its next vacuum; with `whole` that is now."""
        if whole:
            await vacuum(self._url)
        return True

    async def check(self) -> None:
        """Write something that no record shows; `Overloaded` when that cannot be flushed."""
        await self.write(Probe())

    async def close(self) -> None:
        """Finish what is queued, then close all connections."""
        await self._writer.close()
        await self._ahead.close()
        await self._ids.close()
        await self._pool.close()

    @property
    def queue_depth(self) -> int:
        """Commands that wait for a transaction."""
        return self._writer.depth

    @property
    def commands_taken(self) -> int:
        """Commands accepted since the store was opened."""
        return self._writer.taken


def _unreachable(error: Exception) -> UnusableStore:
    """What is wrong with a connection. An address that cannot be taken apart is not quoted: the piece at fault may be of the password."""
    if isinstance(error, ValueError) and not isinstance(error, asyncpg.InterfaceError):
        return BadAddress("it cannot be read; in a user name or password write %2F for /, %3F for ?, %23 for #, %40 for @ and %3A for :")
    why = str(error) or type(error).__name__
    return UnusableStore(f"cannot connect to PostgreSQL: {why}; check the address, and that the server runs")


@contextmanager
def _told() -> Iterator[None]:
    """Around what makes a store ready: what PostgreSQL does not let us do is one sentence."""
    try:
        yield
    except (asyncpg.PostgresError, *UNUSABLE) as error:
        why = str(error) or type(error).__name__
        raise UnusableStore(
            f"cannot use this PostgreSQL: {why}; serve as a role that owns the database (docs/how-to/run-on-postgresql.md)"
        ) from error


async def _prepare(connection: Connection, *, upgrade: bool) -> None:
    migrations = packaged("postgres")
    known = await applied(connection)
    if todo := pending(migrations, known):
        if known or not upgrade:
            raise out_of_date(todo)
        await migrate(connection, migrations)


async def _make_sealed(connection: Connection, sealer: Cipher) -> None:
    """Refuse a store whose encryption key is not at hand, and seal what lies there in clear."""
    if await read(connection, check_keys(sealer), EVERYBODY):
        await write(connection, reencrypt(sealer), EVERYBODY)
