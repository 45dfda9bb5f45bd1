"""Statistics of the planner: renew them for tables that grow fast, before the server does it by itself once a minute.

A connection plans a statement once and uses the plan until the table has new statistics. A plan made for an empty table reads the whole
table: each batch of a first import or campaign would read all rows stored before it.
"""

from __future__ import annotations

from touchbase.storage.postgres.row_level_security import Connection

FEWEST_ROWS = 500
"""Rows up to which a table is read whole at no cost."""
MOST_ROWS = 1_000_000
"""Rows from which on the server's own ANALYZE comes early enough, and another one would take seconds."""
_DOUBLED = """
SELECT quote_ident(c.relname) AS name FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
WHERE s.schemaname = current_schema() AND s.n_live_tup BETWEEN $1 AND $2 AND s.n_live_tup >= 2 * c.reltuples
  AND pg_has_role(c.relowner, 'USAGE') ORDER BY c.relname
"""


async def analyze_grown(connection: Connection) -> list[str]:
    """Analyze the tables that have doubled since they were analyzed last; return their names, as SQL quotes them."""
    names: list[str] = [row["name"] for row in await connection.fetch(_DOUBLED, FEWEST_ROWS, MOST_ROWS)]
    if names:
        # Another process may be at it.
        await connection.execute(f"ANALYZE (SKIP_LOCKED) {', '.join(names)}")
    return names
