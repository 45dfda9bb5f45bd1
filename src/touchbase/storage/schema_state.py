"""The state of a store's schema, read without changing it, and the clock of its server."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass

import apsw
import asyncpg

from touchbase.common.timestamps import Micros
from touchbase.errors import UnusableStore
from touchbase.sql.migrations import packaged, pending
from touchbase.storage.postgres.connection import UNUSABLE, connect
from touchbase.storage.postgres.schema import applied
from touchbase.storage.sqlite.connection import advice, open_reader, path_of
from touchbase.storage.sqlite.schema import pending_migrations


@dataclass(frozen=True, slots=True)
class SchemaState:
    """The pending migrations of a store, and its server's time."""

    pending: tuple[str, ...]
    """Names of the migrations that have not run."""
    clock_us: Micros | None
    """The database server's time; None for SQLite, which has no server."""


async def schema_state(url: str) -> SchemaState:
    """Read the state. Raises `UnusableStore` for a store that cannot be reached, or that is newer than this program."""
    path = path_of(url) if url.startswith("sqlite:") else None
    if path is not None:
        try:
            with closing(open_reader(path)) as connection:
                return SchemaState(
                    tuple(pending_migration.name for pending_migration in pending_migrations(connection.cursor(), packaged("sqlite"))), None
                )
        except apsw.Error as error:
            raise UnusableStore(f"cannot use {path}: {advice(error)}") from error
    if url.startswith("sqlite:"):
        return SchemaState((), None)
    try:
        server = await connect(url)
        try:
            waiting = pending(packaged("postgres"), await applied(server))
            clock = await server.fetchval("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            return SchemaState(tuple(migration.name for migration in waiting), int(clock))
        finally:
            await server.close()
    except (ValueError, asyncpg.PostgresError, *UNUSABLE) as error:
        raise UnusableStore(
            f"cannot use PostgreSQL: {error or type(error).__name__}; check the address, and that the server runs"
        ) from error
