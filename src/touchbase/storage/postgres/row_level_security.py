"""The wall on PostgreSQL: how a transaction is limited to the rows of its scope, and whether the server heeds that at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from touchbase.storage.rls_scope import Scope

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

SETTING = "touchbase.clients"
"""What the policies read (migration 0001_initial)."""

_OPEN = (
    "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = current_schema()::regnamespace "
    "AND c.relkind IN ('r', 'p') AND a.attname = CASE c.relname WHEN 'client' THEN 'id' ELSE 'client' END AND NOT a.attisdropped "
    "AND NOT row_security_active(c.oid) ORDER BY c.relname"
)
_MIGHTY = "SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"


def begin(scope: Scope, *modes: str) -> str:
    """Begins a transaction that sees and writes the rows of this scope only: one round trip, as without a scope."""
    return f"{' '.join(('BEGIN', *modes))}; SET LOCAL {SETTING} = '{scope}'"


def limit(scope: Scope) -> str:
    """Limits what the session does outside of such transactions."""
    return f"SET {SETTING} = '{scope}'"


async def rls_problems(connection: Connection) -> list[str]:
    """What an operator should know about the wall: a sentence for each reason why rows are not behind it."""
    mighty = await connection.fetchval(_MIGHTY)
    if mighty is not None:
        return [
            f"row-level security does not hold: the database role {mighty} is a superuser or has BYPASSRLS. Every statement still names "
            "its client, but nothing stands behind that; serve as an ordinary role that owns the tables (docs/how-to/run-on-postgresql.md)"
        ]
    tables = [str(row["relname"]) for row in await connection.fetch(_OPEN)]
    if not tables:
        return []
    return [
        f"row-level security is switched off for {', '.join(tables)}: let the tables' owner run "
        "ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY on each (docs/how-to/run-on-postgresql.md)"
    ]
