"""The store on PostgreSQL: groups written on a few lanes, reads and turns of the inbox through a pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import asyncpg

from touchbase.domain.commands import Command
from touchbase.domain.errors import UnusableStore
from touchbase.domain.ports import Rehearsal, Translate, WorkReport
from touchbase.domain.queries import (
    AuditDeliveries,
    AuditRecords,
    AuditWaiting,
    GetCompany,
    GetContact,
    ListCompanies,
    ListContacts,
    Query,
)
from touchbase.storage.postgres.apply import Worker
from touchbase.storage.postgres.connection import Connection, Line, again, connect, open_pool, read, refuse_unsafe, run
from touchbase.storage.postgres.ids import SharedIds
from touchbase.storage.postgres.schema import applied, migrate
from touchbase.storage.postgres.writer import Writer
from touchbase.storage.sql.group import PROBES, Handlers, Probe
from touchbase.storage.sql.handlers import COMMANDS, answer
from touchbase.storage.sql.migrate import out_of_date, packaged, pending

if TYPE_CHECKING:
    from touchbase.storage.postgres.connection import Pool

T = TypeVar("T")

LANES = 3
READERS = 6
SEVERAL_STEPS = frozenset({GetContact, GetCompany, ListContacts, ListCompanies, AuditRecords, AuditWaiting, AuditDeliveries})
"""Queries whose steps must see one state of the store."""


class PostgresStore:
    """Keeps records in one PostgreSQL database; several processes may share it."""

    def __init__(self, url: str, pool: Pool, handlers: Handlers, queue_limit: int) -> None:
        self._url = url
        self._pool = pool
        self._ids = SharedIds(Line(url))
        self._writer = Writer(url, handlers, self._ids, lanes=LANES, queue_limit=queue_limit)

    @classmethod
    async def open(cls, url: str, *, queue_limit: int, as_is: bool = False, commands: Handlers = COMMANDS) -> PostgresStore:
        """Open the database at this address; an empty one gets its schema, an outdated one is refused, unless `as_is`."""
        try:
            connection = await connect(url)
        except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            why = _why(error)
            raise UnusableStore(f"cannot connect to PostgreSQL: {why}; check the address, and that the server runs") from error
        try:
            await refuse_unsafe(connection)
            if not as_is:
                await _prepare(connection)
        finally:
            await connection.close()
        return cls(url, await open_pool(url, READERS), {**commands, **PROBES}, queue_limit)

    async def write(self, command: Command[T]) -> T:
        """Carry out one command in a group with those that wait beside it; answers after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Answer a query from what is flushed."""

        async def attempt() -> T:
            async with self._pool.acquire() as connection:
                return await (read if type(query) in SEVERAL_STEPS else run)(connection, answer(query))

        return await again(attempt)

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Claim, translate and apply up to `limit` waiting deliveries of one client in one transaction."""

        async def attempt() -> WorkReport:
            async with self._pool.acquire() as connection:
                return await Worker(connection, self._ids, client, now_us).work(limit, translate)

        return await again(attempt)

    async def rehearse(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> Rehearsal:
        """What applying these deliveries again would change; nothing of it is kept."""

        async def attempt() -> Rehearsal:
            async with self._pool.acquire() as connection:
                return await Worker(connection, self._ids, client, now_us).rehearse(ids, translate)

        return await again(attempt)

    async def migrate(self) -> list[str]:
        """Run pending migrations."""
        async with self._pool.acquire() as connection:
            return await migrate(connection, packaged("postgres"))

    async def check(self) -> None:
        """Write something that no record shows; `Overloaded` when that cannot be flushed."""
        await self.write(Probe())

    async def close(self) -> None:
        """Finish what is queued, then close all connections."""
        await self._writer.close()
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


def _why(error: Exception) -> str:
    """What is wrong with a connection. An address that cannot be taken apart is not quoted: the piece at fault may be of the password."""
    if isinstance(error, ValueError) and not isinstance(error, asyncpg.InterfaceError):
        return "the address cannot be read; in a user name or password write %2F for /, %3F for ?, %23 for #, %40 for @ and %3A for :"
    return str(error) or type(error).__name__


async def _prepare(connection: Connection) -> None:
    migrations = packaged("postgres")
    known = await applied(connection)
    if todo := pending(migrations, known):
        if known:
            raise out_of_date(todo)
        await migrate(connection, migrations)
