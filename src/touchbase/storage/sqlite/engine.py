"""The store on SQLite: one connection that writes, point reads at once, long reads on a few threads."""

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

from touchbase.auth.commands import AnyKey, FindKey
from touchbase.clients.commands import FindClient, FindClientByNumber
from touchbase.connections.commands import ListConnections
from touchbase.encryption.cipher import NO_SEALER
from touchbase.encryption.protocol import Cipher
from touchbase.errors import UnusableStore
from touchbase.events.dry_run import load_deliveries
from touchbase.events.inbox_batch import (
    InboxBatch,
    merge_reports,
    min_events,
    read_batch,
    read_batches,
    split_large,
    transaction_groups,
    translate_batch,
)
from touchbase.events.large_delivery import LargeWork
from touchbase.events.work import DryRunResult, Translate, WorkReport
from touchbase.idempotency.commands import FindResponse
from touchbase.inbox.delivery import Delivery
from touchbase.records.commands import GetCompany, GetContact, ListCompanies, ListContacts
from touchbase.sql.command import Command, Query
from touchbase.sql.ids import Ids
from touchbase.sql.statement import Plan
from touchbase.storage.batch import PROBES, Handlers, Probe
from touchbase.storage.command_handlers import COMMANDS, IN_USE, NOT_DELETED, QueryHandlers, claim, claim_named, with_sealer
from touchbase.storage.idempotent_batch import with_once
from touchbase.storage.sqlite.backup import refuse_backup
from touchbase.storage.sqlite.connection import UNWRITABLE, advice, open_reader, open_writer, path_of, read, unavailable
from touchbase.storage.sqlite.inbox_batch import apply_turn, rehearse_turn
from touchbase.storage.sqlite.process_lock import ProcessLock, Role
from touchbase.storage.sqlite.threads import started_threads
from touchbase.storage.sqlite.upgrade import Change, bring_up_to_date, prepared, told_of
from touchbase.storage.sqlite.writer import Writer

T = TypeVar("T")

SMALL_FILE = 64 * 1024 * 1024
"""Bytes of a file that is written anew in half a second, which writers may wait now and then."""
POINT_QUERIES = frozenset({GetContact, GetCompany, FindClient, FindClientByNumber, ListConnections, FindKey, AnyKey, FindResponse})
"""Answered where they are asked: a few microseconds, less than handing them to a thread."""
PAGE_QUERIES = frozenset({ListContacts, ListCompanies})
"""Answered where they are asked as long as that is quick, because a thread fights over the interpreter for each of their rows."""
QUICK = 0.002
"""Seconds; a page that takes longer begins anew on a thread."""
STEPS = 200
"""Of SQLite's machine between two looks at the clock: a few rows."""
READERS = 4
OPENING_TRIES = 10
OPENING_PAUSE = 0.05
CHUNK = 128
"""Deliveries in one transaction: what a flush costs is little beside them."""
SMALL_CHUNK = 8
"""The same while callers write: their writes wait until it is over, two thousandths of a second."""
SMALL_BYTES = 64 * 1024
SMALL_EVENTS = 64
"""Of bodies, and events in them, that the event loop applies itself, as they come to little."""


class SqliteStore:
    """Keeps records in one SQLite file (or a private one that ends with the store)."""

    batch_size_under_load = SMALL_CHUNK
    """One transaction: several in a row would hold up as many writes as if they were one."""
    blocked_share = 1.0

    def __init__(
        self,
        writer: Writer,
        readers: list[apsw.Connection],
        private: tempfile.TemporaryDirectory[str] | None,
        sealer: Cipher,
        alone: ProcessLock,
        copies: bool,
        copied: Path | None,
    ) -> None:
        self.warnings: Sequence[str] = [*alone.warnings, *told_of(copied)]
        self._copies = copies
        self._alone = alone
        self._writer = writer
        self._private = private
        self._sealer = sealer
        self._answer = QueryHandlers(sealer)
        self._taken = 0
        self._turn = asyncio.Lock()
        self._near, *self._far = readers
        self._threads = started_threads(len(self._far), "touchbase-reader")

    @classmethod
    async def open(
        cls,
        url: str,
        *,
        queue_limit: int,
        as_is: bool = False,
        commands: Handlers = COMMANDS,
        sealer: Cipher = NO_SEALER,
        parts: Sequence[Role] = (),
        upgrade: bool = True,
        copies: bool = True,
    ) -> SqliteStore:
        """Open the store that a `sqlite:` address names and bring its schema up to date (or refuse it), unless `as_is`."""
        path = path_of(url)
        private = tempfile.TemporaryDirectory(prefix="touchbase-") if path is None else None
        if private is not None:
            path = f"{private.name}/store.db"
        assert path is not None
        try:
            refuse_backup(Path(path))
            change = Change(sealer, upgrade or private is not None, copies and private is None)
            connection, copied = await _patiently(lambda: prepared(path, None if as_is else change, durable=private is None))
            readers = await _patiently(lambda: [open_reader(path) for _ in range(1 + READERS)])
        except apsw.Error as error:
            raise UnusableStore(f"cannot use {path}: {advice(error)}") from error
        handlers = with_once({**with_sealer(commands, sealer), **PROBES})
        writer = Writer(connection, open_writer(path, durable=private is None), handlers, queue_limit)
        return cls(writer, readers, private, sealer, ProcessLock(path, parts if private is None else ()), change.copies, copied)

    async def write(self, command: Command[T]) -> T:
        """Carry out one command in a group with those that wait beside it; answers after the flush."""
        result: T = await self._writer.submit(command)
        return result

    async def read(self, query: Query[T]) -> T:
        """Answer a query from what is flushed."""
        if type(query) in POINT_QUERIES:
            return _read(self._near, self._answer(query))
        if type(query) in PAGE_QUERIES:
            with contextlib.suppress(apsw.InterruptError):
                return await self._in_turn(query)
        return await self._on_a_thread(lambda connection: _read(connection, self._answer(query)))

    async def _in_turn(self, query: Query[T]) -> T:
        """One page in each round of the loop, so that others have theirs between two of them."""
        async with self._turn:
            await asyncio.sleep(0)
            return _read_quickly(self._near, self._answer(query))

    async def work(self, client: int, limit: int, translate: Translate, now_us: int) -> WorkReport:
        """Apply up to `limit` waiting deliveries of one client, a chunk in a transaction.

        While the writing thread applies one chunk, a reading thread translates the next.
        """
        claimed = await self._on_a_thread(lambda connection: _read(connection, claim(client, limit, now_us)))
        return await self._apply(client, claimed, translate, now_us, IN_USE)

    async def work_on(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> WorkReport:
        """Apply these waiting deliveries, though their client be suspended, a chunk in a transaction."""
        claimed = await self._on_a_thread(lambda connection: _read(connection, claim_named(client, ids)))
        return await self._apply(client, claimed, translate, now_us, NOT_DELETED)

    async def _apply(
        self, client: int, deliveries: Sequence[Delivery], translate: Translate, now_us: int, states: Container[str]
    ) -> WorkReport:
        apply = partial(apply_turn, client=client, now_us=now_us, states=states)
        alone = LargeWork(client, now_us, states, self._write_alone)
        size = self._chunk()
        light, large = split_large(deliveries)
        applying: list[Awaitable[WorkReport]] = []
        report = WorkReport()
        async with contextlib.aclosing(read_batches(light, size, translate, self._read_turn)) as read:
            async for turn in read:
                if applying:
                    report = merge_reports(report, await applying.pop())
                made, many = transaction_groups(turn.claimed)
                for group in made[:-1]:
                    report = merge_reports(report, await self._writer.ask(partial(apply, turn=InboxBatch(group, []))))
                last = InboxBatch(made[-1] if made else [], turn.broken)
                applying.append(self._writer.ask(partial(apply, turn=last), small=size == SMALL_CHUNK and _is_small(last)))
                for seen in many:
                    report = merge_reports(report, await alone.apply(seen))
                if many:
                    report.more = True  # the others are taken next time, if there are any
                    break
        if applying:
            report = merge_reports(report, await applying.pop())
        report.more |= len(large) > 1
        for delivery in large[:1]:
            report = merge_reports(report, await alone.read_and_apply(delivery, translate, self._read_turn))
        return report

    async def dry_run(self, client: int, ids: Sequence[int], translate: Translate, now_us: int) -> DryRunResult:
        """What applying these deliveries again would change; nothing of it is kept."""
        deliveries = await self._on_a_thread(lambda connection: _read(connection, load_deliveries(client, ids)))
        turn = await self._read_turn(deliveries, translate)
        told: DryRunResult = await self._writer.ask(partial(rehearse_turn, client=client, turn=turn, now_us=now_us))
        return told

    async def migrate(self) -> list[str]:
        """Run pending migrations."""
        change = Change(self._sealer, upgrade=True, copies=self._copies)
        names: list[str]
        names, copied = await self._writer.ask(lambda writer: bring_up_to_date(writer.cursor, change))
        self.warnings = [*self.warnings, *told_of(copied)]
        return names

    async def vacuum(self, *, whole: bool = False) -> bool:
        """Write the file anew, as rows that SQLite has moved leave copies in it, and empty the log; a large file only if `whole`."""
        emptied: bool = await self._writer.ask(partial(Writer.vacuum, most=None if whole else SMALL_FILE))
        return emptied

    async def check(self) -> None:
        """Write something that no record shows; `Overloaded` when that cannot be flushed."""
        await self.write(Probe())

    async def close(self) -> None:
        """Finish what is queued, then close the file."""
        await asyncio.to_thread(self._threads.shutdown)
        for connection in (self._near, *self._far):
            connection.close()
        await self._writer.close()
        self._alone.close()
        if self._private:
            self._private.cleanup()

    @property
    def queue_depth(self) -> int:
        """Commands that wait for a transaction."""
        return self._writer.depth

    @property
    def commands_taken(self) -> int:
        """Commands accepted since the store was opened."""
        return self._writer.taken

    async def _read_turn(self, deliveries: Sequence[Delivery], translate: Translate) -> InboxBatch:
        return await read_batch(deliveries, translate, lambda: self._on_a_thread(partial(_translated, deliveries, translate)))

    async def _write_alone(self, plan: Callable[[Ids], Plan[Any]], needs: Callable[[], Mapping[str, int]]) -> Any:
        return await self._writer.ask(lambda writer: writer.write(lambda: plan(writer.ids), needs))

    def _chunk(self) -> int:
        """How many deliveries of this turn go into a transaction."""
        before, self._taken = self._taken, self._writer.taken
        return CHUNK if self._taken == before else SMALL_CHUNK

    async def _on_a_thread(self, use: Callable[[apsw.Connection], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._threads, self._with_reader, use)

    def _with_reader(self, use: Callable[[apsw.Connection], T]) -> T:
        connection = self._far.pop()  # as many as there are threads, so there is one
        try:
            return use(connection)
        finally:
            self._far.append(connection)


async def _patiently(opened: Callable[[], T]) -> T:
    """What `opened` answers; two processes that make one file at the same moment can meet in spite of the busy timeout."""
    for _ in range(OPENING_TRIES):
        try:
            return opened()
        except apsw.BusyError:
            await asyncio.sleep(OPENING_PAUSE)
    return opened()


def _read(connection: apsw.Connection, plan: Plan[T]) -> T:
    try:
        return read(connection.cursor(), plan)
    except UNWRITABLE as error:
        raise unavailable(error) from error


def _read_quickly(connection: apsw.Connection, plan: Plan[T]) -> T:
    """The same, interrupted when it is not quick."""
    until = perf_counter() + QUICK
    connection.set_progress_handler(lambda: perf_counter() > until, STEPS)  # `read` takes it away again
    return _read(connection, plan)


def _is_small(turn: InboxBatch) -> bool:
    """Whether the event loop may apply a turn itself."""
    bodies, events = sum(len(seen.delivery.body) for seen in turn.claimed), sum(min_events(seen) for seen in turn.claimed)
    return bodies < SMALL_BYTES and events <= SMALL_EVENTS and not turn.broken


def _translated(deliveries: Sequence[Delivery], translate: Translate, connection: apsw.Connection) -> InboxBatch:
    return translate_batch(deliveries, translate)
