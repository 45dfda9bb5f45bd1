"""Lists of conversations read few rows, whatever strangers have sent: very many replies at one time, and very many of one contact."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import asyncpg
import pytest
from tests.messages.test_list_plans import scans

from touchbase.conversations.plans import Conversation, list_conversations, list_done_conversations
from touchbase.encryption.cipher import NO_CIPHER
from touchbase.sql.migrations import packaged
from touchbase.sql.operation import Query, plan_of_query
from touchbase.sql.statement import Select, for_postgres
from touchbase.storage.sqlite.connection import open_writer, read
from touchbase.storage.sqlite.schema import migrate

MANY, LIMIT, WRITER = 1_000, 50, 5_000
_NUMBERS = f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY})"
_EVENT = "(client, record_kind, record_id, occurred_us, key, event, effect, tool, channel, received_us, via, detail, delivery_id)"
_MESSAGE = "(client, id, direction, channel, occurred_us, event_key, received_us, tool, custom, updated_us, has_body, deleted, handled_us)"
FILL = f"""
INSERT INTO client (id, client_id, created_us, settings) VALUES (1, 'acme', 1, '{{}}');
{_NUMBERS} INSERT INTO contact (client, id, created_us, updated_us, email_key, from_api)
  SELECT 1, i, i, i, 'p' || i || '@example.com', 1 FROM n UNION ALL SELECT 1, {WRITER}, 1, 1, 'writer@example.com', 1;
{_NUMBERS} INSERT INTO event {_EVENT}
  SELECT 1, 1, i, 7, 'open' || i, 'email_replied', 'reply', 'camp', 'email_campaign', 7, 1, '{{}}', 1 FROM n
  UNION ALL SELECT 1, 1, {WRITER}, i, 'done' || i, 'email_replied', 'reply', 'camp', 'email_campaign', i, 1, '{{}}', 1 FROM n;
{_NUMBERS} INSERT INTO message {_MESSAGE}
  SELECT 1, i, 'received', 'email', 7, 'open' || i, 7, 'camp', '{{}}', 7, 1, 0, NULL FROM n
  UNION ALL SELECT 1, {MANY} + i, 'received', 'email', i, 'done' || i, i, 'camp', '{{}}', i, 1, 0, 9 FROM n;
"""
"""An open reply of each of many contacts, all at one time, and many handled ones of one contact."""
LISTS: list[tuple[Query[list[Conversation]], int]] = [
    (list_conversations([1], "open", 8, LIMIT), LIMIT),
    (list_done_conversations([1], LIMIT), 1),
]


async def rows_read(postgres: asyncpg.Connection[Any], query: Query[list[Conversation]]) -> tuple[int, int]:
    """The conversations of a page, and the rows that all steps of its plans look at."""
    plan, number, looked_at = plan_of_query(query, NO_CIPHER), itertools.count(1), 0
    step = next(plan)
    while True:
        if isinstance(step, Select):
            text, params = re.sub(r"\?", lambda _: f"${next(number)}", step.postgres or step.sql), [*step.params]
        else:
            text = for_postgres(step.statement)  # type: ignore[union-attr]
            params = [f"{{{','.join(map(str, column))}}}" for column in zip(*step.rows, strict=True)]  # type: ignore[union-attr]
        nodes = await scans(postgres, text, *params)
        looked_at += sum((node["Actual Rows"] + node.get("Rows Removed by Filter", 0)) * node["Actual Loops"] for node in nodes)
        try:
            step = plan.send([tuple(row) for row in await postgres.fetch(text, *params)])
        except StopIteration as stop:
            return len(stop.value), int(looked_at)


async def test_lists__read_few_rows_on_postgresql(postgres_url: str, subtests: pytest.Subtests) -> None:
    postgres = await asyncpg.connect(postgres_url)
    await postgres.execute(f"SET touchbase.clients = 'all'; {FILL}")
    for query, expected in LISTS:
        with subtests.test(repr(query)):
            count, looked_at = await rows_read(postgres, query)

            assert count == expected
            assert looked_at <= 100 * MANY
    await postgres.close()


def test_lists__take_few_steps_on_sqlite(tmp_path: Path, subtests: pytest.Subtests) -> None:
    connection = open_writer(str(tmp_path / "store.db"), durable=False)
    migrate(connection.cursor(), packaged("sqlite"))
    connection.execute(FILL)
    for query, expected in LISTS:
        with subtests.test(repr(query)):
            steps = itertools.count()
            connection.set_progress_handler(lambda steps=steps: next(steps) < 0, 1_000)

            conversations = read(connection.cursor(), plan_of_query(query, NO_CIPHER))

            assert len(conversations) == expected
            assert next(steps) <= MANY  # of a thousand instructions
    connection.close()
