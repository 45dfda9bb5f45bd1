"""Connections to SQLite: which file, how carefully it is written, and its errors in our words."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain
from time import perf_counter

import apsw

from touchbase.errors import BadAddress, StoreUnavailable, UnusableStore
from touchbase.sql.statement import Execute, Plan, Row, Select, Statement, T, for_sqlite

LOG = logging.getLogger("touchbase.storage")
OLDEST = (3, 51, 3)
PRIVATE = ("//", "///", "//:memory:", "///:memory:")
Columns = tuple[tuple[str, str], ...]
BUSY_MS = 5_000
WRITER_CACHE = -24 * 1024  # in KiB, as SQLite wants it
READER_CACHE = -8 * 1024  # little, as readers map the file
BYTES_MAPPED = 256 * 1024 * 1024
LARGEST_IDLE_LOG = 64 * 1024 * 1024

UNWRITABLE = (
    apsw.FullError, apsw.IOError, apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.ProtocolError,
    apsw.NoMemError, MemoryError,
)  # fmt: skip
"""Errors that say nothing about a command: the engine cannot do it now, whoever asks."""

OUT_OF_MEMORY = "this process is out of memory; give it more, or lower TOUCHBASE_MAX_BODY_MEMORY"
_WHAT_TO_DO = {
    apsw.FullError: "the disk (or the store's page limit) is full; make room, writing goes on by itself",
    apsw.IOError: "the disk gave an error; look at the system's log and at the free space",
    apsw.BusyError: "another process holds the store locked; only one server may use a SQLite store",
    apsw.LockedError: "another process holds the store locked; only one server may use a SQLite store",
    apsw.ReadOnlyError: "the store's file or file system is read-only; make it writable",
    apsw.NoMemError: OUT_OF_MEMORY,
    MemoryError: OUT_OF_MEMORY,
    apsw.NotADBError: "the file is not a SQLite database; check the address",
    apsw.CantOpenError: "the store's files cannot be opened; check that the folder is there and that this user may write to it",
}


def path_of(url: str) -> str | None:
    """The file that a `sqlite:` address names; None for a private store that ends with the process."""
    rest = url.removeprefix("sqlite:")
    if rest in PRIVATE:
        return None
    if not rest.startswith("///"):
        raise BadAddress(
            f"'{url}' names no file; write sqlite:///touchbase.db for a file in the working directory, "
            "sqlite:////var/lib/touchbase.db for one anywhere, or sqlite:// for a store that ends with the process"
        )
    if "?" in rest:
        raise BadAddress(f"'{url.partition('?')[0]}' takes no parameters; leave out the question mark and what is behind it")
    return rest[3:]


def refuse_old(version: str) -> None:
    """Refuse an SQLite that can corrupt its file: before 3.51.3 a WAL reset could lose a commit."""
    if tuple(int(part) for part in version.split(".")) < OLDEST:
        raise UnusableStore(f"SQLite {version} is too old, it can corrupt its file; install apsw 3.51.3 or later")


def open_writer(path: str, *, durable: bool) -> apsw.Connection:
    """The one connection that writes; a commit returns when it is on disk, unless the store is a private one."""
    refuse_old(apsw.sqlite_lib_version())
    _make_own(path)
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    if connection.pragma("journal_mode", "wal") != "wal":
        raise UnusableStore(f"the file system under {path} cannot hold SQLite's log (WAL); move the store to a local disk")
    connection.pragma("cache_size", WRITER_CACHE)
    connection.pragma("synchronous", "FULL" if durable else "OFF")
    connection.pragma("fullfsync", 1)  # macOS: fsync alone does not reach the disk
    connection.pragma("foreign_keys", 1)
    connection.pragma("secure_delete", 1)  # what is removed is written over: an erased person must not stay in free pages
    connection.pragma("journal_size_limit", LARGEST_IDLE_LOG)
    connection.pragma("wal_autocheckpoint", 0)  # the writer checkpoints after it has answered
    return connection


def _make_own(path: str) -> None:
    """Make the file that is not there yet for nobody else to read; SQLite gives the files beside it the same rights."""
    with contextlib.suppress(OSError):  # it is there, or cannot be: SQLite says that better
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_reader(path: str) -> apsw.Connection:
    """A connection that can only read."""
    connection = _open(path, apsw.SQLITE_OPEN_READONLY)
    connection.pragma("cache_size", READER_CACHE)
    connection.pragma("mmap_size", BYTES_MAPPED)
    return connection


def _open(path: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(path, flags=flags, statementcachesize=256)
    connection.set_busy_timeout(BUSY_MS)
    connection.pragma("temp_store", "memory")
    return connection


def unavailable(error: BaseException) -> StoreUnavailable:
    """The error for callers whose command could not be written now."""
    return StoreUnavailable(f"cannot use the store now: {advice(error)}", retry_after=5)


def failures(error: BaseException, count: int) -> list[object]:
    """The answers of a group that failed outside of its commands, as for want of memory or threads."""
    LOG.error("a group of %d writes failed", count, exc_info=error)
    return [unavailable(error) for _ in range(count)]


def advice(error: BaseException) -> str:
    """What to do about an error of SQLite; its own words where we know nothing better."""
    return next((words for kind, words in _WHAT_TO_DO.items() if isinstance(error, kind)), str(error))


def write(cursor: apsw.Cursor, plan: Plan[T], flushed: Callable[[float], None] | None = None) -> T:
    """Run a plan in a transaction of its own; it is on disk when this returns, or nothing of it is.

    `flushed` is told how many seconds the flush took.
    """
    if cursor.connection.in_transaction:  # an earlier one could not be rolled back, as for want of memory
        cursor.execute("ROLLBACK")
    cursor.execute("BEGIN IMMEDIATE")
    try:
        result = run(cursor, plan)
        before = perf_counter()
        cursor.execute("COMMIT")
        if flushed is not None:
            flushed(perf_counter() - before)
    except BaseException:
        if cursor.connection.in_transaction:  # a full disk may have ended it already
            cursor.execute("ROLLBACK")
        raise
    return result


def read(cursor: apsw.Cursor, plan: Plan[T]) -> T:
    """Run a plan that only reads, all its steps on one state of the store."""
    try:
        cursor.execute("BEGIN")
        return run(cursor, plan)
    finally:
        # What is cut short because it takes long must still end: a transaction left open would break all reads after it.
        cursor.connection.set_progress_handler(None)
        if cursor.connection.in_transaction:  # an error of the disk may have ended it already
            cursor.execute("ROLLBACK")


def run(cursor: apsw.Cursor, plan: Plan[T]) -> T:
    """Run a plan to its end, inside whatever transaction is open, and answer what it returns."""
    try:
        wanted = next(plan)
        while True:
            wanted = plan.send(_rows(cursor, wanted))
    except StopIteration as stop:
        result: T = stop.value
        return result


def _rows(cursor: apsw.Cursor, wanted: Execute | Select) -> list[Row]:
    if isinstance(wanted, Select):
        return cursor.execute(wanted.sql, wanted.params).fetchall()
    op = wanted.op
    if op.sqlite:
        return cursor.executemany(op.sqlite, wanted.rows).fetchall() if wanted.rows else []
    rows = _made(cursor, op, wanted.rows) if op.made else _in_sets(cursor, op.columns, op.sqlite_set or op.body, wanted.rows)
    if op.first_set:
        went_in = set(rows)
        _in_sets(cursor, op.columns, op.sqlite_set, [row for row in wanted.rows if row[1:2] in went_in])
    if wanted.more:
        _in_sets(cursor, op.more_columns, op.more_set, wanted.more, "q")
    if wanted.last:
        _in_sets(cursor, op.last_columns, op.last_set, wanted.last, "r")
    return rows


SET_SIZES = (32, 8, 2, 1)
"""Rows of one statement. Many rows at once spare the hand-over of Python's lock to and from SQLite for each."""

_text = cache(for_sqlite)


def _in_sets(cursor: apsw.Cursor, columns: Columns, body: str, rows: Sequence[Row], table: str = "p") -> list[Row]:
    found: list[Row] = []
    for some in _sets(rows):
        found += cursor.execute(_text(columns, body, len(some), table), tuple(chain.from_iterable(some))).fetchall()
    return found


def _made(cursor: apsw.Cursor, op: Statement, rows: Sequence[Row]) -> list[Row]:
    """The ids of the rows that went in; nearly always all did, and then nobody has to be asked."""
    found: list[Row] = []
    for some in _sets(rows):
        values = tuple(chain.from_iterable(some))
        cursor.execute(_text(op.columns, op.first_set or op.sqlite_set, len(some)), values)
        if cursor.connection.changes() == len(some):
            found += [(row[1],) for row in some]
        else:
            found += cursor.execute(_text(op.columns, op.made, len(some)), values).fetchall()
    return found


def _sets(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    at = 0
    for size in SET_SIZES:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size
