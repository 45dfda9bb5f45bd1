"""The PostgreSQL side of copying a store: read it table by table, or fill it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg

from touchbase.common.cipher import Cipher
from touchbase.encryption.encrypted_columns import record_key
from touchbase.errors import UnusableStore
from touchbase.sql.dialect import CLIENTS_SETTING
from touchbase.sql.migrations import RECORD, UNFINISHED_COPY
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.sql.statement import Row
from touchbase.storage.postgres.connection import SETTINGS, connect_or_explain, run
from touchbase.storage.postgres.row_level_security import Connection
from touchbase.storage.store_copy import (
    CHANGES,
    INSERTS,
    POSTGRES_TYPES,
    PROGRESS_TABLE,
    StoredTable,
    TableProgress,
    in_progress_elsewhere,
    key_from_text,
    key_to_text,
    unreadable_text,
)

_COLUMNS = """SELECT c.relname, a.attname, format_type(a.atttypid, NULL) AS kind, array_position(i.indkey::int2[], a.attnum) AS position
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum"""
_KINDS = {"bigint": "integer", "bytea": "blob"}
_OTHERS = """SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = $1 AND pid <> pg_backend_pid()"""
_LOOKS = 20
_SECONDS_BETWEEN_LOOKS = 0.1
_FENCE_TRIES = 60
_FENCE_WAIT_MS = 500
_ROWS_PER_FETCH = 200
_BYTES_PER_FETCH = 32 * 1024 * 1024
"""As each row may have the body of a delivery."""


class PostgresReader:
    """Reads the tables of a PostgreSQL store."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    @classmethod
    async def open(cls, url: str) -> PostgresReader:
        """Connect. Raises `UnusableStore` when a server uses the database."""
        return cls(await _connect(url))

    async def tables(self) -> dict[str, StoredTable]:
        """Return the tables by name."""
        columns: dict[str, dict[str, str]] = {}
        keys: dict[str, dict[int, str]] = {}
        for name, column, kind, position in await self._connection.fetch(_COLUMNS):
            columns.setdefault(name, {})[column] = _KINDS.get(kind, "text")
            if position is not None:
                keys.setdefault(name, {})[position] = column
        return {
            name: StoredTable(name, names, tuple(column for _, column in sorted(keys.get(name, {}).items())))
            for name, names in columns.items()
        }

    async def rows(self, table: StoredTable, after: tuple[Any, ...] | None) -> AsyncIterator[Row]:
        """Yield the rows of a table behind a primary key, in the order of the key."""
        key = ", ".join(table.key)
        numbers = ", ".join(f"${number}" for number in range(1, len(table.key) + 1))
        behind = f" AND ({key}) > ({numbers})" if after is not None else ""
        sql = f"SELECT {', '.join(table.columns)} FROM {table.name} WHERE {table.condition}{behind} ORDER BY {key}"
        sizes = " + ".join(f"COALESCE(octet_length({column}), 0)" for column, kind in table.columns.items() if kind != "integer")
        async with _of_all_clients(self._connection):
            longest = await self._connection.fetchval(f"SELECT max({sizes or 0}) FROM {table.name} WHERE {table.condition}")
            most = min(_ROWS_PER_FETCH, _BYTES_PER_FETCH // max(1, longest or 0)) or 1
            async for record in self._connection.cursor(sql, *(after or ()), prefetch=most):
                yield tuple(record)

    async def count(self, table: StoredTable) -> int:
        """Return the number of rows."""
        async with _of_all_clients(self._connection):
            return int(await self._connection.fetchval(f"SELECT count(*) FROM {table.name} WHERE {table.condition}"))

    async def close(self) -> None:
        """Close the connection."""
        await self._connection.close()


class PostgresCopyTarget(PostgresReader):
    """Fills a PostgreSQL store, and reads it again."""

    def __init__(self, connection: Connection, cipher: Cipher) -> None:
        super().__init__(connection)
        self._cipher = cipher

    @classmethod
    async def open_with(cls, url: str, cipher: Cipher) -> PostgresCopyTarget:
        """Connect. Raises `UnusableStore` when a server uses the database."""
        return cls(await _connect(url), cipher)

    async def progress(self) -> tuple[str, dict[str, TableProgress]] | None:
        """Return the source and the progress of an unfinished copy; None if there is none."""
        if await self._connection.fetchval("SELECT to_regclass('store_copy')") is None:
            return None
        rows = await self._connection.fetch("SELECT source, table_name, copied, last_key, done FROM store_copy")
        return rows[0]["source"], {name: TableProgress(copied, key_from_text(key), bool(done)) for _, name, copied, key, done in rows}

    async def begin(self, source: str, tables: Sequence[StoredTable], replaced: Iterable[str]) -> None:
        """Mark the store as an unfinished copy, and empty the tables that are replaced."""
        async with _of_all_clients(self._connection):
            await self._connection.execute(PROGRESS_TABLE)
            await self._connection.execute(RECORD.format("$1", "$2"), UNFINISHED_COPY, "")
            for table in replaced:
                await self._connection.execute(f"DELETE FROM {table}")
            rows = [(table.name, source, key_to_text(None)) for table in tables]
            await self._connection.executemany(
                "INSERT INTO store_copy (table_name, source, last_key, copied, done) VALUES ($1, $2, $3, 0, 0)", rows
            )

    async def write(self, table: StoredTable, rows: Sequence[Row], before: TableProgress, after: TableProgress) -> None:
        """Insert rows and replace the progress `before`. Raises `UnusableStore` when another copy has changed that."""
        async with _of_all_clients(self._connection):
            changed = await self._connection.execute(
                "UPDATE store_copy SET last_key = $1, copied = $2, done = $3 WHERE table_name = $4 AND last_key = $5 AND done = 0",
                key_to_text(after.last_key), after.copied, int(after.done), table.name, key_to_text(before.last_key),
            )  # fmt: skip
            if changed != "UPDATE 1":
                raise in_progress_elsewhere()
            if rows:
                await _insert(self._connection, table, rows)

    async def finish(self, statements: Sequence[str]) -> None:
        """Record the encryption key, execute these statements, remove mark and progress, and compute the planner's figures."""
        async with _of_all_clients(self._connection):
            if self._cipher.can_encrypt:
                await run(self._connection, record_key(self._cipher))
            for sql in statements:
                await self._connection.execute(sql)
            await self._connection.execute("DROP TABLE store_copy")
            await self._connection.execute("DELETE FROM migration WHERE name = $1", UNFINISHED_COPY)
        await self._connection.execute(f"ANALYZE {', '.join(await self.tables())}")


class PostgresClientRows(PostgresReader):
    """Moves the rows of one client from or to a PostgreSQL store that servers use."""

    @classmethod
    async def open(cls, url: str) -> PostgresClientRows:
        """Connect."""
        connection = await connect_or_explain(url)
        await connection.execute("SET statement_timeout = 0")
        return cls(connection)

    async def claim(self, client: int) -> None:
        """Take the client for this move. Raises `UnusableStore` while another command has it."""
        if not await self._connection.fetchval("SELECT pg_try_advisory_lock(hashtextextended('client move', $1))", client):
            raise UnusableStore("another `touchbase clients move` moves this client: wait for it")

    async def insert(self, table: StoredTable, rows: Sequence[Row]) -> None:
        """Insert rows."""
        async with _of_all_clients(self._connection):
            await _insert(self._connection, table, rows)

    async def fence(self, client: int, columns: Mapping[str, str]) -> None:
        """Refuse writes of a client's rows, with the error of migration 0064.

        A trigger waits for the transactions that have written to its table, and others wait behind it: it gives up soon, and tries again.
        """
        for table, column in columns.items():
            for number in range(1, _FENCE_TRIES + 1):
                try:
                    async with self._connection.transaction():
                        await self._connection.execute(f"SET LOCAL lock_timeout = '{_FENCE_WAIT_MS}ms'")
                        for name, what, row in ((INSERTS, "INSERT", "NEW"), (CHANGES, "UPDATE OR DELETE", "OLD")):
                            await self._connection.execute(
                                f"CREATE OR REPLACE TRIGGER {name.format(client, table)} BEFORE {what} ON {table} FOR EACH ROW "
                                f"WHEN ({row}.{column} = {client:d}) EXECUTE FUNCTION refuse_moving_client()"
                            )
                    break
                except asyncpg.LockNotAvailableError as error:
                    if number == _FENCE_TRIES:
                        raise UnusableStore(
                            f"a transaction has written to the table {table} and does not end: end it (pg_stat_activity), then repeat"
                        ) from error
                    await asyncio.sleep(_FENCE_WAIT_MS / 1000)

    async def open_fence(self, client: int, columns: Mapping[str, str], *, inserts: bool) -> None:
        """Accept changes and deletions of a client's rows again; with `inserts` new rows too."""
        for table in columns:
            for name in (CHANGES, INSERTS) if inserts else (CHANGES,):
                await self._connection.execute(f"DROP TRIGGER IF EXISTS {name.format(client, table)} ON {table}")

    async def execute(self, statements: Sequence[str]) -> None:
        """Execute these statements."""
        async with _of_all_clients(self._connection):
            for sql in statements:
                await self._connection.execute(sql)


async def _insert(connection: Connection, table: StoredTable, rows: Sequence[Row]) -> None:
    params = ", ".join(f"${number}::{POSTGRES_TYPES[kind]}[]" for number, kind in enumerate(table.columns.values(), 1))
    columns = [list(column) for column in zip(*rows, strict=True)]
    try:
        await connection.execute(f"INSERT INTO {table.name} ({', '.join(table.columns)}) SELECT * FROM unnest({params})", *columns)
    except asyncpg.CharacterNotInRepertoireError as error:
        raise unreadable_text(table, "has a NUL, which PostgreSQL stores in no text") from error


async def _connect(url: str) -> Connection:
    connection = await connect_or_explain(url)
    for _ in range(_LOOKS):
        if not await connection.fetchval(_OTHERS, SETTINGS["application_name"]):
            break
        await asyncio.sleep(_SECONDS_BETWEEN_LOOKS)  # a session that was just closed is listed for a moment
    else:
        await connection.close()
        raise UnusableStore("a server, worker or command uses the PostgreSQL database: stop it, and start it again after the copy")
    await connection.execute("SET statement_timeout = 0")
    return connection


@asynccontextmanager
async def _of_all_clients(connection: Connection) -> AsyncIterator[None]:
    """A transaction that sees all clients."""
    async with connection.transaction():
        await connection.execute(f"SET LOCAL {CLIENTS_SETTING} = '{ALL_CLIENTS}'")
        yield
