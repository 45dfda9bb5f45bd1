"""Bring a PostgreSQL database's schema up to date."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from touchbase.sql.migrations import APPLIED, RECORD, TABLE, Migration, pending, refuse_foreign, refused_by
from touchbase.sql.scope import ALL_CLIENTS
from touchbase.storage.postgres.connection import roll_back
from touchbase.storage.postgres.row_level_security import Connection, begin

# One statement, as another process may create our tables at the same time. Tables of extensions do not count.
_FOREIGN = """SELECT relname FROM pg_class c WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))
AND relkind IN ('r', 'p') AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
AND to_regclass('migration') IS NULL ORDER BY relname"""


async def applied(connection: Connection) -> dict[str, str]:
    """Return name and digest of every migration that ran here; none in an empty database."""
    if await connection.fetchval("SELECT to_regclass('migration')") is None:
        return {}
    return {row["name"]: row["digest"] for row in await connection.fetch(APPLIED)}


async def migrate(connection: Connection, migrations: Sequence[Migration]) -> list[str]:
    """Run pending migrations, each in a transaction (in an empty database all in one); return their names.

    Safe while another process does the same.
    """
    ran: list[str] = []
    if pending(migrations, await applied(connection)):
        refuse_foreign([row["relname"] for row in await connection.fetch(_FOREIGN)])
        await _create_table(connection)
    while pending(migrations, await applied(connection)):
        await connection.execute(begin(ALL_CLIENTS))
        try:
            await connection.execute("SET LOCAL statement_timeout = 0; LOCK TABLE migration IN ACCESS EXCLUSIVE MODE")
            versions = await applied(connection)  # read again: another process may have been faster
            # An empty database gets all migrations at once: a process that starts now must not see an incomplete schema.
            for migration in pending(migrations, versions)[: 1 if versions else None]:
                try:
                    await connection.execute(migration.sql)
                except asyncpg.CheckViolationError as error:
                    raise refused_by(migration, error.constraint_name or "") from error
                await connection.execute(RECORD.format("$1", "$2"), migration.name, migration.digest)
                ran.append(migration.name)
            await connection.execute("COMMIT")
        except BaseException:
            await roll_back(connection)
            raise
    return ran


async def _create_table(connection: Connection) -> None:
    try:
        await connection.execute(TABLE)
    except (asyncpg.UniqueViolationError, asyncpg.DuplicateTableError, asyncpg.DuplicateObjectError):
        # Another process created it at the same time: IF NOT EXISTS does not prevent that.
        await connection.execute(TABLE)
