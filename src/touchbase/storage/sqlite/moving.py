"""The rows of a client that moves, on SQLite: triggers and transactions. All of it runs on threads, as it may wait for another writer."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter
from typing import Any

import apsw

from touchbase.common.threads import on_thread
from touchbase.errors import StoreUnavailable
from touchbase.sql.statement import Plan, T
from touchbase.storage.client_rows import FROZEN, NOTING, Clash, MovedTable, check
from touchbase.storage.sqlite.connection import FROZEN as REFUSED
from touchbase.storage.sqlite.connection import UNWRITABLE, advice, open_writer, read, run
from touchbase.storage.sqlite.store_copy import tables_of
from touchbase.storage.store_copy import Table

BUSY_TRIES = 12
MOST_PAUSE_SECONDS = 0.1
PAGES_PER_CHECKPOINT = 4_000
EVENTS = {"written": "INSERT", "changed": "UPDATE", "removed": "DELETE"}
_TRIGGER = """CREATE TRIGGER {name} AFTER {event} ON {table} WHEN {row}.{column} = {client} BEGIN
  SELECT RAISE(ABORT, '{refused}') FROM moving_client WHERE number = {client} AND state = '{frozen}';
{notes}
END"""
_NOTE = """  INSERT INTO moving_change (number, table_name, row_key)
  SELECT {client}, '{table}', {key} FROM moving_client WHERE number = {client} AND state = '{noting}';"""


class SqliteRows:
    """The rows of one client on a connection of its own."""

    def __init__(self, connection: apsw.Connection, client: int) -> None:
        self._connection = connection
        self._client = client
        self._lock = threading.Lock()
        """Held by the thread that uses the connection: a task that is cancelled leaves it at work."""

    @classmethod
    async def open(cls, path: str, client: int) -> SqliteRows:
        """Open the file. Raises `StoreUnavailable`."""
        with _explained():
            connection = open_writer(path, durable=True)
        connection.pragma("wal_autocheckpoint", PAGES_PER_CHECKPOINT)  # there may be no server, whose writer does it
        return cls(connection, client)

    async def tables(self) -> dict[str, Table]:
        """Return all tables of the store by name."""
        with _explained():
            return tables_of(self._connection)

    async def read(self, plan: Plan[T]) -> T:
        """Run a plan that only reads."""
        with _explained():
            return await on_thread("moving", self._read, plan)

    def _read(self, plan: Plan[T]) -> T:
        with self._lock:
            return read(self._connection.cursor(), plan)

    async def write(self, plan: Plan[T]) -> T:
        """Run a plan in a transaction; then leave the file to other writers for as long as it took."""
        began = perf_counter()
        with _explained():
            result = await on_thread("moving", self._transaction, lambda cursor: run(cursor, plan))
        await asyncio.sleep(min(MOST_PAUSE_SECONDS, perf_counter() - began))
        return result

    def _transaction(self, work: Callable[[apsw.Cursor], T]) -> T:
        with self._lock:
            return self._write(work)

    def _write(self, work: Callable[[apsw.Cursor], T]) -> T:
        cursor = self._connection.cursor()
        self._begin(cursor)
        try:
            result = work(cursor)
            cursor.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                cursor.execute("ROLLBACK")
            if isinstance(error, apsw.ConstraintError):
                raise Clash(str(error)) from error
            raise
        return result

    def _begin(self, cursor: apsw.Cursor) -> None:
        for tries in range(1, BUSY_TRIES + 1):
            try:
                cursor.execute("BEGIN IMMEDIATE")
                return
            except apsw.BusyError:
                if tries == BUSY_TRIES:
                    raise

    def _names(self, tables: Sequence[MovedTable]) -> Iterator[tuple[str, MovedTable, str]]:
        for table in tables:
            for word, event in EVENTS.items():
                yield f"moving_{self._client}_{table.name}_{word}", table, event

    async def watches(self, tables: Sequence[MovedTable]) -> bool:
        """Return whether all triggers of the move are there."""
        names = [name for name, *_ in self._names(tables)]
        listed = ", ".join(f"'{name}'" for name in names)
        sql = f"SELECT count(*) FROM sqlite_schema WHERE type = 'trigger' AND name IN ({listed})"
        with _explained():
            found: Any = self._connection.execute(sql).fetchall()[0][0]
        return bool(found == len(names))

    async def watch(self, tables: Sequence[MovedTable], token: str) -> None:
        """Make the triggers."""
        names = [*self._names(tables)]
        texts = [f"DROP TRIGGER IF EXISTS {name}" for name, *_ in names]
        await self._change_schema(token, [*texts, *(self._trigger(*each) for each in names)])

    def _trigger(self, name: str, table: MovedTable, event: str) -> str:
        rows = {"INSERT": ("NEW",), "UPDATE": ("NEW", "OLD"), "DELETE": ("OLD",)}[event]
        notes = "\n".join(
            _NOTE.format(client=self._client, table=table.name, noting=NOTING, key=f"json_array({', '.join(_in_json(row, table))})")
            for row in rows
        )
        return _TRIGGER.format(
            name=name, event=event, table=table.name, row=rows[0], column=table.client, client=self._client, refused=REFUSED, frozen=FROZEN,
            notes=notes,
        )  # fmt: skip

    async def unwatch(self, tables: Sequence[MovedTable], token: str) -> None:
        """Remove the triggers."""
        await self._change_schema(token, [f"DROP TRIGGER IF EXISTS {name}" for name, *_ in self._names(tables)])

    async def _change_schema(self, token: str, texts: Sequence[str]) -> None:
        def change(cursor: apsw.Cursor) -> None:
            run(cursor, check(self._client, token, (NOTING, FROZEN)))
            for text in texts:
                cursor.execute(text)

        with _explained():
            await on_thread("moving", self._transaction, change)

    async def settle(self, tables: Sequence[MovedTable]) -> None:
        """Do nothing: one transaction writes at a time, and each sees what was committed before it began."""

    async def close(self) -> None:
        """Close the file, after what a thread still does there."""
        await on_thread("moving", self._close)

    def _close(self) -> None:
        with self._lock:
            self._connection.close()


def _in_json(row: str, table: MovedTable) -> list[str]:
    return [f"hex({row}.{column})" if table.columns[column] == "blob" else f"{row}.{column}" for column in table.key]


@contextlib.contextmanager
def _explained() -> Iterator[None]:
    try:
        yield
    except UNWRITABLE as error:
        raise StoreUnavailable(f"the file cannot be used now: {advice(error)}") from error
