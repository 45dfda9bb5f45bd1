"""The store on SQLite: one connection that writes, point reads in the event loop, long reads on a few threads."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, Self, TypeVar

import apsw

from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairTurns
from touchbase.common.threads import on_thread
from touchbase.encryption.cipher import NO_CIPHER
from touchbase.errors import UnusableStore
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, Query, plan_of_query
from touchbase.sql.statement import Plan
from touchbase.sql.store import LoadBodies, Vacuumed, no_object_storage
from touchbase.storage.batch import Committed, probe
from touchbase.storage.sqlite.backup import refuse_backup
from touchbase.storage.sqlite.connection import UNWRITABLE, advice, open_reader, open_writer, path_of, read, unavailable
from touchbase.storage.sqlite.process_lock import ProcessLock, Role
from touchbase.storage.sqlite.schema import UpgradePolicy, copy_warnings, open_upgraded, upgrade
from touchbase.storage.sqlite.threads import started_threads
from touchbase.storage.sqlite.writer import SqliteWriter

T = TypeVar("T")

MAX_ROUTINE_VACUUM_BYTES = 64 * 1024 * 1024
"""Size of a file that a vacuum rewrites in half a second, for which writers may wait now and then."""
QUICK_SECONDS = 0.002
"""A page query that takes longer starts again on a thread."""
STEPS_PER_CHECK = 200
"""Steps of SQLite's virtual machine between two checks of the time: a few rows."""
READERS = 4
LONG_READERS = 2
"""Long queries have threads of their own, so that no other query waits for them. Reports by campaign read part by part, so they may take
the threads of the others."""
OPENING_TRIES = 10
OPENING_PAUSE = 0.05


class SqliteEngine:
    """Executes operations on one SQLite file (or a private one that ends with the store)."""

    def __init__(
        self,
        writer: SqliteWriter,
        readers: list[apsw.Connection],
        private: tempfile.TemporaryDirectory[str] | None,
        cipher: Cipher,
        process_lock: ProcessLock,
        copies: bool,
        copied: Path | None,
    ) -> None:
        self.warnings: Sequence[str] = [*process_lock.warnings, *copy_warnings(copied)]
        self.load_bodies: LoadBodies = no_object_storage
        self._copies = copies
        self._process_lock = process_lock
        self._writer = writer
        self._private = private
        self._cipher = cipher
        self._page_lock = asyncio.Lock()
        self._loop_reader = readers[0]
        self._readers = _ReaderThreads(readers[1 : 1 + READERS], "touchbase-reader")
        self._long_readers = _ReaderThreads(readers[1 + READERS :], "touchbase-long-reader")

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        queue_limit: int,
        as_is: bool = False,
        cipher: Cipher = NO_CIPHER,
        roles: Sequence[Role] = (),
        upgrade: bool = True,
        copies: bool = True,
    ) -> Self:
        """Open the store of a `sqlite:` address and bring its schema up to date (or refuse it), unless `as_is`."""
        path = path_of(url)
        private = tempfile.TemporaryDirectory(prefix="touchbase-") if path is None else None
        if private is not None:
            path = f"{private.name}/store.db"
        assert path is not None
        try:
            refuse_backup(Path(path))
            change = UpgradePolicy(cipher, upgrade or private is not None, copies and private is None)
            connection, copied = await _retry_busy(lambda: open_upgraded(path, None if as_is else change, durable=private is None))
            readers = await _retry_busy(lambda: [open_reader(path) for _ in range(1 + READERS + LONG_READERS)])
        except apsw.Error as error:
            raise UnusableStore(f"cannot use {path}: {advice(error)}") from error
        writer = SqliteWriter(connection, open_writer(path, durable=private is None), cipher, queue_limit, cls.transaction)
        return cls(writer, readers, private, cipher, ProcessLock(path, roles if private is None else ()), change.copies, copied)

    @staticmethod
    def transaction(plan: Plan[T]) -> tuple[Plan[T], Committed]:
        """Return the plan of a transaction that writes, with additions of the store's rooms, and the callback after its commit."""
        return plan, lambda: None

    async def write(self, command: Command[T]) -> T:
        """Execute one command in a batch with the other waiting commands; return after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Execute a query on flushed data."""
        operation = query.operation
        if operation.quick and (operation.quick is True or operation.quick(query)):
            return _read(self._loop_reader, plan_of_query(query, self._cipher))
        if operation.page:
            with contextlib.suppress(apsw.InterruptError):
                return await self._read_page(query)
        threads = self._long_readers if operation.long else self._readers
        result = await threads.run(lambda connection: _read(connection, plan_of_query(query, self._cipher)), getattr(query, "client", None))
        if operation.bodies is not None:
            await self.load_bodies(self, operation.bodies(result))
        return result

    async def _read_page(self, query: Query[T]) -> T:
        """Read one page per iteration of the event loop, so that other tasks run between two pages."""
        async with self._page_lock:
            await asyncio.sleep(0)
            return _read_quickly(self._loop_reader, plan_of_query(query, self._cipher))

    async def migrate(self) -> list[str]:
        """Run pending migrations."""
        change = UpgradePolicy(self._cipher, upgrade=True, copies=self._copies)
        names: list[str]
        names, copied = await self._writer.submit_job(lambda writer: upgrade(writer.cursor, change))
        self.warnings = [*self.warnings, *copy_warnings(copied)]
        return names

    async def vacuum(self, *, full: bool = False) -> Vacuumed:
        """Rewrite the file, because rows that SQLite has moved leave copies in it, and empty the log; a large file only if `full`."""
        result: Vacuumed = await self._writer.submit_job(partial(SqliteWriter.vacuum, most=None if full else MAX_ROUTINE_VACUUM_BYTES))
        return result

    async def analyze(self) -> list[str]:
        """Do nothing: the migrations bring the planner's figures, so that plans are the same at any size."""
        return []

    async def check(self) -> None:
        """Write a row that belongs to no record. Raises `Overloaded` when that cannot be flushed."""
        await self.write(probe())

    async def close(self) -> None:
        """Finish the queue, then close the file."""
        for threads in (self._readers, self._long_readers):
            await on_thread("closing", threads.close)
        self._loop_reader.close()
        await self._writer.close()
        self._process_lock.close()
        if self._private:
            self._private.cleanup()

    @property
    def queue_depth(self) -> int:
        """Number of commands that wait for a transaction."""
        return self._writer.depth

    @property
    def commands_taken(self) -> int:
        """Number of commands accepted since the store was opened."""
        return self._writer.taken

    async def _read_on_thread(self, plan: Plan[T]) -> T:
        return await self._readers.run(lambda connection: _read(connection, plan))

    async def _on_thread(self, use: Callable[[], T]) -> T:
        return await self._readers.run(lambda _: use())

    async def _write_alone(self, plan: Callable[[Ids], Plan[Any]], needs: Callable[[], Mapping[str, int]]) -> Any:
        return await self._writer.submit_job(lambda writer: writer.write(lambda: plan(writer.ids), needs))


class _ReaderThreads:
    """Threads that read, with a connection for each; slow searches of one client leave a thread to the others."""

    def __init__(self, connections: list[apsw.Connection], name: str) -> None:
        self._connections = connections
        self._threads = started_threads(len(connections), name)
        self._turns = FairTurns(len(connections))

    async def run(self, use: Callable[[apsw.Connection], T], client: int | None = None) -> T:
        """Use a connection on a thread; for a client once it has less than its share of them."""
        loop = asyncio.get_running_loop()
        if client is None:
            return await loop.run_in_executor(self._threads, self._use, use)
        await self._turns.acquire(client)
        # A read that was cancelled still has its thread.
        reading = loop.run_in_executor(self._threads, self._use, use)
        reading.add_done_callback(lambda _: self._turns.release(client))
        return await asyncio.shield(reading)

    def _use(self, use: Callable[[apsw.Connection], T]) -> T:
        connection = self._connections.pop()  # never empty: there are as many connections as threads
        try:
            return use(connection)
        finally:
            self._connections.append(connection)

    def close(self) -> None:
        """Wait for the reads, and close the connections."""
        self._threads.shutdown()
        for connection in self._connections:
            connection.close()


async def _retry_busy(open_file: Callable[[], T]) -> T:
    """Run `open_file`, retrying `BusyError`: two processes that create a file at the same time can get it despite the busy timeout."""
    for _ in range(OPENING_TRIES):
        try:
            return open_file()
        except apsw.BusyError:
            await asyncio.sleep(OPENING_PAUSE)
    return open_file()


def _read(connection: apsw.Connection, plan: Plan[T]) -> T:
    try:
        return read(connection.cursor(), plan)
    except UNWRITABLE as error:
        raise unavailable(error) from error


def _read_quickly(connection: apsw.Connection, plan: Plan[T]) -> T:
    """Run a plan that only reads; raise `InterruptError` when it takes longer than `QUICK_SECONDS`."""
    until = perf_counter() + QUICK_SECONDS
    connection.set_progress_handler(lambda: perf_counter() > until, STEPS_PER_CHECK)  # `read` removes it again
    return _read(connection, plan)
