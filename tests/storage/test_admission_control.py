"""The queue of writes on PostgreSQL is bounded by the time that it takes, not by its length alone."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from touchbase.clients.sql.clients import ensure_client
from touchbase.errors import Overloaded
from touchbase.records.models import Company
from touchbase.records.operations import create_company
from touchbase.records.writes import Creation
from touchbase.sql.operation import MAX_COMMANDS
from touchbase.storage.postgres import writer as admission_control
from touchbase.storage.postgres.engine import WRITERS
from touchbase.storage.postgres.writer import AdmissionControl
from touchbase.stores import open_store


def test_expected_wait__grows_with_the_groups_ahead() -> None:
    running = AdmissionControl(2)
    for _ in range(100):
        running.started(0.0)
        running.ended(0.0, 0.5)
    idle = running.expected_wait(6 * MAX_COMMANDS, 10.0)
    for _ in range(2):
        running.started(10.0)

    waits = [running.expected_wait(depth, 10.0) for depth in (0, 2 * MAX_COMMANDS - 1, 2 * MAX_COMMANDS, 6 * MAX_COMMANDS)]

    assert idle == 0
    assert waits == pytest.approx([0.5, 0.5, 1.0, 2.0])


def test_expected_wait__grows_with_time_while_no_group_ends() -> None:
    stalled = AdmissionControl(1)
    stalled.started(10.0)

    assert [stalled.expected_wait(0, at) for at in (10.0, 11.0, 13.0)] == [0.0, 1.0, 3.0]


def test_expected_wait__recovers_soon_after_one_slow_group() -> None:
    running = AdmissionControl(1)
    running.started(0.0)
    running.ended(0.0, 5.0)
    running.started(5.0)
    alone = running.expected_wait(0, 5.0)
    for _ in range(10):
        running.ended(5.0, 5.01)
        running.started(5.0)

    assert alone == pytest.approx(1.0)
    assert running.expected_wait(0, 5.0) < 0.2


async def test_write__refuses_a_command_at_once_when_the_expected_wait_is_too_long(postgres_url, monkeypatch: pytest.MonkeyPatch) -> None:
    store = await open_store(postgres_url)
    client = await store.write(ensure_client("acme", 1))
    admin = await asyncpg.connect(postgres_url)
    await admin.execute("BEGIN; LOCK TABLE company IN ACCESS EXCLUSIVE MODE")
    stuck = []
    for number in range(WRITERS):  # one after the other, so that each has a lane
        stuck.append(asyncio.create_task(store.write(create_company(Creation(Company(client.number, 0, 5, 5, f"{number}.example"))))))
        while store.commands_taken < number + 2 or store.queue_depth:  # noqa: ASYNC110 - the queue has no event
            await asyncio.sleep(0)

    monkeypatch.setattr(admission_control, "MAX_WAIT_SECONDS", 0.0)
    with pytest.raises(Overloaded, match="too slow"):
        await store.write(ensure_client("other", 1))
    await admin.execute("ROLLBACK")
    await admin.close()
    results = await asyncio.gather(*stuck)
    again = await store.write(ensure_client("other", 1))
    await store.close()

    assert all(item.is_new for item in results)
    assert again.client_id == "other"
