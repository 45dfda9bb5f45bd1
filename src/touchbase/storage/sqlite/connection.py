"""Connections to SQLite: the file, its settings, how a plan runs, and error messages."""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import chain, islice
from time import perf_counter

import apsw

from touchbase.errors import BadAddress, ClientMoving, StoreUnavailable, UnusableStore
from touchbase.sql.dialect import for_sqlite, with_numbers
from touchbase.sql.page_budget import ByteBudget
from touchbase.sql.statement import Execute, Plan, Row, Savepoint, Select, Statement, Step, T
from touchbase.storage.batch import Around, unchanged

LOG = logging.getLogger("touchbase.storage")
MIN_VERSION = (3, 51, 3)
PRIVATE_ADDRESSES = ("//", "///", "//:memory:", "///:memory:")
Columns = tuple[tuple[str, str], ...]
BUSY_MS = 5_000
WRITER_CACHE = -24 * 1024  # in KiB, as SQLite wants it
READER_CACHE = -8 * 1024  # small, as readers map the file
MMAP_BYTES = 256 * 1024 * 1024
MAX_IDLE_LOG_BYTES = 64 * 1024 * 1024

UNWRITABLE = (
    apsw.FullError, apsw.IOError, apsw.BusyError, apsw.LockedError, apsw.ReadOnlyError, apsw.CantOpenError, apsw.ProtocolError,
    apsw.NoMemError, MemoryError,
)  # fmt: skip
"""Errors that do not depend on the command: the engine cannot write at all now."""
MOVING = "TBMOV"
"""Text of the error of a write that the fence of a client that moves has refused."""
INTERRUPTED = apsw.InterruptError
"""The error of a batch that is too long for the event loop; it starts again on a thread."""

OUT_OF_MEMORY = "this process is out of memory; give it more, or lower TOUCHBASE_MAX_BODY_MEMORY"
_WHAT_TO_DO = {
    apsw.FullError: "the disk (or the store's page limit) is full; make room, writing goes on by itself",
    apsw.IOError: "the disk gave an error; look at the system's log and at the free space",
    apsw.BusyError: "another process has locked the store; only one server may use a SQLite store",
    apsw.LockedError: "another process has locked the store; only one server may use a SQLite store",
    apsw.ReadOnlyError: "the store's file or file system is read-only; make it writable",
    apsw.NoMemError: OUT_OF_MEMORY,
    MemoryError: OUT_OF_MEMORY,
    apsw.NotADBError: "the file is not a SQLite database; check the address",
    apsw.CantOpenError: "the store's files cannot be opened; check that the folder is there and that this user may write to it",
}


def path_of(url: str) -> str | None:
    """Return the file of a `sqlite:` address; None for a private store that ends with the process."""
    path = url.removeprefix("sqlite:")
    if path in PRIVATE_ADDRESSES:
        return None
    if not path.startswith("///"):
        raise BadAddress(
            f"'{url}' names no file; write sqlite:///touchbase.db for a file in the working directory, "
            "sqlite:////var/lib/touchbase.db for one anywhere, or sqlite:// for a store that ends with the process"
        )
    if "?" in path:
        raise BadAddress(f"'{url.partition('?')[0]}' takes no parameters; remove the question mark and the text after it")
    return path[3:]


def refuse_old_sqlite(version: str) -> None:
    """Refuse a version of SQLite that can corrupt its file: before 3.51.3 a WAL reset could lose a commit."""
    if tuple(int(part) for part in version.split(".")) < MIN_VERSION:
        raise UnusableStore(f"SQLite {version} is too old, it can corrupt its file; install apsw 3.51.3 or later")


def open_writer(path: str, *, durable: bool) -> apsw.Connection:
    """Open the one connection that writes; a commit returns when it is on disk, if `durable`."""
    refuse_old_sqlite(apsw.sqlite_lib_version())
    _create_private(path)
    connection = _open(path, apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE)
    if connection.pragma("journal_mode", "wal") != "wal":
        raise UnusableStore(f"the file system of {path} does not support SQLite's write-ahead log; move the store to a local disk")
    connection.pragma("cache_size", WRITER_CACHE)
    connection.pragma("synchronous", "FULL" if durable else "OFF")
    connection.pragma("fullfsync", 1)  # macOS: fsync alone does not reach the disk
    connection.pragma("foreign_keys", 1)
    connection.pragma("secure_delete", 1)  # removed data is overwritten: an erased person must not remain in free pages
    connection.pragma("journal_size_limit", MAX_IDLE_LOG_BYTES)
    connection.pragma("wal_autocheckpoint", 0)  # the writer checkpoints after it has settled its commands
    return connection


def _create_private(path: str) -> None:
    """Create a missing file that only its owner can read; SQLite gives its log the same permissions."""
    with contextlib.suppress(OSError):  # it exists, or cannot be created: SQLite has the better message
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def open_reader(path: str) -> apsw.Connection:
    """Open a connection that can only read."""
    connection = _open(path, apsw.SQLITE_OPEN_READONLY)
    connection.pragma("cache_size", READER_CACHE)
    connection.pragma("mmap_size", MMAP_BYTES)
    return connection


def _open(path: str, flags: int) -> apsw.Connection:
    connection = apsw.Connection(path, flags=flags, statementcachesize=256)
    connection.set_busy_timeout(BUSY_MS)
    connection.pragma("temp_store", "memory")
    return connection


def unavailable(error: BaseException) -> StoreUnavailable:
    """Return the error for a command that could not be written now."""
    return StoreUnavailable(f"cannot use the store now: {advice(error)}", retry_after=5)


def batch_failed(error: BaseException, count: int) -> list[object]:
    """Return the results of a batch that failed outside of its commands, for example for lack of memory or threads."""
    LOG.error("a batch of %d writes failed", count, exc_info=error)
    if isinstance(error, UNWRITABLE):
        return [unavailable(error) for _ in range(count)]
    return [StoreUnavailable("cannot use the store now: the server's log says why", retry_after=5) for _ in range(count)]


def advice(error: BaseException) -> str:
    """Return the cure of an error of SQLite, else SQLite's own message."""
    return next((text for kind, text in _WHAT_TO_DO.items() if isinstance(error, kind)), str(error))


def write(
    cursor: apsw.Cursor,
    plan: Plan[T],
    flushed: Callable[[float], None] | None = None,
    around: Around = unchanged,
    most_rows: int | None = None,
) -> T:
    """Run a plan in one transaction, atomically; it is on disk when this returns.

    `flushed` receives the duration of the flush in seconds. `most_rows` as in `run`.
    """
    if cursor.connection.in_transaction:  # an earlier one could not be rolled back, for example for lack of memory
        cursor.execute("ROLLBACK")
    cursor.execute("BEGIN IMMEDIATE")
    try:
        plan, committed = around(plan)
        result = run(cursor, plan, most_rows)
        before = perf_counter()
        cursor.execute("COMMIT")
        if flushed is not None:
            flushed(perf_counter() - before)
        committed()
    except BaseException as error:
        if cursor.connection.in_transaction:  # a full disk may have ended it already
            cursor.execute("ROLLBACK")
        if isinstance(error, apsw.ConstraintError) and MOVING in str(error):
            raise ClientMoving from error
        raise
    return result


def read(cursor: apsw.Cursor, plan: Plan[T]) -> T:
    """Run a plan that only reads, on one snapshot of the store."""
    try:
        cursor.execute("BEGIN")
        return run(cursor, plan)
    finally:
        # An interrupted read must still end its transaction: an open one would break all later reads.
        cursor.connection.set_progress_handler(None)
        if cursor.connection.in_transaction:  # a disk error may have ended it already
            cursor.execute("ROLLBACK")


def roll_back(cursor: apsw.Cursor, plan: Plan[T]) -> T:
    """Run a plan that writes in a transaction, and roll it back."""
    cursor.execute("BEGIN IMMEDIATE")
    try:
        return run(cursor, plan)
    finally:
        if cursor.connection.in_transaction:  # a disk error may have ended it already
            cursor.execute("ROLLBACK")


def run(cursor: apsw.Cursor, plan: Plan[T], most_rows: int | None = None) -> T:
    """Run a plan to its end in the open transaction, and return its result.

    Raises `INTERRUPTED` when one statement has more than `most_rows`.
    """
    try:
        step = next(plan)
        while True:
            rows = _rows(cursor, step)
            if most_rows is not None and len(rows) > most_rows:
                raise INTERRUPTED(f"a statement has more than {most_rows} rows")
            step = plan.send(rows)
    except StopIteration as stop:
        result: T = stop.value
        return result


def _rows(cursor: apsw.Cursor, step: Step) -> list[Row]:
    if isinstance(step, Select):
        results = cursor.execute(with_numbers(step.sql, "sqlite"), step.params)
        return results.fetchall() if step.budget is None else _within(results, step.budget)
    if isinstance(step, Savepoint):
        return cursor.execute(step.sql).fetchall()
    assert isinstance(step, Execute)
    op = step.statement
    if op.sqlite:
        return cursor.executemany(op.sqlite, step.rows).fetchall() if step.rows else []
    if not (op.body or op.sqlite_set):
        return []
    if step.budget is not None:
        return _in_sets_within(cursor, op, step.rows, step.budget)
    rows = _insert(cursor, op, step.rows) if op.inserted_ids else _in_sets(cursor, op.columns, op.sqlite_set or op.body, step.rows)
    if op.first_set:
        inserted = set(rows)
        _in_sets(cursor, op.columns, op.sqlite_set, [row for row in step.rows if row[1:2] in inserted])
    if step.more:
        _in_sets(cursor, op.more_columns, op.more_set, step.more, "q")
    if step.last:
        _in_sets(cursor, op.last_columns, op.last_set, step.last, "r")
    if step.last and op.end_set:
        _in_sets(cursor, op.last_columns, op.end_set, step.last, "r")
    return rows


SET_SIZES = (32, 8, 2, 1)
"""Rows per execution. Several rows at once save releasing and acquiring Python's lock for each row."""

_text = cache(for_sqlite)


def _in_sets(cursor: apsw.Cursor, columns: Columns, body: str, rows: Sequence[Row], table: str = "p") -> list[Row]:
    results: list[Row] = []
    for portion in _sets(rows):
        results += cursor.execute(_text(columns, body, len(portion), table), tuple(chain.from_iterable(portion))).fetchall()
    return results


def _in_sets_within(cursor: apsw.Cursor, op: Statement, rows: Sequence[Row], budget: ByteBudget) -> list[Row]:
    """Read the rows of a statement, set by set, until the budget is spent."""
    results: list[Row] = []
    for portion in _sets(rows):
        if budget.is_spent:
            break
        results += _within(
            cursor.execute(_text(op.columns, op.sqlite_set or op.body, len(portion)), tuple(chain.from_iterable(portion))), budget
        )
    return results


def _within(rows: apsw.Cursor, budget: ByteBudget) -> list[Row]:
    results: list[Row] = []
    wanted = budget.rows
    while wanted:
        portion: list[Row] = [*islice(rows, wanted)]
        results += portion
        is_last = len(portion) < wanted
        wanted = budget.spend(portion)
        if is_last:
            break
    return results


def _insert(cursor: apsw.Cursor, op: Statement, rows: Sequence[Row]) -> list[Row]:
    """Insert rows and return the ids of those inserted; usually all are, and then no query is needed."""
    results: list[Row] = []
    for portion in _sets(rows):
        values = tuple(chain.from_iterable(portion))
        cursor.execute(_text(op.columns, op.first_set or op.sqlite_set, len(portion)), values)
        if cursor.connection.changes() == len(portion):
            results += [(row[1],) for row in portion]
        else:
            results += cursor.execute(_text(op.columns, op.inserted_ids, len(portion)), values).fetchall()
    return results


def _sets(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    at = 0
    for size in SET_SIZES:
        while len(rows) - at >= size:
            yield rows[at : at + size]
            at += size
