"""Row-level security: limit a transaction to the rows of its scope, and check that the server enforces it."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from touchbase.sql.dialect import CLIENTS_SETTING
from touchbase.sql.scope import Scope

if TYPE_CHECKING:
    import asyncpg
    from asyncpg.pool import PoolConnectionProxy

Connection: TypeAlias = "asyncpg.Connection[asyncpg.Record] | PoolConnectionProxy[asyncpg.Record]"

_UNPROTECTED = (
    "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid WHERE c.relnamespace = current_schema()::regnamespace "
    "AND c.relkind IN ('r', 'p') AND a.attname = CASE c.relname WHEN 'client' THEN 'id' ELSE 'client' END AND NOT a.attisdropped "
    "AND NOT row_security_active(c.oid) ORDER BY c.relname"
)
_EXEMPT_ROLE = "SELECT rolname FROM pg_roles WHERE rolname = current_user AND (rolsuper OR rolbypassrls)"


def begin(scope: Scope, *modes: str) -> str:
    """Return the SQL that begins a transaction limited to the rows of this scope, in one round trip."""
    return f"{' '.join(('BEGIN', *modes))}; SET LOCAL {CLIENTS_SETTING} = '{scope}'"


def set_scope(scope: Scope) -> str:
    """Return the SQL that limits the session's statements outside of such transactions."""
    return f"SET {CLIENTS_SETTING} = '{scope}'"


async def rls_problems(connection: Connection) -> list[str]:
    """Return why row-level security is not enforced, a sentence for each reason."""
    exempt = await connection.fetchval(_EXEMPT_ROLE)
    if exempt is not None:
        return [
            f"row-level security is not enforced: the database role {exempt} is a superuser or has BYPASSRLS. Every statement still has a "
            "condition on its client; for the second safeguard use an ordinary role that owns the tables (docs/how-to/run-on-postgresql.md)"
        ]
    tables = [str(row["relname"]) for row in await connection.fetch(_UNPROTECTED)]
    if not tables:
        return []
    return [
        f"row-level security is switched off for {', '.join(tables)}: let the tables' owner run "
        "ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY on each (docs/how-to/run-on-postgresql.md)"
    ]
