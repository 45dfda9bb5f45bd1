"""The SQLite side of copying a store: read it table by table, or fill it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from typing import Any

import apsw

from touchbase.common.cipher import Cipher
from touchbase.encryption.encrypted_columns import record_key
from touchbase.errors import UnusableStore
from touchbase.sql.migrations import RECORD, UNFINISHED_COPY
from touchbase.sql.statement import Row
from touchbase.storage.sqlite.connection import MOVING, open_reader, open_writer, run
from touchbase.storage.sqlite.process_lock import ProcessLock, Role
from touchbase.storage.store_copy import (
    CHANGES,
    INSERTS,
    PROGRESS_TABLE,
    StoredTable,
    TableProgress,
    in_progress_elsewhere,
    key_from_text,
    key_to_text,
    unreadable_text,
)

_TABLES = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
_PAGES_PER_CHECKPOINT = 4_000
_BUSY_MS = 60_000


def _table(connection: apsw.Connection, name: str) -> StoredTable:
    columns: dict[str, str] = {}
    key: dict[int, str] = {}
    for _, column, kind, _, _, position in connection.execute(f"PRAGMA table_info({name})").fetchall():
        columns[str(column)] = {"INTEGER": "integer", "BIGINT": "integer", "TEXT": "text"}.get(str(kind), "blob")
        if position:
            key[int(position)] = str(column)
    return StoredTable(name, columns, tuple(key[position] for position in sorted(key)))


class SqliteReader:
    """Reads the tables of a SQLite store."""

    def __init__(self, path: str, connection: apsw.Connection | None = None, *, beside_server: bool = False) -> None:
        self._lock = ProcessLock(path, () if beside_server else (Role.SERVER, Role.WORKER))
        if self._lock.warnings:
            self._lock.close()
            raise UnusableStore(f"a server or worker uses {path}: stop it, and start it again after the copy")
        self._connection = connection or open_reader(path)

    async def tables(self) -> dict[str, StoredTable]:
        """Return the tables by name."""
        return {str(name): _table(self._connection, str(name)) for (name,) in self._connection.execute(_TABLES).fetchall()}

    async def rows(self, table: StoredTable, after: tuple[Any, ...] | None) -> AsyncIterator[Row]:
        """Yield the rows of a table behind a primary key, in the order of the key."""
        key = ", ".join(table.key)
        behind = f" AND ({key}) > ({', '.join('?' * len(table.key))})" if after is not None else ""
        try:
            for row in self._connection.cursor().execute(
                f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {table.condition}{behind} ORDER BY {key}", after or ()
            ):
                yield row
        except UnicodeDecodeError as error:  # Touchbase stores no such text: a file that was edited, or is damaged
            raise unreadable_text(table, f"is not UTF-8 ({error})") from error

    async def count(self, table: StoredTable) -> int:
        """Return the number of rows."""
        counted: Any = self._connection.execute(f"SELECT count(*) FROM {table.name} WHERE {table.condition}").fetchall()[0][0]
        return int(counted)

    async def close(self) -> None:
        """Close the file."""
        self._connection.close()
        self._lock.close()


class SqliteCopyTarget(SqliteReader):
    """Fills a SQLite store, and reads it again."""

    def __init__(self, path: str, cipher: Cipher) -> None:
        connection = open_writer(path, durable=True)
        connection.pragma("wal_autocheckpoint", _PAGES_PER_CHECKPOINT)  # in a store that is open, the writer checkpoints by itself
        super().__init__(path, connection)
        self._cipher = cipher

    async def progress(self) -> tuple[str, dict[str, TableProgress]] | None:
        """Return the source and the progress of an unfinished copy; None if there is none."""
        if not self._connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'store_copy'").fetchall():
            return None
        rows: list[Any] = self._connection.execute("SELECT source, table_name, copied, last_key, done FROM store_copy").fetchall()
        return rows[0][0], {name: TableProgress(copied, key_from_text(key), bool(done)) for _, name, copied, key, done in rows}

    async def begin(self, source: str, tables: Sequence[StoredTable], replaced: Iterable[str]) -> None:
        """Mark the store as an unfinished copy, and empty the tables that are replaced."""
        with self._connection:
            self._connection.execute(PROGRESS_TABLE)
            self._connection.execute(RECORD.format("?1", "?2"), (UNFINISHED_COPY, ""))
            for table in replaced:
                self._connection.execute(f"DELETE FROM {table}")
            rows = [(table.name, source, key_to_text(None), 0, 0) for table in tables]
            self._connection.executemany("INSERT INTO store_copy (table_name, source, last_key, copied, done) VALUES (?, ?, ?, ?, ?)", rows)

    async def write(self, table: StoredTable, rows: Sequence[Row], before: TableProgress, after: TableProgress) -> None:
        """Insert rows and replace the progress `before`. Raises `UnusableStore` when another copy has changed that."""
        with self._connection:
            self._connection.execute(
                "UPDATE store_copy SET last_key = ?, copied = ?, done = ? WHERE table_name = ? AND last_key = ? AND done = 0",
                (key_to_text(after.last_key), after.copied, int(after.done), table.name, key_to_text(before.last_key)),
            )
            if self._connection.changes() != 1:
                raise in_progress_elsewhere()
            _insert(self._connection, table, rows)

    async def finish(self, statements: Sequence[str]) -> None:
        """Record the encryption key, execute these statements, remove mark and progress, and compute the planner's figures."""
        with self._connection:
            if self._cipher.can_encrypt:
                run(self._connection.cursor(), record_key(self._cipher))
            for sql in statements:
                self._connection.execute(sql)
            self._connection.execute("DROP TABLE store_copy")
            self._connection.execute("DELETE FROM migration WHERE name = ?", (UNFINISHED_COPY,))
        self._connection.execute("ANALYZE")


class SqliteClientRows(SqliteReader):
    """Moves the rows of one client from or to a SQLite store that a server uses: each transaction waits for the server's."""

    def __init__(self, path: str) -> None:
        connection = open_writer(path, durable=True)
        connection.set_busy_timeout(_BUSY_MS)
        connection.pragma("wal_autocheckpoint", _PAGES_PER_CHECKPOINT)
        super().__init__(path, connection, beside_server=True)

    async def claim(self, client: int) -> None:
        """Do nothing: one of the two databases of a move is PostgreSQL's, which has the claim."""

    async def insert(self, table: StoredTable, rows: Sequence[Row]) -> None:
        """Insert rows."""
        with self._connection:
            _insert(self._connection, table, rows)

    async def fence(self, client: int, columns: Mapping[str, str]) -> None:
        """Refuse writes of a client's rows."""
        texts = []
        for table, column in columns.items():
            for name, what, row in ((INSERTS, "INSERT", "NEW"), (CHANGES, "UPDATE", "OLD"), (f"{CHANGES}_d", "DELETE", "OLD")):
                texts.append(
                    f"CREATE TRIGGER IF NOT EXISTS {name.format(client, table)} BEFORE {what} ON {table} "
                    f"WHEN {row}.{column} = {client:d} BEGIN SELECT RAISE(ABORT, '{MOVING}'); END"
                )
        await self.execute(texts)

    async def open_fence(self, client: int, columns: Mapping[str, str], *, inserts: bool) -> None:
        """Accept changes and deletions of a client's rows again; with `inserts` new rows too."""
        opened = (CHANGES, f"{CHANGES}_d", INSERTS) if inserts else (CHANGES, f"{CHANGES}_d")
        await self.execute([f"DROP TRIGGER IF EXISTS {name.format(client, table)}" for table in columns for name in opened])

    async def execute(self, statements: Sequence[str]) -> None:
        """Execute these statements."""
        self._connection.execute("BEGIN IMMEDIATE")  # a deferred transaction does not wait for another's write
        with contextlib.closing(self._connection.cursor()) as cursor:
            try:
                for sql in statements:
                    cursor.execute(sql)
                cursor.execute("COMMIT")
            except BaseException:
                cursor.execute("ROLLBACK")
                raise


def _insert(connection: apsw.Connection, table: StoredTable, rows: Sequence[Row]) -> None:
    columns, values = ", ".join(table.columns), ", ".join("?" * len(table.columns))
    connection.executemany(f"INSERT INTO {table.name} ({columns}) VALUES ({values})", rows)
