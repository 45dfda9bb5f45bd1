"""The store on SQLite: one connection that writes, point reads in the event loop, long reads on a few threads."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from collections.abc import Awaitable, Callable, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

import apsw

import touchbase.storage.operations  # noqa: F401 - each class of calls gets its plan
from touchbase.auth.sql import any_key, find_key, is_session_ended
from touchbase.clients.sql.clients import find_client, find_client_by_number
from touchbase.common.cipher import Cipher
from touchbase.common.fair_quota import FairTurns
from touchbase.common.threads import on_thread
from touchbase.connections.sql.connections import list_connections
from touchbase.custom_fields.sql import find_uses
from touchbase.deliveries.claiming import claim, claim_named
from touchbase.deliveries.delivery import Delivery
from touchbase.deliveries.work import DryRunResult, Translate, WorkReport
from touchbase.encryption.cipher import NO_CIPHER
from touchbase.errors import UnusableStore
from touchbase.idempotency.sql import find_response
from touchbase.inbox.dry_runs import load_deliveries
from touchbase.inbox.large_delivery import LargeWork
from touchbase.inbox.sql.queries import find_traces
from touchbase.projection.apply import IN_USE, NOT_DELETED
from touchbase.projection.inbox_batch import (
    InboxBatch,
    merge_reports,
    read_batch,
    read_batches,
    split_large,
    transaction_groups,
    translate_batch,
)
from touchbase.records.commands import GetCompany, GetContact, ListCompanies, ListContacts
from touchbase.records.sql.lookup import find_companies
from touchbase.records.sql.reads import get_records
from touchbase.reports.sql.statuses import report_statuses
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, Query, plan_of_query
from touchbase.sql.statement import Plan
from touchbase.sql.store import Vacuumed
from touchbase.storage.batch import Probe
from touchbase.storage.sqlite.backup import refuse_backup
from touchbase.storage.sqlite.connection import UNWRITABLE, advice, open_reader, open_writer, path_of, read, unavailable
from touchbase.storage.sqlite.inbox_batch import apply_inbox_batch, dry_run_batch
from touchbase.storage.sqlite.process_lock import ProcessLock, Role
from touchbase.storage.sqlite.schema import UpgradePolicy, copy_warnings, open_upgraded, upgrade
from touchbase.storage.sqlite.threads import started_threads
from touchbase.storage.sqlite.writer import Writer

T = TypeVar("T")

MAX_ROUTINE_VACUUM_BYTES = 64 * 1024 * 1024
"""Size of a file that a vacuum rewrites in half a second, for which writers may wait now and then."""
POINT_QUERIES = frozenset(
    {
        GetContact,
        GetCompany,
        find_companies,
        find_client,
        find_client_by_number,
        list_connections,
        find_key,
        any_key,
        find_response,
        find_traces,
        is_session_ended,
    }
)
"""Queries that run in the event loop: they take a few microseconds, less than a thread switch."""
FEW_QUERIES: frozenset[Any] = frozenset({get_records})
FEW_RECORDS = 16
"""Records of a `get_records` up to which it is read in the event loop too: as many as one endpoint of webhooks asks for at once."""
PAGE_QUERIES = frozenset({ListContacts, ListCompanies})
"""Queries that run in the event loop while they are quick, because a thread competes for the interpreter for each row."""
QUICK_SECONDS = 0.002
"""A page query that takes longer starts again on a thread."""
STEPS_PER_CHECK = 200
"""Steps of SQLite's virtual machine between two checks of the time: a few rows."""
LONG_QUERIES = frozenset({report_statuses, find_uses})
"""Queries that may read everything a client has: they have threads of their own, so that no other query waits for them.

Reports by campaign read part by part, so they may take the threads of the others.
"""
READERS = 4
LONG_READERS = 2
OPENING_TRIES = 10
OPENING_PAUSE = 0.05
CHUNK = 128
"""Deliveries in one transaction: the cost of the flush is small compared to theirs."""
SMALL_CHUNK = 8
"""Deliveries in one transaction while HTTP clients write: their writes wait for it, about 2 ms."""
MAX_INLINE_BYTES = 64 * 1024
MAX_INLINE_EVENTS = 64
"""Limits of the bodies and events that the event loop applies itself; larger batches go to a thread."""


class SqliteStore:
    """Stores records in one SQLite file (or a private one that ends with the store)."""

    batch_size_under_load = SMALL_CHUNK
    """One transaction: several in a row would delay as many writes as one large transaction."""
    blocked_share = 1.0

    def __init__(
        self,
        writer: Writer,
        readers: list[apsw.Connection],
        private: tempfile.TemporaryDirectory[str] | None,
        cipher: Cipher,
        process_lock: ProcessLock,
        copies: bool,
        copied: Path | None,
    ) -> None:
        self.warnings: Sequence[str] = [*process_lock.warnings, *copy_warnings(copied)]
        self._copies = copies
        self._process_lock = process_lock
        self._writer = writer
        self._private = private
        self._cipher = cipher
        self._taken = 0
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
    ) -> SqliteStore:
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
        writer = Writer(connection, open_writer(path, durable=private is None), cipher, queue_limit)
        return cls(writer, readers, private, cipher, ProcessLock(path, roles if private is None else ()), change.copies, copied)

    async def write(self, command: Command[T]) -> T:
        """Execute one command in a batch with the other waiting commands; return after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Execute a query on flushed data."""
        if type(query) in POINT_QUERIES or (type(query) in FEW_QUERIES and len(getattr(query, "ids", ())) <= FEW_RECORDS):
            return _read(self._loop_reader, plan_of_query(query, self._cipher))
        if type(query) in PAGE_QUERIES:
            with contextlib.suppress(apsw.InterruptError):
                return await self._read_page(query)
        threads = self._long_readers if type(query) in LONG_QUERIES else self._readers
        return await threads.run(lambda connection: _read(connection, plan_of_query(query, self._cipher)), getattr(query, "client", None))

    async def _read_page(self, query: Query[T]) -> T:
        """Read one page per iteration of the event loop, so that other tasks run between two pages."""
        async with self._page_lock:
            await asyncio.sleep(0)
            return _read_quickly(self._loop_reader, plan_of_query(query, self._cipher))

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client, one chunk per transaction.

        While the writing thread applies one chunk, a reading thread translates the next.
        """
        claimed = await self._on_thread(lambda connection: _read(connection, claim(client, limit, now_us)))
        return await self._apply(client, claimed, translate, now_us, IN_USE)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries, even of a suspended client, one chunk per transaction."""
        claimed = await self._on_thread(lambda connection: _read(connection, claim_named(client, ids)))
        return await self._apply(client, claimed, translate, now_us, NOT_DELETED)

    async def _apply(
        self, client: int, deliveries: Sequence[Delivery], translate: Translate, now_us: int, states: Container[str]
    ) -> WorkReport:
        apply = partial(apply_inbox_batch, client=client, now_us=now_us, states=states)
        large_work = LargeWork(client, now_us, states, self._write_alone)
        size = self._chunk()
        light, large = split_large(deliveries)
        applying: list[Awaitable[WorkReport]] = []
        report = WorkReport()
        async with contextlib.aclosing(read_batches(light, size, translate, self._read_batch)) as read:
            async for batch in read:
                if applying:
                    report = merge_reports(report, await applying.pop())
                made, many = transaction_groups(batch.claimed)
                for group in made[:-1]:
                    report = merge_reports(report, await self._writer.submit_job(partial(apply, batch=InboxBatch(group, []))))
                last = InboxBatch(made[-1] if made else [], batch.broken)
                applying.append(self._writer.submit_job(partial(apply, batch=last), small=size == SMALL_CHUNK and _is_small(last)))
                for seen in many:
                    report = merge_reports(report, await large_work.apply(seen))
                if many:
                    report.more = True  # the next call applies the others, if there are any
                    break
        if applying:
            report = merge_reports(report, await applying.pop())
        report.more |= len(large) > 1
        for delivery in large[:1]:
            report = merge_reports(report, await large_work.read_and_apply(delivery, translate, self._read_batch))
        return report

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """Return what applying these deliveries again would change; nothing is stored."""
        deliveries = await self._on_thread(lambda connection: _read(connection, load_deliveries(client, ids)))
        batch = await self._read_batch(deliveries, translate)
        result: DryRunResult = await self._writer.submit_job(partial(dry_run_batch, client=client, batch=batch, now_us=now_us))
        return result

    async def migrate(self) -> list[str]:
        """Run pending migrations."""
        change = UpgradePolicy(self._cipher, upgrade=True, copies=self._copies)
        names: list[str]
        names, copied = await self._writer.submit_job(lambda writer: upgrade(writer.cursor, change))
        self.warnings = [*self.warnings, *copy_warnings(copied)]
        return names

    async def vacuum(self, *, whole: bool = False) -> Vacuumed:
        """Rewrite the file, because rows that SQLite has moved leave copies in it, and empty the log; a large file only if `whole`."""
        result: Vacuumed = await self._writer.submit_job(partial(Writer.vacuum, most=None if whole else MAX_ROUTINE_VACUUM_BYTES))
        return result

    async def analyze(self) -> list[str]:
        """Do nothing: the migrations bring the planner's figures, so that plans are the same at any size."""
        return []

    async def check(self) -> None:
        """Write a row that belongs to no record. Raises `Overloaded` when that cannot be flushed."""
        await self.write(Probe())

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

    async def _read_batch(self, deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
        return await read_batch(deliveries, translate, lambda: self._on_thread(partial(_translated, deliveries, translate)))

    async def _write_alone(self, plan: Callable[[Ids], Plan[Any]], needs: Callable[[], Mapping[str, int]]) -> Any:
        return await self._writer.submit_job(lambda writer: writer.write(lambda: plan(writer.ids), needs))

    def _chunk(self) -> int:
        """Return how many deliveries go into one transaction now."""
        before, self._taken = self._taken, self._writer.taken
        return CHUNK if self._taken == before else SMALL_CHUNK

    async def _on_thread(self, use: Callable[[apsw.Connection], T]) -> T:
        return await self._readers.run(use)


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


def _is_small(batch: InboxBatch) -> bool:
    """Return whether the event loop may apply a batch itself."""
    bodies, events = sum(len(seen.delivery.body) for seen in batch.claimed), sum(seen.cost for seen in batch.claimed)
    return bodies < MAX_INLINE_BYTES and events <= MAX_INLINE_EVENTS and not batch.broken


def _translated(deliveries: Sequence[Delivery], translate: Translate, connection: apsw.Connection) -> InboxBatch:
    return translate_batch(deliveries, translate)
