"""Vacuum: free the space of removed rows now."""

from __future__ import annotations

from touchbase.storage.postgres.connection import connect

_TABLES = "SELECT quote_ident(tablename) AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"


async def vacuum(url: str) -> None:
    """Vacuum every table, without a timeout."""
    connection = await connect(url)
    try:
        await connection.execute("SET statement_timeout = 0")
        names = [row["name"] for row in await connection.fetch(_TABLES)]
        await connection.execute(f"VACUUM {', '.join(names)}")
    finally:
        await connection.close()
