"""Bring a PostgreSQL database's schema up to date."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import asyncpg

from touchbase.sql.migrations import APPLIED, RECORD, TABLE, Migration, pending, refuse_foreign
from touchbase.storage.postgres.citus import SESSION, is_citus, keep_on_one_node
from touchbase.storage.postgres.connection import roll_back
from touchbase.storage.postgres.row_level_security import Connection, begin
from touchbase.storage.rls_scope import ALL_CLIENTS

# One statement, as another process may create our tables at the same time. Tables of extensions do not count.
_FOREIGN = """SELECT relname FROM pg_class c WHERE relnamespace = to_regnamespace(quote_ident(current_schema()))
AND relkind IN ('r', 'p') AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
AND to_regclass('migration') IS NULL ORDER BY relname"""
_COMMENT = re.compile(r"--[^\n]*")
_TOKEN = re.compile(r"""--[^\n]*|'[^']*'|"[^"]*"|\$(\w*)\$.*?\$\1\$|;""", re.DOTALL)


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
            # One statement a message: Citus sends the whole message of a SET LOCAL to its workers, and a worker that also got the lock
            # would wait for this transaction for ever.
            await connection.execute("SET LOCAL statement_timeout = 0")
            await connection.execute("LOCK TABLE migration IN ACCESS EXCLUSIVE MODE")
            known = await applied(connection)  # read again: another process may have been faster
            # An empty database gets all migrations at once: a process that starts now must not see an incomplete schema.
            for migration in pending(migrations, known)[: 1 if known else None]:
                for statement in statements(migration.sql):
                    await connection.execute(statement)
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


async def make_schema(connection: Connection, name: str) -> Mapping[str, str]:
    """Create a schema if there is none of this name; on Citus let it live on one node, which Citus may change.

    Return the settings that sessions of a store in it need.
    """
    await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
    if not await is_citus(connection):
        return {}
    await keep_on_one_node(connection, name)
    return SESSION


def statements(sql: str) -> list[str]:
    """Return the statements of a migration, one by one: Citus takes none behind another that changes a table in the same message."""
    found, begun = [], 0
    for token in _TOKEN.finditer(sql):
        if token[0] == ";":
            found.append(sql[begun : token.end()])
            begun = token.end()
    found.append(sql[begun:])
    return [each.strip() for each in found if _COMMENT.sub("", each).strip(" \n;")]
