"""Queries of messages read about as many rows as they return, whatever the client has: by id, from the newest on, or from the contact."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import asyncpg
import pytest

from touchbase.encryption.cipher import NO_CIPHER
from touchbase.messages.sql.plans import COPIES_BY_ID, NEW_MESSAGES, list_messages
from touchbase.sql.migrations import packaged
from touchbase.sql.operation import plan_of_query
from touchbase.sql.statement import Select, for_postgres
from touchbase.storage.sqlite.connection import open_writer
from touchbase.storage.sqlite.schema import migrate

MANY, CONTACTS, LIMIT = 5_000, 500, 50
FILL = f"""
SET touchbase.clients = 'all';
INSERT INTO client (id, client_id, created_us, settings) VALUES (1, 'acme', 1, '{{}}');
INSERT INTO contact (client, id, created_us, updated_us, email_key, from_api)
  SELECT 1, n, n, n, 'p' || n || '@example.com', 1 FROM generate_series(1, {CONTACTS}) n;
INSERT INTO event (client, record_kind, record_id, occurred_us, key, event, effect, tool, channel, received_us, via, detail)
  SELECT 1, 1, 1 + n * 7919 % {CONTACTS}, n, 'k' || n, 'message.sent', '', 'api', 'api', n, 0, '{{}}' FROM generate_series(1, {MANY}) n;
INSERT INTO message
  (client, id, direction, channel, occurred_us, event_key, received_us, tool, subject, custom, updated_us, has_body, deleted)
  SELECT 1, n, 'sent', 'email', n, 'k' || n, n, 'api', 'Subject ' || n % 5, '{{}}', n, 1, 0 FROM generate_series(1, {MANY}) n;
ANALYZE contact, event, message;
"""
REPLIES = """
SET touchbase.clients = 'all';
INSERT INTO message
  (client, id, direction, channel, occurred_us, event_key, received_us, tool, custom, updated_us, has_body, deleted, copy_key)
  SELECT 1, n, 'received', 'email', n, 'k' || n, n, 'api', '{}', n, 1, 0, 'copy' || n / 2 FROM generate_series(10001, 11000) n;
INSERT INTO event (client, record_kind, record_id, occurred_us, key, event, effect, tool, channel, received_us, via, detail)
  SELECT 1, 1, 1 + n / 2 % 100, n, 'k' || n, 'message.received', '', 'api', 'api', n, 0, '{}' FROM generate_series(10001, 11000) n;
"""
"""Two copies of each message, which came since PostgreSQL looked at the tables last."""
IN_ORDER = [
    list_messages(1, LIMIT), list_messages(1, LIMIT, after=(4_000, 4_000)), list_messages(1, LIMIT, subject="Subject 2"),
    list_messages(1, LIMIT, direction="sent", channel="email", tool="api", since_us=5),
]  # fmt: skip
OF_CONTACT = [
    list_messages(1, LIMIT, contact_key="p7@example.com"), list_messages(1, LIMIT, contact_id=7),
    list_messages(1, LIMIT, contact_key="p7@example.com", channel="email", subject="Subject 2"),
]  # fmt: skip


@pytest.fixture
async def postgres(postgres_url: str) -> AsyncIterator[asyncpg.Connection[Any]]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(FILL)
    yield connection
    await connection.close()


def select_of(query: list_messages) -> Select:
    result = next(plan_of_query(query, NO_CIPHER))
    assert isinstance(result, Select)
    return result


async def rows_read(postgres: asyncpg.Connection[Any], query: list_messages) -> int:
    """The rows that all steps of the plan of a page return."""
    number = itertools.count(1)
    first = select_of(query)
    text = re.sub(r"\?", lambda _: f"${next(number)}", first.postgres or first.sql)
    return sum(int(node["Actual Rows"] * node["Actual Loops"]) for node in await scans(postgres, text, *first.params))


async def scans(postgres: asyncpg.Connection[Any], text: str, *params: Any) -> list[dict[str, Any]]:
    """The steps of a plan that read a table, after they have run."""
    [plan] = json.loads(await postgres.fetchval(f"EXPLAIN (ANALYZE, FORMAT JSON) {text}", *params))
    waiting, result = [plan["Plan"]], []
    while waiting:
        node = waiting.pop()
        waiting += node.get("Plans", ())
        result += [node] if "Relation Name" in node else []
    return result


async def test_page__reads_few_rows_on_postgresql(postgres: asyncpg.Connection[Any], subtests: pytest.Subtests) -> None:
    for query in IN_ORDER:
        with subtests.test(repr(query)):
            # A message, its event and its contact. Rows that a filter leaves out are not counted.
            assert await rows_read(postgres, query) <= 3 * LIMIT
    for query in OF_CONTACT:
        with subtests.test(repr(query)):
            # Besides, the owners of the address.
            assert await rows_read(postgres, query) <= 3 * MANY // CONTACTS + 2


async def test_messages__are_found_by_their_ids_in_tables_that_grew(postgres: asyncpg.Connection[Any], subtests: pytest.Subtests) -> None:
    await postgres.execute(f"TRUNCATE event, message; ANALYZE event, message; {REPLIES}")
    ids = [*range(10_102, 10_132)]
    earlier = [number for number in ids if number % 2 == 0]
    for statement, expected in ((NEW_MESSAGES, earlier), (COPIES_BY_ID, ids)):
        with subtests.test(statement.name):
            text, params = for_postgres(statement), [f"{{{','.join(map(str, column))}}}" for column in ([1] * len(ids), ids)]

            result = await postgres.fetch(text, *params)
            read = await scans(postgres, text, *params)

            assert sorted(row["id"] for row in result) == expected
            assert sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in read) <= 8 * len(
                ids
            )


async def test_page__of_one_contact_who_wrote_everything_reads_no_message_twice(postgres: asyncpg.Connection[Any]) -> None:
    of_one = REPLIES.replace("1 + n / 2 % 100", "1").replace("'copy' || n / 2", "'copy' || n")
    await postgres.execute(f"TRUNCATE event, message; ANALYZE event, message; {of_one}")

    for query in (IN_ORDER[0], list_messages(1, LIMIT, contact_id=1)):
        assert await rows_read(postgres, query) <= 5_000  # a thousand messages, and the first 50 of them with their copies


def test_page__starts_at_its_first_message_or_at_the_contact_on_sqlite(tmp_path: Path, subtests: pytest.Subtests) -> None:
    path = str(tmp_path / "store.db")
    connection = open_writer(path, durable=False)
    migrate(connection.cursor(), packaged("sqlite"))
    connection.close()
    store = open_writer(path, durable=False).cursor()  # with the figures that the store holds
    for query in [*IN_ORDER, *OF_CONTACT]:
        with subtests.test(repr(query)):
            plan = steps(store, select_of(query))
            is_sorted = any("TEMP B-TREE" in step for step in plan)

            assert [step for step in plan if step.startswith("SCAN")] == []
            assert is_sorted == (query in OF_CONTACT)
            first = "SEARCH m USING INDEX message_time (" if query in IN_ORDER else "SEARCH c USING "
            assert plan[0].startswith(first)


def steps(store: apsw.Cursor, select: Select) -> list[str]:
    return [row[3] for row in store.execute(f"EXPLAIN QUERY PLAN {select.sql}", select.params).fetchall()]
