"""The schema of a store as its engine describes it, to be compared."""

from __future__ import annotations

import re

import apsw
import asyncpg

Schema = dict[str, list[tuple[object, ...]]]

_TABLES = (
    "SELECT name, type, wr, strict FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite!_%' ESCAPE '!' ORDER BY name"
)
_POSTGRES = {
    "columns": "SELECT table_name, ordinal_position, column_name, data_type, collation_name, is_nullable, column_default, is_identity "
    "FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, 2",
    "views": "SELECT viewname, replace(definition, current_schema() || '.', '') FROM pg_views WHERE schemaname = current_schema() "
    "ORDER BY 1",
    "indexes": "SELECT indexname, replace(indexdef, current_schema() || '.', '') FROM pg_indexes "
    "WHERE schemaname = current_schema() ORDER BY 1",
    "constraints": "SELECT conrelid::regclass::text, conname, contype::text, pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE connamespace = current_schema()::regnamespace ORDER BY 1, 2",
    "policies": "SELECT tablename, policyname, permissive, roles::text, cmd, qual, with_check FROM pg_policies "
    "WHERE schemaname = current_schema() ORDER BY 1, 2",
    "options": "SELECT relname, relkind::text, relpersistence::text, relrowsecurity, relforcerowsecurity, reloptions::text FROM pg_class "
    "WHERE relnamespace = current_schema()::regnamespace ORDER BY 1",
    "others": "SELECT tgname FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE NOT tgisinternal "
    "AND c.relnamespace = current_schema()::regnamespace UNION ALL SELECT proname FROM pg_proc "
    "WHERE pronamespace = current_schema()::regnamespace",
}


def sqlite_schema(path: str) -> Schema:
    """Tables with their kind, columns and foreign keys, indexes with their conditions, and the planner's figures."""
    connection = apsw.Connection(path)
    schema: Schema = {"tables": connection.execute(_TABLES).fetchall()}
    for name, *_ in schema["tables"]:
        schema[f"columns of {name}"] = connection.execute(f"PRAGMA table_xinfo({name})").fetchall()
        schema[f"references of {name}"] = connection.execute(f"PRAGMA foreign_key_list({name})").fetchall()
        indexes = connection.execute(f"SELECT name, \"unique\", origin, partial FROM pragma_index_list('{name}') ORDER BY name").fetchall()
        schema[f"indexes of {name}"] = indexes
        schema |= {f"columns of {index}": connection.execute(f"PRAGMA index_xinfo({index})").fetchall() for index, *_ in indexes}
    texts = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type <> 'table' AND sql IS NOT NULL ORDER BY name")
    schema["texts"] = [(name, re.sub(r"\s+", " ", str(sql)).replace('"', "")) for name, sql in texts]
    if connection.execute("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").fetchall():
        schema["figures"] = connection.execute("SELECT tbl, idx, stat FROM sqlite_stat1 ORDER BY tbl, idx, stat").fetchall()
    connection.close()
    return schema


async def postgres_schema(url: str) -> Schema:
    """Columns in their order, views, indexes, constraints, policies, row-level security and storage parameters."""
    connection = await asyncpg.connect(url)
    result = {name: [tuple(row) for row in await connection.fetch(sql)] for name, sql in _POSTGRES.items()}
    await connection.close()
    return result
