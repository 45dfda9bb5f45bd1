"""Copy a whole store into an empty one, also of the other engine; a stopped copy continues where it was.

Each batch of rows is written with the place where it ends, in one transaction: a copy that is stopped or killed loses nothing and
writes no row twice. Secrets are decrypted with the source's key and encrypted with the target's. At the end both stores
are read once more, and every table's count and checksum are compared. Until then no program opens the target.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from typing import Any, Protocol

from touchbase.common.cipher import Cipher
from touchbase.encryption.cipher import NO_ENCRYPTION_KEY
from touchbase.encryption.encrypted_columns import decrypt_row, encrypt_values, encrypted_table
from touchbase.errors import Invalid, UnusableStore
from touchbase.sql.statement import Row

ROWS_PER_BATCH = 5_000
BYTES_PER_BATCH = 8 * 1024 * 1024
NOT_COPIED = frozenset({"migration", "encryption_key", "store_copy", "backup_info"})
"""Tables of the store itself: its schema's history, the keys of its secrets, how far the copy is, and which backup it was."""
PROGRESS_TABLE = (
    "CREATE TABLE IF NOT EXISTS store_copy "
    "(table_name TEXT NOT NULL PRIMARY KEY, source TEXT NOT NULL, last_key TEXT NOT NULL, copied BIGINT NOT NULL, done BIGINT NOT NULL)"
)
"""How far a copy is, one row a table; both engines take this text."""
POSTGRES_TYPES = {"integer": "bigint", "text": "text", "blob": "bytea"}
"""The type in PostgreSQL of each type of `StoredTable`."""
_CHECKSUM_BITS = 128
INSERTS, CHANGES = "moving_{}_{}_inserts", "moving_{}_{}_changes"
"""Names of the triggers that refuse writes of a client that moves: of the client's number and a table."""


@dataclass(frozen=True, slots=True)
class CopyRules:
    """How tables are copied that are no plain rows."""

    not_copied: Callable[[str], bool]
    """Whether a table of this name is left as the new store has it."""
    first: frozenset[str]
    """Tables that others refer to."""
    replaced: frozenset[str]
    """Tables in which a new store may have rows; the copy replaces them."""
    at_the_end: Sequence[str]
    """Statements of the last transaction."""


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A table: its columns in order, their types (`integer`, `text` or `blob`) by name, and the columns of its primary key."""

    name: str
    columns: Mapping[str, str]
    key: tuple[str, ...]
    condition: str = "1 = 1"
    """Which rows are read and counted, in SQL: all, or those of one client."""

    def key_of(self, row: Row) -> tuple[Any, ...]:
        """Return the primary key of a row."""
        names = list(self.columns)
        return tuple(row[names.index(column)] for column in self.key)


@dataclass(frozen=True, slots=True)
class TableProgress:
    """How far one table is copied."""

    copied: int = 0
    last_key: tuple[Any, ...] | None = None
    done: bool = False


@dataclass(frozen=True, slots=True)
class CopiedTable:
    """A copied and compared table."""

    name: str
    rows: int


class TableReader(Protocol):
    """Reads the tables of a store."""

    async def tables(self) -> dict[str, StoredTable]:
        """Return the tables by name."""
        ...

    def rows(self, table: StoredTable, after: tuple[Any, ...] | None) -> AsyncIterator[Row]:
        """Yield the rows of a table behind a primary key, in the order of the key."""
        ...

    async def count(self, table: StoredTable) -> int:
        """Return the number of rows."""
        ...


class ClientRows(TableReader, Protocol):
    """Moves the rows of one client between stores that servers use. A writing method is one transaction."""

    async def claim(self, client: int) -> None:
        """Take the client for this move, until `close`. Raises `UnusableStore` while another command has it; SQLite has no such claim."""
        ...

    async def insert(self, table: StoredTable, rows: Sequence[Row]) -> None:
        """Insert rows."""
        ...

    async def fence(self, client: int, columns: Mapping[str, str]) -> None:
        """Refuse writes of a client's rows, of any process: `columns` has the column of the client by table.

        Earlier transactions have ended when this returns. It may be repeated.
        """
        ...

    async def open_fence(self, client: int, columns: Mapping[str, str], *, inserts: bool) -> None:
        """Accept changes and deletions of a client's rows again; with `inserts` new rows too."""
        ...

    async def execute(self, statements: Sequence[str]) -> None:
        """Execute these statements."""
        ...

    async def close(self) -> None:
        """Close the connection."""
        ...


class CopyTarget(TableReader, Protocol):
    """Fills a store, and reads it again. A writing method is one transaction."""

    async def progress(self) -> tuple[str, dict[str, TableProgress]] | None:
        """Return the source and the progress of an unfinished copy; None if there is none."""
        ...

    async def begin(self, source: str, tables: Sequence[StoredTable], replaced: Iterable[str]) -> None:
        """Mark the store as an unfinished copy, and empty the tables that are replaced."""
        ...

    async def write(self, table: StoredTable, rows: Sequence[Row], before: TableProgress, after: TableProgress) -> None:
        """Insert rows and replace the progress `before`. Raises `UnusableStore` when another copy has changed that."""
        ...

    async def finish(self, statements: Sequence[str]) -> None:
        """Record the encryption key, execute these statements, remove mark and progress, and compute the planner's figures."""
        ...


Report = Callable[[str, str, int, int], None]
"""Receives the step (`copy` or `compare`), the table, and the number of its rows so far and in all."""


@dataclass(frozen=True, slots=True)
class StoreCopy:
    """The copy of one store into another. `name` identifies the source, so that no other source continues the copy."""

    source: TableReader
    source_cipher: Cipher
    target: CopyTarget
    target_cipher: Cipher
    name: str
    rules: CopyRules
    report: Report

    async def run(self) -> list[CopiedTable]:
        """Copy missing rows, compare all rows, and return the tables.

        Raises `UnusableStore` when the target has other data, or when the stores differ at the end because the source has changed.
        """
        tables = await self._tables()
        progress = await self._begin(tables)
        for table in tables:
            await self._copy(table, progress.get(table.name, TableProgress()))
        copied = [await self._compare(table) for table in tables]
        await self.target.finish(self.rules.at_the_end)
        return copied

    async def _tables(self) -> list[StoredTable]:
        """Return the target's tables to copy, in an order that foreign keys allow. Both stores must have the same ones."""
        tables, wanted = await self._copied_tables(self.target), await self._copied_tables(self.source)
        if {name: set(table.columns) for name, table in tables.items()} != {name: set(table.columns) for name, table in wanted.items()}:
            raise UnusableStore("the two stores have different tables: run `touchbase migrate` on both with this version, then copy")
        return sorted(tables.values(), key=lambda table: (table.name not in self.rules.first, table.name))

    async def _copied_tables(self, store: TableReader) -> dict[str, StoredTable]:
        tables = (await store.tables()).items()
        return {name: table for name, table in tables if name not in NOT_COPIED and not self.rules.not_copied(name)}

    async def _begin(self, tables: Sequence[StoredTable]) -> dict[str, TableProgress]:
        unfinished = await self.target.progress()
        if unfinished is not None:
            source, progress = unfinished
            if source != self.name:
                raise UnusableStore(f"the target is an unfinished copy of another store ({source}): finish that, or name an empty target")
            return progress
        for table in tables:
            if table.name not in self.rules.replaced and await self.target.count(table):
                raise UnusableStore(f"the target is not empty, its table {table.name} has rows: name a new file or an empty database")
        await self.target.begin(self.name, tables, sorted(self.rules.replaced))
        return {}

    async def _copy(self, table: StoredTable, done: TableProgress) -> None:
        if done.done:
            return
        total = await self.source.count(table)
        async for batch in batches(self.source.rows(table, done.last_key)):
            done = await self._write(table, [self._encrypted_again(table, row) for row in batch], done)
            self.report("copy", table.name, done.copied, total)
        await self._write(table, [], done, last=True)

    async def _write(self, table: StoredTable, rows: Sequence[Row], before: TableProgress, *, last: bool = False) -> TableProgress:
        last_key = table.key_of(rows[-1]) if rows else before.last_key
        after = TableProgress(before.copied + len(rows), last_key, last)
        await self.target.write(table, rows, before, after)
        return after

    def _encrypted_again(self, table: StoredTable, row: Row) -> Row:
        encrypted, columns = encrypted_table(table.name), tuple(table.columns.items())
        if encrypted is None:
            return row
        try:
            return encrypt_values(self.target_cipher, encrypted, columns, decrypt_row(self.source_cipher, encrypted, columns, row))
        except Invalid as error:
            raise UnusableStore(f"the source has secrets, and they {NO_ENCRYPTION_KEY}") from error

    async def _compare(self, table: StoredTable) -> CopiedTable:
        """Return the number of rows. Raises `UnusableStore` when the two stores do not have the same rows."""
        total = await self.source.count(table)
        checksum = await self._checksum("compare", self.target, self.target_cipher, table, total)
        wanted = await self._checksum("compare", self.source, self.source_cipher, table, total)
        if checksum != wanted:
            raise UnusableStore(
                f"the copy differs from its source in the table {table.name}: {checksum[0]} rows, and {wanted[0]} in the source. "
                "A server has changed the source: stop it, remove the target, and copy again"
            )
        return CopiedTable(table.name, wanted[0])

    async def _checksum(self, step: str, store: TableReader, cipher: Cipher, table: StoredTable, total: int) -> tuple[int, int]:
        """Return the number of rows and a checksum that does not depend on their order, of the decrypted values."""
        encrypted = encrypted_table(table.name)
        columns = tuple(table.columns.items())
        decrypted = None if encrypted is None else partial(decrypt_row, cipher, encrypted, columns)
        return await checksum(store.rows(table, None), lambda count: self.report(step, table.name, count, total), decrypted)


async def batches(rows: AsyncIterator[Row]) -> AsyncIterator[list[Row]]:
    """Yield rows in batches of up to `ROWS_PER_BATCH`, or of somewhat more than `BYTES_PER_BATCH`."""
    batch: list[Row] = []
    size = 0
    async for row in rows:
        batch.append(row)
        size += sum(len(value) for value in row if isinstance(value, (str, bytes)))
        if len(batch) >= ROWS_PER_BATCH or size >= BYTES_PER_BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def checksum(
    rows: AsyncIterator[Row], report: Callable[[int], None], decrypted: Callable[[Row], Row] | None = None
) -> tuple[int, int]:
    """Return the number of rows and a checksum that does not depend on their order; `report` gets the number so far."""
    count = total = 0
    async for row in rows:
        values = row if decrypted is None else decrypted(row)
        total += int.from_bytes(blake2b(repr(values).encode("utf-8", "surrogatepass"), digest_size=_CHECKSUM_BITS // 8).digest())
        count += 1
        if count % ROWS_PER_BATCH == 0:
            report(count)
    return count, total % (1 << _CHECKSUM_BITS)


def key_to_text(key: tuple[Any, ...] | None) -> str:
    """Return a primary key as JSON, with bytes as `{"hex": ...}`; `null` for None."""
    return json.dumps(key if key is None else [{"hex": part.hex()} if isinstance(part, bytes) else part for part in key])


def key_from_text(text: str) -> tuple[Any, ...] | None:
    """Return the primary key that `key_to_text` has written."""
    parts = json.loads(text)
    return parts if parts is None else tuple(bytes.fromhex(part["hex"]) if isinstance(part, dict) else part for part in parts)


def unreadable_text(table: StoredTable, why: str) -> UnusableStore:
    """Return the error for a row that the other store cannot have."""
    return UnusableStore(f"a text in the source's table {table.name} {why}: fix it with SQL, or restore a backup, then repeat the command")


def in_progress_elsewhere() -> UnusableStore:
    """Return the error for a target that another process fills at the same time."""
    return UnusableStore("another `touchbase copy` fills this target: wait for it, or stop it and run this one again")
