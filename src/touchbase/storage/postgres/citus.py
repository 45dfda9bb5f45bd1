"""Citus: a store in a schema that lives on one node, as found on a cluster of three (docs/how-to/spread-clients-over-cells.md).

What differs is the session: the coordinator hands on to the node only what a transaction sets with `SET LOCAL`, and with it the whole
message. So each scope is that of a transaction, and such a message has nothing else that must run once. Of 122 statements 116 ran
unchanged there. An insert of parameters into a table with row-level security needs ON CONFLICT: without it Citus uses COPY, which
PostgreSQL refuses there. On PostgreSQL it would cost such an insert a fifth more.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from touchbase.storage.postgres.row_level_security import Connection

SESSION: Mapping[str, str] = {"citus.propagate_set_commands": "local", "citus.override_table_visibility": "off"}
"""Settings that the address of such a store has. Without the first no scope reaches the node, and every table looks empty; without the
second the first array that a new connection sends takes seconds, since the driver's look at the types is slow."""
_INSTALLED = "SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus')"
_DISTRIBUTED = "SELECT EXISTS (SELECT FROM citus_schemas WHERE schema_name::text = quote_ident($1))"


_NEW = re.compile(r" /\* new: ([a-z_, ]+) \*/")


class Noticed:
    """Whether this process has a store on Citus."""

    is_used = False


def for_citus(sql: str) -> str:
    """Return a statement as Citus takes it. A key that is not new is an error all the same: its column cannot be NULL."""
    return _NEW.sub(lambda found: f" ON CONFLICT ({found[1]}) DO UPDATE SET {found[1].rpartition(', ')[2]} = NULL", sql)


async def is_citus(connection: Connection) -> bool:
    """Return whether the database has Citus."""
    return bool(await connection.fetchval(_INSTALLED))


async def keep_on_one_node(connection: Connection, schema: str) -> None:
    """Let Citus keep an empty schema, and the tables that are made in it later, on a node of its choice."""
    if not await connection.fetchval(_DISTRIBUTED, schema):
        await connection.execute(f"SELECT citus_schema_distribute('\"{schema}\"')")
