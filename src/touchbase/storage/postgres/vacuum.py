"""Vacuum: free the space of removed rows now.

The server rewrites the pages of the tables that have such rows. Their bytes may stay in the unused part of a page until other rows take
it, and in PostgreSQL's own log until its files are reused; no statement can read them.
"""

from __future__ import annotations

from collections.abc import Sequence

from touchbase.storage.postgres.connection import connect

_TABLES = "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"


async def vacuum(url: str, tables: Sequence[str] = ()) -> None:
    """Vacuum these tables, or every table, without a timeout."""
    connection = await connect(url)
    try:
        await connection.execute("SET statement_timeout = 0")
        names = tables or [row["name"] for row in await connection.fetch(_TABLES)]
        await connection.execute(f"VACUUM {', '.join(names)}")
    finally:
        await connection.close()
