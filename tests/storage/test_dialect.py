"""Texts that are rewritten for an engine."""

from __future__ import annotations

import pytest

from touchbase.sql.dialect import by_row, for_sqlite, schema_sql
from touchbase.storage.postgres import connection

KEY = (("client", "bigint"), ("id", "bigint"))


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("DELETE FROM link t USING p WHERE t.client = p.client AND t.id = p.id", "DELETE FROM link AS t WHERE t.client = ?1 AND t.id = ?2"),
        (
            "UPDATE job t SET id = p.id FROM p WHERE t.client = p.client RETURNING t.id, t.state",
            "UPDATE job AS t SET id = ?2 WHERE t.client = ?1 RETURNING id, state",
        ),
        ("SELECT t.next FROM p JOIN id_block t ON t.name = p.id", "SELECT t.next FROM id_block t WHERE t.name = ?2"),
    ],
)
def test_by_row__gives_sqlite_numbered_parameters_in_place_of_p(body: str, text: str) -> None:
    assert by_row(KEY, body) == text


def test_for_sqlite__drops_the_table_in_returning() -> None:
    assert (
        for_sqlite(KEY, "UPDATE job AS t SET id = p.id FROM p WHERE t.client = p.client RETURNING t.id", 2)
        == "WITH p(client, id) AS (VALUES (?1, ?2), (?3, ?4)) UPDATE job AS t SET id = p.id FROM p WHERE t.client = p.client RETURNING id"
    )


SCHEMA = """CREATE TABLE seat (
  client INTEGER NOT NULL PRIMARY KEY,
  name TEXT COLLATE "C"
) STRICT, WITHOUT ROWID;
--:sqlite
ANALYZE sqlite_schema;
--:postgres
ALTER TABLE seat SET (fillfactor = 50);
--:both
CREATE TABLE door (
  name TEXT NOT NULL PRIMARY KEY
) STRICT;"""


def test_schema_sql__renders_types_and_sections_for_sqlite() -> None:
    assert schema_sql(SCHEMA, "sqlite").splitlines() == [
        "CREATE TABLE seat (", "  client INTEGER NOT NULL PRIMARY KEY,", "  name TEXT", ") STRICT, WITHOUT ROWID;",
        "ANALYZE sqlite_schema;", "CREATE TABLE door (", "  name TEXT NOT NULL PRIMARY KEY", ") STRICT;",
    ]  # fmt: skip


def test_schema_sql__protects_the_tables_of_clients_on_postgresql() -> None:
    lines = schema_sql(SCHEMA, "postgres").splitlines()

    assert lines[:8] == [
        "CREATE TABLE seat (", "  client bigint NOT NULL PRIMARY KEY,", '  name TEXT COLLATE "C"', ");",
        "ALTER TABLE seat SET (fillfactor = 50);", "CREATE TABLE door (", "  name TEXT NOT NULL PRIMARY KEY", ");",
    ]  # fmt: skip
    assert [line.partition(" USING")[0] for line in lines[8:]] == [
        "ALTER TABLE seat ENABLE ROW LEVEL SECURITY;", "ALTER TABLE seat FORCE ROW LEVEL SECURITY;", "CREATE POLICY of_client ON seat",
    ]  # fmt: skip


def test_numbered__stores_a_bounded_number_of_short_texts() -> None:
    """Searches have texts of their own, however many and long."""
    cached = connection._short_numbered.cache_info
    before = cached()
    texts = [f"SELECT {number} WHERE id = ? OR id IN ({', '.join('?' * 2_000)})" for number in range(3)]

    numbered = [connection._numbered(text) for text in texts]

    assert numbered[2].startswith("SELECT 2 WHERE id = $1 OR id IN ($2, $3")
    assert (cached().misses, cached().maxsize) == (before.misses, 1_000)
