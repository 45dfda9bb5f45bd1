"""The base of the workers: rounds, wake-ups, and a store that cannot be used."""

from __future__ import annotations

import asyncio
import logging

import pytest

from touchbase.errors import StoreUnavailable
from touchbase.sql.worker import Worker


class Rounds(Worker):
    """Does rounds that raise these errors, one after the other, and then none."""

    log, label, failure = logging.getLogger("touchbase.tests"), "rounds", "a round failed"
    poll_seconds = 1_000.0

    def __init__(self, *errors: Exception) -> None:
        super().__init__()
        self.errors = [*errors]
        self.done = asyncio.Queue[None]()

    async def _round(self) -> float:
        self.done.put_nowait(None)
        if self.errors:
            raise self.errors.pop(0)
        return self.poll_seconds


async def test_worker__does_a_round_when_it_is_woken_and_ends_when_it_is_stopped() -> None:
    rounds = Rounds()
    running = asyncio.create_task(rounds.run())

    for _ in range(3):
        await asyncio.wait_for(rounds.done.get(), 10)
        rounds.wake()
    await asyncio.wait_for(rounds.done.get(), 10)
    rounds.stop()

    await asyncio.wait_for(running, 10)
    assert rounds.done.empty()


async def test_worker__logs_a_failure_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(ValueError("broken"))
    running = asyncio.create_task(rounds.run())
    await asyncio.wait_for(rounds.done.get(), 10)

    rounds.wake()
    await asyncio.wait_for(rounds.done.get(), 10)
    rounds.stop()
    await asyncio.wait_for(running, 10)

    assert [record.getMessage() for record in caplog.records] == ["a round failed"]


async def test_worker__is_not_woken_while_its_store_cannot_be_used(caplog: pytest.LogCaptureFixture) -> None:
    rounds = Rounds(StoreUnavailable("its disk is full", retry_after=1_000))
    running = asyncio.create_task(rounds.run())
    await asyncio.wait_for(rounds.done.get(), 10)

    rounds.wake()
    for _ in range(10):
        await asyncio.sleep(0)

    assert rounds.done.empty()
    assert "its disk is full" in caplog.text
    rounds.stop()
    await asyncio.wait_for(running, 10)
