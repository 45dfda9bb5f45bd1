"""Connection poolers between Touchbase and the server: session mode works, other modes are refused at start.

In transaction mode (PgBouncer) each transaction may run in another server session. The session's row-level security scope and
its prepared statements would then be those of another connection.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING

import asyncpg

from touchbase.errors import UnusableStore

if TYPE_CHECKING:
    from touchbase.storage.postgres.row_level_security import Connection

ROUNDS = 3
"""Connections that try to get the first one's session: another client of the pooler may have it at that moment."""
_SESSION = "SELECT pg_backend_pid()"
_ADVICE = (
    "the pooler at this address gives each transaction another session (PgBouncer's transaction or statement mode), and Touchbase needs "
    "a separate session for each connection: set pool_mode = session for this database, or connect to PostgreSQL directly"
)


_FOREIGN_SESSION = (
    asyncpg.InvalidSQLStatementNameError, asyncpg.DuplicatePreparedStatementError, asyncpg.ProtocolViolationError
)  # fmt: skip
"""Errors of a connection whose prepared statement is in another session."""
_NO_TRANSACTIONS = "statement pooling mode"
"""PgBouncer's reason when it closes a connection that began a transaction in statement mode."""


async def refuse_shared_sessions(connection: Connection, another: Callable[[], Awaitable[Connection]]) -> None:
    """Raise `UnusableStore` if this connection's server session can become another connection's.

    A second connection begins a transaction. If it gets the session of the first, or the first one moves,
    sessions are shared. `another` opens one more connection.
    """
    try:
        if await _shares(connection, another):
            raise UnusableStore(_ADVICE)
    except _FOREIGN_SESSION as error:
        raise UnusableStore(_ADVICE) from error
    except asyncpg.ConnectionDoesNotExistError as error:
        if _NO_TRANSACTIONS not in str(error):
            raise
        raise UnusableStore(_ADVICE) from error


async def _shares(connection: Connection, another: Callable[[], Awaitable[Connection]]) -> bool:
    session = await connection.fetchval(_SESSION)
    async with AsyncExitStack() as opened:
        for _ in range(ROUNDS):
            second = await another()
            opened.push_async_callback(second.close)
            await second.execute("BEGIN")
            if session == await second.fetchval(_SESSION) or session != await connection.fetchval(_SESSION):
                return True
    return False
