"""The connection that writes SQLite: what the event loop writes itself, and what it leaves to a thread."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import itertools
import os
import threading
from collections.abc import Iterator

import apsw
import pytest

from touchbase.clients.sql.clients import ensure_client, find_client, list_clients
from touchbase.errors import Overloaded
from touchbase.history.events import CRM
from touchbase.inbox.sql.commands import StoredDelivery, store_delivery
from touchbase.sql.ids import Ids
from touchbase.sql.operation import Command, command
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Plan, Select
from touchbase.storage.sqlite import writer
from touchbase.storage.sqlite.connection import path_of
from touchbase.stores import open_store

FEW_PAGES = 20
WRITERS = 5
MOST_WRITES = 20_000
"""Without a reset of the log, this many writes end in a failure."""


class WatchedDisk(apsw.VFS):
    """Every disk of this process; it notes the names of the threads that flush logs."""

    def __init__(self) -> None:
        self.real = apsw.vfs_names()[0]
        self.flushed_by: list[str] = []
        super().__init__("watched-disk", self.real, makedefault=True)

    def xOpen(self, name, flags):
        return _File(self, name, flags)


class _File(apsw.VFSFile):
    def __init__(self, disk: WatchedDisk, name, flags) -> None:
        super().__init__(disk.real, name, flags)
        self._disk = disk
        self._is_log = bool(flags[0] & apsw.SQLITE_OPEN_WAL)

    def xSync(self, flags) -> None:
        if self._is_log:
            self._disk.flushed_by.append(threading.current_thread().name)
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[WatchedDisk]:
    watched = WatchedDisk()
    yield watched
    watched.unregister()


def _delivery(client: int, n: int, body: bytes) -> store_delivery:
    return store_delivery(client, CRM, b"call %d" % n, b"{}", "", body, n)


async def _flushed_by(sqlite_url: str, disk: WatchedDisk, size: int = 10) -> set[str]:
    store = await open_store(sqlite_url)
    client = await store.write(ensure_client("someone", 1))
    disk.flushed_by.clear()
    await store.write(_delivery(client.number, 1, b"x" * size))
    names = {name.partition("_")[0] for name in disk.flushed_by}
    await store.close()
    return names


async def test_small_write__is_flushed_by_the_event_loop(sqlite_url, disk, monkeypatch) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 60.0)

    assert await _flushed_by(sqlite_url, disk) == {"MainThread"}


async def test_write_on_a_slow_disk__is_flushed_by_the_writer_thread(sqlite_url, disk, monkeypatch) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 0.0)

    assert await _flushed_by(sqlite_url, disk) == {"touchbase-writer"}


async def test_large_write__is_flushed_by_the_writer_thread(sqlite_url, disk, monkeypatch) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 60.0)

    assert await _flushed_by(sqlite_url, disk, writer.MAX_INLINE_BYTES) == {"touchbase-writer"}


NUMBERS = (
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT {}) SELECT i FROM n WHERE i % {} = 0",
    "SELECT 1",
)


def counting(threads: list[str], rows: int, every: int = 1) -> Command[int]:
    """A quick command that reads so many numbers, of which it gets each `every`th; it notes the threads in which it goes on."""

    @command(quick=True, scope=ALL_CLIENTS)
    def count_numbers() -> Plan[int]:
        result = 0
        for text in NUMBERS:
            result += len((yield Select(text.format(rows, every), ())))
            threads.append(threading.current_thread().name.partition("_")[0])
        return result

    return count_numbers()


@pytest.mark.parametrize(("rows", "every"), [(writer.MAX_INLINE_ROWS + 1, 1), (1_000_000, 999_999)], ids=["rows", "time"])
async def test_long_write__goes_on_on_the_writer_thread_with_the_next_ones(sqlite_url, monkeypatch, rows: int, every: int) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 60.0)
    monkeypatch.setattr(writer, "THREAD_SECONDS", 60.0)
    store, threads = await open_store(sqlite_url), list[str]()

    assert await store.write(counting(threads, 1)) == 2
    assert threads == ["MainThread"] * 2
    assert await store.write(counting(threads, rows, every)) == rows // every + 1
    assert await store.write(counting(threads, 1)) == 2
    assert threads[2:] == ["touchbase-writer"] * 4

    await store.close()


async def test_long_write__takes_the_same_id_again_on_the_writer_thread(sqlite_url, monkeypatch) -> None:
    @command(ids="job", quick=True, scope=ALL_CLIENTS)
    def take_id(ids: Ids, rows: int) -> Plan[int]:
        taken = ids.take("job")
        yield Select(NUMBERS[0].format(rows, 1), ())
        return taken

    monkeypatch.setattr(writer, "SLOW_FLUSH", 60.0)
    store = await open_store(sqlite_url)

    first = await store.write(take_id(1))
    later = [await store.write(take_id(rows)) for rows in (writer.MAX_INLINE_ROWS + 1, 1)]

    assert later == [first + 1, first + 2]
    await store.close()


async def test_writes__wait_for_another_process_while_reads_continue(sqlite_url, open_with) -> None:
    store = await open_with(sqlite_url, {})
    await store.write(ensure_client("before", 1))
    other_connection = apsw.Connection(str(path_of(sqlite_url)))
    other_connection.execute("BEGIN IMMEDIATE")

    waiting = [asyncio.ensure_future(store.write(ensure_client(f"later{n}", 1))) for n in range(3)]
    clients = [await store.read(find_client("before")) for _ in range(20)]
    answered = [write.done() for write in waiting]
    other_connection.execute("ROLLBACK")
    other_connection.close()
    await asyncio.gather(*waiting)

    assert all(clients)
    assert answered == [False] * 3
    assert len(await store.read(list_clients())) == 4


async def test_wal__is_reset_while_writes_go_on_without_a_pause(sqlite_url, open_with, monkeypatch) -> None:
    monkeypatch.setattr(writer, "PAGES_BETWEEN_CHECKPOINTS", FEW_PAGES)
    monkeypatch.setattr(writer, "MAX_LOG_PAGES", 3 * FEW_PAGES)
    monkeypatch.setattr(writer, "PAUSE", 0)  # the pauses are made for a log of thousands of pages
    pages: list[int] = []
    commit = writer.WriteAheadLog._committed
    monkeypatch.setattr(writer.WriteAheadLog, "_committed", lambda log, *of: pages.append(of[2]) or commit(log, *of))
    store = await open_with(sqlite_url, {})
    client = await store.write(ensure_client("someone", 1))

    def resets() -> int:
        return sum(later < earlier for earlier, later in itertools.pairwise(pages))

    async def write(first: int) -> list[StoredDelivery]:
        results = []
        for n in range(first, MOST_WRITES, WRITERS):  # how soon the thread that copies gets its turn is up to the machine
            results.append(await store.write(_delivery(client.number, n, b"x" * 500)))
            if resets() > 1:
                break
        return results

    stored = [
        first_item for sample_first in await asyncio.gather(*(write(first) for first in range(WRITERS))) for first_item in sample_first
    ]

    assert resets() > 1
    assert len({item.id for item in stored}) == len(stored)


def _real(url: str) -> str:
    return os.path.realpath(str(path_of(url)))


@pytest.mark.skipif(not os.path.exists("/proc/self/fd"), reason="only Linux says which descriptors there are")
async def test_checkpoint__flushes_only_the_database_file_through_a_read_only_descriptor(sqlite_url, open_with, monkeypatch) -> None:
    flushed: list[tuple[str, int]] = []

    def fsync(number: int) -> None:
        flushed.append((os.readlink(f"/proc/self/fd/{number}"), fcntl.fcntl(number, fcntl.F_GETFL) & os.O_ACCMODE))

    monkeypatch.setattr(writer, "PAGES_BETWEEN_CHECKPOINTS", FEW_PAGES)
    monkeypatch.setattr(writer.os, "fsync", fsync)
    store = await open_with(sqlite_url, {})
    for number in range(FEW_PAGES):
        await store.write(ensure_client(f"client-{number}", 1))
    await store.close()

    assert set(flushed) == {(_real(sqlite_url), os.O_RDONLY)}


async def test_failed_checkpoint_flush__leaves_writes_and_reads_working(sqlite_url, open_with, monkeypatch) -> None:
    def fsync(number: int) -> None:
        raise OSError(errno.EIO, "the disk is broken")

    monkeypatch.setattr(writer, "PAGES_BETWEEN_CHECKPOINTS", FEW_PAGES)
    monkeypatch.setattr(writer.os, "fsync", fsync)
    store = await open_with(sqlite_url, {})
    for number in range(FEW_PAGES):
        await store.write(ensure_client(f"client-{number}", 1))

    assert len(await store.read(list_clients())) == FEW_PAGES


def _no_thread(*_: object, **__: object) -> None:
    raise RuntimeError("can't start new thread")


async def test_writes_and_reads__continue_when_no_thread_can_start(sqlite_url, open_with, monkeypatch) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 0.0)
    store = await open_with(sqlite_url, {})
    monkeypatch.setattr(threading.Thread, "start", _no_thread)

    async with asyncio.timeout(30):
        client = await store.write(ensure_client("someone", 1))
        clients = await asyncio.gather(*(store.read(list_clients()) for _ in range(8)))

    assert clients == [[client]] * 8


async def test_write__is_refused_when_no_thread_accepts_it_and_the_next_succeeds(sqlite_url, open_with, monkeypatch) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 0.0)
    store = await open_with(sqlite_url, {})

    with monkeypatch.context() as broken:
        broken.setattr(store._writer._threads._pool, "submit", _no_thread)
        with pytest.raises(Overloaded):
            async with asyncio.timeout(30):
                await store.write(ensure_client("refused", 1))

    async with asyncio.timeout(30):
        assert (await store.write(ensure_client("taken", 1))).client_id == "taken"
    assert [client.client_id for client in await store.read(list_clients())] == ["taken"]


@pytest.mark.parametrize("flush", [0.0, 60.0], ids=["on a thread", "in the loop"])
async def test_write__is_refused_after_a_failure_outside_its_command_and_the_next_succeeds(
    sqlite_url, open_with, monkeypatch, flush: float
) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", flush)
    store = await open_with(sqlite_url, {})

    def dies(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr(store._writer, "_outcomes", dies)
        broken.setattr(store._writer, "_run_inline", dies)
        with pytest.raises(Overloaded):
            async with asyncio.timeout(30):
                await store.write(ensure_client("refused", 1))

    async with asyncio.timeout(30):
        assert (await store.write(ensure_client("taken", 1))).client_id == "taken"


async def test_writer_thread__returns_its_result_once_memory_is_available(sqlite_url, open_with, monkeypatch) -> None:
    monkeypatch.setattr(writer, "SLOW_FLUSH", 0.0)
    store = await open_with(sqlite_url, {})
    failures = [MemoryError(), MemoryError()]

    class Loop:
        def call_soon_threadsafe(self, *call: object) -> None:
            if failures:
                raise failures.pop()
            real.call_soon_threadsafe(*call)

        def __getattr__(self, name: str) -> object:
            return getattr(real, name)

    real = store._writer._threads._loop
    monkeypatch.setattr(store._writer._threads, "_loop", Loop())
    async with asyncio.timeout(30):
        created = await store.write(ensure_client("someone", 1))

    assert (created.client_id, failures) == ("someone", [])


async def test_failed_rollback__does_not_stop_the_next_write(sqlite_url, open_with) -> None:
    store = await open_with(sqlite_url, {})
    store._writer.cursor.execute("BEGIN")
    store._writer.cursor.execute("UPDATE id_block SET next = -1")

    created = await store.write(ensure_client("someone", 1))

    assert created.number > 0
