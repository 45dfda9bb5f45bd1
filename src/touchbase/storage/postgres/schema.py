"""Bringing a PostgreSQL database's schema up to date."""

from __future__ import annotations

from collections.abc import Sequence

import asyncpg

from touchbase.sql.migrations import APPLIED, RECORD, TABLE, Migration, pending, refuse_foreign
from touchbase.storage.postgres.connection import roll_back
from touchbase.storage.postgres.row_level_security import Connection, begin
from touchbase.storage.rls_scope import EVERYBODY

# In one statement, as another process may make our tables at this moment. Tables of extensions do not count.
_FOREIGN = """SELECT relname FROM pg_class c WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))
AND relkind IN ('r', 'p') AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
AND to_regclass('migration') IS NULL ORDER BY relname"""


async def applied(connection: Connection) -> dict[str, str]:
    """Name and digest of every migration that ran here; none in an empty database."""
    if await connection.fetchval("SELECT to_regclass('migration')") is None:
        return {}
    return {row["name"]: row["digest"] for row in await connection.fetch(APPLIED)}


async def migrate(connection: Connection, migrations: Sequence[Migration]) -> list[str]:
    """Run what is pending, each in a transaction (in an empty database all in one); answers the names.

    Safe beside another process doing the same.
    """
    ran: list[str] = []
    if pending(migrations, await applied(connection)):
        refuse_foreign([row["relname"] for row in await connection.fetch(_FOREIGN)])
        await _create_table(connection)
    while pending(migrations, await applied(connection)):
        await connection.execute(begin(EVERYBODY))
        try:
            await connection.execute("SET LOCAL statement_timeout = 0; LOCK TABLE migration IN ACCESS EXCLUSIVE MODE")
            known = await applied(connection)  # asked again: another may have been faster
            # An empty database gets everything at once: who starts beside us must never see it half made.
            for migration in pending(migrations, known)[: 1 if known else None]:
                await connection.execute(migration.sql)
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
        # Another process made it at the same moment: IF NOT EXISTS is no promise against that.
        await connection.execute(TABLE)
